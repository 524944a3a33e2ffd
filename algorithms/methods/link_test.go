package methods

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"testing"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/data"
	"fedsim/internal/rooms/compress"
	"fedsim/internal/tools/rng"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// coded returns the settings of two codecs.
func coded(up, down string) *compress.Config {
	c := compress.Defaults()
	c.Up, c.Down = up, down
	c.DownOptions.K.Share, c.DownOptions.Levels = 0.3, 4
	c.UpOptions.Options = c.DownOptions
	return &c
}

// suits reports whether a method can compress by the settings: see compress.Config.
func suits(f algorithms.Factory, c *compress.Config) bool {
	about := describe(f.Name, mtl.Shape{})
	if !about.Messages.Coded ||
		(about.Model == algorithms.TaskModels || about.Model == algorithms.DeviceModels) &&
			c.Down != compress.None && c.Down != compress.Float16 {
		return false
	}
	lossless := c.Up == compress.None || c.Up == compress.Sparse
	return !about.Needs.Dual || lossless || about.Asynchronous == algorithms.No && c.Up != compress.QSGD
}

// everyLink calls test for every method that compresses, with codecs of either side.
func everyLink(t *testing.T,
	test func(t *testing.T, start func() algorithms.Algorithm, p *mtl.Problem, c *compress.Config)) {
	p, coupling := randomProblem(t, tiedToMean, nil, 9, 14, 5, 30, 8, 21)
	var all []*compress.Config
	for _, codec := range compress.Names()[1:] {
		all = append(all, coded(codec, compress.None), coded(compress.None, codec), coded(compress.TopK, codec))
	}
	elias := coded(compress.QSGD, compress.QSGD)
	elias.UpOptions.Coding = "elias"
	for _, name := range learningMethods() {
		f, _ := algorithms.Lookup(name)
		tested := 0
		for _, c := range append(all, elias) {
			if !suits(f, c) {
				continue
			}
			tested++
			t.Run(fmt.Sprintf("%s/%s-%s", name, c.Up, c.Down), func(t *testing.T) {
				test(t, func() algorithms.Algorithm {
					return startWith(t, name,
						algorithms.Setup{Problem: p, Coupling: coupling, Coding: c.Codes(), ValueBytes: 8}, smaller)
				}, p, c)
			})
		}
		if describe(name, p.Shape).Messages.Coded && tested < 2 {
			t.Errorf("%s was tested with %d settings", name, tested)
		}
	}
}

// A discarded message leaves no residual and no trace. The result depends neither on the order of
// solves, nor on workers, nor on earlier solves.
func TestCompressedWorkIsTentative(t *testing.T) {
	everyLink(t, func(t *testing.T, start func() algorithms.Algorithm, p *mtl.Problem, c *compress.Config) {
		a, b := start(), start()
		for h := range 12 {
			round(a, p, h, algorithms.NoLimit, func(k int) bool { return chance(k, h, 0.5) })
			b.Begin()
			for k := p.Clients() - 1; k >= 0; k-- {
				if chance(k, h, 0.5) {
					if k%2 == 0 {
						b.Solve(request(k, h+1000, 3, 1)) // overwritten by the next
					}
					b.Solve(request(k, h, algorithms.NoLimit, k%testPool.Size()))
				}
			}
			for k := range p.Clients() {
				if chance(k, h, 0.5) {
					b.Commit(k, 1)
				}
			}
			b.End()
			if err := same(snapshot(a), snapshot(b)); err != nil {
				t.Fatalf("round %d: discarded against never asked: %v", h, err)
			}
		}
		if next := reflect.ValueOf(linkOf(a)).Elem().FieldByName("ups").Index(0).FieldByName("next"); !next.IsNil() {
			for k := range p.Clients() {
				if (*algorithms.Slots)(next.UnsafePointer()).Has(k) {
					t.Errorf("device %d has a tentative residual after the round", k)
				}
			}
		}
	})
}

