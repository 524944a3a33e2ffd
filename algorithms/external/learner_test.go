package external_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/algorithms"
	"fedsim/algorithms/external"
	"fedsim/algorithms/external/externaltest"
	"fedsim/internal/state"
)

const greeting = `> {"op":"hello","v":[1]}
< {"v":1,"name":"n","can":["save","loss","weights"],"metrics":[]}
> {"op":"start","run":1,"id":"i","seed":7,"clients":4,"rows":[5,6,7,8],"features":2,"options":{}}
< {"step_flops":1,"down_bytes":16,"up_bytes":24}
`

// learner starts a learner that follows a transcript.
func learner(t *testing.T, transcript string) (*external.Learner, string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "transcript")
	if err := os.WriteFile(file, []byte(greeting+strings.ReplaceAll(transcript, "DIR", dir)), 0o666); err != nil {
		t.Fatal(err)
	}
	l := external.NewLearners(t.Context(), nil)
	about := external.Run{ID: "i", Seed: 7, File: func(k int) string { return filepath.Join(dir, fmt.Sprint("state", k)) }}
	a, err := l.Start(about, algorithms.Setup{Rows: []int32{5, 6, 7, 8}, Features: 2}, &external.Options{Command: externaltest.Scripted(file)})
	if err != nil {
		t.Fatal(err)
	}
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

// Commits and discards go out together, before the next request. Weights go with them if one
// is not 1.
func TestCommitsAreSentTogether(t *testing.T) {
	const work = `{"client":%d,"steps":1,"flops":2,"up_bytes":3}`
	a, _ := learner(t, `> {"op":"solve","run":1,"round":0,"work":[{"client":0,"steps":null,"seed":2005508890567804},{"client":1,"steps":9,"seed":2005508890567804},{"client":3,"steps":null,"seed":2005508890567804}]}
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
	works := make([]algorithms.Work, 3)
	a.SolveAll([]algorithms.Request{{Device: 0, Steps: algorithms.NoLimit}, {Device: 1, Steps: 9}, {Device: 3, Steps: algorithms.NoLimit}}, works)
	if works[2] != (algorithms.Work{Steps: 1, FLOPs: 2, Values: 3}) {
		t.Errorf("%+v: %v", works, a.Err())
	}
	a.Commit(0)
	a.CommitWeighted(1, 0.5)
	a.Discard(2) // it has not worked
	a.Discard(3)
	if flops := a.End(); flops != 5 {
		t.Errorf("%g FLOPs: %v", flops, a.Err())
	}
	losses := make([]float64, 2)
	if a.Losses([]int32{2, 1}, losses); losses[0] != 0.5 || losses[1] != 0.25 {
		t.Errorf("losses %v: %v", losses, a.Err())
	}
	down, up := a.UsualBytes()
	if down != 16 || up != 24 || a.StepFLOPs() != 1 {
		t.Errorf("usual bytes %d and %d, %g FLOPs a step", down, up, a.StepFLOPs())
	}
	if _, ok := algorithms.As[algorithms.Asynchronous](a); ok {
		t.Error("it cannot receive")
	}
	if _, ok := algorithms.As[algorithms.Weighted](a); !ok {
		t.Error("it can weigh")
	}
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
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("state", 1-k)), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		c := state.Writing(b)
		if a.State(c); c.Err() != nil {
			t.Fatal(c.Err())
		}
	}
	c := state.Reading(&first)
	if a.State(c); c.Err() != nil {
		t.Error(c.Err())
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
