package flows

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"fedsim/engine"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// SimGrid is the external oracle: Casanova, Giersch, Legrand, Quinson and Suter, JPDC
// 2014, version 3.32. Its model CM02 without windows, weights and latency is max-min
// fairness. bench/simgrid_test.go writes and checks testdata/simgrid.csv. A row is one
// transfer; cell -1 is none.
func TestAgainstSimGrid(t *testing.T) {
	rows := filetest.Rows(t, "testdata/simgrid.csv")
	cases, worst := 0, 0.0
	for rest := rows[1:]; len(rest) > 0; cases++ {
		n := 1
		for n < len(rest) && rest[n][0] == rest[0][0] {
			n++
		}
		p, ends := simGridCase(t, rest[:n])
		got := solve(p)
		for d, want := range ends {
			expect.Must(t, len(got[d]) == 1, "case %s: transfer %d has outcomes %v", rest[0][0], d, got[d])
			wrong := math.Abs(got[d][0].seconds-want) / want
			worst = max(worst, wrong)
			// SimGrid rounds seconds to 1e-12. An end is up to 1 ns later here. The
			// shortest transfers take milliseconds.
			expect.That(t, wrong <= 1e-9+1e-9/want,
				"case %s: transfer %d ends at %.12g s, SimGrid says %.12g", rest[0][0], d, got[d][0].seconds, want)
		}
		rest = rest[n:]
	}
	expect.That(t, cases >= 100, "%d cases, want at least 100", cases)
	t.Logf("%d cases, %d transfers, the worst wrong by %.2g of its end", cases, len(rows)-1, worst)
}

// simGridCase returns a case as a problem in which each device sends once, and the end
// of each transfer according to SimGrid.
func simGridCase(t *testing.T, rows [][]string) (p problem, ends []float64) {
	t.Helper()
	number := func(s string) float64 { return filetest.Number(t, s) }
	first := rows[0]
	p.tree.ServerMbps = number(first[1])
	p.ops = append(p.ops, op{at: engine.FromSeconds(number(first[2])), what: server, value: number(first[3])})
	for d, row := range rows {
		cell := int(number(row[4]))
		for cell >= len(p.tree.CellMbps) {
			p.tree.CellMbps = append(p.tree.CellMbps, 0)
		}
		if cell >= 0 {
			p.tree.CellMbps[cell] = number(row[5])
		}
		p.tree.CellOf = append(p.tree.CellOf, int32(cell))
		p.rates = append(p.rates, number(row[6]))
		p.ops = append(p.ops,
			op{at: engine.FromSeconds(number(row[8])), what: begins, device: d, value: number(row[7])})
		ends = append(ends, number(row[9]))
	}
	slices.SortStableFunc(p.ops, func(a, b op) int { return cmp.Compare(a.at, b.at) })
	return p, ends
}
