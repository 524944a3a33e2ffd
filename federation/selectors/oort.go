package selectors

import (
	"math"
	"slices"

	"fedsim/config"
	"fedsim/federation"
	"fedsim/internal/tools/elementary"
	"fedsim/internal/tools/orderstat"
)

// The conventions of Oort.
const (
	oortAuthors = "authors"
	oortPaper   = "paper"
)

// Constants of the authors' code.
const (
	// exploration draws among this many times the clients that it takes, those with the most rows
	exploreWindow = 5
	// factor of epsilon from one round to the next
	exploreDecay = 0.98
	// T is this quantile of the durations of all clients at first
	preferredShare = 0.3
	// by which the pacer raises the share of T when utilities stay, and lowers it when they jump
	pacerShare = 0.05
)

type oortOptions struct {
	// "authors": the rule of the authors' code; "paper": Algorithm 1 of the paper
	Convention string `toml:"convention"`
	// the statistical utility is the rows times "rms", the root mean square of the losses of single
	// rows, as in the paper, or times their "mean", for learners that report no other
	Losses string `toml:"losses"`
	// epsilon, the share of the first round that explores clients that have not responded yet
	Explore float64 `toml:"explore"`
	// smallest epsilon
	ExploreMin float64 `toml:"explore_min" absent:"-1: 0.3 by the authors, 0.2 by the paper"`
	// exponent of the penalty (T/t)^alpha of clients whose last response took t, longer than the
	// preferred duration T
	Alpha float64 `toml:"alpha"`
	// convention "paper": Delta in seconds, with which T starts and by which it grows when the
	// utility of the last rounds fell
	PacerStepS float64 `toml:"pacer_step_s" absent:"0: 5"`
	// W, the rounds whose utilities the pacer compares with those of the W rounds before
	PacerWindow int `toml:"pacer_window"`
	// quantile of the statistical utilities; larger ones count as this one
	Clip float64 `toml:"clip" absent:"-1: 0.9 by the authors, 0.95 by the paper"`
	// exploitation draws among the clients with at least this share of the utility of the last one
	// of a round that takes the highest, by the authors among ten times as many clients at least
	Cutoff float64 `toml:"cutoff" absent:"-1: 0.05 by the authors, 0.95 by the paper"`
	// rounds after which a client is left out of exploitation, by the authors one more, and at most
	// three clients in ten; "unlimited": never
	Participations int `toml:"participations" word:"0: unlimited" absent:"-1: by the paper 10, else unlimited"`
}

// Validate reports everything wrong with the options.
func (o *oortOptions) Validate(c *config.Checker) {
	c.OneOf("convention", o.Convention, oortAuthors, oortPaper)
	c.OneOf("losses", o.Losses, "rms", "mean")
	share := func(key string, x float64) { c.Require(x >= 0 && x <= 1, key, x, "must be in [0, 1]") }
	orDefault := func(key string, x float64) {
		c.Require(x == -1 || x >= 0 && x <= 1, key, x, "must be in [0, 1]")
	}
	share("explore", o.Explore)
	orDefault("explore_min", o.ExploreMin)
	orDefault("clip", o.Clip)
	orDefault("cutoff", o.Cutoff)
	c.Require(o.Alpha >= 0 && o.Alpha <= 100, "alpha", o.Alpha, "must be in [0, 100]")
	c.Require(o.PacerStepS >= 0 && o.PacerStepS <= 1e9, "pacer_step_s", o.PacerStepS, "must be in [0, 1e9] seconds")
	c.Require(o.PacerWindow >= 1 && o.PacerWindow <= 1e6, "pacer_window", o.PacerWindow, "must be in [1, 1e6]")
	c.Require(o.Participations >= -1 && o.Participations <= 1e9, "participations", o.Participations,
		`must be in [1, 1e9], or "unlimited"`)
	c.Require(o.PacerStepS == 0 || o.Convention != oortAuthors, "pacer_step_s", o.PacerStepS,
		"must be left out: convention \""+oortAuthors+"\" does not use it")
}