// A method resumed by another instance has the bits of one that was never interrupted.
func TestCompressedMethodsResume(t *testing.T) {
	everyLink(t, func(t *testing.T, start func() algorithms.Algorithm, p *mtl.Problem, _ *compress.Config) {
		whole, resumed := start(), start()
		play := func(a algorithms.Algorithm, from, to int) {
			for h := from; h < to; h++ {
				round(a, p, h, algorithms.NoLimit, func(k int) bool { return chance(k, h, 0.7) })
			}
		}
		play(whole, 0, 4)
		whole.Solve(request(1, 4, algorithms.NoLimit, 0)) // is under way
		var kept bytes.Buffer
		w, r := state.Writing(&kept), state.Reading(&kept)
		whole.(algorithms.Stateful).State(w)
		resumed.(algorithms.Stateful).State(r)
		if w.Err() != nil || r.Err() != nil || kept.Len() > 0 {
			t.Fatalf("%v, %v; %d bytes left", w.Err(), r.Err(), kept.Len())
		}
		for k := range p.Clients() {
			if a, b := linkOf(whole).Sent(0).To(k), linkOf(resumed).Sent(0).To(k); a != b {
				t.Errorf("device %d is sent %d bytes, resumed %d", k, a, b)
			}
		}
		for _, a := range []algorithms.Algorithm{whole, resumed} {
			a.Commit(1, 1)
			play(a, 5, 8)
		}
		if err := same(snapshot(whole), snapshot(resumed)); err != nil {
			t.Fatal(err)
		}
		for k := range p.Clients() {
			if a, b := linkOf(whole).Sent(0).To(k), linkOf(resumed).Sent(0).To(k); a != b {
				t.Errorf("device %d is sent %d bytes, resumed %d", k, a, b)
			}
		}
	})
}

// All values of top-k and random-k, and of sparse, are those of no compression, bit for bit.
func TestCodesWithoutLossChangeNothing(t *testing.T) {
	p, coupling := randomProblem(t, tiedToMean, nil, 9, 14, 5, 30, 8, 21)
	for _, name := range learningMethods() {
		f, _ := algorithms.Lookup(name)
		for _, codec := range []string{compress.TopK, compress.RandomK, compress.Sparse} {
			c := coded(codec, compress.None)
			c.UpOptions.K.Share = 1
			if !suits(f, c) {
				continue
			}
			plain := start(t, name, p, coupling, smaller)
			all := startWith(t, name,
				algorithms.Setup{Problem: p, Coupling: coupling, Coding: c.Codes(), ValueBytes: 8}, smaller)
			for h := range 8 {
				for _, a := range []algorithms.Algorithm{plain, all} {
					round(a, p, h, algorithms.NoLimit, func(k int) bool { return chance(k, h, 0.7) })
				}
				if err := same(snapshot(plain), snapshot(all)); err != nil {
					t.Fatalf("%s, %s of all values, round %d: %v", name, codec, h, err)
				}
			}
		}
	}
}

