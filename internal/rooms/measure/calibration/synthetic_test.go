package calibration

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/lognormal"
	"fedsim/internal/tools/rng"
)

// truth is the model of a synthetic federation.
type truth struct {
	task, step, traffic, rate float64   // s, s, s/GB, GFLOP/s at factor 1
	factors                   []float64 // by client, of geometric mean 1
	mbps                      []float64
	wire, burst, rtt          float64
	jitter                    float64 // of computations
	link                      float64 // jitter of transfers
}

// work is the work of a run.
type work struct {
	name          string
	bytes         float64
	epochs, batch float64
	perRow        float64 // FLOPs of a row
	traffic       float64 // bytes of a row
}

// calibrationRuns vary the size of the model, the steps and the batch size.
var calibrationRuns = []work{
	{"base", 1e5, 1, 32, 3e5, 1e5}, {"long", 1e5, 3, 32, 3e5, 1e5}, {"large", 2e5, 1, 32, 6e5, 3e5},
	{"fine", 1e5, 1, 8, 3e5, 2e5},
}

// draw returns a random truth.
func draw(seed uint64) truth {
	s := rng.New(seed, rng.Synthetic, 0, 0)
	between := func(low, high float64) float64 { return low * math.Pow(high/low, s.Float64()) }
	w := truth{
		task: between(0.02, 0.2), step: between(1e-4, 2e-3), traffic: between(0.05, 0.5), rate: between(2, 20),
		wire: 1 + 0.1*s.Float64(), burst: between(1000, 10000), rtt: between(0.002, 0.05), jitter: between(0.005, 0.05),
		link: 0.002,
	}
	sum := 0.0
	for range 6 {
		w.factors = append(w.factors, between(0.5, 2))
		w.mbps = append(w.mbps, between(2, 20))
		sum += math.Log(w.factors[len(w.factors)-1])
	}
	for i := range w.factors {
		w.factors[i] /= math.Exp(sum / 6)
	}
	return w
}

// log returns the log of runs with a number of rounds each.
func (tr *truth) log(seed uint64, rounds int, runs ...work) *attemptlog.Log {
	var text strings.Builder
	text.WriteString("run,round,client,bytes_down,bytes_up,examples,epochs,batch,flops,traffic_bytes,sent_s," +
		"reply_first_s,seen_s,receive_s,wait_s,compute_s,down_mbps,up_mbps\n")
	compute, transfer := lognormal.Of(tr.jitter), lognormal.Of(tr.link)
	for r, k := range runs {
		now := 0.0
		for round := range rounds {
			next := now
			for c := range tr.factors {
				s := rng.NewAttempt(seed, rng.Synthetic, c+1, round, r)
				rows := float64(1000 * (c + 1))
				seconds := tr.factors[c] *
					(tr.task + tr.step*k.epochs*math.Ceil(rows/k.batch) + tr.traffic*rows*k.epochs*k.traffic/1e9 +
						rows*k.epochs*k.perRow/(tr.rate*1e9)) * compute.At(s.Normal())
				move := func() float64 {
					return max(0, tr.wire*k.bytes-tr.burst) * 8e-6 / tr.mbps[c] * transfer.At(s.Normal())
				}
				down, up := move(), move()
				seen := now + tr.rtt + down + seconds + up
				fmt.Fprintf(&text, "%s,%d,%d,%g,%g,%g,%g,%g,%g,%g,%v,%v,%v,%v,0,%v,%v,%v\n", k.name, round, c, k.bytes,
					k.bytes, rows, k.epochs, k.batch, rows*k.epochs*k.perRow, rows*k.epochs*k.traffic, now, seen-up,
					seen, down, seconds, tr.mbps[c], tr.mbps[c])
				next = max(next, seen)
			}
			now = next + 0.01
		}
	}
	return parse(text.String())
}

// coverage counts by name how many true values are in their intervals.
type coverage map[string][2]int

func (c coverage) check(what string, v Value, truth float64) {
	n := c[what]
	n[1]++
	if v.Low <= truth && truth <= v.High {
		n[0]++
	}
	c[what] = n
}

