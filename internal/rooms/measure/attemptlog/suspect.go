package attemptlog

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"fedsim/config"
	"fedsim/internal/tools/orderstat"
)

// ending is how a round of training ended.
type ending struct {
	asked, taken int
	early        bool    // the server did not wait for all responses
	length       float64 // until the next round begins; NaN for the last one
}

// mostIdle is the largest share of a round that a server spends between the last response that it takes and the next
// round, if it does not wait for others meanwhile.
const mostIdle = 0.1

// endings returns how the rounds of training ended. A response that is late, or complete after the next round has
// begun, was not waited for; nor was one that is lost, if the next round follows soon after the last response taken.
func endings(rounds [][]*Attempt) (all []ending) {
	for i, round := range rounds {
		e := ending{length: math.NaN()}
		next, last, lost := math.Inf(1), math.Inf(-1), false
		if i+1 < len(rounds) {
			next = rounds[i+1][0].Sent
			e.length = next - round[0].Sent
		}
		for _, a := range round {
			if a.Kind != Train {
				continue
			}
			e.asked++
			switch {
			case a.Outcome == Late || a.Seen > next:
				e.early = true
			case a.Outcome == Taken:
				e.taken++
				last = max(last, a.Seen)
			case a.Outcome == Lost:
				lost = true
			}
		}
		e.early = e.early || lost && next-last <= mostIdle*e.length
		all = append(all, e)
	}
	return all
}

// noteProtocol notes a run whose rounds do not wait for all responses although no setting names a protocol, and the
// settings that its rounds suggest.
func (b *builder) noteProtocol(r *Run, rounds [][]*Attempt) {
	if r.Setting("federation.protocol") != nil {
		return
	}
	all := endings(rounds)
	early := 0
	for i := range all {
		if all[i].early {
			early++
		}
	}
	if early > 0 {
		b.note("%s: %d of %d rounds end before all responses have arrived, and no line with #! names the protocol: %s",
			r.Name, early, len(all), suggested(all))
	}
}

// suggested returns the settings that the ends of rounds suggest: rounds of one length have a deadline, and others that
// take one number of responses wait for the first ones.
func suggested(all []ending) string {
	var taken, asked, lengths []float64
	for _, e := range all {
		taken, asked = append(taken, float64(e.taken)), append(asked, float64(e.asked))
		if !math.IsNaN(e.length) {
			lengths = append(lengths, e.length)
		}
	}
	most := func(values []float64, share, within float64) (x float64, ok bool) {
		x = orderstat.Median(slices.Clone(values))
		n := 0
		for _, v := range values {
			if math.Abs(v-x) <= within*x {
				n++
			}
		}
		return x, len(values) > 0 && float64(n) >= share*float64(len(values))
	}
	length, even := most(lengths, 0.9, 0.02)
	k, same := most(taken, 0.8, 0)
	n, _ := most(asked, 0, 0)
	switch {
	case n == 1:
		return "its rounds of one client suggest " + setting("federation.protocol", "asynchronous") +
			"; without it, predictions wait for all"
	case even && len(lengths) > 1:
		return fmt.Sprintf("its rounds suggest %s and %s; without them, predictions wait for all",
			setting("federation.protocol", "deadline"), setting("federation.deadline_s", rounded(length)))
	case same && k > 0 && k < n:
		text := setting("federation.protocol", "first") + ", " + setting("federation.clients_per_round", int64(k))
		return fmt.Sprintf("its rounds suggest %s and %s; without them, predictions wait for all",
			text, setting("federation.protocol_options.over_selection", rounded(n/k)))
	default:
		return "predictions wait for all; name the protocol"
	}
}

func setting(key string, value any) string { return "#! " + key + " = " + config.Literal(value) }

// rounded returns a number with three digits.
func rounded(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64)
	if err != nil {
		return x
	}
	return y
}

// transfers are those of a direction, on one clock.
type transfers struct {
	name   string // of the direction
	key    string // the setting of a link that clients share
	bytes  func(*Attempt) float64
	window func(*Attempt) (from, to float64) // NaN: not known
}

var bothDirections = []transfers{
	{"down", "network.server_down_mbps", func(a *Attempt) float64 { return a.BytesDown },
		func(a *Attempt) (from, to float64) {
			return a.Sent, a.Sent + a.Receive
		}},
	{"up", "network.server_up_mbps", func(a *Attempt) float64 { return a.BytesUp },
		func(a *Attempt) (from, to float64) {
			if !math.IsNaN(a.ReplyFirst) {
				return a.ReplyFirst, a.Seen
			}
			return a.Seen - a.Reply, a.Seen
		}},
}

// A shared link is suspected if transfers of clients that begin while others transfer are slower than their equal ones
// that begin alone: their rates are at most mostShared of the median of these, in the median, and leastZ standard
// deviations more of them than half are below it. That of a client needs leastAlone transfers. The slowness of a
// transfer does not change what goes on at its begin.
const (
	mostShared = 0.85
	leastZ     = 4
	leastAlone = 5
)

// noteShared notes transfers that are slower while others transfer.
func (b *builder) noteShared(r *Run) {
	for i := range bothDirections {
		d := &bothDirections[i]
		if r.Setting(d.key) != nil {
			continue
		}
		rates := d.besideOthers(r)
		below := 0.0
		for _, x := range rates {
			if x < 1 {
				below++
			}
		}
		n := float64(len(rates))
		if m := orderstat.Median(rates); m <= mostShared && below-float64(n/2) >= leastZ*math.Sqrt(n)/2 {
			b.note(
				"%s: transfers %s have %.0f %% of their rate while other clients transfer: do clients share a link? "+
					"Name its capacity, #! %s; otherwise each client is fitted a slower link of its own", r.Name,
				d.name, 100*m, d.key)
		}
	}
}

// besideOthers returns the rates of transfers that begin while others transfer, as multiples of the median rate of the
// client's transfers of as many bytes that begin alone.
func (tr *transfers) besideOthers(r *Run) (rates []float64) {
	type size struct {
		client string
		bytes  float64
	}
	type transfer struct {
		size
		from, rate float64
	}
	var all []transfer
	var begins, ends []float64
	for i := range r.Attempts {
		a := &r.Attempts[i]
		if from, to := tr.window(a); to > from && tr.bytes(a) > 0 {
			begins, ends = append(begins, from), append(ends, to)
			all = append(all, transfer{size{a.Client, tr.bytes(a)}, from, tr.bytes(a) / (to - from)})
		}
	}
	slices.Sort(begins)
	slices.Sort(ends)
	alone := map[size][]float64{}
	var beside []transfer
	for _, x := range all {
		begun, _ := slices.BinarySearch(begins, x.from)
		ended, _ := slices.BinarySearch(ends, x.from)
		if begun > ended {
			beside = append(beside, x)
		} else {
			alone[x.size] = append(alone[x.size], x.rate)
		}
	}
	for _, x := range beside {
		if own := alone[x.size]; len(own) >= leastAlone {
			rates = append(rates, x.rate/orderstat.Median(own))
		}
	}
	return rates
}
