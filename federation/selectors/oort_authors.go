package selectors

import (
	"math"
	"slices"

	"fedsim/federation"
	"fedsim/internal/tools/elementary"
	"fedsim/internal/tools/orderstat"
)

// authorsOort is Oort's training selector as its authors' code has it (FedScale,
// thirdparty/oort/oort.py and the calls of fedscale/cloud/aggregation/aggregator.py, read at
// commit 7ec441c). After R >= 1 rounds the utility of a client i that has a feedback is
//
//	Util(i) = |(min(U(i), cap) - low)/range + sqrt(0.1 ln R / L(i))| (T / D(i))^alpha,
//
// the last factor only where D(i) > T. low is 0.999 of the smallest utility, range the largest
// less low, and cap a quantile, all over the available clients; the utility of one without a
// feedback is its rows. T is a quantile of the durations of all clients, which are the expected
// response times at first. testdata/oort/authors.py lists the decisions where the code leaves
// something open or fails. Memory is about 65 bytes for each client, with the space that rounds
// reuse, beside its History.
type authorsOort struct {
	oortOptions
	epsilon   float64
	decay     float64   // factor of epsilon from one round to the next
	share     float64   // of the clients whose durations are at most T
	window    float64   // exploration draws among this many times the clients that it takes
	pool      int       // exploitation draws among more than this many times the clients that it takes
	utils     []float64 // of each round before: the mean utility of the exploited clients
	reward    []float64 // by client: U
	duration  []float64 // by client: D in seconds
	last      []int32   // by client: L
	count     []int32   // by client: feedbacks
	responses []int32   // by client: History.Responses at the last feedback
	excluded  []bool    // by client
	asked     []int32   // in the last round
	exploited []int32   // of those
	keys      []orderstat.Keyed
	known     []int32 // available clients with a feedback that are not excluded
	fresh     []int32 // available clients without one
	scores    []float64
	// weighted and uniform are those of Selection. A test draws other random numbers.
	weighted func(s *federation.Selection, k int, from []int32, weight func(client int32) float64) []int32
	uniform  func(s *federation.Selection, k int, from []int32) []int32
}

const (
	oortPool     = 10  // exploitation draws among more than this many times the clients that it takes
	oortExcluded = 0.3 // at most this share of all clients is excluded
	oortFlat     = 0.1 // utilities stay: their sum changes by at most this share
	oortJump     = 5   // they jump: by at least this share
	oortLow      = 0.999
	oortRange    = 1e-4 // least range
)

func newAuthorsOort(o oortOptions) *authorsOort {
	return &authorsOort{
		oortOptions: o, epsilon: o.Explore, decay: exploreDecay, share: preferredShare,
		pool: oortPool, window: exploreWindow,
		weighted: (*federation.Selection).Weighted, uniform: (*federation.Selection).Uniform,
	}
}

func (o *authorsOort) Select(s *federation.Selection) []int32 {
	if o.reward == nil {
		o.register(s)
	}
	if s.Round == 0 {
		o.asked = append(o.asked[:0], o.uniform(s, s.Size, s.Available())...)
		return o.asked
	}
	o.feedBack(s)
	o.exclude()
	o.pace(s)
	o.divide(s)
	preferred := o.preferred()
	o.epsilon = max(o.epsilon*o.decay, o.ExploreMin)
	exploit := min(s.Size-int(float64(s.Size)*o.epsilon), len(o.known))
	o.exploited = append(o.exploited[:0], o.exploit(s, exploit, preferred)...)
	chosen := append(o.asked[:0], o.exploited...)
	chosen = append(chosen, o.explore(s, min(s.Size-exploit, len(o.fresh)), preferred)...)
	slices.Sort(chosen)
	o.asked = o.fill(s, chosen)
	if !slices.Contains(o.count, 0) { // every client has a feedback: exploration ends
		o.epsilon, o.ExploreMin = 0, 0
	}
	return o.asked
}

