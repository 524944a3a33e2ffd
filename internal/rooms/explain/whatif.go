package explain

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"fedsim/experiment/scenario"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/network"
	"fedsim/results"
)

// ErrUnknown is wrapped by errors of what-if estimates that the rows by device do not
// allow.
var ErrUnknown = errors.New("cannot be estimated from the rows")

func unknown(format string, arguments ...any) error {
	return fmt.Errorf("%w: %s", ErrUnknown, fmt.Sprintf(format, arguments...))
}

// WhatIf is the estimated time of a run with one change. Every device does the same
// work and has the same failures as in the run.
type WhatIf struct {
	Removed   []int   `json:"without"`    // devices left out, in order; empty: none
	DeadlineS float64 `json:"deadline_s"` // 0: none
	Unshared  bool    `json:"unshared"`   // every transfer is alone on its links
	Protocol  string  `json:"protocol"`   // of the changed run
	TimeS     float64 `json:"time_s"`     // virtual time at the end of the last round
	Responses int     `json:"responses"`  // responses in time, all rounds
	Baseline  int     `json:"before"`     // responses used in the original run, without those of removed devices
}

// WithoutSlowest estimates the run without its k slowest devices, the first of Slowest.
func (r *Report) WithoutSlowest(k int) (*WhatIf, error) {
	if err := r.checkWithout(k); err != nil {
		return nil, err
	}
	cfg := &r.Run.Settings.Federation
	needed, _ := cfg.Sizes(len(r.Devices) - k)
	traits := cfg.Traits()
	w := &WhatIf{Removed: slices.Sorted(slices.Values(r.Slowest()[:k])), Protocol: cfg.Protocol}
	out := make([]bool, len(r.Devices))
	for _, client := range w.Removed {
		out[client] = true
	}
	var times []float64 // of the responses
	return r.recompute(w, func(x *RoundAnalysis, rows []results.DeviceRow) (float64, error) {
		times = times[:0]
		for client := range rows {
			if row := &rows[client]; !out[client] {
				w.Baseline += row.Taken
				if row.Responses > 0 {
					times = append(times, row.ResponseS)
				}
			}
		}
		slices.Sort(times)
		switch {
		case traits.End == federation.EndsAtDeadline:
			w.Responses += len(times)
			return x.LengthS, nil
		case len(times) >= needed:
			w.Responses += needed
			return times[needed-1] + x.Path.ServerS, nil
		case x.Cause == Deadline:
			w.Responses += len(times)
			return x.LengthS, nil
		default:
			return 0, unknown("round %d would end with a response or a dropout that the rows do not record", x.Round)
		}
	})
}

// checkWithout reports why it is not known what the run would be without k devices.
func (r *Report) checkWithout(k int) error {
	n := len(r.Devices)
	if k < 1 || k >= n {
		return fmt.Errorf("%d devices cannot be left out: must be at least 1 and fewer than the %d of the run", k, n)
	}
	if err := r.checkIndependent(); err != nil {
		return err
	}
	cfg := &r.Run.Settings.Federation
	if cfg.Cost != federation.Physical {
		return unknown("cost %q: the cost of work depends on the set of devices", cfg.Cost)
	}
	if err := checkRuled(r.Run); err != nil {
		return err
	}
	_, selected := cfg.Sizes(n - k)
	if _, all := cfg.Sizes(n); all != n || selected != n-k {
		return unknown("rounds select some of the devices, and would select others")
	}
	switch traits := cfg.Traits(); traits.End {
	case federation.EndsWithCharge, federation.EndsWithCount:
		return unknown("protocol %q: the rows do not record what ends a round", cfg.Protocol)
	case federation.EndsWithResponses:
		if traits.Late && !traits.WaitsForAll {
			return unknown("the server keeps late responses, which would arrive in other rounds")
		}
	}
	return nil
}

// Deadline estimates the run with a deadline of s seconds. For protocol "wait-for-all"
// it estimates protocol "deadline" with fit_work = false, whose rounds all last until
// the deadline. For "deadline" and "first" it estimates another deadline_s.
func (r *Report) Deadline(s float64) (*WhatIf, error) {
	if !(s > 0 && s <= 1e9) {
		return nil, fmt.Errorf("deadline of %v s: must be positive and at most 1e9 seconds", s)
	}
	if err := r.checkIndependent(); err != nil {
		return nil, err
	}
	if err := cmp.Or(checkRuled(r.Run), checkDeadline(r.Run)); err != nil {
		return nil, err
	}
	cfg := &r.Run.Settings.Federation
	traits := cfg.Traits()
	w := &WhatIf{Removed: []int{}, DeadlineS: s, Protocol: cfg.Protocol}
	if traits.WaitsForAll {
		w.Protocol = protocols.Deadline
	}
	return r.recompute(w, func(x *RoundAnalysis, rows []results.DeviceRow) (float64, error) {
		server := x.Path.ServerS
		if traits.End == federation.EndsAtDeadline {
			server = beyond(x.LengthS, cfg.DeadlineS, rows[0].TimeS)
		}
		if x.Cause == Deadline && s > cfg.DeadlineS {
			return 0,
				unknown("round %d ended at its deadline of %v s: later responses are not recorded", x.Round,
					cfg.DeadlineS)
		}
		if traits.End == federation.EndsWithResponses && !traits.WaitsForAll && s >= x.LengthS-server {
			w.Responses += x.Taken
			w.Baseline += x.Taken
			return x.LengthS, nil
		}
		for client := range rows {
			row := &rows[client]
			w.Baseline += row.Taken
			inTime := row.Responses > 0 && row.ResponseS <= s+resolution(row.TimeS)
			// With a deadline, a device retries at most cfg.Retries times.
			if inTime && row.Attempts <= 1+cfg.Retries {
				w.Responses++
			}
		}
		return s + server, nil
	})
}

