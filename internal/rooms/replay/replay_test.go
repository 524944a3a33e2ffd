package replay

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fedsim/algorithms"
	"fedsim/internal/tools/expect"
	_ "fedsim/internal/tools/rapidseed"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// A answers gives its answers in order; one that is cut off does not.
func TestAnswersComeBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		counts := rapid.SliceOf(rapid.IntRange(0, mostCounted)).Draw(rt, "counts")
		amount := rapid.Float64Range(0, math.MaxFloat64).Draw(rt, "amount")
		text := rapid.String().Draw(rt, "text")
		value := rapid.Float64().Draw(rt, "value")
		pass := func(tp *answers, counts []int, amount *float64, text *string, value *float64) {
			for i := range counts {
				tp.count(&counts[i])
			}
			tp.amount(amount)
			tp.text(text)
			tp.code(func(c *state.Coder) { c.Float64(value) })
		}
		var w answers
		pass(&w, slices.Clone(counts), &amount, &text, &value)
		read := func(log []byte) (*answers, bool) {
			r := answers{log: log, reads: true}
			again, a, s, v := make([]int, len(counts)), 0.0, "", 0.0
			pass(&r, again, &a, &s, &v)
			same := slices.Equal(again, counts) && a == amount && s == text && (v == value || v != v && value != value)
			return &r, same
		}
		if r, same := read(w.log); !same || r.err != nil || !r.over() {
			rt.Fatalf("the answers differ, error %v", r.err)
		}
		cut := rapid.IntRange(0, len(w.log)-1).Draw(rt, "cut")
		if r, _ := read(w.log[:cut]); !errors.Is(r.err, ErrMismatch) {
			rt.Fatalf("cut off after %d of %d bytes: %v", cut, len(w.log), r.err)
		}
	})
}

// The work of a device takes few bytes: steps, FLOPs and values are whole numbers.
func TestWorkTakesFewBytes(t *testing.T) {
	var w answers
	const solves = 1000
	for range solves {
		w.response(&algorithms.Response{Steps: 20, FLOPs: 20 * (4*30 + 8), Values: 30})
	}
	per := float64(len(w.log)) / solves
	expect.That(t, per <= 7, "%.1f bytes for the work of a device, want at most 7", per)
}

// Batches and traffic that a method declares are read again, each with the limit that it stopped at.
func TestDeclaredOverheadsAreKept(t *testing.T) {
	for _, want := range []algorithms.Response{
		{Steps: 3, Batches: 2, Traffic: 1.5e9}, {Traffic: 8, Capped: true}, {Batches: 1}, {Capped: true},
	} {
		var w answers
		response := want
		w.response(&response)
		r, got := answers{log: w.log, reads: true}, algorithms.Response{}
		if r.response(&got); got != want || r.err != nil || !r.over() {
			t.Errorf("%+v became %+v, error %v", want, got, r.err)
		}
	}
}

// numbers is a method that answers with numbers that no rule predicts, in all ways that a method
// can, and notes each call that changes it.
type numbers struct {
	algorithms.Described
	next  uint64
	calls []string
}

func (n *numbers) answer() int {
	n.next = n.next*6364136223846793005 + 1442695040888963407
	return int(n.next >> 54)
}

func (n *numbers) Begin() (algorithms.Sent, error) {
	n.calls = append(n.calls, "begin")
	return algorithms.Sent{Size: n.answer(), To: func(int) int { return n.answer() }}, nil
}

