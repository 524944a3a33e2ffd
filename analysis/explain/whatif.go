package explain

import (
	"errors"
	"fmt"
	"slices"

	"fedsim/devices"
	"fedsim/federation"
	"fedsim/network"
	"fedsim/results"
	"fedsim/scenarios"
)

// ErrUnknown is what an error is when rows and settings do not tell what would have
// been.
var ErrUnknown = errors.New("cannot be told from the rows")

func unknown(format string, arguments ...any) error {
	return fmt.Errorf("%w: %s", ErrUnknown, fmt.Sprintf(format, arguments...))
}

// WhatIf is what the rounds of a run would have taken with a change, every device
// doing the work that it did and losing what it lost.
type WhatIf struct {
	Removed   []int   // devices that are left out, in order; nil: none
	DeadlineS float64 // 0: none
	Protocol  string  // under which the rounds end then
	TimeS     float64 // virtual time at the end of the last round
	Responses int     // answers in time, all rounds
	Baseline  int     // answers that the server took as it was, all rounds, those of devices left out aside
}

// Without returns what the run would have taken without its k slowest devices, the
// first of Slowest.
func (r *Report) WithoutSlowest(k int) (*WhatIf, error) {
	if k < 1 || k >= len(r.Devices) {
		return nil, fmt.Errorf("%d devices cannot be left out: must be at least 1 and fewer than the %d that there are", k, len(r.Devices))
	}
	if err := r.tellable(); err != nil {
		return nil, err
	}
	cfg := &r.Run.Settings.Federation
	if cfg.Cost != federation.Physical {
		return nil, unknown("under cost %q what work costs depends on which devices there are", cfg.Cost)
	}
	wanted, asked := cfg.Sizes(len(r.Devices) - k)
	if _, all := cfg.Sizes(len(r.Devices)); all != len(r.Devices) || asked != len(r.Devices)-k {
		return nil, unknown("rounds ask a part of the devices, and would ask others")
	}
	switch cfg.Protocol {
	case federation.Charged, federation.Asynchronous:
		return nil, unknown("protocol %q ends rounds by what the rows do not hold", cfg.Protocol)
	case federation.First:
		if cfg.Late == federation.Keep {
			return nil, unknown("late answers are kept, and would have come in other rounds")
		}
	}
	w := &WhatIf{Removed: slices.Sorted(slices.Values(r.Slowest()[:k])), Protocol: cfg.Protocol}
	out := make([]bool, len(r.Devices))
	for _, t := range w.Removed {
		out[t] = true
	}
	var came []float64
	return r.recompute(w, func(x *Round, rows []results.DeviceRow) (float64, error) {
		came = came[:0]
		for t := range rows {
			if row := &rows[t]; !out[t] {
				w.Baseline += row.Taken
				if row.Answers > 0 {
					came = append(came, row.AnsweredS)
				}
			}
		}
		slices.Sort(came)
		switch {
		case cfg.Protocol == federation.Deadline:
			w.Responses += len(came)
			return x.LengthS, nil
		case len(came) >= wanted:
			w.Responses += wanted
			return came[wanted-1] + x.Path.ServerS, nil
		case x.Cause == Deadline:
			w.Responses += len(came)
			return x.LengthS, nil
		default:
			return 0, unknown("round %d would have ended with an answer, or a loss, that the rows do not hold", x.Round)
		}
	})
}

