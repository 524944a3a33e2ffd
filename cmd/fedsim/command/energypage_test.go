package command

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// TestEnergyPage runs the commands of docs/time.md on energy with its table [energy], and finds grams where the
// page says that they are.
func TestEnergyPage(t *testing.T) {
	t.Parallel()
	page := section(t, "docs/time.md", "## Energy and carbon")
	dir := t.TempDir()
	filetest.Write(t, filepath.Join(dir, "grams.toml"), blocks(page, "toml")[0]+flagScenario)
	ran := runLines(t, dir, blocks(page, "sh"))
	expect.Must(t, ran >= 3, "the page has %d commands: must have 3", ran)
	var out bytes.Buffer
	status := Main([]string{"explain", filepath.Join(dir, "grams")}, &out, &out)
	expect.Must(t, status == 0, "%v", out.String())
	explained := out.String()
	for _, want := range []string{"grams of CO2e", "computing devices", "sending devices", "waiting devices", "network",
		"waiting server"} {
		expect.That(t, strings.Contains(explained, want), "explain has no %q:\n%s", want, explained)
	}
	run := readRuns(t, filepath.Join(dir, "grams")).Runs[0]
	total := run.Total()
	for name, grams := range map[string]float64{"computing": total.Value("co2_compute_g"),
		"network": total.Value("co2_network_g"), "server": total.Value("co2_server_wait_g")} {
		expect.That(t, grams > 0 && total.Value("co2_g") > grams,
			"%s has %v of %v g", name, grams, total.Value("co2_g"))
	}
}