func (n *numbers) Solve(q algorithms.Request) algorithms.Response {
	x := float64(n.next>>50) + float64(q.Device)
	return algorithms.Response{Steps: q.Device + int(n.next>>60), FLOPs: x, Values: q.Device, Capped: q.Device%2 == 0}
}
func (n *numbers) SolveAll(all []algorithms.Request, into []algorithms.Response) {
	n.calls = append(n.calls, "solve")
	for i := range all {
		into[i] = n.Solve(all[i])
	}
}
func (n *numbers) Losses(devices []int32, into []float64) error {
	for i := range devices {
		into[i] = float64(n.answer())
	}
	return nil
}
func (n *numbers) Commit(int, float64)      { n.calls = append(n.calls, "commit") }
func (n *numbers) Discard(int)              { n.calls = append(n.calls, "discard") }
func (n *numbers) Gather(int)               { n.calls = append(n.calls, "gather") }
func (n *numbers) Withdraw(int)             { n.calls = append(n.calls, "withdraw") }
func (n *numbers) SetCoupling(mtl.Coupling) { n.calls = append(n.calls, "coupling") }
func (n *numbers) End() (float64, error) {
	n.calls = append(n.calls, "end")
	return float64(n.answer()), nil
}
func (n *numbers) Model() algorithms.Model   { return algorithms.Model{} }
func (n *numbers) Send(int) (int, error)     { n.calls = append(n.calls, "send"); return n.answer(), nil }
func (n *numbers) State(c *algorithms.Coder) { c.Uint64(&n.next) }
func (n *numbers) Receive(int) (bool, float64, error) {
	n.calls = append(n.calls, "receive")
	return n.answer()%2 == 0, float64(n.answer()), nil
}
func (n *numbers) Evaluate() (algorithms.Evaluation, error) {
	e := algorithms.Evaluation{Metrics: algorithms.Unknown(), Hash: uint64(n.answer())}
	e.Metrics.Primal = float64(n.answer())
	e.Values = []algorithms.NamedValue{{Split: "test", Name: "x", Value: float64(n.answer())}}
	e.Clients = []algorithms.ClientMetric{
		{Split: "test", Name: "y", Clients: []int32{0, 2}, Values: []float64{float64(n.answer()), math.NaN()}},
	}
	return e, nil
}
func (n *numbers) Update(device int) algorithms.Update {
	u := algorithms.Update{Array: "x", Values: []float64{1}}
	if device == 1 && n.next>>63 == 0 {
		u.Values[0] = math.Inf(1)
	}
	return u
}

// start starts the method with all abilities, or with none.
func start(t testing.TB, able bool) (*numbers, *algorithms.Method) {
	t.Helper()
	n := &numbers{next: 1}
	f := algorithms.Factory{
		Name: "numbers", Options: func() algorithms.Options { return nil },
		Describe: func(algorithms.Options, mtl.Shape) algorithms.Description {
			return algorithms.Description{Evaluated: algorithms.ByNobody}
		},
		New: func(algorithms.Setup, algorithms.Options) (algorithms.Algorithm, error) { return n, nil },
	}
	n.About = algorithms.Description{Name: "numbers", Evaluated: algorithms.ByNobody}
	if able {
		n.About = algorithms.Description{
			Name: "numbers", Evaluated: algorithms.ByMethod, Messages: algorithms.Messages{Differ: true}, HubRounds: 2,
			Asynchronous: algorithms.Yes, Losses: algorithms.Yes, State: algorithms.Yes, Batched: true, Inspected: true,
		}
	}
	m := expect.Value(f.Start(algorithms.Setup{}, nil))(t)
	return n, m
}

// ask asks a method everything in a round, and returns the answers.
func ask(r *Log, m *algorithms.Method) (all []any) {
	sent, _ := m.Begin()
	all = append(all, sent.Size, sent.To(0), sent.To(2))
	responses := make([]algorithms.Response, 3)
	m.Batched.SolveAll([]algorithms.Request{{Device: 0}, {Device: 1}, {Device: 2}}, responses)
	losses := make([]float64, 2)
	r.Answer(func() { _ = m.Batched.Losses([]int32{0, 1}, losses) }, func(c *state.Coder) { c.Float64s(losses) })
	m.Commit(0, 0.5)
	m.Discard(1)
	m.Tiered.Gather(0)
	m.Tiered.Withdraw(0)
	m.SetCoupling(nil)
	size, _ := m.Asynchronous.Send(1)
	taken, work, _ := m.Asynchronous.Receive(1)
	flops, _ := m.End()
	var hash uint64
	r.Answer(func() { said, _ := m.Reporter.Evaluate(); hash = said.Hash }, func(c *state.Coder) { c.Uint64(&hash) })
	return append(all, responses, losses, size, taken, work, flops, hash)
}

