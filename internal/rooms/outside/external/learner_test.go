package external_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/algorithms"
	"fedsim/internal/rooms"
	"fedsim/internal/rooms/outside/external"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

const greeting = `> {"op":"hello","v":[1]}
< {"v":1,"name":"n","can":["save","loss","weights"],"metrics":[]}
> {"op":"start","run":1,"id":"i","seed":7,"clients":4,"rows":[5,6,7,8],"features":2,"options":{}}
< {"step_flops":1,"down_bytes":16,"up_bytes":24}
`

// learner starts a learner that follows a transcript, and adds fields to its answer to start.
func learner(t *testing.T, transcript string, fields ...string) (*external.Learner, string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "transcript")
	filetest.Write(t, file, strings.Replace(greeting, `"up_bytes":24`, `"up_bytes":24`+strings.Join(fields, ""), 1)+
		strings.ReplaceAll(transcript, "DIR", dir))
	l := external.NewLearners(t.Context(), nil)
	about := rooms.LearnerRun{ID: "i", Seed: 7,
		File: func(k int) string { return filepath.Join(dir, fmt.Sprint("state", k)) }}
	a := expect.Value(l.Start(about, algorithms.Setup{Rows: []int32{5, 6, 7, 8}, Shape: mtl.Shape{Features: 2}},
		&external.Options{Command: scripted(file)}))(t)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(file); err == nil {
			t.Error("the transcript is not over")
		}
	})
	return a, dir
}

// Hubs add up the responses of learners that say so.
func TestOneModel(t *testing.T) {
	for _, one := range []bool{false, true} {
		a, _ := learner(t, "", fmt.Sprintf(`,"one_model":%t`, one))
		kind := a.About.Model
		expect.That(t, (kind == algorithms.OneModel) == one, "one_model = %t: says %d", one, kind)
	}
}

// A learner says how many steps are a mini-batch and what they read and write, and may say otherwise
// of its work: 10 steps of 4 are 3 mini-batches.
func TestLearnersReportOverheads(t *testing.T) {
	a, _ := learner(t, `> {"op":"solve","run":1,"round":0,"work":[{"client":0,"steps":null,"seed":2005508890567804}]}
< {"work":[{"client":0,"steps":10,"flops":2,"up_bytes":3,"batches":7,"traffic_bytes":1.5e9}]}
> {"op":"finish","run":1}
< {}
`, `,"batch_steps":4,"step_traffic_bytes":80`)
	batches, traffic := a.About.Work.Overheads(5, 10)
	expect.That(t, batches == 3 && traffic == 800, "10 steps are %d mini-batches and %g bytes", batches, traffic)
	got, want := a.Solve(algorithms.Request{Steps: algorithms.NoLimit}),
		(algorithms.Response{Steps: 10, FLOPs: 2, Values: 3, Batches: 7, Traffic: 1.5e9})
	expect.That(t, got == want, "%+v, want %+v", got, want)
	err := a.Close()
	expect.That(t, err == nil, "%v", err)
}

