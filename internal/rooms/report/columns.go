package report

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"math"
	"slices"

	"fedsim/plots"
	"fedsim/results"
)

// maxRows is the maximum number of rows of rounds in a page, about 3 MB.
const maxRows = 60_000

// packedColumns holds the rounds of all runs by column, as little-endian numbers of 64
// bits, or of 32 bits for numbers that are only drawn. Unknown values are NaN. The bytes
// of a column are grouped by their position in the number, lowest bytes first, because
// these compress better. All columns together are compressed with DEFLATE (RFC 1951).
type packedColumns struct {
	Names []string `json:"names"`
	Bits  []int    `json:"bits"` // per number, by column
	Data  []byte   `json:"data"` // base64 in JSON
}

// column is a column before packing.
type column struct {
	name string
	bits int
	of   func(run, row int) float64
}

// roundColumns returns the columns of every report: the quantities of figures.
func roundColumns(runs []results.Run) (columns []column) {
	for _, q := range plots.Quantities(runs) {
		var of func(run, row int) float64
		if q.Devices {
			if !measured(runs) {
				continue
			}
			of = func(run, row int) float64 { return medianTheta(&runs[run].Rounds[row]) }
		} else {
			values := make([][]float64, len(runs))
			for i := range runs {
				values[i] = q.Values(&runs[i])
			}
			of = func(run, row int) float64 { return values[run][row] }
		}
		columns = append(columns, column{q.Name, 64, of})
	}
	return columns
}

// measured reports whether a round has measurements of theta.
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

// medianTheta returns the median over the devices with a measured theta, or NaN.
func medianTheta(r *results.Round) float64 {
	var values []float64
	for _, theta := range r.Thetas {
		if !math.IsNaN(theta) {
			values = append(values, theta)
		}
	}
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// pack selects the rows of the page and packs them.
func (r *Report) pack(runs []results.Run, attributions []*attributed) {
	columns := roundColumns(runs)
	if r.devices = slices.ContainsFunc(attributions, func(t *attributed) bool { return t != nil }); r.devices {
		columns = append(columns, deviceColumns(attributions)...)
	}
	r.Parts = parts()
	rows := choose(runs, maxRows)
	for i := range runs {
		r.Runs[i].First, r.Runs[i].Count = r.Shown, len(rows[i])
		r.Shown += len(rows[i])
		r.Rows += len(runs[i].Rounds)
		if len(attributions) > 0 && attributions[i] != nil {
			r.Runs[i].Stragglers, r.Runs[i].explained = attributions[i].summary(), attributions[i].report
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
		panic(err) // the level is valid
	}
	// Writing to memory does not fail.
	_, _ = w.Write(plain)
	_ = w.Close()
	r.Columns.Data = packed.Bytes()
}

// appendColumn appends the n numbers of a column as packedColumns describes.
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

// choose selects the rounds of each run, up to a total of most: all rounds of short runs,
// and the same number of each long run. It first drops rounds without evaluation. Of
// evaluated rounds, it selects half from the start and half evenly from the rest,
// including the last round.
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

// fairLimit returns the largest limit, at least 50, for which the sum of min(length,
// limit) does not exceed most.
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

// thin selects at most limit rounds of a run.
func thin(rounds []results.Round, limit int) []int {
	all := make([]int, len(rounds))
	for i := range all {
		all[i] = i
	}
	if len(all) <= limit {
		return all
	}
	evaluated := slices.DeleteFunc(slices.Clone(all), func(i int) bool {
		return !rounds[i].Evaluated() && i != len(rounds)-1
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
