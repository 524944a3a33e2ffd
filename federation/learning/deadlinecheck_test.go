package learning

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/network"
)

// A run with a deadline that New refuses never has a response, with any settings. Where
// only link and processor decide, every other deadline has one.
func TestRefusedDeadlinesAreNeverMet(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		fit := rapid.Bool().Draw(r, "fit")
		jitter := rapid.SampledFrom([]float64{0, 0, 0.8}).Draw(r, "jitter")
		plain := jitter == 0
		method := rapid.SampledFrom([]string{"mocha", "mb-sdca", "fedavg"}).Draw(r, "method")
		protocol := rapid.SampledFrom([]string{protocols.Deadline, protocols.Deadline, protocols.First}).
			Draw(r, "protocol")
		s := world(t, method, protocol, func(s *Setup) {
			s.Schedule.Rounds = 4
			s.Config.DeadlineS = rapid.Float64Range(0.005, 0.06).Draw(r, "deadline")
			s.Config.Fit = protocol == protocols.Deadline && fit
			s.Config.Margin = rapid.SampledFrom([]float64{0, 0.3}).Draw(r, "margin")
			if protocol == protocols.First {
				s.Config.Clients.Share, s.Config.Margin, s.Config.Fit = 0, federation.Defaults().Margin,
					federation.Defaults().Fit
			}
			ownWork(s)
			if rapid.Bool().Draw(r, "keep") {
				s.Config.Late, plain = federation.Keep, false
			}
			s.Network.Jitter = jitter
			s.Network.RateSpread = rapid.SampledFrom([]float64{0, 0.5}).Draw(r, "spread")
			s.Devices.ClockGHz = rapid.SampledFrom([]float64{1e-6, 1e-4}).Draw(r, "clock")
			s.Devices.TaskS = rapid.SampledFrom([]float64{0, 0.01, 0.04}).Draw(r, "task")
			if rapid.Bool().Draw(r, "states") {
				s.Network.Radio, plain = network.RadioStates, false
			}
			if rapid.Bool().Draw(r, "never") {
				s.Faults.Never = []int{0, 2}
			}
			if rapid.Bool().Draw(r, "retries") {
				s.Config.Retries = 2
			}
		})
		_, err := New(s)
		var problem config.Problem
		switch {
		case errors.As(err, &problem) && problem.Key == "federation.deadline_s" &&
			strings.Contains(problem.Want, "no response would ever arrive"):
			s.AnyDeadline = true
			for _, round := range run(t, s).Rounds {
				if round.Participants > 0 {
					r.Fatalf("%v, but %d answers come in round %d", err, round.Participants, round.Round)
				}
			}
		case err != nil:
			r.Fatal(err)
		case plain && s.Config.Fit && protocol == protocols.Deadline:
			if got := run(t, s).Rounds[1].Participants; got == 0 {
				r.Fatalf("a deadline of %g s is not refused, and nobody answers", s.Config.DeadlineS)
			}
		}
	})
	// Neither case above is empty.
	for deadline, refused := range map[float64]bool{0.005: true, 1: false} {
		s := world(t, "mocha", protocols.Deadline,
			func(s *Setup) { s.Config.DeadlineS, s.Config.Fit = deadline, true })
		_, err := New(s)
		if (err != nil) != refused {
			t.Errorf("a deadline of %g s: %v", deadline, err)
		}
		if !refused && run(t, s).Rounds[1].Participants == 0 {
			t.Errorf("a deadline of %g s has no answer", deadline)
		}
	}
}

// ownWork gives the method an amount of work where the protocol does not limit it.
func ownWork(s *Setup) {
	if s.Config.Fit && s.Config.Protocol == protocols.Deadline {
		return
	}
	switch o := s.Options.(type) {
	case *algorithms.MOCHAOptions:
		o.Epochs = 1
	case *algorithms.MbSDCAOptions:
		o.Batch = 2
	}
}

// Both numbers are in the message: of 64+8d bytes each way over 1 Mbit/s and 10 ms there and back.
func TestDeadlineBelowTheShortestResponse(t *testing.T) {
	s := world(t, "mocha", protocols.Deadline,
		func(s *Setup) { s.Config.DeadlineS, s.Config.Fit = 0.01, false; ownWork(s) })
	_, err := New(s)
	const want = "federation.deadline_s = 0.01: must be at least 0.01"
	if err == nil || !strings.HasPrefix(err.Error(), want) ||
		!strings.HasSuffix(err.Error(), "for download and upload, so that no response would ever arrive") {
		t.Errorf("%v, want %s...", err, want)
	}
	s.Config.Late = federation.Keep
	if _, err := New(s); err != nil {
		t.Errorf("late responses are taken, and arrive: %v", err)
	}
}