// float16 changes nothing as long as it represents every value. A step of 1 on the squared loss of
// rows e_j with the target s_j halves the distance of w from s: after h rounds w_j = s_j (1 - 2^-h),
// and the change is s_j 2^-h. A significand has 11 bits, so the w of round 12 is the first that is rounded.
func TestFloat16OfRepresentableValuesChangesNothing(t *testing.T) {
	signs := []float64{1, -1}
	train, test := &data.Set{Name: "halves", Features: 2}, &data.Set{Name: "halves", Features: 2}
	for _, name := range []string{"a", "b"} { // of two rows each, one for each value
		x := data.NewMatrix(2, 2)
		x.Row(0)[0], x.Row(1)[1] = 1, 1
		train.Clients = append(train.Clients, data.Client{Name: name, X: x, Y: signs})
		test.Clients = append(test.Clients, data.Client{Name: name, X: data.NewMatrix(0, 2)})
	}
	cfg := mtl.Defaults()
	cfg.Loss, cfg.Regularizer = mtl.LossSquared, mtl.RegIndependent
	p := mustProblem(t, cfg, data.Split{Train: train, Test: test})
	full := func(o algorithms.Options) {
		o.(kit.LocalOptions).Local().Batch, o.(kit.LocalOptions).Local().Step = 0, 1
	}
	both := coded(compress.Float16, compress.Float16)
	plain := startWith(t, "fedavg", algorithms.Setup{Problem: p}, full)
	half := startWith(t, "fedavg", algorithms.Setup{Problem: p, Coding: both.Codes(), ValueBytes: 8}, full)
	for h := 1; h <= 14; h++ {
		round(plain, p, h, algorithms.NoLimit, nil)
		round(half, p, h, algorithms.NoLimit, nil)
		for j, s := range signs {
			if got, want := plain.Model().W.Row(0)[j], s*(1-math.Ldexp(1, -h)); got != want {
				t.Fatalf("round %d: value %d is %v, want %v", h, j, got, want)
			}
		}
		// The server rounds the model of round 12 when it sends it in round 13.
		if err := same(snapshot(plain), snapshot(half)); (err == nil) != (h <= 12) {
			t.Errorf("round %d: float16 against no compression: %v", h, err)
		}
	}
}

// Codes that send increments do so from what devices hold: a device decodes what the server
// shows, whatever it has missed, and is sent all increments since, or the whole model if that is smaller.
func TestIncrementsAreSentOnce(t *testing.T) {
	p, coupling := randomProblem(t, tiedToMean, nil, 9, 14, 5, 30, 8, 21)
	c := coded(compress.None, compress.TopK) // 2 of 9 values: 2 (64 + 4) bits are 17 bytes of 72
	a := startWith(t, "fedavg", algorithms.Setup{Problem: p, Coupling: coupling, Coding: c.Codes(), ValueBytes: 8},
		smaller).(*fedAvg)
	takesPart := [][]int{{0, 1}, {0}, {0, 2}, {0}, {0}, {0, 1}}
	want := [][]int{{72, 72}, {17}, {17, 72}, {17}, {17}, {17, 72}} // device 1 has missed 4: 5 x 17 > 72
	held := map[int][]float64{}
	for h, devices := range takesPart {
		before := append([]float64(nil), a.Link.Shown(0, nil)...)
		a.Begin()
		for i, k := range devices {
			if got := a.Link.Sent(0).To(k); got != want[h][i] {
				t.Errorf("round %d: device %d is sent %d bytes, want %d", h, k, got, want[h][i])
			}
		}
		if h > 0 { // device 0 adds the increment to what it holds
			changed := 0
			for j, x := range a.Link.Shown(0, nil) {
				if x != before[j] {
					changed++
				}
				held[0][j] += x - before[j]
				if !near(held[0][j], x, 1e-14) {
					t.Errorf("round %d: value %d is %g on the device and %g on the server", h, j, held[0][j], x)
				}
			}
			if changed > 2 {
				t.Errorf("round %d: %d values have changed, want at most 2", h, changed)
			}
		} else {
			held[0] = append([]float64(nil), a.Link.Shown(0, nil)...)
		}
		for _, k := range devices {
			a.Solve(request(k, h, algorithms.NoLimit, 0))
			a.Commit(k, 1)
		}
		a.End()
	}
	a.Begin()
	if got := a.Link.Sent(0).To(2); got != 4*17 { // rounds 3 to 6
		t.Errorf("device 2 is sent %d bytes, want %d", got, 4*17)
	}
	// A message that was discarded is not known to have arrived.
	a.Solve(request(2, 9, algorithms.NoLimit, 0))
	a.Discard(2)
	a.End()
	a.Begin()
	if got := a.Link.Sent(0).To(2); got != 72 {
		t.Errorf("after a lost round device 2 is sent %d bytes, want 72", got)
	}
}

