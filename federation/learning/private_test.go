package learning

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"testing"

	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/internal/rooms/privacy"
	"fedsim/internal/tools/parallel"
	"fedsim/internal/tools/state"
	"fedsim/results"
)

// guarded is a world in which [privacy] protects updates of the same weight, and devices are
// fast.
func guarded(t testing.TB, protocol string, change func(*Setup, *privacy.Config)) Setup {
	t.Helper()
	return world(t, "fedavg", protocol, func(s *Setup) {
		reflect.ValueOf(s.Options).Elem().FieldByName("Weights").SetString("equal")
		s.Devices.ClockGHz = 1
		table := privacy.Defaults()
		s.Privacy = &table
		if change(s, &table); !table.On() {
			s.Privacy = nil
		}
		if table.Secure() || s.Config.DeadlineS > 0 {
			s.Config.DeadlineS = 100
		}
	})
}

// Without a limit on the norm and without noise, a private mean is that of equal weights, bit
// for bit, if all respond.
func TestNoNoiseIsFedAvg(t *testing.T) {
	plain := run(t, guarded(t, federation.WaitForAll, func(*Setup, *privacy.Config) {}))
	for _, mechanism := range []string{privacy.Central, privacy.Distributed} {
		out := run(t, guarded(t, federation.WaitForAll, func(_ *Setup, p *privacy.Config) {
			p.Mechanism, p.Noise, p.Clip = mechanism, 0, 0
		}))
		if out.ModelHash != plain.ModelHash {
			t.Errorf("%s: another model", mechanism)
		}
		if len(out.Metrics) > 0 {
			t.Errorf("%s: metrics %v without noise", mechanism, out.Metrics)
		}
	}
	clipped := func(noise float64) *Outcome {
		return run(t,
			guarded(t, federation.WaitForAll,
				func(_ *Setup, p *privacy.Config) { p.Mechanism, p.Noise, p.Clip = privacy.Central, noise, 100 }))
	}
	quiet, noisy := clipped(0), clipped(0.01)
	if noisy.ModelHash == plain.ModelHash || quiet.ModelHash != plain.ModelHash || noisy.EventHash != quiet.EventHash {
		t.Error("noise of the server must change the model, and no event")
	}
}

// With few drops a fixed denominator shrinks the step: it does not depend on who responds.
func TestDenominatorIsTheCohort(t *testing.T) {
	step := func(mechanism string) []float64 {
		s := guarded(t, protocols.Deadline, func(s *Setup, p *privacy.Config) {
			p.Mechanism, p.Noise, p.Clip = mechanism, 0, 0
			s.Faults.Never = []int{1, 4}
			s.Schedule.Rounds = 1
		})
		return run(t, s).Model.Row(0)
	}
	mean, private := step(privacy.None), step(privacy.Central)
	for j := range mean {
		if want := mean[j] * 5 / 7; !near(private[j], want, 1e-12) {
			t.Errorf("w[%d] = %g, want %g", j, private[j], want)
		}
	}
}

// The bytes of every round are those of the formulas of package privacy: a client that
// responds has had the model and the messages to it, and has sent masked values and its own.
func TestBytesOfSecureAggregation(t *testing.T) {
	for _, protocol := range []string{privacy.SecAgg, privacy.SecAggPlus} {
		var table *privacy.Config
		s := guarded(t, protocols.Deadline, func(s *Setup, p *privacy.Config) {
			p.SecureAggregation, p.Threshold, table = protocol, 0.3, p
			if protocol == privacy.SecAggPlus {
				p.Neighbors = 4
			}
		})
		e := table.Exchange(len(sizes))
		const header = 64
		down, up := 8*features+4*header+e.BytesDown(), e.MaskedBytes(features)+4*header+e.BytesUp()
		out := run(t, s)
		for _, r := range out.Rounds[1:] {
			if r.Participants != len(sizes) || r.BytesDown != down*7 || r.BytesUp != up*7 {
				t.Errorf("%s: round %d: %d responses, %g bytes down, %g up, want %g and %g", protocol, r.Round,
					r.Participants, r.BytesDown, r.BytesUp, down*7, up*7)
			}
		}
		f := start(t, s)
		// Four transfers of 5 ms each way, the bytes, the work.
		flops := e.ClientFLOPs(features) + f.work.flops(5, 40)
		want := 8*latencyS + 8*(down+up)/1e6 + flops/1e9
		f.clients.Begin()
		f.runRound()
		d := f.clients.State(5) // of 40 rows
		if got := (d.Downlink + d.Compute + d.Uplink).Seconds(); !near(got, want, 1e-8) {
			t.Errorf("%s: an attempt takes %g s, want %g", protocol, got, want)
		}
	}
}

