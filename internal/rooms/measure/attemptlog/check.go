package attemptlog

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fedsim/internal/tools/orderstat"
)

// check reports corrupt data of a run, and notes unusual data.
func (b *builder) check(r *Run) {
	rounds := r.Rounds()
	b.checkClocks(r, rounds)
	b.checkTwice(rounds)
	b.checkUnits(r)
	if len(b.problems) == 0 {
		b.noteGaps(r, rounds)
		b.noteProtocol(r, rounds)
		b.noteShared(r)
	}
}

// checkClocks reports a server's clock that runs backward.
func (b *builder) checkClocks(r *Run, rounds [][]*Attempt) {
	for i := range r.Attempts {
		a := &r.Attempts[i]
		if a.Seen < a.Sent {
			b.wrong(a.File, a.Line, "seen_s", number(a.Seen),
				fmt.Sprintf("must be at least sent_s = %s: the server's clock runs backward", number(a.Sent)))
		}
		if a.ReplyFirst < a.Sent || a.ReplyFirst > a.Seen {
			b.wrong(a.File, a.Line, "reply_first_s", number(a.ReplyFirst),
				fmt.Sprintf("must be from sent_s = %s to seen_s = %s", number(a.Sent), number(a.Seen)))
		}
		if (a.Outcome == Taken || a.Outcome == Late) && !a.Responded() {
			b.wrong(a.File, a.Line, "outcome", string(a.Outcome), "must be failed or lost, or seen_s must be there")
		}
		if b.full() {
			return
		}
	}
	for i := 1; i < len(rounds); i++ {
		if now, before := rounds[i][0], rounds[i-1][0]; now.Sent < before.Sent {
			b.wrong(now.File, now.Line, "sent_s", number(now.Sent), fmt.Sprintf(
				"must be at least %s, when round %d began: the server's clock runs backward (at midnight? write "+
					"seconds since the start of the run)", number(before.Sent), before.Round))
			return
		}
	}
}

// checkTwice reports an attempt that is in the log twice: a client has one attempt of a kind at a
// time.
func (b *builder) checkTwice(rounds [][]*Attempt) {
	type one struct{ client, kind string }
	seen := map[one]bool{}
	for _, round := range rounds {
		clear(seen)
		for _, a := range round {
			seen[one{a.Client, a.Kind}] = true
		}
		if len(seen) == len(round) {
			continue
		}
		own := slices.Clone(round)
		slices.SortStableFunc(own, func(x, y *Attempt) int {
			return cmp.Or(cmp.Compare(x.Client, y.Client), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Sent, y.Sent))
		})
		for i := 1; i < len(own); i++ {
			x, y := own[i-1], own[i]
			if x.Client == y.Client && x.Kind == y.Kind && (y.Sent < x.Seen || y.Sent == x.Sent) {
				b.wrong(y.File, y.Line, "client", y.Client, fmt.Sprintf(
					"must have one row for an attempt: %s has its attempt in round %d, too", place(x.File, x.Line).File,
					x.Round))
			}
			if b.full() {
				return
			}
		}
	}
}

// parts are the columns of durations on the client's clock that are parts of an attempt.
var parts = []struct {
	name string
	of   func(*Attempt) float64
}{
	{"receive_s", func(a *Attempt) float64 { return a.Receive }},
	{"wait_s", func(a *Attempt) float64 { return a.Wait }},
	{"compute_s", func(a *Attempt) float64 { return a.Compute }},
	{"reply_s", func(a *Attempt) float64 { return a.Reply }},
}

