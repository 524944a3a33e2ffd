package calibration

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"fedsim/internal/rooms/measure/attemptlog"
)

// table has the attempts of a log that can be fitted, with clients, classes and rounds as numbers.
type table struct {
	runs    []*attemptlog.Run
	rows    []row
	clients []clientKey // in the order of their names
	classes []string    // in the order of their names
	rounds  []roundKey  // in the order of runs and rounds
	counted bool        // FLOPs are rows of epochs
	// origins has by direction and client where transfers that contain a latency begin to count.
	origins  [2][]origin
	byDevice bool // a run has rows by device
	polled   bool // attempts wait for polls: receive_s and reply_s contain the time of the software
}

type clientKey struct {
	name  string
	class int
}

type roundKey struct {
	run, round int
}

type row struct {
	*attemptlog.Attempt
	run, round, client int
	flops              float64
	first              bool // attempt of the client in the run
}

// newTable returns the attempts of training.
func newTable(log *attemptlog.Log) *table {
	t := &table{runs: log.Runs}
	t.nameClients()
	index := map[string]int{}
	for i, c := range t.clients {
		index[c.name] = i
	}
	for r, run := range log.Runs {
		t.byDevice = t.byDevice || run.ByDevice
		seen := map[int]bool{}
		for _, round := range run.Rounds() {
			t.rounds = append(t.rounds, roundKey{r, round[0].Round})
			for _, a := range round {
				if a.Kind != attemptlog.Train {
					continue
				}
				c := index[a.Client]
				t.rows = append(t.rows,
					row{Attempt: a, run: r, round: len(t.rounds) - 1, client: c, flops: a.FLOPs, first: !seen[c]})
				seen[c] = true
			}
		}
	}
	t.countRows()
	t.setOrigins()
	return t
}

// A fit uses all rounds of a log of at most mostRows attempts, else some, in blocks of consecutive
// rounds: the estimates of a long log are exact long before its end.
const (
	mostRows  = 20_000
	blockSize = 5
)

// thinned returns a log with about mostRows attempts, in whole rounds and at least two of each run,
// and a note about it; it returns a log that has fewer as it is.
func thinned(log *attemptlog.Log) (*attemptlog.Log, []string) {
	attempts := 0
	for _, r := range log.Runs {
		attempts += len(r.Attempts)
	}
	every := (attempts + mostRows - 1) / mostRows
	if every < 2 {
		return log, nil
	}
	out, kept := &attemptlog.Log{}, 0
	for _, r := range log.Runs {
		part := emptied(r)
		rounds := r.Rounds()
		block, step := blockSize, every
		if len(rounds) < 2*blockSize*every {
			block, step = 1, max(1, min(every, len(rounds)-1))
		}
		for i, round := range rounds {
			if i/block%step == 0 {
				for _, a := range round {
					part.Attempts = append(part.Attempts, *a)
				}
			}
		}
		kept += len(part.Attempts)
		out.Runs = append(out.Runs, part)
	}
	return out,
		[]string{fmt.Sprintf("The log is long: %d of its %d attempts are fitted, in whole rounds.", kept, attempts)}
}

// emptied returns a run without its attempts.
func emptied(r *attemptlog.Run) *attemptlog.Run {
	out := *r
	out.Attempts = nil
	return &out
}

// nameClients lists clients and classes. A client has the class of its last row that has one.
func (t *table) nameClients() {
	of := map[string]string{}
	for _, run := range t.runs {
		for i := range run.Attempts {
			a := &run.Attempts[i]
			if class, ok := of[a.Client]; !ok || a.Class != "" && a.Class != class {
				of[a.Client] = a.Class
			}
		}
	}
	t.classes = slices.Compact(slices.Sorted(maps.Values(of)))
	for name, class := range of {
		at, _ := slices.BinarySearch(t.classes, class)
		t.clients = append(t.clients, clientKey{name, at})
	}
	slices.SortFunc(t.clients, func(a, b clientKey) int { return attemptlog.CompareNames(a.name, b.name) })
}

// countRows makes each row of an epoch count as one FLOP if no attempt has FLOPs.
func (t *table) countRows() {
	for i := range t.rows {
		if t.rows[i].flops > 0 {
			return
		}
	}
	for i := range t.rows {
		t.rows[i].flops = t.rows[i].Examples * t.rows[i].Epochs
		t.counted = t.counted || t.rows[i].flops > 0
	}
}

// orZero returns x, or 0 for NaN.
func orZero(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}