// resolved returns the options with the defaults of their convention.
func (o oortOptions) resolved() oortOptions {
	pick := func(x *float64, unset, authors, paper float64) {
		if *x == unset {
			if *x = authors; o.Convention == oortPaper {
				*x = paper
			}
		}
	}
	limit := float64(o.Participations)
	pick(&o.ExploreMin, -1, 0.3, 0.2)
	pick(&o.PacerStepS, 0, 0, 5)
	pick(&o.Clip, -1, 0.9, 0.95)
	pick(&o.Cutoff, -1, 0.05, 0.95)
	pick(&limit, -1, 0, 10)
	o.Participations = int(limit)
	return o
}

// statistical returns U of a client by its last response.
func (o *oortOptions) statistical(s *federation.Selection, client int32, h *federation.History) float64 {
	if o.Losses == "mean" {
		return float64(s.Rows(client)) * h.Loss
	}
	return float64(s.Rows(client)) * h.RMS
}

// oort is Oort's training selector by the paper (Algorithm 1, equations (1) and (2)). The
// utility of a client i in round R = 1, 2, ... is
//
//	Util(i) = (min(U(i), cap) + sqrt(0.1 ln R / L(i))) (T / D(i))^alpha,  U(i) = |B_i| sqrt(1/|B_i| sum loss^2),
//
// the last factor only where its last response took D(i) > T; L(i) is the round that asked
// for it. A share epsilon of a round explores clients that have not responded yet, in
// inverse proportion to their expected response times. Decisions that the paper leaves open
// are those of testdata/oort/twin.py. Memory is about 60 bytes for each client, with
// the space that rounds reuse, beside its History.
type oort struct {
	oortOptions
	epsilon   float64
	decay     float64   // factor of epsilon from one round to the next
	preferred float64   // T in seconds
	gains     []float64 // of each round before: the utility of its responses in time
	asked     []int32   // in the last round
	speed     bySpeed   // of exploration
	keys      []orderstat.Keyed
	utils     []float64 // of those in known
	known     []int32   // available clients that have responded and are not excluded
	excluded  []int32   // available clients that have responded and are
	fresh     []int32   // available clients that have not responded
	// weighted is Selection.Weighted. A test draws other random numbers.
	weighted func(s *federation.Selection, k int, from []int32, weight func(client int32) float64) []int32
}

func init() {
	federation.RegisterSelector(federation.SelectorFactory{
		Name: "oort",
		Summary: "the highest utilities: losses and response times; and a share by speed of those that have " +
			"not responded",
		Reference: "Lai, Zhu, Madhyastha, Chowdhury: Oort: Efficient Federated Learning via Guided Participant " +
			"Selection, OSDI 2021",
		History: true,
		Options: func() config.Options {
			return &oortOptions{
				Convention: oortAuthors, Losses: "rms", Explore: 0.9, ExploreMin: -1, Alpha: 2,
				PacerWindow: 20, Clip: -1, Cutoff: -1, Participations: -1,
			}
		},
		Declare: func(o config.Options, f *federation.SelectorFactory) {
			if o.(*oortOptions).Losses == "rms" {
				f.RowLosses = true
			} else {
				f.Losses = true
			}
		},
		New: func(_ federation.SelectorSetup, o config.Options) (federation.Selector, error) {
			opts := o.(*oortOptions).resolved()
			if opts.Convention == oortPaper {
				return &oort{oortOptions: opts, epsilon: opts.Explore, decay: exploreDecay,
					preferred: opts.PacerStepS, weighted: (*federation.Selection).Weighted}, nil
			}
			return newAuthorsOort(opts), nil
		},
	})
}

func (o *oort) Select(s *federation.Selection) []int32 {
	largest := o.clip(s)
	o.feedBack(s, largest)
	o.divide(s)
	explore, exploit, again := o.counts(s)
	util := func(client int32) float64 { return o.util(s, client, largest) }
	chosen := o.asked[:0]
	if exploit > 0 {
		chosen = append(chosen, o.weighted(s, exploit, o.admit(s, exploit, util), util)...)
	}
	if explore > 0 {
		chosen = append(chosen, o.weighted(s, explore, o.fresh, o.speed.weight(s))...)
	}
	if again > 0 {
		chosen = append(chosen, o.weighted(s, again, o.excluded, util)...)
	}
	slices.Sort(chosen)
	o.asked = chosen
	o.epsilon = max(o.ExploreMin, o.epsilon*o.decay)
	return o.asked
}