// With error feedback the sum of what the server decoded, and what is left out, is the sum of the updates.
func TestFeedbackLosesNothing(t *testing.T) {
	p, coupling := randomProblem(t, tiedToMean, nil, 9, 14, 5, 30, 8, 21)
	for _, codec := range []string{compress.TopK, compress.RandomK, compress.Sign, compress.Sketch} {
		l :=
			algorithms.NewLink(
				algorithms.Setup{Problem: p, Coupling: coupling, Coding: coded(codec, compress.None).Codes(),
					ValueBytes: 8, Workers: 1}, 1, 1, 9, false)
		sum, decoded := make([]float64, 9), make([]float64, 9)
		s := rng.New(1, rng.Synthetic, 0, 0)
		for h := range 200 {
			update := make([]float64, 9)
			for j := range update {
				update[j] = s.Normal()
			}
			sent := append([]float64(nil), update...)
			var response algorithms.Response
			l.Finish(request(2, h, algorithms.NoLimit, 0), sent, &response)
			if h%3 == 0 {
				l.Discard(2)
				continue
			}
			l.Commit(2)
			for j := range sum {
				sum[j] += update[j]
				decoded[j] += sent[j]
			}
		}
		left := 0.0
		for j, x := range l.Residual(0, 2) {
			left = math.Max(left, math.Abs(x))
			if !near(sum[j], decoded[j]+x, 1e-12) {
				t.Errorf("%s: the updates sum to %g, decoded %g and left out %g", codec, sum[j], decoded[j], x)
			}
		}
		if left == 0 {
			t.Errorf("%s leaves nothing out", codec)
		}
		if l.Residual(0, 1) != nil {
			t.Errorf("%s: a device that took no part has memory", codec)
		}
	}
}

// With lossy codes of a dual method V stays X a, and the server has V but for what devices left out.
// The gap is a certificate: it is never negative, and it closes although most values wait.
func TestCompressedDualMethodsKeepTheirCertificate(t *testing.T) {
	problems(t, func(t *testing.T, p *mtl.Problem, coupling mtl.Coupling) {
		for _, name := range []string{"mocha", "cocoa", "mb-sdca", "async-mocha"} {
			for _, c := range []*compress.Config{
				coded(compress.TopK, compress.None), coded(compress.RandomK, compress.None),
				coded(compress.Sign, compress.None), coded(compress.Sketch, compress.None),
				coded(compress.Float16, compress.Float16), coded(compress.Sparse, compress.Float16),
			} {
				if f, _ := algorithms.Lookup(name); !suits(f, c) {
					continue
				}
				a := startWith(t, name,
					algorithms.Setup{Problem: p, Coupling: coupling, Coding: c.Codes(), ValueBytes: 8}, smaller)
				first, least := math.NaN(), math.Inf(1)
				for h := range 150 {
					round(a, p, h, algorithms.NoLimit, func(k int) bool { return chance(k, h, 0.8) })
					if h > 5 && h%20 != 0 {
						continue
					}
					m := a.Model()
					sent := m.V
					if m.Sent != nil {
						sent = m.Sent
					}
					v := p.NewSample(0, 0).Evaluate(testPool, coupling, m.W, sent, m.V, m.Duals)
					if v.Gap < -1e-9*math.Abs(v.Primal) {
						t.Fatalf("%s, %s, round %d: duality gap %g at P = %g", name, c.Up, h, v.Gap, v.Primal)
					}
					exact := p.NewWeights()
					coupling.Primal(&exact, m.V)
					if d := p.Evaluate(testPool, coupling, &exact, m.V, m.Duals).Dual; v.Dual != d {
						t.Fatalf("%s, %s, round %d: D = %g, want %g, that of X a", name, c.Up, h, v.Dual, d)
					}
					if h == 0 {
						first = v.Gap
					}
					least = math.Min(least, v.Gap)
				}
				if d := dualOf(a); name == "mocha" && d.Model().Sent != nil && c.Down == compress.None {
					a.Begin()
					for k := range p.Clients() {
						for j, e := range d.Link().Residual(0, k) {
							want := d.W.Row(p.TaskOf(k))[j] + p.Config.Gamma*coupling.Diag(p.TaskOf(k))*e
							if got := d.Weights(k)[j]; !near(got, want, 1e-13) {
								t.Fatalf("device %d starts from %g, want %g", k, got, want)
							}
						}
					}
				}
				m := a.Model()
				image := imageOf(p, m.Duals)
				nearMatrix(t, "V against the image of alpha", m.V, &image, 1e-12)
				if d := dualOf(a); m.Sent != nil {
					sum := p.NewWeights()
					copy(sum.Data, m.Sent.Data)
					for k := range p.Clients() {
						for j, e := range d.Link().Residual(0, k) {
							sum.Row(p.TaskOf(k))[j] += p.Config.Gamma * e
						}
					}
					nearMatrix(t, "what the server has, and what was left out, against V", &sum, m.V, 1e-11)
				}
				if !(least < 0.4*first) {
					t.Errorf("%s, %s: the gap falls from %g to %g only", name, c.Up, first, least)
				}
			}
		}
	})
}