// A resumed run is given the answers of the rounds of its checkpoint without a call of the method,
// and then those of the method with the state of the checkpoint.
func TestLoggedAnswersAreGivenAgain(t *testing.T) {
	_, of := start(t, true)
	r := Record(of, nil)
	m := r.Method()
	var want [][]any
	var saved []byte
	for h := range 5 {
		want = append(want, ask(r, m))
		err := r.EndRound()
		expect.Must(t, err == nil && !r.Replaying(), "%v", err)
		if h == 2 {
			var b bytes.Buffer
			c := state.Writing(&b)
			r.State(c)
			m.Stateful.State(c)
			saved = b.Bytes()
		}
	}
	n, of := start(t, true)
	again := Record(of, nil)
	c := state.Reading(bytes.NewReader(saved))
	again.State(c)
	if n.State(c); c.Err() != nil {
		t.Fatal(c.Err())
	}
	m = again.Method()
	for h := range want {
		if replaying := h < 3; again.Replaying() != replaying || !replaying == (len(n.calls) == 0) && h != 3 {
			t.Errorf("round %d: replaying %t, calls %v", h, again.Replaying(), n.calls)
		}
		got := ask(again, m)
		expect.That(t, reflect.DeepEqual(got, want[h]), "round %d: answers %v, want %v", h, got, want[h])
		expect.NoError(t, again.EndRound())
	}
	expect.That(t, bytes.Equal(again.log, r.log), "the log of the resumed run differs")
	// Other questions do not go with the answers.
	other := Record(of, nil)
	other.State(state.Reading(bytes.NewReader(saved)))
	expect.Value(other.End())(t)
	for range 3 {
		_ = other.EndRound()
	}
	expect.That(t, errors.Is(other.EndRound(), ErrMismatch), "answers to other questions are accepted")
}

// A log has the abilities of its method and no others.
func TestARecorderNeitherHidesNorPretends(t *testing.T) {
	for _, able := range []bool{true, false} {
		_, of := start(t, able)
		m := Record(of, nil).Method()
		about, want := m.About, of.About
		about.Batched, want.Batched = false, false // the work of several devices is one call
		expect.That(t, reflect.DeepEqual(about, want) && reflect.DeepEqual(m.Describe().Batched, true),
			"the description is %+v, want %+v", about, want)
		has := []bool{m.Asynchronous != nil, m.Tiered != nil, m.Reporter != nil, m.Stateful != nil, m.Inspected != nil}
		for _, x := range has {
			expect.That(t, x == able, "an able method %t: %v", able, has)
		}
	}
}

// Runs that share a method read the same answers, the first of which computes; also after the
// rounds were saved and restored.
func TestSharedRoundsAreComputedOnce(t *testing.T) {
	share := func() (*numbers, *Shared) {
		n, of := start(t, true)
		of.About.Messages.Differ = false
		return n, &Shared{Of: of, Devices: 3, Evaluate: of.Reporter.Evaluate}
	}
	play := func(s *Shared, rounds int) (all []any) {
		f := s.follower()
		for range rounds {
			said := expect.Value(f.Evaluate())(t)
			said.Metrics = algorithms.Metrics{Primal: said.Metrics.Primal} // without NaN
			said.Clients[0].Values = said.Clients[0].Values[:1]
			sent := expect.Value(f.Begin())(t)
			all = append(all, said, sent.Size)
			for k := range 3 {
				update := f.Update(k)
				all = append(all, f.Solve(algorithms.Request{Device: k}), update.Finite())
				f.Commit(k, 1)
			}
			flops, _ := f.End()
			all = append(all, flops)
		}
		return all
	}
	n, s := share()
	first := play(s, 4)
	calls := len(n.calls)
	if second := play(s, 4); !reflect.DeepEqual(first, second) || len(n.calls) != calls || s.Rounds() != 4 {
		t.Errorf("a second run reads %v after %d further calls, want %v", second, len(n.calls)-calls, first)
	}
	expect.That(t, slices.Contains(first, any(false)) && slices.Contains(first, any(true)),
		"all updates are finite, or none: the test shows nothing")
	_, half := share()
	play(half, 2)
	var b bytes.Buffer
	half.State(state.Writing(&b))
	n, restored := share()
	c := state.Reading(&b)
	if restored.State(c); c.Err() != nil {
		t.Fatal(c.Err())
	}
	n.calls = nil
	if got := play(restored, 4); !reflect.DeepEqual(got, first) || restored.Rounds() != 4 || len(n.calls) == 0 {
		t.Errorf("after a restart a run reads %v, want %v", got, first)
	}
}
