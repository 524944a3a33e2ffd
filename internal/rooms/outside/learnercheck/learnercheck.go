// Package learnercheck is the conformance test of learners in other processes: it drives a
// learner as an experiment does, and finds what breaks the rules of docs/protocols.md#learner. It
// tests programs of external models, too (docs/protocols.md#model).
//
// It must not know time, devices, links, or how lines are read.
package learnercheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"fedsim/algorithms"
	"fedsim/internal/rooms"
	"fedsim/internal/rooms/outside/external"
	"fedsim/internal/tools/quote"
)

// Check is a conformance test of a learner.
type Check struct {
	Options *external.Options // the command of the learner, the time for an answer, and its options
	Clients int               // at least 2
	Rows    int               // of each client
	Real    bool              // their targets are real: an error is no share
	Rounds  int               // at least 2
	Dir     string            // an empty folder, in which the learner saves its state
	Stderr  io.Writer         // receives the standard error of the learner; nil: nothing does
	// Store reports errors in metrics that a run would store.
	Store func(declared []algorithms.NamedMetric, clients int, values []algorithms.NamedValue,
		byClient []algorithms.ClientMetric) error
	Grace time.Duration // how long the learner may take to exit; 0: as long as in a run
}

// Finding is a rule that a learner breaks.
type Finding struct {
	Text              string // the error
	Request, Response string // the lines that show it, cut; empty if there is no single one
}

// Part is the outcome of a part of the test.
type Part struct {
	Name     string
	Findings []Finding
	Skipped  string // why it was left out; empty: it was not
}

// checking is a test under way.
type checking struct {
	*Check
	ctx      context.Context
	part     Part
	seen     map[string]bool // the kinds of all findings: each is reported once
	request  string          // the last one
	response string
	saved    bool            // the run has saved the state that is loaded later
	can      map[string]bool // the abilities of the learner; nil: it has not started
	base     []answer        // the answers of the plain rounds, with which others are compared
}

// The abilities of learners beyond rounds, as hello names them.
var abilities = []string{"save", "receive", "loss", "weights"}

// Run runs the test and reports each part, the first alone if the learner does not start.
// The learner conforms if none has findings.
func (c *Check) Run(ctx context.Context, report func(Part)) {
	k := &checking{Check: c, ctx: ctx, seen: map[string]bool{}}
	first, second, third := k.learners(), k.learners(), k.learners()
	all := []*external.Learners{first, second, third}
	same := func(when string, l *external.Learners, g game) func() {
		return func() { k.compare(when, k.base, k.play(l, g)) }
	}
	for _, p := range []struct {
		name   string
		need   string // an ability
		rounds bool   // needs plain rounds that conform
		run    func()
	}{
		{"greets and starts", "", false, func() { k.greet(first) }},
		{"rounds", "", false, func() { k.base = k.play(first, game{}) }},
		{"the same seed gives the same answers", "", true, same("in a second run", first, game{})},
		{"another process gives the same answers", "", true, same("in another process", second, game{})},
		{"work asked in several lines is that asked in one", "", true,
			same("with a line for each client", first, game{single: true})},
		{"a discarded update leaves no trace", "", true,
			same("if the discarded work is not asked", first, game{lost: skip})},
		{"a client can be asked again after a discard", "", true,
			same("if work is discarded and asked again", first, game{again: true})},
		{"work may be committed or discarded in a later round", "", true, func() { k.late(first) }},
		{"limits of steps", "", true, func() { k.play(first, game{limit: 1}) }},
		{"an evaluation changes nothing", "", true, same("if the model is evaluated twice", first, game{twice: true})},
		{"losses", "loss", true, same("if losses are asked", first, game{losses: true})},
		{"weights", "weights", true, func() { k.play(first, game{weighted: true}) }},
		{"saves and loads", "save", true, func() { k.resume(first, third) }},
		{"without rounds", "receive", false, func() { k.asynchronous(first, second, third) }},
		{"ignores fields and refuses operations that it does not know", "", false, func() { k.unknown(first) }},
		{"exits at the end of its input", "", false, func() { k.end(all) }},
	} {
		k.part = Part{Name: p.name}
		switch {
		case ctx.Err() != nil:
			k.part.Skipped = "interrupted"
		case p.rounds && k.base == nil:
			k.part.Skipped = "the rounds do not conform"
		case p.need != "" && !k.can[p.need]:
			k.part.Skipped = fmt.Sprintf("it does not say that it can %q", p.need)
		default:
			p.run()
		}
		if report(k.part); k.can == nil {
			break
		}
	}
	for _, l := range all {
		_ = l.Close() // after end only what an interruption has left
	}
}

// learners returns processes whose lines the test sees. An interruption ends it at once.
func (ch *checking) learners() *external.Learners {
	l := external.NewLearners(ch.ctx, ch.Stderr)
	if ch.Grace > 0 {
		l.Grace = ch.Grace
	}
	l.Tap = func(request, response []byte) {
		ch.request, ch.response = excerpt(request), excerpt(response)
	}
	return l
}

func excerpt(line []byte) string {
	return quote.Line(quote.Cut(string(line[:min(len(line), 400)])))
}

// details are the parts of a finding that differ when a rule is broken again.
var details = regexp.MustCompile(`"([^"\\]|\\.)*"|[0-9.]+`)

