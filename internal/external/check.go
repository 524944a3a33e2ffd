package external

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"fedsim/algorithms"
	"fedsim/internal/pipe"
	"fedsim/internal/quote"
)

// Check is a conformance test: it drives a learner as fedsim does, and finds what breaks
// the rules of docs/learner-protocol.md.
type Check struct {
	Options *Options  // the command of the learner, the time for an answer, and its options
	Clients int       // at least 2
	Rows    int       // of each client
	Rounds  int       // at least 2
	Dir     string    // an empty folder, in which the learner saves its state
	Stderr  io.Writer // receives the standard error of the learner; nil: nothing does
	// Store reports errors in metrics that a run would store.
	Store func(declared []algorithms.NamedMetric, clients int, values []algorithms.NamedValue, byClient []algorithms.ClientMetric) error

	grace time.Duration // see Learners; 0: as usual
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
	hello    hello
	base     []answer // those of the plain rounds, with which others are compared
}

// Run runs the test and reports each part, the first alone if the learner does not start.
// The learner conforms if none has findings.
func (c *Check) Run(ctx context.Context, report func(Part)) {
	k := &checking{Check: c, ctx: ctx, seen: map[string]bool{}}
	first, second, third := k.learners(), k.learners(), k.learners()
	all := []*Learners{first, second, third}
	parts := []struct {
		name   string
		need   string // an ability
		rounds bool   // needs plain rounds that conform
		run    func()
	}{
		{"greets and starts", "", false, func() { k.greet(first) }},
		{"rounds", "", false, func() { k.base, _ = k.play(first, game{}) }},
		{"the same seed gives the same answers", "", true, func() { k.compare("in a second run", k.base, k.rounds(first, game{})) }},
		{"another process gives the same answers", "", true, func() { k.compare("in another process", k.base, k.rounds(second, game{})) }},
		{"work asked in several lines is that asked in one", "", true, func() { k.compare("with a line for each client", k.base, k.rounds(first, game{single: true})) }},
		{"a discarded update leaves no trace", "", true, func() { k.compare("if the discarded work is not asked", k.base, k.rounds(first, game{lost: skip})) }},
		{"a client can be asked again after a discard", "", true, func() { k.compare("if work is discarded and asked again", k.base, k.rounds(first, game{again: true})) }},
		{"work may be committed or discarded in a later round", "", true, func() { k.late(first) }},
		{"limits of steps", "", true, func() { k.rounds(first, game{limit: 1}) }},
		{"an evaluation changes nothing", "", true, func() { k.compare("if the model is evaluated twice", k.base, k.rounds(first, game{twice: true})) }},
		{"losses", canLoss, true, func() { k.compare("if losses are asked", k.base, k.rounds(first, game{losses: true})) }},
		{"weights", canWeights, true, func() { k.rounds(first, game{weighted: true}) }},
		{"saves and loads", canSave, true, func() { k.resume(first, third) }},
		{"without rounds", canReceive, false, func() { k.asynchronous(first, second, third) }},
		{"ignores fields and refuses operations that it does not know", "", false, func() { k.unknown(first) }},
		{"exits at the end of its input", "", false, func() { k.end(all) }},
	}
	for i := range parts {
		p := &parts[i]
		k.part = Part{Name: p.name}
		switch {
		case ctx.Err() != nil:
			k.part.Skipped = "interrupted"
		case p.rounds && k.base == nil:
			k.part.Skipped = "the rounds do not conform"
		case p.need != "" && !slices.Contains(k.hello.can, p.need):
			k.part.Skipped = fmt.Sprintf("it does not say that it can %q", p.need)
		default:
			p.run()
		}
		if report(k.part); k.hello.name == "" {
			break // it does not start
		}
	}
	for _, l := range all {
		_ = l.Close() // after end only what an interruption has left
	}
}

// learners returns processes whose lines the test sees.
func (k *checking) learners() *Learners {
	l := NewLearners(k.ctx, k.Stderr)
	if k.grace > 0 {
		l.grace = k.grace
	}
	l.ctx = k.ctx // an interruption ends the test at once
	l.tap = func(request, response []byte) {
		k.request, k.response = excerptLine(request), excerptLine(response)
	}
	return l
}

func excerptLine(line []byte) string {
	return quote.Line(quote.Cut(string(line[:min(len(line), 400)])))
}

// details are the parts of a finding that differ when a rule is broken again.
var details = regexp.MustCompile(`"([^"\\]|\\.)*"|[0-9.]+`)

// wrong adds a finding about the last lines, unless there was one like it.
func (k *checking) wrong(format string, arguments ...any) {
	text := fmt.Sprintf(format, arguments...)
	kind := details.ReplaceAllString(text, "")
	if k.seen[kind] || k.ctx.Err() != nil {
		return
	}
	k.seen[kind] = true
	k.part.Findings = append(k.part.Findings, Finding{Text: text, Request: k.request, Response: k.response})
}