// register notes the rows and expected response times of clients before the first round.
func (o *authorsOort) register(s *federation.Selection) {
	n := s.Clients()
	o.reward, o.excluded = make([]float64, n), make([]bool, n)
	o.last, o.count, o.responses = make([]int32, n), make([]int32, n), make([]int32, n)
	expected := o.duration == nil
	if expected {
		o.duration = make([]float64, n)
	}
	for client := range int32(n) {
		o.reward[client] = float64(s.Rows(client))
		if expected {
			o.duration[client] = s.ExpectedResponse(client).Seconds()
		}
	}
}

// feedBack notes the responses that have arrived, and the mean of their utilities for the
// clients of the last round that have not responded.
func (o *authorsOort) feedBack(s *federation.Selection) {
	sum, n := 0.0, 0
	for client := range int32(s.Clients()) {
		h := s.History(client)
		if h.Responses == o.responses[client] {
			continue
		}
		o.responses[client] = h.Responses
		o.note(client, o.statistical(s, client, &h), int(h.Round)+1)
		o.duration[client] = h.Time.Seconds()
		sum += o.reward[client]
		n++
	}
	mean := sum / float64(max(1, n))
	for _, client := range o.asked {
		if h := s.History(client); h.Responses == 0 || int(h.Round) != s.Round-1 {
			o.note(client, mean, s.Round+1)
		}
	}
}

// note notes a feedback of a client.
func (o *authorsOort) note(client int32, reward float64, last int) {
	o.reward[client], o.last[client] = reward, int32(last)
	o.count[client]++
}

// exclude excludes the clients with the most feedbacks, if they have more than the limit.
func (o *authorsOort) exclude() {
	if o.Participations == 0 {
		return
	}
	clear(o.excluded)
	o.keys = o.keys[:0]
	for client, n := range o.count {
		if int(n) > o.Participations {
			o.keys = append(o.keys, orderstat.Keyed{Key: -float64(n), ID: int32(client)})
		}
	}
	most := min(len(o.keys), int(oortExcluded*float64(len(o.count))))
	orderstat.Split(o.keys, most)
	for _, k := range o.keys[:most] {
		o.excluded[k.ID] = true
	}
}

// pace moves T every W rounds, by the mean utilities of the clients that the rounds
// exploited: up if their sum stays, down if it jumps.
func (o *authorsOort) pace(s *federation.Selection) {
	sum, n := 0.0, 1e-4
	for _, client := range o.exploited {
		sum += o.reward[client]
		n++
	}
	o.utils = append(o.utils, sum/n)
	w := o.PacerWindow
	if len(o.utils) > 2*w {
		o.utils = o.utils[len(o.utils)-2*w:]
	}
	if s.Round < 2*w || s.Round%w != 0 || len(o.utils) < 2*w {
		return
	}
	before, since := 0.0, 0.0
	for i := range w {
		before += o.utils[i]
		since += o.utils[w+i]
	}
	switch moved := math.Abs(since - before); {
	case moved <= before*oortFlat:
		o.share = min(1, o.share+pacerShare)
	case moved >= before*oortJump:
		o.share = max(pacerShare, o.share-pacerShare)
	}
}

// preferred returns T in seconds.
func (o *authorsOort) preferred() float64 {
	if o.share >= 1 {
		return math.Inf(1)
	}
	o.keys = o.keys[:0]
	for client, d := range o.duration {
		o.keys = append(o.keys, orderstat.Keyed{Key: d, ID: int32(client)})
	}
	return orderstat.Kth(o.keys, 1+int(float64(len(o.keys))*o.share)).Key
}

// divide lists the available clients that are not excluded: those with a feedback and others.
func (o *authorsOort) divide(s *federation.Selection) {
	o.known, o.fresh = o.known[:0], o.fresh[:0]
	for i := range s.Len() {
		switch client := s.At(i); {
		case o.count[client] == 0:
			o.fresh = append(o.fresh, client)
		case !o.excluded[client]:
			o.known = append(o.known, client)
		}
	}
}