// wrong adds a finding about the last lines, unless there was one like it.
func (ch *checking) wrong(format string, arguments ...any) {
	ch.find(Finding{Text: fmt.Sprintf(format, arguments...), Request: ch.request, Response: ch.response})
}

// find adds a finding, unless there was one like it.
func (ch *checking) find(f Finding) {
	kind := details.ReplaceAllString(f.Text, "")
	if ch.seen[kind] || ch.ctx.Err() != nil {
		return
	}
	ch.seen[kind] = true
	ch.part.Findings = append(ch.part.Findings, f)
}

// start starts a run. It returns nil if that fails.
func (ch *checking) start(l *external.Learners) *external.Learner {
	rows := make([]int32, ch.Clients)
	for i := range rows {
		rows[i] = int32(ch.Rows)
	}
	ch.saved = false
	file := func(name int) string {
		if ch.saved {
			name = 0 // the remembered state is 1
		}
		return filepath.Join(ch.Dir, fmt.Sprint(name))
	}
	a, err := l.Start(rooms.LearnerRun{ID: "check/seed=1", Seed: 1, Real: ch.Real, File: file},
		algorithms.Setup{Rows: rows, Workers: 1}, ch.Options)
	if err != nil {
		ch.wrong("%v", err)
		return nil
	}
	return a
}

// finish ends a run and reports its error. It reports whether the run conforms.
func (ch *checking) finish(a *external.Learner) bool {
	_ = a.Close() // it is one of Err
	if a.Err() != nil {
		ch.wrong("%v", a.Err())
	}
	return a.Err() == nil
}

// greet checks the greeting and the start of a run.
func (ch *checking) greet(l *external.Learners) {
	a := ch.start(l)
	if a == nil {
		return
	}
	if err := ch.Store(a.About.Metrics, ch.Clients, nil, nil); err != nil {
		ch.find(Finding{Text: fmt.Sprintf("hello: metrics: %v", err)})
	}
	if !ch.finish(a) {
		return
	}
	ch.part.Name += ": " + strings.TrimPrefix(a.About.Name, "learner ")
	ch.can = map[string]bool{}
	separator := ", can "
	for i, able := range []algorithms.Ability{a.About.State, a.About.Asynchronous, a.About.Losses, a.About.Weights} {
		if ch.can[abilities[i]] = able == algorithms.Yes; able == algorithms.Yes {
			ch.part.Name += separator + abilities[i]
			separator = ", "
		}
	}
}

// late checks work that is committed or discarded in the round after it was asked.
func (ch *checking) late(l *external.Learners) {
	without := ch.play(l, game{late: skip})
	ch.compare("if the work that is discarded in the next round is not asked", ch.play(l, game{late: discard}), without)
	ch.play(l, game{late: commit})
}

// resume checks that saving changes nothing, and that another process continues.
func (ch *checking) resume(first, other *external.Learners) {
	for _, g := range []game{{}, {late: commit}} {
		want := ch.base
		if g.late != no {
			want = ch.play(first, g)
		}
		saved := ch.continues(want, first, other, func(l *external.Learners, save, load *bytes.Buffer) []answer {
			g.save, g.load = save, load
			return ch.play(l, g)
		})
		if !saved {
			return
		}
	}
}

// continues checks that saving the state does not change the answers of a run, and that another
// process gives them from there. It reports whether the first has saved a state.
func (ch *checking) continues(
	want []answer, first, other *external.Learners, play func(l *external.Learners, save, load *bytes.Buffer) []answer,
) bool {
	var saved bytes.Buffer
	ch.compare("if the state is saved", want, play(first, &saved, nil))
	if saved.Len() == 0 {
		return false
	}
	ch.compare("after it was loaded by another process", want, play(other, nil, &saved))
	return true
}

// unknown sends a field and an operation that no version has yet.
func (ch *checking) unknown(l *external.Learners) {
	a := ch.start(l)
	if a == nil {
		return
	}
	const field, operation = "a field that it does not know", "an operation that it does not know"
	err := a.Ask("begin", map[string]any{"round": 1, "field_of_a_later_version": []int{1}})
	if _, reports := errors.AsType[*external.ReportedError](err); reports {
		ch.wrong("must ignore %s", field)
	} else if err != nil {
		ch.wrong("after %s it %v", field, err)
	}
	if a.Err() == nil {
		err = a.Ask("operation-of-a-later-version", nil)
		if _, reports := errors.AsType[*external.ReportedError](err); err != nil && !reports {
			ch.wrong("after %s it %v", operation, err)
		} else if !reports {
			ch.wrong("must answer %s with {\"error\": \"...\"}", operation)
		}
	}
	if a.Err() != nil {
		_ = a.Close() // it has been reported
		return
	}
	ch.evaluate(a, "afterwards")
	ch.finish(a)
}

// end checks that the processes exit at the end of their input.
func (ch *checking) end(all []*external.Learners) {
	// A run under way must not keep the process alive.
	ch.start(all[0])
	errs := make([]error, len(all))
	var closed sync.WaitGroup
	for i, l := range all {
		closed.Go(func() { errs[i] = l.Close() })
	}
	closed.Wait()
	for _, err := range errs {
		if err != nil {
			ch.find(Finding{Text: err.Error()})
		}
	}
}