// differs adds a finding that no single line shows.
func (k *checking) differs(format string, arguments ...any) {
	request, response := k.request, k.response
	k.request, k.response = "", ""
	k.wrong(format, arguments...)
	k.request, k.response = request, response
}

// start starts a run. It returns nil if that fails.
func (k *checking) start(l *Learners) *Learner {
	rows := make([]int32, k.Clients)
	for i := range rows {
		rows[i] = int32(k.Rows)
	}
	about := Run{ID: "check/seed=1", Seed: 1, File: func(name int) string { return filepath.Join(k.Dir, fmt.Sprint(name)) }}
	a, err := l.Start(about, algorithms.Setup{Rows: rows, Workers: 1}, k.Options)
	if err != nil {
		k.wrong("%v", err)
		return nil
	}
	return a
}

// finish ends a run and reports its error. It reports whether the run conforms.
func (k *checking) finish(a *Learner) bool {
	a.Close()
	if a.err != nil {
		k.wrong("%v", a.err)
	}
	return a.err == nil
}

// greet checks the greeting and the start of a run.
func (k *checking) greet(l *Learners) {
	a := k.start(l)
	if a == nil {
		return
	}
	hello := a.process.hello
	if err := k.Store(a.About.Metrics, k.Clients, nil, nil); err != nil {
		k.request, k.response = "", ""
		k.wrong("hello: metrics: %v", err)
	}
	if k.finish(a) {
		k.hello = hello
		k.part.Name += ": " + hello.name
		if len(hello.can) > 0 {
			k.part.Name += ", can " + strings.Join(hello.can, ", ")
		}
	}
}

// rounds is play without its verdict: errors are reported.
func (k *checking) rounds(l *Learners, g game) []answer {
	answers, _ := k.play(l, g)
	return answers
}

// late checks work that is committed or discarded in the round after it was asked.
func (k *checking) late(l *Learners) {
	without := k.rounds(l, game{late: skip})
	k.compare("if the work that is discarded in the next round is not asked", k.rounds(l, game{late: discard}), without)
	k.rounds(l, game{late: commit})
}

// resume checks that saving changes nothing, and that another process continues.
func (k *checking) resume(first, other *Learners) {
	for _, g := range []game{{}, {late: commit}} {
		want := k.base
		if g.late != no {
			want = k.rounds(first, g)
		}
		var saved bytes.Buffer
		g.save = &saved
		k.compare("if the state is saved", want, k.rounds(first, g))
		if saved.Len() == 0 {
			return
		}
		g.save, g.load = nil, &saved
		k.compare("after it was loaded by another process", want, k.rounds(other, g))
	}
}

// unknown sends a field and an operation that no version has yet.
func (k *checking) unknown(l *Learners) {
	a := k.start(l)
	if a == nil {
		return
	}
	a.round = 1
	k.raw(a, map[string]any{"op": "begin", "run": a.run, "round": 1, "field_of_a_later_version": []int{1}}, "a field that it does not know", false)
	if a.err == nil {
		k.raw(a, map[string]any{"op": "operation-of-a-later-version", "run": a.run}, "an operation that it does not know", true)
	}
	if a.err == nil {
		k.evaluate(a, "afterwards")
	}
	k.finish(a)
}

// raw sends a request with something unknown. Refused says that the answer must be an
// error.
func (k *checking) raw(a *Learner, question map[string]any, what string, refused bool) {
	line, err := pipe.Encode(question)
	if err != nil {
		panic(err)
	}
	k.request, k.response = excerptLine(line), ""
	response, err := a.process.Ask(k.ctx, line, a.options.timeout())
	k.response = excerptLine(response)
	if err != nil {
		a.err = fmt.Errorf("after %s it %w", what, err)
		return
	}
	err = reader(messageFields.Into(new(int))).read(response)
	reports := err != nil && strings.HasPrefix(err.Error(), reportedError)
	switch {
	case refused && !reports:
		k.wrong("must answer %s with {\"error\": \"...\"}", what)
	case !refused && reports:
		k.wrong("must ignore %s", what)
	case !refused && err != nil:
		k.wrong("begin: %v", err)
	}
}

// end checks that the processes exit at the end of their input.
func (k *checking) end(all []*Learners) {
	// A run under way must not keep the process alive.
	k.start(all[0])
	errs := make([]error, len(all))
	var closed sync.WaitGroup
	for i, l := range all {
		closed.Go(func() { errs[i] = l.Close() })
	}
	closed.Wait()
	for _, err := range errs {
		if err != nil {
			k.differs("%v", err)
		}
	}
}
