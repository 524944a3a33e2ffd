package learning

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fedsim/algorithms"
	"fedsim/algorithms/methods"
	"fedsim/devices"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/federation/servertest"
	"fedsim/internal/rooms/compress"
	"fedsim/internal/tools/parallel"
	"fedsim/internal/tools/racetest"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// withCheckpoints makes a run save a checkpoint after every round.
func withCheckpoints(s *Setup) *[][]byte {
	var checkpoints [][]byte
	s.Checkpoint = func(f *Federation) error {
		var b bytes.Buffer
		w := state.Writing(&b)
		f.Save(w)
		checkpoints = append(checkpoints, b.Bytes())
		return w.Err()
	}
	return &checkpoints
}

// A run resumed from any round equals the run without interruption, bit for bit: under
// every method and protocol, with availability, drops, shared links and late responses.
// Its later checkpoints are the same, and so is its journal.
func TestRunsResumeFromCheckpoints(t *testing.T) {
	plain := randomProblem(t, features, sizes...)
	cfg := plain.Config
	cfg.Regularizer, cfg.Lambda = mtl.RegProbabilistic, 0.05
	learning := withConfig(t, plain, cfg)
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64Range(0, 1<<32).Draw(rt, "seed")
		protocol := rapid.SampledFrom([]string{federation.WaitForAll, protocols.Deadline, protocols.Charged,
			protocols.First, protocols.Hedged, protocols.Asynchronous, protocols.Compass}).Draw(rt, "protocol")
		continuous := protocol == protocols.Asynchronous || protocol == protocols.Compass
		method := rapid.SampledFrom(allMethods(func(d *algorithms.Description) bool {
			switch {
			case d.Own || d.State != algorithms.Yes || d.Messages.None || d.Needs.Alone || d.Needs.Optimum ||
				d.Needs.Linear:
				return false
			case protocol == protocols.Hedged && d.Name == "hierfavg": // it has hubs
				return false
			case protocol == protocols.Compass:
				return d.Name == "fedcompass"
			case continuous:
				return d.Asynchronous == algorithms.Yes
			default:
				return !d.Needs.Continuous && (!d.Needs.AllClients || protocol == federation.WaitForAll)
			}
		})).Draw(rt, "method")
		outer := rapid.IntRange(1, 3).Draw(rt, "outer")
		late := rapid.SampledFrom([]string{federation.Drop, federation.Keep}).Draw(rt, "late")
		shared, battery := rapid.Bool().Draw(rt, "shared"), rapid.Bool().Draw(rt, "battery")
		churn, polling := rapid.Bool().Draw(rt, "churn"), rapid.Bool().Draw(rt, "polls")
		slow := rapid.Bool().Draw(rt, "overheads")
		partial := rapid.SampledFrom([]string{"", federation.Keep, federation.Drop}).Draw(rt, "partial")
		selection := rapid.SampledFrom(append([]string{"", "rotating"}, papersSelectors()...)).Draw(rt, "selection")
		if continuous || method == "cocoa" {
			selection = ""
		}
		var codes *compress.Config
		factory, _ := algorithms.Lookup(method)
		if about := factory.Describe(factory.Options(), mtl.Shape{}); about.Messages.Coded &&
			rapid.Bool().Draw(rt, "compress") {
			codes = coded(compress.TopK, rapid.SampledFrom([]string{compress.None, compress.Float16}).Draw(rt, "down"))
			if !about.Needs.Dual && method != "mb-sgd" && method != "fedu" && rapid.Bool().Draw(rt, "increments") {
				codes.Down = compress.Sign
			}
			if method == "async-mocha" {
				codes.Up = compress.Sparse
			}
		}
		every := rapid.IntRange(1, 3).Draw(rt, "eval_every")
		server := rapid.SampledFrom([]float64{0, 1e-6}).Draw(rt, "server")
		stop := rapid.IntRange(0, 3).Draw(rt, "stop")
		measured := rapid.IntRange(0, 2).Draw(rt, "theta_every")
		if continuous {
			measured = 0 // theta is defined for rounds
		}
		make := func() Setup {
			return world(t, method, protocol, func(s *Setup) {
				busyNetwork(s)
				s.Problem, s.Seed, s.Coding = learning, seed, codes.Codes()
				s.Schedule.Outer, s.Schedule.Rounds, s.Schedule.EvalEvery, s.Schedule.ThetaEvery = outer, 4, every,
					measured
				s.Hooks = bounded()
				s.Config.ServerGFLOPS = server
				if stop > 0 && continuous {
					stopsOld(s, stop, true)
				}
				if churn {
					s.Availability, s.Faults.OnReturn = servertest.Coins{Seed: seed, Share: 0.8}, devices.Resume
				}
				if slow {
					overheads(s)
				}
				switch {
				case method == "hierfavg":
					behind(s, 2)
					s.Options.(*methods.HierFAvgOptions).HubRounds = 3
				case shared:
					s.Network.ServerDownMbps, s.Network.ServerUpMbps = 1, 0.5
				}
				if polling && method != "hierfavg" {
					polls(s)
				}
				// which may wait forever for a device whose battery is too small
				if battery && protocol != federation.WaitForAll {
					joules(s, 20)
					s.Devices.ChargeW = 20
				}
				if selection != "" {
					selectBy(s, selection, 3, 5)
				}
				if partial != "" && !continuous && protocol != protocols.Hedged && setEpochs(s, 4) {
					s.Config.PartialShare, s.Config.Partial = 0.5, partial
				}
				if method == "hierfavg" {
					late = federation.Drop
				}
				switch protocol {
				case protocols.First:
					s.Config.Over, s.Config.Late = 1.5, late
				case protocols.Hedged:
					hedged(s, 0.3)
					s.Config.Late = late
				case protocols.Deadline:
					s.Config.DeadlineS, s.Config.Late, s.Config.Retries = 0.8, late, 1
					s.AnyDeadline = true // methods with several models take longer
				}
				if s.Config.Late == federation.Keep && (method == "fedavg" || method == "fedprox") {
					s.Config.Late = federation.KeepREFL
				}
				if o, ok := s.Options.(*algorithms.CoCoAOptions); ok {
					o.Theta, o.MaxEpochs = 0.3, 1 // devices are short of theta now and then
				}
			})
		}
		var told, toldAgain entries
		s := make()
		s.Journal = &told
		whole := run(t, s)
		s = make()
		checkpoints := withCheckpoints(&s)
		if err := same(whole.Rounds, run(t, s).Rounds); err != nil {
			rt.Fatalf("saving checkpoints changes the run: %v", err)
		}
		if len(*checkpoints) != len(whole.Rounds)-1 {
			rt.Fatalf("%d checkpoints in %d rounds", len(*checkpoints), len(whole.Rounds)-1)
		}
		h := rapid.IntRange(0, len(*checkpoints)-1).Draw(rt, "interrupted after")
		s = make()
		s.Pool = parallel.NewPool(rapid.IntRange(1, 4).Draw(rt, "workers"))
		again := withCheckpoints(&s)
		s.Resume = state.Reading(bytes.NewReader((*checkpoints)[h]))
		s.Journal = &toldAgain
		out := run(t, s)
		if err := same(whole.Rounds, out.Rounds); err != nil {
			rt.Fatalf("resumed after round %d: %v", h+1, err)
		}
		if out.EventHash != whole.EventHash || out.ModelHash != whole.ModelHash || out.Steps != whole.Steps ||
			out.Capped != whole.Capped || out.Events != whole.Events || out.Status != whole.Status ||
			!slices.Equal(out.Warnings, whole.Warnings) {
			rt.Fatalf("resumed after round %d: %+v, want %+v", h+1, out, whole)
		}
		if !slices.Equal(told, toldAgain) {
			rt.Fatalf("resumed after round %d: the journal differs", h+1)
		}
		// The last replayed round has a checkpoint again.
		for i, b := range *again {
			if at := len(*checkpoints) - len(*again) + i; !bytes.Equal(b, (*checkpoints)[at]) {
				rt.Fatalf("resumed after round %d: the checkpoint after round %d differs", h+1, at+1)
			}
		}
	})
}