// A round with fewer responses than the threshold never happened: the model, the privacy spent
// and what devices hold stay as they were, and the results and the journal say so.
func TestLostRounds(t *testing.T) {
	var all entries
	s := guarded(t, protocols.Deadline, func(s *Setup, p *privacy.Config) {
		p.SecureAggregation, p.Threshold, p.Mechanism, p.Noise = privacy.SecAgg, 0.9, privacy.Central, 2
		s.Faults.DropProbability.All = 0.12
		s.Schedule.Rounds = 30
		s.Journal = &all
	})
	f := start(t, s)
	var before []float64
	var epsilon, lost float64
	count := 0
	out, err := f.Run(t.Context(), func(r results.Round) {
		model := f.method.Model().W.Row(0)
		value := map[string]float64{}
		for _, v := range r.Metrics {
			value[v.Name] = v.Value
		}
		if r.Round > 0 {
			is := r.Participants == 0
			if is != (value[results.LostRounds] == lost+1) || is != (value[results.Epsilon] == epsilon) {
				t.Errorf("round %d: %d responses taken, metrics %v after epsilon %g and %g lost", r.Round,
					r.Participants, value, epsilon, lost)
			}
			same := true
			for j := range model {
				same = same && model[j] == before[j]
			}
			if same != is {
				t.Errorf("round %d: %d responses taken, the model is the same: %v", r.Round, r.Participants, same)
			}
			if is {
				count++
			}
		}
		before, epsilon, lost = append(before[:0], model...), value[results.Epsilon], value[results.LostRounds]
	})
	if err != nil || len(out.Rounds) != 31 {
		t.Fatal(err, len(out.Rounds))
	}
	if count < 3 || count > 27 {
		t.Errorf("%d of 30 rounds lost: the test needs both kinds", count)
	}
	told := 0
	for _, e := range all {
		if e.Kind == federation.RoundLost {
			told++
			if e.Amount >= 7 {
				t.Errorf("lost with %g responses", e.Amount)
			}
		}
	}
	if told != count {
		t.Errorf("the journal has %d lost rounds of %d", told, count)
	}
}

// stormyGuarded is a world with drops, availability and both tables of [privacy] in use.
func stormyGuarded(t testing.TB, mechanism string) Setup {
	return guarded(t, protocols.Deadline, func(s *Setup, p *privacy.Config) {
		stormy(s)
		s.Config.Clients.Count, s.Config.Late, s.Schedule.Rounds, s.Schedule.EvalEvery = 4, federation.Drop, 12, 2
		s.Devices.BatteryWh = batteryNone
		p.SecureAggregation, p.Neighbors, p.Threshold = privacy.SecAggPlus, 2, 0.5
		p.Mechanism, p.Noise, p.Clip = mechanism, 0.8, 0.3
	})
}