// report fails unless so many values were checked and 91 to 99 % of them are in their 95 % intervals: about two
// standard deviations of 200 independent ones.
func (c coverage) report(t *testing.T, values int) {
	t.Helper()
	hits, all := 0, 0
	for _, what := range slices.Sorted(maps.Keys(c)) {
		t.Logf("%s: %d of %d in the interval", what, c[what][0], c[what][1])
		hits, all = hits+c[what][0], all+c[what][1]
	}
	share := float64(hits) / float64(all)
	t.Logf("coverage %.1f %%", 100*share)
	expect.That(t, share >= 0.91 && share <= 0.99 && all == values,
		"%.1f %% of %d values are in their 95 %% intervals, must be 91 to 99 %% of %d", 100*share, all, values)
}

// The constants of 20 random federations are in their 95 % intervals in about 95 % of all cases.
func TestCoverage(t *testing.T) {
	inside := coverage{}
	for seed := range uint64(20) {
		w := draw(seed)
		c := expect.Value(Fit(w.log(seed, 8, calibrationRuns...), Options{Resamples: 100}))(t)
		k := c.Classes[0]
		expect.That(t, !k.Own, "seed %d: clients have their own constants", seed)
		inside.check("task_overhead_s", k.TaskOverheadS, w.task)
		inside.check("step_overhead_s", k.StepOverheadS, w.step)
		inside.check("traffic_s_per_gb", k.TrafficSPerGB, w.traffic)
		inside.check("gflops", k.GFLOPS, w.rate)
		inside.check("wire_factor", c.Network.WireFactor, w.wire)
		inside.check("burst_bytes", c.Network.BurstBytes, w.burst)
		inside.check("jitter", c.Jitter.Compute, w.jitter)
		for i := range w.factors {
			inside.check("factor", c.Clients[i].Time, w.factors[i])
		}
	}
	inside.report(t, 260)
}

// A single attempt that takes 30 times as long, and a single transfer that does, hardly move the
// estimates.
func TestOutliers(t *testing.T) {
	w := draw(3)
	clean := w.log(3, 6, calibrationRuns...)
	spoiled := w.log(3, 6, calibrationRuns...)
	a, b := &spoiled.Runs[0].Attempts[7], &spoiled.Runs[2].Attempts[11]
	a.Compute, a.Seen, a.ReplyFirst = 30*a.Compute, a.Seen+29*a.Compute, a.ReplyFirst+29*a.Compute
	b.Seen += 29 * b.Receive
	b.ReplyFirst += 29 * b.Receive
	b.Receive *= 30
	without := expect.Value(Fit(clean, Options{Resamples: -1}))(t)
	with := expect.Value(Fit(spoiled, Options{Resamples: -1}))(t)
	near(t, "step_overhead_s", with.Classes[0].StepOverheadS, without.Classes[0].StepOverheadS.Value, 0.01)
	near(t, "gflops", with.Classes[0].GFLOPS, without.Classes[0].GFLOPS.Value, 0.01)
	near(t, "wire_factor", with.Network.WireFactor, without.Network.WireFactor.Value, 1e-3)
	near(t, "burst_bytes", with.Network.BurstBytes, without.Network.BurstBytes.Value, 0.01)
	near(t, "rtt_ms", with.Clients[5].RTTms, without.Clients[5].RTTms.Value, 1e-3)
}