// The server decodes both vectors of each response of SCAFFOLD, and encodes both of its own once a round: the
// model itself by float16, its change by top-k, which it subtracts, decodes and adds. A device decodes what
// it is sent, adds changes, and encodes; with feedback it adds and subtracts what is left, and decodes its own.
func TestWorkOfCodes(t *testing.T) {
	const d, responses, vectors = 9, 2, 2
	p, coupling := randomProblem(t, tiedToMean, nil, d, 14, 5, 30, 8, 21)
	work := func(c *compress.Config, method string, rounds int) (server, device float64) {
		a := startWith(t, method, algorithms.Setup{Problem: p, Coupling: coupling, Coding: c.Codes(), ValueBytes: 8},
			smaller)
		for h := range rounds {
			a.Begin()
			for k := range responses {
				device = a.Solve(request(k, h, algorithms.NoLimit, 0)).FLOPs
				a.Commit(k, 1)
			}
			server, _ = a.End()
		}
		return server, device
	}
	top := func(up, down string) *compress.Config {
		c := coded(up, down)
		c.UpOptions.K.Count, c.DownOptions.K.Count = 3, 3
		return c
	}
	plainServer, plainDevice := work(nil, "scaffold", 3)
	for _, x := range []struct {
		what           string
		c              *compress.Config
		rounds         int
		server, device float64 // of a vector: by response, or once a round
	}{
		{"signs up", unfed(top(compress.Sign, compress.None)), 3, responses * d, 3 * d},
		{"signs up with feedback", top(compress.Sign, compress.None), 3, responses * d, 3*d + d + 2*d},
		{"random-k up", unfed(top(compress.RandomK, compress.None)), 3, responses * 2 * 3, 3},
		{"float16 down", unfed(top(compress.None, compress.Float16)), 3, d, d},
		{"top-k down, first round", unfed(top(compress.None, compress.TopK)), 1, 0, 3 + d},
		{"top-k down", unfed(top(compress.None, compress.TopK)), 3, 5*d + 3 + 2*d, 3 + d},
	} {
		server, device := work(x.c, "scaffold", x.rounds)
		if got, want := server-plainServer, vectors*x.server; got != want {
			t.Errorf("%s: codes take the server %g FLOPs, counted %g", x.what, got, want)
		}
		if got, want := device-plainDevice, vectors*x.device; got != want {
			t.Errorf("%s: codes take a device %g FLOPs, counted %g", x.what, got, want)
		}
	}
}

// unfed returns the settings without feedback.
func unfed(c *compress.Config) *compress.Config {
	c.UpOptions.Feedback = false
	return c
}