// Private runs have the same bits for any number of workers, and resumed from any round.
func TestPrivateRunsHaveTheSameBits(t *testing.T) {
	for _, mechanism := range []string{privacy.Central, privacy.Distributed} {
		s := stormyGuarded(t, mechanism)
		checkpoints := withCheckpoints(&s)
		whole := run(t, s)
		last := whole.Rounds[len(whole.Rounds)-1]
		if len(last.Metrics) != 2 || last.Metrics[0].Value <= 0 || last.Metrics[1].Value == 0 ||
			last.Metrics[1].Value == 12 {
			t.Fatalf("%s: metrics %v: the test needs noise, and rounds of both kinds", mechanism, last.Metrics)
		}
		for _, workers := range []int{1, 2, 8} {
			s := stormyGuarded(t, mechanism)
			s.Pool = parallel.NewPool(workers)
			if err := same(run(t, s), whole); err != nil {
				t.Errorf("%s, %d workers: %v", mechanism, workers, err)
			}
		}
		for h, saved := range *checkpoints {
			s := stormyGuarded(t, mechanism)
			s.Resume = state.Reading(bytes.NewReader(saved))
			if err := same(run(t, s), whole); err != nil {
				t.Errorf("%s, resumed after round %d: %v", mechanism, h+1, err)
			}
		}
	}
}

// A distributed mechanism with fewer responses than a cohort has less noise, and the accountant
// knows. A sampled cohort spends less than all clients do.
func TestPrivacySpent(t *testing.T) {
	spent := func(mechanism, accounting string, never []int, asked int) float64 {
		out := run(t, guarded(t, protocols.Deadline, func(s *Setup, p *privacy.Config) {
			p.Mechanism, p.Noise, p.Accounting = mechanism, 3, accounting
			s.Faults.Never, s.Config.Clients.Count = never, asked
		}))
		return out.Rounds[len(out.Rounds)-1].Metrics[0].Value
	}
	epsilon := func(rate, noise float64, accounting string) float64 {
		a := privacy.NewAccountant(1e-5, accounting)
		for range 10 {
			a.Add(rate, noise)
		}
		return a.Epsilon()
	}
	for _, c := range []struct {
		got, want float64
	}{
		{spent(privacy.Central, privacy.None, nil, 0), epsilon(1, 3, privacy.None)},
		{spent(privacy.Central, privacy.None, []int{3}, 0), epsilon(1, 3, privacy.None)},
		{spent(privacy.Distributed, privacy.None, []int{3}, 0), epsilon(1, 3*math.Sqrt(6.0/7), privacy.None)},
		{spent(privacy.Central, privacy.Fixed, nil, 2), epsilon(2.0/7, 3, privacy.Fixed)},
		{spent(privacy.Central, privacy.Poisson, nil, 2), epsilon(2.0/7, 3, privacy.Poisson)},
		{spent(privacy.Central, privacy.None, nil, 2), epsilon(1, 3, privacy.None)},
	} {
		if c.got != c.want {
			t.Errorf("epsilon = %g, want %g", c.got, c.want)
		}
	}
}

// absent is the availability of clients of whom some never come.
type absent []int

func (a absent) Available(device int, _ engine.Time) (bool, engine.Time) {
	return !slices.Contains(a, device), engine.Never
}

// The sampling rate of a round is the share of the available clients: an unavailable one cannot
// hide another's update.
func TestSamplingRateIsOfThoseAvailable(t *testing.T) {
	for away, rate := range map[int]float64{0: 2.0 / 7, 1: 2.0 / 6, 4: 2.0 / 3, 5: 1} {
		var missing absent
		for device := range away {
			missing = append(missing, device)
		}
		out := run(t, guarded(t, protocols.Deadline, func(s *Setup, p *privacy.Config) {
			p.Mechanism, p.Noise, p.Accounting = privacy.Central, 3, privacy.Poisson
			s.Config.Clients.Count, s.Availability = 2, missing
		}))
		a := privacy.NewAccountant(1e-5, privacy.Poisson)
		for range 10 {
			a.Add(rate, 3)
		}
		if got := out.Rounds[len(out.Rounds)-1].Metrics[0].Value; got != a.Epsilon() {
			t.Errorf("%d of 7 away: epsilon = %g, want %g", away, got, a.Epsilon())
		}
	}
}