// clip returns the quantile of the statistical utilities of all clients that have
// responded, by the nearest rank; 0 if none has.
func (o *oort) clip(s *federation.Selection) float64 {
	o.keys = o.keys[:0]
	for client := range int32(s.Clients()) {
		if h := s.History(client); h.Responses > 0 {
			o.keys = append(o.keys, orderstat.Keyed{Key: o.statistical(s, client, &h), ID: client})
		}
	}
	return orderstat.Kth(o.keys, int(math.Ceil(o.Clip*float64(len(o.keys))))).Key
}

// feedBack notes the utility of the last round, and lets the pacer look: T grows when the
// utility of the last window of rounds is less than that of the window before.
func (o *oort) feedBack(s *federation.Selection, largest float64) {
	if s.Round > 0 {
		gain := 0.0
		for _, client := range o.asked {
			if h := s.History(client); h.Responses > 0 && int(h.Round) == s.Round-1 {
				gain += min(o.statistical(s, client, &h), largest)
			}
		}
		o.gains = append(o.gains, gain)
	}
	w := o.PacerWindow
	if len(o.gains) < 2*w {
		return
	}
	o.gains = o.gains[len(o.gains)-2*w:]
	before, since := 0.0, 0.0
	for i := range w {
		before += o.gains[i]
		since += o.gains[w+i]
	}
	if before > since {
		o.preferred += o.PacerStepS
	}
}

// divide lists the available clients: those with a utility, the excluded ones, and those that have
// never responded.
func (o *oort) divide(s *federation.Selection) {
	o.known, o.excluded, o.fresh = o.known[:0], o.excluded[:0], o.fresh[:0]
	for i := range s.Len() {
		client := s.At(i)
		switch h := s.History(client); {
		case h.Responses == 0:
			o.fresh = append(o.fresh, client)
		case o.Participations > 0 && int(h.Asked) >= o.Participations:
			o.excluded = append(o.excluded, client)
		default:
			o.known = append(o.known, client)
		}
	}
}

// counts returns how many clients the round explores, exploits, and takes of those that are
// excluded because there are too few others.
func (o *oort) counts(s *federation.Selection) (explore, exploit, again int) {
	explore = int(math.Floor(float64(o.epsilon*float64(s.Size)) + 0.5))
	explore = min(explore, len(o.fresh))
	exploit = min(s.Size-explore, len(o.known))
	explore = min(s.Size-exploit, len(o.fresh))
	return explore, exploit, s.Size - exploit - explore
}

// util returns the utility of a client that has responded.
func (o *oort) util(s *federation.Selection, client int32, largest float64) float64 {
	h := s.History(client)
	u := min(o.statistical(s, client, &h), largest) +
		math.Sqrt(0.1*elementary.Log(float64(s.Round+1))/float64(h.Round+1))
	if d := h.Time.Seconds(); o.preferred < d {
		u *= elementary.Exp(o.Alpha * elementary.Log(o.preferred/d))
	}
	return u
}

// admit returns the clients among those known that may be drawn, in ascending order: those
// with at least the cut-off utility. It changes o.known.
func (o *oort) admit(s *federation.Selection, exploit int, util func(int32) float64) []int32 {
	n := len(o.known)
	o.utils = slices.Grow(o.utils[:0], n)[:n]
	s.Parallel(n, func(i, _ int) { o.utils[i] = util(o.known[i]) })
	o.keys = o.keys[:0]
	for i, client := range o.known {
		o.keys = append(o.keys, orderstat.Keyed{Key: -o.utils[i], ID: client})
	}
	cut := o.Cutoff * -orderstat.Kth(o.keys, exploit).Key
	admitted := o.known[:0]
	for i, client := range o.known {
		if o.utils[i] >= cut {
			admitted = append(admitted, client)
		}
	}
	return admitted
}