// Truncated checkpoints and those of other runs are refused.
func TestCheckpointOfAnotherRunIsRefused(t *testing.T) {
	racetest.Skip(t, "damages checkpoints, which one goroutine reads")
	s := world(t, "mocha", protocols.Deadline, busyNetwork)
	checkpoints := withCheckpoints(&s)
	run(t, s)
	b := (*checkpoints)[4]
	resume := func(b []byte, change func(*Setup)) error { return resumeFrom(t, b, change) }
	if err := resume(b, nil); err != nil {
		t.Fatal(err)
	}
	for cut := range b {
		if err := resume(b[:cut], nil); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut off after %d of %d bytes: %v", cut, len(b), err)
		}
	}
	for what, change := range map[string]func(*Setup){
		"another seed":  func(s *Setup) { s.Seed++ },
		"a slower link": func(s *Setup) { s.Network.UplinkMbps /= 2 },
		"more drops":    func(s *Setup) { s.Faults.DropProbability.All = 0.5 },
	} {
		if err := resume(b, change); !errors.Is(err, ErrMismatch) {
			t.Errorf("%s: %v", what, err)
		}
	}
	other := world(t, "mb-sgd", protocols.Deadline, nil)
	other.Resume = state.Reading(bytes.NewReader(b))
	if _, err := New(other); err == nil {
		t.Error("mb-sgd resumes from a checkpoint of mocha")
	}
}