// Unshared estimates the run with every transfer alone on its links.
func (r *Report) Unshared() (*WhatIf, error) {
	cfg := &r.Run.Settings.Federation
	traits := cfg.Traits()
	switch err := cmp.Or(r.checkTimeless(), checkRuled(r.Run)); {
	case err != nil:
		return nil, err
	case !r.Run.Settings.Network.SharesLinks():
		return nil, unknown("no link is shared: network.shared has none")
	case traits.End != federation.EndsWithResponses:
		return nil, unknown("protocol %q: responses do not end its rounds", cfg.Protocol)
	case traits.Late && !traits.WaitsForAll:
		return nil, unknown("the server keeps late responses, which would arrive in other rounds")
	}
	w := &WhatIf{Removed: []int{}, Unshared: true, Protocol: cfg.Protocol}
	return r.recompute(w, func(x *RoundAnalysis, rows []results.DeviceRow) (float64, error) {
		last, responses := 0.0, 0
		for client := range rows {
			if row := &rows[client]; row.Responses > 0 {
				responses++
				last = max(last, row.ResponseS-row.DownSharedS-row.UpSharedS)
			}
		}
		if x.Cause != Response || responses < x.Selected {
			return 0, unknown("round %d ended before all responses: others might come first", x.Round)
		}
		w.Responses += responses
		w.Baseline += x.Taken
		return last + x.Path.ServerS, nil
	})
}

// checkRuled returns an error if only a driver or a plugin knows what ends a round.
func checkRuled(run *scenario.RunSpec) error {
	switch {
	case run.Algorithm == scenario.Driven:
		return unknown("only the driver knows what ends a round")
	case judgedByRows(run):
		return unknown("protocol %q: the rows do not record what ends a round", run.Settings.Federation.Protocol)
	}
	return nil
}

// checkDeadline returns an error if the rows do not allow Deadline.
func checkDeadline(run *scenario.RunSpec) error {
	cfg := &run.Settings.Federation
	traits := cfg.Traits()
	switch {
	case traits.End == federation.EndsWithCharge || traits.End == federation.EndsWithCount:
		return unknown("protocol %q has no deadline", cfg.Protocol)
	case cfg.Cost == federation.Authors:
		return unknown("cost %q has no clock cycle", cfg.Cost)
	case traits.FitsWork:
		return unknown("with fit_work the amount of work depends on the deadline")
	case cfg.Quantile > 0:
		return unknown("protocol_options.quantile sets the deadline")
	case traits.Late && !traits.WaitsForAll:
		return unknown("the server keeps late responses, which would arrive in other rounds")
	case cfg.ServerGFLOPS > 0 && run.Settings.Run.Outer > 1:
		return unknown("rounds include the server's updates of the coupling, the deadline does not")
	}
	return nil
}

// checkIndependent returns an error if a change would also change response times: they
// depend on the virtual time or on other devices.
func (r *Report) checkIndependent() error {
	if r.Run.Settings.Network.SharesLinks() {
		return unknown("transfers share links, so their speed depends on other transfers")
	}
	return r.checkTimeless()
}

// checkTimeless is checkIndependent but for shared links.
func (r *Report) checkTimeless() error {
	s := &r.Run.Settings
	runtime := s.Network.InForce()
	switch {
	case runtime.Polls():
		return unknown("messages and responses wait for polls, whose times depend on the virtual time")
	case s.Network.HubSize > 0:
		return unknown("hubs send responses together")
	case s.Network.Radio == network.RadioStates:
		return unknown("the wake-up time of a radio depends on how long it slept")
	case len(s.Traces.Files) > 0 || s.Traces.Availability.Generated() || len(s.Traces.Fading.Levels) > 0:
		return unknown("[traces] depend on the virtual time")
	case s.Devices.Model != "" || s.Network.Model != "":
		return unknown("device and link models depend on the virtual time")
	case s.Federation.AnswerTimeoutS > 0:
		return unknown("the server gives up responses that take long (answer_timeout_s)")
	case s.Network.TimesOut():
		return unknown("connections time out, and are opened again")
	case s.Heated():
		return unknown("devices carry heat from one round to the next")
	case s.Faults.OutageShare > 0:
		return unknown("outages depend on the virtual time")
	case s.Devices.LowBattery > 0:
		return unknown("the speed of devices depends on their battery level")
	case s.Federation.MinReports > 0:
		return unknown("with min_reports the server may discard the responses of a round")
	case r.depleted:
		return unknown("batteries were depleted, and would be at other times")
	}
	return nil
}

// recompute sums up the lengths that length returns for the rounds.
func (r *Report) recompute(w *WhatIf, length func(x *RoundAnalysis, rows []results.DeviceRow) (float64, error)) (
	*WhatIf, error) {
	h := 0
	var refused error // from length; returned without the name of the file
	err := eachRound(r.dir, map[string]int{r.Run.ID: 0}, func(_ int, _ float64, rows []results.DeviceRow) error {
		if h == len(r.Rounds) || len(rows) != len(r.Devices) {
			return errors.New("changed while it was read")
		}
		var lengthS float64
		lengthS, refused = length(&r.Rounds[h], rows)
		w.TimeS += lengthS
		h++
		return refused
	})
	if refused != nil {
		return nil, refused
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}
