package command

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"fedsim/algorithms"
	"fedsim/devices"
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
		row(p.Name, number(p.ClockGHz), number(p.FlopsPerCycle), number(p.IdleW), number(p.ComputeW), battery)
		has("* " + p.Name + ": " + p.Source)
	}

	constants := map[string]mtl.Loss{
		mtl.LossHinge: mtl.Hinge{}, mtl.LossSmoothedHinge: mtl.SmoothedHinge{Smoothing: 0.25}, mtl.LossSquaredHinge: mtl.SquaredHinge{},
		mtl.LossLogistic: mtl.Logistic{}, mtl.LossSquared: mtl.Squared{}, mtl.LossAbsolute: mtl.Absolute{},
	}
	for _, name := range mtl.LossNames() {
		loss, ok := constants[name]
		if !ok {
			t.Errorf("the test does not know the loss %s", name)
			continue
		}
		lipschitz, smooth := number(loss.Lipschitz()), number(loss.Smoothness())
		if math.IsInf(loss.Lipschitz(), 1) {
			lipschitz = "inf"
		}
		if name == mtl.LossSmoothedHinge {
			smooth = "g"
		}
		found := false
		for line := range strings.Lines(page) {
			found = found || strings.HasPrefix(line, "| `"+name+"` |") && strings.HasSuffix(line, fmt.Sprintf("| %s | %s |\n", lipschitz, smooth))
		}
		if !found {
			t.Errorf("docs/models.md has no row for the loss %s with L = %s and mu = %s", name, lipschitz, smooth)
		}
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
