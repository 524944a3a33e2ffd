package command

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/internal/tools/filetest"
)

// roomList is the file with a line for each room.
const roomList = "experiment/scenario/rooms.go"

// A room is a folder and a line in the list of rooms: the room of testdata/noise has a key, rules, a column of
// rounds.parquet and of figures, and a cost of targets in runs.csv, the summary and explain. No other file is touched.
func TestARoomIsAFolderAndAnEntry(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds fedsim with a room more")
	}
	dir := t.TempDir()
	absolute := func(path string) string {
		path, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	list := read(t, roomList)
	entry := "	_ \"fedsim/internal/rooms/noise\"\n)"
	filetest.Write(t, filepath.Join(dir, "rooms.go"), strings.Replace(list, ")", entry, 1))
	program, err := buildReplaced(dir, map[string]string{
		absolute(filepath.Join(root, roomList)):                        filepath.Join(dir, "rooms.go"),
		absolute(filepath.Join(root, "internal/rooms/noise/noise.go")): absolute("testdata/noise/noise.go"),
	})
	if err != nil {
		t.Fatal(err)
	}

	filetest.Write(t, filepath.Join(dir, "x.toml"), "[noise]\nshare = 0.5\n"+strings.NewReplacer(
		"rounds = 2\n", "rounds = 2\ntargets = { test_error = [0.99] }\n", "figure = {}\n",
		"[experiment.figure]\nx = \"noise_s\"\n").Replace(flagScenario))
	of := func(arguments ...string) string {
		run := exec.Command(program, arguments...)
		run.Dir = dir
		out, _ := run.CombinedOutput()
		return string(out)
	}
	summary := of("run", "x.toml", "--out", "loud", "--progress", "none")
	if !strings.Contains(summary, "test error") {
		t.Fatal(summary)
	}
	of("run", "x.toml", "--out", "quiet", "--set", "noise.share=0", "--set", "experiment.x.figure.x=time_s")
	for name, texts := range map[string]struct{ text, want string }{
		"summary": {summary, "noise"},
		"explain": {of("explain", "loud"), "noise"},
		"resolved scenario": {string(filetest.Read(t, filepath.Join(dir, "loud/scenario.toml"))),
			"[noise]\nshare = 0.5\n"},
		"rounds":   {of("export", "loud", "rounds"), ",noise_s\n"},
		"runs.csv": {string(filetest.Read(t, filepath.Join(dir, "loud/runs.csv"))), ",total_noise_s,"},
		"cost of a target": {string(filetest.Read(t, filepath.Join(dir, "loud/runs.csv"))),
			",noise_s_to_test_error_0.99"},
		"figure":           {string(filetest.Read(t, filepath.Join(dir, "loud/figures/x.svg"))), "noise of devices"},
		"range of the key": {of("run", "x.toml", "--set", "noise.share=2"), "noise.share=2: must be in [0, 1]"},
		"rule of the room": {of("run", "x.toml", "--set", "federation.server_gflops=1"),
			"must be 0 with federation.server_gflops"},
		"trait of the key": {of("run", "x.toml", "--set", "federation.population=lazy"),
			"noise.share = 0.5: must be 0 with federation.population = \"lazy\""},
		"values of figures": {of("run", "x.toml", "--set", "noise.share=0"),
			"figure.x = \"noise_s\" has no values: set noise.share"},
		"schema":              {of("scenarios", "schema"), "share of the time of computing in which a device is loud"},
		"quiet without noise": {of("show", "quiet"), "complete"},
	} {
		if !strings.Contains(texts.text, texts.want) {
			t.Errorf("%s has no %q:\n%s", name, texts.want, texts.text)
		}
	}
	for _, table := range []string{"rounds", "runs"} {
		if strings.Contains(of("export", "quiet", table), "noise") {
			t.Errorf("%s has a column of a room that is off", table)
		}
	}
}
