package external_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fedsim/algorithms"
	"fedsim/internal/rooms"
	"fedsim/internal/rooms/outside/external"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/mtl"
)

// lines receives output, a line at a time.
type lines chan string

func (l lines) Write(text []byte) (int, error) {
	l <- string(text)
	return len(text), nil
}

// A learner that does not answer is named, again and again: with what it was asked, since when
// and the limit. The same is to be had at any time.
func TestPendingRequestsAreNamed(t *testing.T) {
	dir := t.TempDir()
	file, answered := filepath.Join(dir, "transcript"), filepath.Join(dir, "go")
	const solve = `> {"op":"solve","run":1,"round":0,"work":[{"client":3,"steps":null,"seed":2005508890567804},{"client":1,"steps":null,"seed":2005508890567804}]}
`
	transcript := greeting + solve + "< after " + answered +
		`: {"work":[{"client":3,"steps":1,"flops":2,"up_bytes":3},{"client":1,"steps":1,"flops":2,"up_bytes":3}]}
> {"op":"finish","run":1}
< {}
`
	filetest.Write(t, file, transcript)
	now, notices := time.Date(2026, 1, 2, 14, 3, 5, 0, time.UTC), make(lines)
	l := external.NewLearners(t.Context(), notices)
	start := func() *external.Learner {
		a :=
			expect.Value(
				l.Start(rooms.LearnerRun{ID: "i", Seed: 7},
					algorithms.Setup{Rows: []int32{5, 6, 7, 8}, Shape: mtl.Shape{Features: 2}},
					&external.Options{Command: scripted(file)}))(t)
		return a
	}
	l.Remind(func() time.Time { return now }, rooms.Reminders{After: time.Hour, Every: time.Hour})
	a := start()
	l.Remind(func() time.Time { return now }, rooms.Reminders{After: time.Millisecond, Every: time.Millisecond})
	responses, over := make([]algorithms.Response, 2), make(chan struct{})
	go func() {
		defer close(over)
		a.SolveAll([]algorithms.Request{{Device: 3, Steps: algorithms.NoLimit}, {Device: 1, Steps: algorithms.NoLimit}},
			responses)
	}()
	const about = "learner n: solve of run i, round 0, clients 3, 1, since 14:03:05 (0s; timeout_s = 0: no limit)"
	for range 3 {
		got, want := <-notices, "fedsim: no answer yet from "+about+"\n"
		expect.That(t, got == want, "says %q, want %q", got, want)
	}
	if got, want := l.Pending(), "waiting for "+about; got != want {
		t.Errorf("is %q, want %q", got, want)
	}
	go func() { // further notices
		for range notices {
		}
	}()
	filetest.Write(t, answered, "")
	<-over
	if got := l.Pending(); got != "" || responses[0].Err != nil {
		t.Errorf("after the answer: %q, %v", got, responses[0].Err)
	}
	l.Remind(nil, rooms.Reminders{})
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// A program that does not exit is named.
func TestProgramsThatDoNotExitAreNamed(t *testing.T) {
	t.Parallel()
	file := filetest.New(t, "transcript", greeting+"> {\"op\":\"finish\",\"run\":1}\n< {}\nstays\n")
	now, notices := time.Date(2026, 1, 2, 14, 3, 5, 0, time.UTC), make(lines)
	l := external.NewLearners(t.Context(), notices)
	l.Remind(func() time.Time { return now }, rooms.Reminders{After: time.Hour, Every: time.Hour})
	l.Grace = time.Second
	a :=
		expect.Value(
			l.Start(rooms.LearnerRun{ID: "i", Seed: 7},
				algorithms.Setup{Rows: []int32{5, 6, 7, 8}, Shape: mtl.Shape{Features: 2}},
				&external.Options{Command: scripted(file)}))(t)
	expect.NoError(t, a.Close())
	l.Remind(func() time.Time { return now }, rooms.Reminders{After: time.Millisecond, Every: time.Hour})
	closed := make(chan error)
	go func() { closed <- l.Close() }()
	const about = "waiting for learner n to exit at the end of its input, since 14:03:05 (0s; after 2s it is killed)"
	got := <-notices
	expect.That(t, got == "fedsim: "+about+"\n", "says %q", got)
	got = l.Pending()
	expect.That(t, got == about, "is %q", got)
	if err := <-closed; err == nil ||
		!strings.Contains(err.Error(), "learner n: at the end of its input: did not exit") {
		t.Error(err)
	}
}