// Commits and discards go out together, before the next request. Weights go with them if one
// is not 1.
func TestCommitsAreSentTogether(t *testing.T) {
	const work = `{"client":%d,"steps":1,"flops":2,"up_bytes":3}`
	a, _ := learner(t,
		`> {"op":"solve","run":1,"round":0,"work":[{"client":0,"steps":null,"seed":2005508890567804},{"client":1,"steps":9,"seed":2005508890567804},{"client":3,"steps":null,"seed":2005508890567804}]}
< {"work":[`+fmt.Sprintf(work+","+work+","+work, 0, 1, 3)+`]}
> {"op":"commit","run":1,"round":0,"clients":[0,1],"weights":[1,0.5]}
< {}
> {"op":"discard","run":1,"round":0,"clients":[3]}
< {}
> {"op":"end","run":1,"round":0}
< {"flops":5}
> {"op":"loss","run":1,"clients":[2,1]}
< {"losses":[0.5,0.25]}
> {"op":"finish","run":1}
< {}
`)
	responses := make([]algorithms.Response, 3)
	a.SolveAll([]algorithms.Request{{Device: 0, Steps: algorithms.NoLimit}, {Device: 1, Steps: 9},
		{Device: 3, Steps: algorithms.NoLimit}}, responses)
	expect.That(t, responses[2] == (algorithms.Response{Steps: 1, FLOPs: 2, Values: 3}), "%+v", responses)
	a.Commit(0, 1)
	a.Commit(1, 0.5)
	a.Discard(2) // it has not worked
	a.Discard(3)
	if flops, err := a.End(); flops != 5 {
		t.Errorf("%g FLOPs: %v", flops, err)
	}
	losses := make([]float64, 2)
	if err := a.Losses([]int32{2, 1}, losses); losses[0] != 0.5 || losses[1] != 0.25 {
		t.Errorf("losses %v: %v", losses, err)
	}
	down, up := a.About.Messages.Usual(0)
	if flops := a.About.Work.StepFLOPs; down != 16 || up != 24 || flops != 1 {
		t.Errorf("usual bytes %d and %d, %g FLOPs a step", down, up, flops)
	}
	expect.That(t, a.About.Asynchronous == algorithms.No, "it cannot receive")
	expect.That(t, a.About.Weights == algorithms.Yes, "it can weigh")
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// The state that the last checkpoint names stays while the next one is written.
func TestTwoStatesTakeTurns(t *testing.T) {
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" // SHA-256 of no bytes
	a, dir := learner(t, `> {"op":"save","run":1,"path":"DIR/state1"}
< {"sha256":"`+empty+`"}
> {"op":"save","run":1,"path":"DIR/state0"}
< {"sha256":"`+empty+`"}
> {"op":"load","run":1,"path":"DIR/state1"}
< {}
> {"op":"finish","run":1}
< {}
`)
	var first, second bytes.Buffer
	for k, b := range []*bytes.Buffer{&first, &second} {
		filetest.Write(t, filepath.Join(dir, fmt.Sprint("state", 1-k)), "")
		c := state.Writing(b)
		if a.State(c); c.Err() != nil {
			t.Fatal(c.Err())
		}
	}
	c := state.Reading(&first)
	if a.State(c); c.Err() != nil {
		t.Error(c.Err())
	}
	err := a.Close()
	expect.That(t, err == nil, "%v", err)
}

// A value of null is not known. A null in a list of numbers is an error.
func TestNullIsNoNumber(t *testing.T) {
	a, _ := learner(t, `> {"op":"evaluate","run":1,"round":0}
< {"metrics":[{"split":"test","name":"accuracy","value":null},{"split":"test","name":"loss","value":2}]}
> {"op":"finish","run":1}
< {}
`)
	if said, err := a.Evaluate(); err != nil || len(said.Values) != 2 || !math.IsNaN(said.Values[0].Value) ||
		said.Values[1].Value != 2 {
		t.Errorf("%v %v", said.Values, err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct{ request, answer, want string }{
		{`{"op":"loss","run":1,"clients":[0,1]}`, `{"losses":[1,null]}`,
			"loss: answers with losses[1]: must be a finite number, not null"},
		{`{"op":"evaluate","run":1,"round":0}`,
			`{"clients":[{"split":"test","name":"loss","clients":[0],"values":[null]}]}`,
			"evaluate: answers with clients[0].values[0]: must be a finite number, not null"},
		{`{"op":"evaluate","run":1,"round":0}`,
			`{"clients":[{"split":"test","name":"loss","clients":[0,null],"values":[1]}]}`,
			"evaluate: answers with clients[0].clients[1]: must be the number of a client, from 0 on, not null"},
		{`{"op":"evaluate","run":1,"round":0}`,
			`{"clients":[{"split":"test","name":"loss","clients":[0,1e10],"values":[1]}]}`,
			"evaluate: answers with clients[0].clients[1]: must be the number of a client, from 0 on, not 1e10"},
	} {
		a, dir := learner(t, "> "+c.request+"\n< "+c.answer+"\n")
		var err error
		if strings.HasPrefix(c.request, `{"op":"loss"`) {
			err = a.Losses([]int32{0, 1}, make([]float64, 2))
		} else {
			_, err = a.Evaluate()
		}
		expect.That(t, err != nil && err.Error() == c.want, "%s: %v, want %s", c.answer, err, c.want)
		_ = a.Close() // reports the error again, and kills the process
		if err := os.RemoveAll(filepath.Join(dir, "transcript")); err != nil {
			t.Error(err)
		}
	}
}

// Work that is discarded between two rounds is that of the earlier one.
func TestDiscardsBetweenRounds(t *testing.T) {
	a, _ := learner(t, `> {"op":"begin","run":1,"round":1}
< {"down_bytes":1}
> {"op":"solve","run":1,"round":1,"work":[{"client":2,"steps":null,"seed":2005508890567804}]}
< {"work":[{"client":2,"steps":1,"flops":2,"up_bytes":3}]}
> {"op":"end","run":1,"round":1}
< {"flops":0}
> {"op":"discard","run":1,"round":1,"clients":[2]}
< {}
> {"op":"begin","run":1,"round":2}
< {"down_bytes":1}
> {"op":"finish","run":1}
< {}
`)
	a.Begin()
	a.Solve(algorithms.Request{Device: 2, Steps: algorithms.NoLimit})
	a.End()
	a.Discard(2)
	a.Begin()
	err := a.Close()
	expect.That(t, err == nil, "%v", err)
}
