package report

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"math"
	"slices"

	"fedsim/results"
)

// maxRows is how many rows of rounds a page holds at most, about 3 MB of it.
const maxRows = 60_000

// Columns are the rounds of all runs, column by column, all of them as little-endian
// numbers of 64 bits, or of 32 where the page only draws them. What is not known is NaN.
// The bytes of a column are ordered by their place in the number, first the lowest ones
// of all rows, because so they pack better; then everything is DEFLATEd (RFC 1951) and
// written in base64.
type Columns struct {
	Names []string `json:"names"`
	Bits  []int    `json:"bits"` // of a number in each column
	Data  []byte   `json:"data"`
}

// column is a column on its way into Columns.
type column struct {
	name string
	bits int
	of   func(run, row int) float64
}

// roundColumns are those that every report has. FLOPs, bytes and joules are sums over
// the rounds so far.
func roundColumns(runs []results.Run) []column {
	total := func(name string, of func(*results.Round) float64) column {
		sums := make([][]float64, len(runs))
		for i := range runs {
			sum := 0.0
			for j := range runs[i].Rounds {
				sum += of(&runs[i].Rounds[j])
				sums[i] = append(sums[i], sum)
			}
		}
		return column{name, 64, func(run, row int) float64 { return sums[run][row] }}
	}
	plain := func(name string, of func(*results.Round) float64) column {
		return column{name, 64, func(run, row int) float64 { return of(&runs[run].Rounds[row]) }}
	}
	columns := []column{
		plain("round", func(r *results.Round) float64 { return float64(r.Round) }),
		plain("time_s", func(r *results.Round) float64 { return r.TimeS }),
		plain("primal", func(r *results.Round) float64 { return r.Primal }),
		plain("gap", func(r *results.Round) float64 { return r.Gap }),
		plain("suboptimality", func(r *results.Round) float64 { return r.Suboptimality }),
		plain("train_error", func(r *results.Round) float64 { return trained(r, r.TrainError) }),
		plain("test_error", func(r *results.Round) float64 { return trained(r, r.TestError) }),
		plain("participants", func(r *results.Round) float64 { return counted(r, r.Participants) }),
		plain("dropped", func(r *results.Round) float64 { return counted(r, r.Dropped) }),
		plain("late", func(r *results.Round) float64 { return counted(r, r.Late) }),
		total("flops", func(r *results.Round) float64 { return r.FLOPs }),
		total("bytes_up", func(r *results.Round) float64 { return r.BytesUp }),
		total("energy_j", func(r *results.Round) float64 { return r.EnergyJ }),
	}
	if measured(runs) {
		columns = append(columns, plain("theta", medianTheta))
	}
	return columns
}

// measured reports whether theta was measured in some round.
func measured(runs []results.Run) bool {
	for i := range runs {
		for j := range runs[i].Rounds {
			if runs[i].Rounds[j].Thetas != nil {
				return true
			}
		}
	}
	return false
}

// medianTheta returns the median over the devices whose theta was measured; NaN when
// none was.
func medianTheta(r *results.Round) float64 {
	var values []float64
	for _, t := range r.Thetas {
		if !math.IsNaN(t.Value) {
			values = append(values, t.Value)
		}
	}
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// counted returns a number of devices of a round; round 0 has none.
func counted(r *results.Round, n int) float64 {
	if r.Round == 0 {
		return math.NaN()
	}
	return float64(n)
}

// trained returns an error of the model after a round; round 0 has no model yet.
func trained(r *results.Round, e float64) float64 {
	if r.Round == 0 {
		return math.NaN()
	}
	return e
}

// pack chooses the rows that the page holds and packs them.
func (r *Report) pack(runs []results.Run, told []*attributed) {
	columns := roundColumns(runs)
	for _, t := range told {
		if t != nil {
			columns = append(columns, toldColumns(told)...)
			r.Devices = true
			break
		}
	}
	r.Causes, r.Parts = causes(), parts()
	rows := choose(runs, maxRows)
	for i := range runs {
		r.Runs[i].First, r.Runs[i].Count = r.Shown, len(rows[i])
		r.Shown += len(rows[i])
		r.Rows += len(runs[i].Rounds)
		if len(told) > 0 && told[i] != nil {
			r.Runs[i].Stragglers = told[i].stragglers()
		}
	}
	var plain []byte
	for _, c := range columns {
		r.Columns.Names, r.Columns.Bits = append(r.Columns.Names, c.name), append(r.Columns.Bits, c.bits)
		plain = appendColumn(plain, c, rows, r.Shown)
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.DefaultCompression)
	if err != nil {
		panic(err) // the level is one
	}
	// Writing to memory does not fail.
	_, _ = w.Write(plain)
	_ = w.Close()
	r.Columns.Data = packed.Bytes()
}

// appendColumn appends the n numbers of a column in the order of Columns.
func appendColumn(plain []byte, c column, rows [][]int, n int) []byte {
	size := c.bits / 8
	start := len(plain)
	plain = slices.Grow(plain, n*size)[:start+n*size]
	var word [8]byte
	at := 0
	for run := range rows {
		for _, row := range rows[run] {
			v := c.of(run, row)
			if size == 4 {
				binary.LittleEndian.PutUint32(word[:], math.Float32bits(float32(v)))
			} else {
				binary.LittleEndian.PutUint64(word[:], math.Float64bits(v))
			}
			for b := range size {
				plain[start+b*n+at] = word[b]
			}
			at++
		}
	}
	return plain
}

// choose returns which rounds of each run are shown, at most so many in all: every
// one of a short run, and of the longest runs the same number each. Rounds that were
// not evaluated go first; of those that were, half of what is shown are the first, and
// the others lie evenly behind them. The last one is always there.
func choose(runs []results.Run, most int) [][]int {
	lengths := make([]int, len(runs))
	for i := range runs {
		lengths[i] = len(runs[i].Rounds)
	}
	limit := fairLimit(lengths, most)
	rows := make([][]int, len(runs))
	for i := range runs {
		rows[i] = thin(runs[i].Rounds, limit)
	}
	return rows
}

// fairLimit returns the largest limit to all lengths under which their sum is at most
// most, but not less than 50.
func fairLimit(lengths []int, most int) int {
	sorted := slices.Sorted(slices.Values(lengths))
	left := most
	for i, n := range sorted {
		if share := left / (len(sorted) - i); n > share {
			return max(share, 50)
		}
		left -= n
	}
	return math.MaxInt
}

// thin returns the rounds of a run that are shown, at most limit of them.
func thin(rounds []results.Round, limit int) []int {
	all := make([]int, len(rounds))
	for i := range all {
		all[i] = i
	}
	if len(all) <= limit {
		return all
	}
	evaluated := slices.DeleteFunc(slices.Clone(all), func(i int) bool {
		return math.IsNaN(rounds[i].Primal) && i != len(rounds)-1
	})
	if len(evaluated) <= limit {
		return evaluated
	}
	shown := slices.Clone(evaluated[:limit/2])
	rest, slots := evaluated[limit/2:], limit-limit/2
	for k := range slots {
		shown = append(shown, rest[(k+1)*len(rest)/slots-1])
	}
	return shown
}