// checkUnits suspects columns in other units: durations of parts that add up to many times the
// duration of attempts, or to a thousandth of it.
func (b *builder) checkUnits(r *Run) {
	total := median(r.Attempts, func(a *Attempt) float64 { return a.Seen - a.Sent })
	sum, largest, name := 0.0, 0.0, ""
	for _, p := range parts {
		if m := median(r.Attempts, p.of); m > 0 {
			sum += m
			if m > largest {
				largest, name = m, p.name
			}
		}
	}
	switch {
	case !(total > 0) || sum == 0:
	case largest > 30*total:
		b.wrong(r.File, r.Attempts[0].Line, name, number(largest)+" (median)", fmt.Sprintf(
			"attempts take %s from sent_s to seen_s: is the column in milliseconds, a factor of 1000? write seconds",
			number(total)))
	case total > 300*sum && total < 3000*sum &&
		!math.IsNaN(median(r.Attempts, func(a *Attempt) float64 { return a.Compute })):
		b.note("%s: seen_s - sent_s is %s in the median, the durations of clients add up to %s: "+
			"suspected milliseconds in sent_s and seen_s, a factor of 1000",
			r.Name, number(total), number(sum))
	}
	b.suspectRate(r, "down_mbps", "receive_s",
		func(a *Attempt) float64 { return a.Receive * a.DownMbps * 1e6 / (8 * a.BytesDown) })
	b.suspectRate(r, "up_mbps", "seen_s - reply_first_s",
		func(a *Attempt) float64 { return (a.Seen - a.ReplyFirst) * a.UpMbps * 1e6 / (8 * a.BytesUp) })
}

// suspectRate notes a nominal rate that differs by about 1000 from that of transfers. ratio is the
// duration of a transfer divided by the one that the nominal rate implies.
func (b *builder) suspectRate(r *Run, rate, duration string, ratio func(*Attempt) float64) {
	if m := median(r.Attempts, ratio); m > 300 && m < 3000 || m > 1./3000 && m < 1./300 {
		b.note("%s: %s takes %s times what %s implies: suspected mixed units, a factor of 1000 (rates are in 10^6 "+
			"bit/s, sizes in bytes, times in seconds)",
			r.Name, duration, number(m), rate)
	}
}

// longestGap is the least time without an event that is noted, in seconds, and slowestRounds the
// least as a multiple of the median round.
const (
	longestGap    = 60
	slowestRounds = 20
)

// noteGaps notes rounds without rows, and long times without any event.
func (b *builder) noteGaps(r *Run, rounds [][]*Attempt) {
	var times, lengths []float64
	missing, first := 0, 0
	for i, round := range rounds {
		last := math.Inf(-1)
		for _, a := range round {
			times = append(times, a.Sent)
			if a.Responded() {
				times = append(times, a.Seen)
				last = max(last, a.Seen)
			}
		}
		if last > round[0].Sent {
			lengths = append(lengths, last-round[0].Sent)
		}
		if i > 0 && round[0].Round != rounds[i-1][0].Round+1 {
			if missing == 0 {
				first = rounds[i-1][0].Round + 1
			}
			missing += round[0].Round - rounds[i-1][0].Round - 1
		}
	}
	if missing > 0 {
		b.note("%s: round %d has no rows%s: an empty round is not fitted", r.Name, first,
			map[bool]string{true: fmt.Sprintf(", like %d others", missing-1)}[missing > 1])
	}
	slices.Sort(times)
	slices.Sort(lengths)
	limit := float64(longestGap)
	if len(lengths) > 0 {
		limit = max(limit, slowestRounds*lengths[len(lengths)/2])
	}
	for i := 1; i < len(times); i++ {
		if gap := times[i] - times[i-1]; gap > limit {
			b.note("%s: nothing happens for %s s from %s on: a suspended machine? attempts across the gap count as "+
				"outliers", r.Name, number(gap), number(times[i-1]))
			return
		}
	}
}

// median returns the median of the known values, NaN if there are none.
func median(attempts []Attempt, of func(*Attempt) float64) float64 {
	values := make([]float64, 0, len(attempts))
	for i := range attempts {
		if x := of(&attempts[i]); !math.IsNaN(x) && !math.IsInf(x, 0) {
			values = append(values, x)
		}
	}
	if len(values) == 0 {
		return math.NaN()
	}
	return orderstat.Nth(values, len(values)/2)
}

// number returns a number with at most six digits.
func number(x float64) string { return fmt.Sprintf("%.6g", x) }
