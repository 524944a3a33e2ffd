package command

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/internal/tools/filetest"
)

// TestEnergyPage runs the commands of docs/energy.md with its table [energy], and finds grams where the
// page says that they are.
func TestEnergyPage(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/energy.md")
	dir := t.TempDir()
	filetest.Write(t, filepath.Join(dir, "grams.toml"), blocks(page, "toml")[0]+flagScenario)
	if ran := runLines(t, dir, blocks(page, "sh")); ran < 3 {
		t.Fatalf("the page has %d commands: must have 3", ran)
	}
	var out bytes.Buffer
	if status := Main([]string{"explain", filepath.Join(dir, "grams")}, &out, &out); status != 0 {
		t.Fatal(out.String())
	}
	explained := out.String()
	for _, want := range []string{"grams of CO2e", "computing devices", "sending devices", "waiting devices", "network", "waiting server"} {
		if !strings.Contains(explained, want) {
			t.Errorf("explain has no %q:\n%s", want, explained)
		}
	}
	run := readRuns(t, filepath.Join(dir, "grams")).Runs[0]
	total := run.Total()
	for name, grams := range map[string]float64{"computing": total.Value("co2_compute_g"), "network": total.Value("co2_network_g"), "server": total.Value("co2_server_wait_g")} {
		if !(grams > 0) || !(total.Value("co2_g") > grams) {
			t.Errorf("%s has %v of %v g", name, grams, total.Value("co2_g"))
		}
	}
}
