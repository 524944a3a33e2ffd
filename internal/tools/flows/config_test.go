package flows

import (
	"fmt"
	"math"
	"testing"

	"fedsim/config"
	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
)

func TestValidate(t *testing.T) {
	const capacity = "must be positive and at most 1e+09"
	for _, c := range []struct {
		config Config
		want   []string
	}{
		{Config{}, nil},
		{Config{ServerDownMbps: 1e9, ServerUpMbps: 0.001, Cells: 3, CellUpMbps: 1}, nil},
		{Config{ServerDownMbps: -1}, []string{"network.shared.server_down_mbps = -1: " + capacity}},
		{Config{ServerUpMbps: math.NaN()}, []string{"network.shared.server_up_mbps = NaN: " + capacity}},
		{Config{Cells: 1, CellDownMbps: 2e9, CellUpMbps: math.Inf(1)}, []string{
			"network.shared.cell_down_mbps = 2e+09: " + capacity, "network.shared.cell_up_mbps = +Inf: " + capacity,
		}},
		{Config{Cells: -1, CellDownMbps: 1}, []string{"network.shared.cells = -1: must be in [0, 16777216]"}},
		{Config{CellDownMbps: 1, CellUpMbps: 2}, []string{
			"network.shared.cell_down_mbps = 1: needs cells to be positive",
			"network.shared.cell_up_mbps = 2: needs cells to be positive",
		}},
		{Config{Cells: 2, CellShare: Airtime}, nil},
		{Config{CellShare: Airtime, ServerUpMbps: 1}, []string{
			`network.shared.cell_share = "airtime": needs cells`, "network.shared.server_up_mbps = 1: must be left " +
				"out with cell_share = \"airtime\": a cell carries what its devices' own rates say",
		}},
		{Config{Cells: 2},
			[]string{"network.shared.cells = 2: needs cell_down_mbps or cell_up_mbps: cells without limit are none"}},
	} {
		checker := config.NewChecker()
		c.config.Validate(checker.In("network").In("shared"))
		got := fmt.Sprint(checker.Problems())
		expect.That(t, got == fmt.Sprint(c.want), "%+v:\ngot  %s\nwant %s", c.config, got, c.want)
	}
}

func TestTrees(t *testing.T) {
	var none Config
	if down, up := none.Trees(3); none.SharesLinks() || !cmp.Equal(down, Tree{}) || !cmp.Equal(up, Tree{}) {
		t.Errorf("by default %+v down and %+v up, want no limits", down, up)
	}
	f := Config{ServerDownMbps: 100, ServerUpMbps: 50, Cells: 2, CellUpMbps: 5}
	down, up := f.Trees(5)
	diff := cmp.Diff(Tree{ServerMbps: 100}, down)
	expect.That(t, diff == "", "down (-want +got):\n%s", diff)
	diff = cmp.Diff(Tree{ServerMbps: 50, CellMbps: []float64{5, 5}, CellOf: []int32{0, 1, 0, 1, 0}}, up)
	expect.That(t, diff == "", "up (-want +got):\n%s", diff)
	air := Config{Cells: 2, CellShare: Airtime}
	down, up = air.Trees(3)
	diff = cmp.Diff([2]Tree{{CellMbps: []float64{1, 1}, CellOf: []int32{0, 1, 0}},
		{CellMbps: []float64{1, 1}, CellOf: []int32{0, 1, 0}}}, [2]Tree{down, up})
	expect.That(t, diff == "" && air.SharesLinks(), "airtime (-want +got):\n%s", diff)
	f.CellDownMbps = 7
	if down, _ := f.Trees(1); down.CellMbps[1] != 7 {
		t.Errorf("down %+v, want cells of 7 Mbps", down)
	}
	for _, limited := range []Config{{ServerDownMbps: 1}, {ServerUpMbps: 1}, {Cells: 1, CellDownMbps: 1},
		{Cells: 1, CellUpMbps: 1}} {
		expect.That(t, limited.SharesLinks(), "%+v limits nothing", limited)
	}
	expect.That(t, !(&Config{}).SharesLinks(), "nothing limits a link")
}