// Deadline returns what the run would have taken with a deadline of so many seconds:
// under protocol "wait-for-all" that of protocol "deadline" with fit_work = false,
// whose rounds all last as long as the clock cycle, under "deadline" and "first"
// another deadline_s.
func (r *Report) Deadline(s float64) (*WhatIf, error) {
	if !(s > 0 && s <= 1e9) {
		return nil, fmt.Errorf("a deadline of %v s is none: must be positive and at most 1e9 seconds", s)
	}
	if err := r.tellable(); err != nil {
		return nil, err
	}
	if err := deadlineTellable(r.Run); err != nil {
		return nil, err
	}
	cfg := &r.Run.Settings.Federation
	w := &WhatIf{DeadlineS: s, Protocol: cfg.Protocol}
	if cfg.Protocol == federation.WaitForAll {
		w.Protocol = federation.Deadline
	}
	return r.recompute(w, func(x *Round, rows []results.DeviceRow) (float64, error) {
		server := x.Path.ServerS
		if cfg.Protocol == federation.Deadline {
			server = beyond(x.LengthS, cfg.DeadlineS, rows[0].TimeS)
		}
		if x.Cause == Deadline && s > cfg.DeadlineS {
			return 0, unknown("round %d ended at its deadline of %v s: what would have come afterwards is not known", x.Round, cfg.DeadlineS)
		}
		if cfg.Protocol == federation.First && s >= x.LengthS-server {
			w.Responses += x.Taken
			w.Baseline += x.Taken
			return x.LengthS, nil
		}
		for t := range rows {
			row := &rows[t]
			w.Baseline += row.Taken
			inTime := row.Answers > 0 && row.AnsweredS <= s+resolution(row.TimeS)
			// A deadline lets nobody try again but as often as retries says.
			if inTime && row.Attempts <= 1+cfg.Retries {
				w.Responses++
			}
		}
		return s + server, nil
	})
}

// deadlineTellable says why the rows do not tell what a deadline would do.
func deadlineTellable(run *scenarios.Run) error {
	cfg := &run.Settings.Federation
	switch {
	case cfg.Protocol == federation.Charged || cfg.Protocol == federation.Asynchronous:
		return unknown("protocol %q has no use for one", cfg.Protocol)
	case cfg.Cost == federation.Authors:
		return unknown("under cost %q there is no clock cycle", cfg.Cost)
	case cfg.Protocol == federation.Deadline && cfg.Fit:
		return unknown("with fit_work devices do as much work as fits into the clock cycle, and would do another amount")
	case cfg.Quantile > 0:
		return unknown("deadline_quantile sets the clock cycle")
	case cfg.Protocol != federation.WaitForAll && cfg.Late == federation.Keep:
		return unknown("late answers are kept, and would have come in other rounds")
	case cfg.ServerGFLOPS > 0 && run.Settings.Run.Outer > 1:
		return unknown("the server's updates of the coupling are a part of rounds and not of the clock cycle")
	}
	return nil
}

// tellable says why the rows do not tell what the time would have been had rounds
// been shorter or longer: something in the
// run depends on the time of day, or on what others did.
func (r *Report) tellable() error {
	s := &r.Run.Settings
	switch {
	case s.Network.Limits():
		return unknown("transfers share links, and are as fast as others leave them")
	case s.Network.HubSize > 0:
		return unknown("hubs send answers together")
	case s.Network.Radio == network.RadioStates:
		return unknown("how long a radio takes to wake depends on how long it has slept")
	case len(s.Traces.Files) > 0 || s.Traces.Presence.MeanUpS > 0 || len(s.Traces.Fading.Levels) > 0:
		return unknown("what the devices do by [traces] depends on the time of day")
	case s.Devices.Model != "" || s.Network.Model != "":
		return unknown("what the devices and links do by their models depends on the time of day")
	case s.Faults.OutageShare > 0:
		return unknown("who is in the outage depends on the time of day")
	case s.Devices.Governor == devices.ByCharge || s.Devices.LowBattery > 0:
		return unknown("what devices do depends on how full their batteries are")
	case s.Federation.MinReports > 0:
		return unknown("with min_reports the server may have forgotten the answers of a round")
	case r.exhausted:
		return unknown("batteries ran empty, and would have at other times")
	}
	return nil
}

// recompute adds up what the rounds would have taken.
func (r *Report) recompute(w *WhatIf, length func(x *Round, rows []results.DeviceRow) (float64, error)) (*WhatIf, error) {
	h := 0
	var untold error // says itself what is wrong, and not that the file is
	err := eachRound(r.dir, map[string]int{r.Run.ID: 0}, func(_ int, _ float64, rows []results.DeviceRow) error {
		if h == len(r.Rounds) || len(rows) != len(r.Devices) {
			return errors.New("has changed since it was read")
		}
		var took float64
		took, untold = length(&r.Rounds[h], rows)
		w.TimeS += took
		h++
		return untold
	})
	if untold != nil {
		return nil, untold
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}