// resumeFrom resumes a run of MOCHA with faults, under a changed setup.
func resumeFrom(t testing.TB, checkpoint []byte, change func(*Setup)) error {
	s := world(t, "mocha", protocols.Deadline, func(s *Setup) {
		busyNetwork(s)
		if change != nil {
			change(s)
		}
	})
	s.Resume = state.Reading(bytes.NewReader(checkpoint))
	f, err := New(s)
	if err != nil {
		return err
	}
	_, err = f.Run(t.Context(), nil)
	return err
}

// With any byte of a checkpoint changed, the run is refused or ends: no work is
// negative, and every device exists.
func TestCorruptCheckpoints(t *testing.T) {
	racetest.Skip(t, "damages checkpoints, which one goroutine reads")
	s := world(t, "mocha", protocols.Deadline, busyNetwork)
	checkpoints := withCheckpoints(&s)
	run(t, s)
	refused, every := 0, 11
	if testing.Short() { // for the race detector
		every = 41
	}
	for at := 0; at < len((*checkpoints)[4]); at += every {
		for _, bit := range []byte{1, 0x40, 0x80} { // of a word; the last one: whether there is more of it
			b := bytes.Clone((*checkpoints)[4])
			b[at] ^= bit
			if resumeFrom(t, b, nil) != nil {
				refused++
			}
		}
	}
	if refused == 0 { // only results of rounds and the state of the method are accepted
		t.Error("nothing is refused")
	}
}

// FuzzCheckpoint resumes runs from corrupt checkpoints: each is refused, or the run ends.
func FuzzCheckpoint(f *testing.F) {
	s := world(f, "mocha", protocols.Deadline, busyNetwork)
	checkpoints := withCheckpoints(&s)
	run(f, s)
	f.Add((*checkpoints)[0])
	f.Add((*checkpoints)[4])
	f.Add((*checkpoints)[4][:100])
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := resumeFrom(t, content, nil); err != nil && err.Error() == "" {
			t.Error("an error without a text")
		}
	})
}