// slow returns a utility after the penalty of a client whose duration is longer than T.
func (o *authorsOort) slow(client int32, u, preferred float64) float64 {
	if d := o.duration[client]; d > preferred {
		u *= elementary.Exp(o.Alpha * elementary.Log(preferred/max(oortRange, d)))
	}
	return u
}

// exploit draws so many of the clients with a feedback by their utilities: of those with at
// least the cut-off, and of at least ten times as many.
func (o *authorsOort) exploit(s *federation.Selection, count int, preferred float64) []int32 {
	if count == 0 {
		return nil
	}
	low, width, top := o.norm()
	n := len(o.known)
	o.scores = slices.Grow(o.scores[:0], n)[:n]
	s.Parallel(n, func(i, _ int) {
		client := o.known[i]
		u := (min(o.reward[client], top)-low)/width +
			math.Sqrt(0.1*elementary.Log(float64(s.Round))/float64(o.last[client]))
		o.scores[i] = math.Abs(o.slow(client, u, preferred))
	})
	o.keys = o.keys[:0]
	for i, client := range o.known {
		o.keys = append(o.keys, orderstat.Keyed{Key: -o.scores[i], ID: client})
	}
	cut := o.Cutoff * -orderstat.Kth(o.keys, count+1).Key
	pool := orderstat.Kth(o.keys, o.pool*count+1)
	admitted := o.known[:0]
	score := o.scores[:0]
	for i, client := range o.known {
		if x := o.scores[i]; x >= cut || !pool.Before(orderstat.Keyed{Key: -x, ID: client}) {
			admitted, score = append(admitted, client), append(score, x)
		}
	}
	return o.weighted(s, count, admitted, func(client int32) float64 {
		i, _ := slices.BinarySearch(admitted, client)
		return max(score[i], math.SmallestNonzeroFloat64)
	})
}

// norm returns 0.999 of the smallest utility of the available clients, the range of them and
// the quantile that cuts them.
func (o *authorsOort) norm() (low, width, top float64) {
	o.keys = o.keys[:0]
	for _, list := range [][]int32{o.known, o.fresh} {
		for _, client := range list {
			if o.reward[client] > 0 {
				o.keys = append(o.keys, orderstat.Keyed{Key: o.reward[client], ID: client})
			}
		}
	}
	if len(o.keys) == 0 {
		return 0, oortRange, 0
	}
	largest := 0.0
	low = math.Inf(1)
	for _, k := range o.keys {
		low, largest = min(low, k.Key), max(largest, k.Key)
	}
	low = float64(low * oortLow)
	return low, max(largest-low, oortRange), orderstat.Kth(o.keys, 1+int(float64(len(o.keys))*o.Clip)).Key
}

// explore draws so many of the clients without a feedback by their rows: of those with the
// most.
func (o *authorsOort) explore(s *federation.Selection, count int, preferred float64) []int32 {
	if count == 0 {
		return nil
	}
	weight := func(client int32) float64 { return o.slow(client, o.reward[client], preferred) }
	window := int(o.window * float64(count))
	most := s.Lowest(window, o.fresh, func(client int32) float64 { return -weight(client) })
	return o.weighted(s, count, slices.Clone(most), weight)
}

// fill adds clients to those chosen until they are enough: available ones that are not
// excluded, all with the same probability, and then others.
func (o *authorsOort) fill(s *federation.Selection, chosen []int32) []int32 {
	for _, excluded := range []bool{false, true} {
		o.fresh = o.fresh[:0]
		for i := range s.Len() {
			client := s.At(i)
			if _, in := slices.BinarySearch(chosen, client); !in && o.excluded[client] == excluded {
				o.fresh = append(o.fresh, client)
			}
		}
		if len(o.fresh) > 0 && len(chosen) < s.Size {
			chosen = append(chosen, o.uniform(s, s.Size-len(chosen), o.fresh)...)
			slices.Sort(chosen)
		}
	}
	return chosen
}