// What a log cannot tell is named with its reason, and has no value.
func TestNotIdentified(t *testing.T) {
	w := draw(5)
	base, long, large, fine := calibrationRuns[0], calibrationRuns[1], calibrationRuns[2], calibrationRuns[3]
	for name, c := range map[string]struct {
		log  *attemptlog.Log
		term string
		why  string
	}{
		"one work: a":      {w.log(1, 4, base), "task_overhead_s", "every attempt of a client has the same work"},
		"one work: b":      {w.log(1, 4, base), "step_overhead_s", "every attempt of a client has the same work"},
		"one batch size":   {w.log(1, 4, base, long), "step_overhead_s", "steps and FLOPs are in proportion"},
		"two works: a":     {w.log(1, 4, base, fine), "task_overhead_s", "the kinds of work are too few"},
		"proportional":     {w.log(1, 4, base, long, fine), "traffic_s_per_gb", "it is in proportion to other terms"},
		"one size":         {w.log(1, 4, base, long), "burst_bytes", "one size of message"},
		"one run: the day": {w.log(1, 4, base), "run_jitter", "two runs"},
		"no rates": {
			changed(w.log(1, 4, base, large),
				func(a *attemptlog.Attempt) { a.DownMbps, a.UpMbps = math.NaN(), math.NaN() }), "wire_factor",
			"without nominal rates",
		},
		"no traffic": {
			changed(w.log(1, 4, calibrationRuns...), func(a *attemptlog.Attempt) { a.TrafficBytes = math.NaN() }),
			"traffic_s_per_gb", "traffic_bytes is empty",
		},
		"no computation": {changed(w.log(1, 4, base), func(a *attemptlog.Attempt) { a.Compute = math.NaN() }),
			"gflops", "compute_s is empty"},
		"no transfers": {changed(w.log(1, 4, base), func(a *attemptlog.Attempt) { a.Receive = math.NaN() }),
			"down_mbps", "receive_s is empty"},
		"wrong rates": {
			changed(w.log(1, 4, base, large),
				func(a *attemptlog.Attempt) { a.DownMbps, a.UpMbps = 2*a.DownMbps, 2*a.UpMbps }), "wire_factor",
			"what the nominal rates imply",
		},
		"no polls":          {w.log(1, 4, base), "client_poll_s", "idle_s is empty"},
		"launch and poll":   {w.log(1, 4, base), "launch_poll_s", "starts of training have no grid"},
		"no client is seen": {w.log(1, 1, base), "round_gap_s", "no two rounds"},
	} {
		got := expect.Value(Fit(c.log, Options{Resamples: -1}))(t)
		found := false
		for _, m := range got.Missing {
			found = found || m.Term == c.term && strings.Contains(m.Why, c.why)
		}
		expect.That(t, found, "%s: %s is not among %v", name, c.term, got.Missing)
	}
	// Rates without nominal ones have the wire factor, and the burst is meant for it.
	log := changed(w.log(1, 4, base, large),
		func(a *attemptlog.Attempt) { a.DownMbps, a.UpMbps = math.NaN(), math.NaN() })
	got, err := Fit(log, Options{Resamples: -1})
	expect.NoError(t, err)
	near(t, "rate", got.Clients[0].DownMbps, w.mbps[0]/w.wire, 0.01)
	near(t, "burst", got.Network.BurstBytes, w.burst/w.wire, 0.1)
	// So have rates that are nominal and wrong.
	if got, err =
		Fit(
			changed(w.log(1, 4, base, large),
				func(a *attemptlog.Attempt) { a.DownMbps, a.UpMbps = 2*a.DownMbps, 2*a.UpMbps }),
			Options{Resamples: -1}); err != nil {
		t.Fatal(err)
	}
	near(t, "rate", got.Clients[0].DownMbps, w.mbps[0]/w.wire, 0.01)
}

// A fit gives the same numbers on every platform to 1e-9, with intervals: the reference is from one
// of them.
func TestSameNumbers(t *testing.T) {
	w := draw(8)
	c := expect.Value(Fit(w.log(8, 5, calibrationRuns...), Options{Resamples: 20, Seed: 4}))(t)
	k := c.Classes[0]
	for i, x := range []struct{ got, want float64 }{
		{k.TaskOverheadS.Value, 0.14851117075256892},
		{k.StepOverheadS.Value, 0.0010825637303105015},
		{k.StepOverheadS.Low, 0.0010732095527006395},
		{k.GFLOPS.High, 4.647622391363333},
		{c.Network.WireFactor.Value, 1.0292776407463302},
		{c.Network.BurstBytes.Low, 1786.4782588365656},
		{c.Jitter.Compute.Value, 0.0065069176466277636},
	} {
		expect.That(t, math.Abs(x.got-x.want) <= 1e-9*math.Abs(x.want),
			"number %d is %.17g, must be %.17g", i, x.got, x.want)
	}
}

// A log of one attempt is refused with what is needed.
func TestTooShort(t *testing.T) {
	_, err := Fit(parse("round,client,bytes_down,bytes_up,sent_s,seen_s\n0,a,1,1,0,1\n"), Options{})
	if !errors.Is(err, ErrTooShort) ||
		!strings.Contains(err.Error(), "three runs with two sizes of model, two numbers of steps and two batch sizes") {
		t.Error(err)
	}
	if _, err =
		Fit(parse("round,client,kind,bytes_down,bytes_up,sent_s,seen_s\n0,a,evaluate,1,1,0,1\n1,a,evaluate,1,1,1,2\n"),
			Options{}); !errors.Is(err, ErrTooShort) {
		t.Error(err)
	}
}
