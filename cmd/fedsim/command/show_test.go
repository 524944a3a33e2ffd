package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/rooms/clusters/work"
	"fedsim/internal/tools/expect"
)

func init() { programs["fail-waiting"] = failWaiting }

// failWaiting lets every waiting group of a plan fail: fail-waiting STATUS.json DIR.
func failWaiting() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		fail(err)
	}
	var s work.State
	if err := json.Unmarshal(text, &s); err != nil {
		fail(err)
	}
	for _, item := range s.Items {
		if item.Condition != work.Waiting {
			continue
		}
		note, err := json.Marshal(work.Claim{Worker: "w", Ended: true, Failure: "the disk is full", Host: "node8"})
		if err != nil {
			fail(err)
		}
		if err := os.WriteFile(filepath.Join(os.Args[2], "claims", item.ID+".json"), note, 0o666); err != nil {
			fail(err)
		}
	}
}

// stateWith returns the state of a plan with so many groups in each condition.
func stateWith(failed, running, stopped, waiting, done int) planState {
	s := &work.State{Kind: "plan", Directory: "plans/x", Scenario: "x", Items: []work.Item{}, LeftS: 3700, WorkS: 7400,
		Workers: running}
	add := func(c work.Condition, n int) {
		for i := range n {
			s.Items = append(s.Items, work.Item{
				ID: fmt.Sprintf("%s%04d0123456789", c[:2], i), Kind: "group",
				About: "experiment-of-a-long-name/method/network.profile=lte/seed=1", Runs: 12, Condition: c,
				Host: "node-with-a-long-name.cluster.example.org", PID: 4194303, Progress: 1, TookS: math.NaN(),
				AgeS:   100000,
				Reason: strings.Repeat("write devices.parquet: no space left on device ", 5),
			})
		}
	}
	for c, n := range map[work.Condition]int{work.Failed: failed, work.Running: running, work.Stopped: stopped,
		work.Waiting: waiting, work.Done: done} {
		add(c, n)
	}
	s.Groups = work.Counts{Total: failed + running + stopped + waiting + done, Failed: failed, Running: running,
		Stopped: stopped, Waiting: waiting, Done: done}
	return newPlanState(s)
}

// A plan that is removed ends its status.
func TestStatusOfARemovedPlan(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plan")
	runFedsim(t, "plan", "make", "deadline", "-o", dir)
	look, err := lookAtPlan(dir)
	if err == nil {
		_, err = look()
	}
	expect.NoError(t, errors.Join(err, os.RemoveAll(dir)))
	if _, err := look(); err == nil || !strings.Contains(err.Error(), "the plan was removed") {
		t.Errorf("%v", err)
	}
}

// The table fits 80 columns, and counts the rows that it omits.
func TestStatusFits(t *testing.T) {
	text := stateWith(300, 200, 100, 1000, 4000).text(80)
	requireFit(t, "fedsim show", text)
	for _, want := range []string{
		"\ngroups:         4000 of 5600 done, 300 failed, 200 running, 100 stopped, 1000\n", "\nfailed\n",
		"and 270 more", "and 170 more", "\ntime left:      about 1h2m with 200 workers\n",
		"\nnext:           wait; then fedsim plan submit plans/x --engine ENGINE\n",
	} {
		expect.That(t, strings.Contains(text, want), "%q is missing in\n%s", want, text)
	}
	requireFit(t, "fedsim show", stateWith(0, 1, 0, 0, 0).text(80))
	s := stateWith(1, 0, 0, 0, 0)
	s.Items[0].Reason = "a\nb\x1b[31m"
	if text := s.text(80); strings.ContainsAny(text, "\x1b") {
		t.Errorf("a reason prints control characters: %q", text)
	}
}

// The next step that the status names.
func TestStatusAdvice(t *testing.T) {
	for _, x := range []struct {
		s            planState
		next, advice string
	}{
		{stateWith(0, 0, 0, 0, 3), nextMerge, "fedsim plan merge plans/x"},
		{stateWith(0, 0, 0, 3, 0), nextSubmit, "fedsim plan submit plans/x --engine ENGINE"},
		{stateWith(1, 0, 0, 0, 3), nextSubmit, "fedsim plan submit plans/x --engine ENGINE"},
		{stateWith(0, 1, 0, 0, 3), nextWait, "wait; fedsim report plans/x --live shows the curves"},
		{stateWith(1, 1, 0, 0, 3), nextWait, "wait; then fedsim plan submit plans/x --engine ENGINE"},
	} {
		expect.That(t, x.s.Next == x.next && x.s.advice() == x.advice,
			"%s: %s, must be %s: %s", x.s.Next, x.s.advice(), x.next, x.advice)
	}
}

// counted is a subject of a test.
type counted struct {
	counts string
	over   error // nil: not ended
	ends   bool
}

func (c counted) text(int) string        { return c.counts }
func (c counted) line() (string, string) { return c.counts, ", and so on" }
func (c counted) ended() (bool, error)   { return c.ends, c.over }

// A watch prints a line for each change, at most one in five seconds, and always the last one.
func TestStatusWatch(t *testing.T) {
	bad := errors.New("bad")
	list := []counted{{counts: "a"}, {counts: "a"}, {counts: "b"}, {counts: "c"}, {counts: "c"}, {counts: "c"},
		{counts: "d"}, {counts: "e", ends: true, over: bad}}
	var out strings.Builder
	at, now := 0, time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	tick := make(chan time.Time, len(list))
	for range list {
		tick <- now
	}
	w := watcher{out: &out, now: func() time.Time { return now }, look: func() (subject, error) {
		at, now = at+1, now.Add(2*time.Second)
		return list[at-1], nil
	}}
	err := w.watch(tick, nil, nil)
	expect.That(t, errors.Is(err, bad) && at == len(list), "%v after %d looks", err, at)
	const lines = "10:00:02 a, and so on\n10:00:08 c, and so on\n10:00:14 d, and so on\n10:00:16 e, and so on\n"
	d := cmp.Diff(lines, out.String())
	expect.That(t, d == "", "%v", d)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w = watcher{out: &strings.Builder{}, now: time.Now, look: func() (subject, error) { return counted{}, nil }}
	err = w.watch(nil, ctx.Done(), ctx.Err)
	expect.That(t, status(err) == exitInterrupted, "interrupted: status %d, %v", status(err), err)
}
