package external

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fedsim/internal/rooms"
	"fedsim/internal/tools/quote"
)

// pending is a request whose answer has not come.
type pending struct {
	who     string // "learner" or "model" with its name
	of      *request
	run     string
	exit    time.Duration // after which the program is killed, unless it exits; 0: it is not to exit
	timeout time.Duration
	since   time.Time

	reminder *time.Timer
}

// mostNamed is the most clients that a notice lists.
const mostNamed = 5

// text describes the request: "learner mean: solve of run x, round 3, client 5, since 14:03:05
// (10s; timeout_s = 0: no limit)".
func (p *pending) text(now time.Time) string {
	var b strings.Builder
	if p.exit > 0 {
		fmt.Fprintf(&b, "%s to exit at the end of its input, since %s (%s; after %s it is killed)", quote.Line(p.who),
			p.since.Format(time.TimeOnly), now.Sub(p.since).Round(time.Second), p.exit)
		return b.String()
	}
	fmt.Fprintf(&b, "%s: %s", quote.Line(p.who), p.of.Op)
	if p.run != "" {
		fmt.Fprintf(&b, " of run %s", p.run)
	}
	if p.of.Round != nil {
		fmt.Fprintf(&b, ", round %d", *p.of.Round)
	}
	if of := p.of.clients(); len(of) > 0 {
		b.WriteString(", client")
		if len(of) > 1 {
			b.WriteString("s")
		}
		for i, k := range of[:min(len(of), mostNamed)] {
			if i > 0 {
				b.WriteString(",")
			}
			fmt.Fprintf(&b, " %d", k)
		}
		if more := len(of) - mostNamed; more > 0 {
			fmt.Fprintf(&b, " and %d more", more)
		}
	}
	limit := "timeout_s = 0: no limit"
	if p.timeout > 0 {
		limit = fmt.Sprintf("timeout_s = %g", p.timeout.Seconds())
	}
	fmt.Fprintf(&b, ", since %s (%s; %s)", p.since.Format(time.TimeOnly), now.Sub(p.since).Round(time.Second), limit)
	return b.String()
}

// clients returns the clients that a request is about.
func (r *request) clients() (of []int) {
	for _, w := range r.Work {
		of = append(of, w.Client)
	}
	if r.Client != nil {
		of = append(of, *r.Client)
	}
	if listed, ok := r.Clients.([]int32); ok {
		for _, k := range listed {
			of = append(of, int(k))
		}
	}
	return of
}

// board has the requests whose answers have not come, in the order in which they were sent.
type board struct {
	clock func() time.Time // nil: nobody is reminded
	mu    sync.Mutex
	of    []*pending
}

// begin adds a request, and reminds of it until the returned function is called.
func (l *Learners) begin(p *pending) (end func()) {
	b := &l.board
	if b.clock == nil {
		return func() {}
	}
	p.since = b.clock()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of = append(b.of, p)
	if l.stderr != nil {
		clock, every := b.clock, l.reminders.Every
		p.reminder = time.AfterFunc(l.reminders.After, func() {
			what := "no answer yet from "
			if p.exit > 0 {
				what = "waiting for "
			}
			_, _ = fmt.Fprintf(l.stderr, "fedsim: %s%s\n", what, p.text(clock()))
			b.mu.Lock()
			defer b.mu.Unlock()
			if slices.Contains(b.of, p) {
				p.reminder.Reset(every)
			}
		})
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if p.reminder != nil {
			p.reminder.Stop()
		}
		i := slices.Index(b.of, p)
		b.of = slices.Delete(b.of, i, i+1)
	}
}

// measure adds the nanoseconds until the returned function is called to spent, if it is not nil and there is a clock.
func (b *board) measure(spent *atomic.Int64) (end func()) {
	if spent == nil || b.clock == nil {
		return func() {}
	}
	began := b.clock()
	return func() { spent.Add(int64(b.clock().Sub(began))) }
}

// Pending says which learners have not answered; empty: all have.
func (l *Learners) Pending() string {
	l.board.mu.Lock()
	defer l.board.mu.Unlock()
	texts := make([]string, len(l.board.of))
	for i, p := range l.board.of {
		texts[i] = p.text(l.board.clock())
	}
	if len(texts) == 0 {
		return ""
	}
	return "waiting for " + strings.Join(texts, "; ")
}

// Remind names learners that do not answer: on their standard error, by the clock of the
// machine. Call it before the first Start, or before Close.
func (l *Learners) Remind(clock func() time.Time, r rooms.Reminders) {
	l.board.clock, l.reminders = clock, r
}
