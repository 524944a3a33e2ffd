package command

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"fedsim/algorithms"
	"fedsim/devices"
	"fedsim/internal/tools/filetest"
	"fedsim/mtl"
	"fedsim/network"
)

// TestModelsPage compares the tables of docs/models.md with the code. Each profile has a
// row with its numbers and a source, each loss has a row with its constants, and each
// method is named there or in docs/methods.md.
func TestModelsPage(t *testing.T) {
	page := read(t, "docs/models.md")
	flat := strings.Join(strings.Fields(page), " ")
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	has := func(text string) {
		t.Helper()
		if !strings.Contains(flat, text) {
			t.Errorf("docs/models.md does not have %q", text)
		}
	}
	row := func(name string, cells ...string) {
		t.Helper()
		has("| `" + name + "` | " + strings.Join(cells, " | ") + " |")
	}

	for _, p := range network.Profiles() {
		row(p.Name, number(p.DownlinkMbps), number(p.UplinkMbps), number(p.RTTms), number(p.RadioUp), number(p.RadioDown), number(p.RadioBase), number(p.RelativeCost))
		has("* " + p.Name + ": " + p.Source)
		if p.Promotion.Seconds > 0 {
			state := func(s network.RadioState) string { return number(s.Seconds) + " s, " + number(s.Watts) + " W" }
			tail := state(p.Tail[0])
			if p.Tail[1].Seconds > 0 {
				tail += "; " + state(p.Tail[1])
			}
			row(p.Name, state(p.Promotion), tail)
		}
	}
	for _, p := range devices.Profiles() {
		battery := number(p.BatteryWh)
		if p.BatteryWh == 0 {
			battery = "mains"
		}
		row(p.Name, number(p.ClockGHz), number(p.FlopsPerCycle), number(p.IdleW), number(p.ComputeW), battery, number(p.ChargeW))
		has("* " + p.Name + ": " + p.Source)
	}

	const head = "| `problem.loss` | loss(z, y) | conjugate loss*(-a) | finite where | L | mu |\n|---|---|---|---|---|---|\n"
	before, rest, found := strings.Cut(page, head)
	table, after, end := strings.Cut(rest, "\n\n")
	if !found || !end {
		t.Fatal("docs/models.md has no table of losses")
	}
	losses := ""
	for _, name := range mtl.ScoreLosses() {
		f, _ := mtl.LookupLoss(name)
		cfg := mtl.Defaults()
		traits := f.New(&cfg).Traits()
		lipschitz := strings.TrimPrefix(strings.ToLower(number(traits.Lipschitz)), "+")
		losses += fmt.Sprintf("| `%s` | %s | %s | %s | %s | %s |\n", name, f.Formula, f.Conjugate, f.Domain, lipschitz, cmp.Or(f.Mu, number(traits.Smoothness)))
	}
	if losses = strings.TrimSuffix(losses, "\n"); *updateTutorial {
		filetest.Write(t, filepath.Join(root, "docs/models.md"), before+head+losses+"\n\n"+after)
	} else if table != losses {
		t.Errorf("the losses of docs/models.md (make generate writes them) are\n%s\nwant\n%s", table, losses)
	}

	methods := page + read(t, "docs/methods.md")
	for _, name := range algorithms.Names() {
		if !strings.Contains(methods, "`"+name+"`") {
			t.Errorf("neither docs/models.md nor docs/methods.md has `%s`", name)
		}
	}
	const d = 7
	if got := mtl.StepFLOPs(d); got != 4*d+8 {
		t.Errorf("an SDCA step of %d features takes %g FLOPs, docs/models.md has 4d + 8", d, got)
	}
	cfg := network.Defaults()
	has(fmt.Sprintf("`network.header_bytes` (%d) plus `payload_bytes_per_value` (%d)", cfg.HeaderBytes, cfg.PayloadBytesPerValue))
}
