package command

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/internal/rooms/traces"
	"fedsim/internal/tools/filetest"
)

// TestTracesPage runs the commands of docs/traces.md on small files with the names on the
// page, and reads its example.
func TestTracesPage(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the page's commands one by one")
	}
	t.Parallel()
	page := read(t, "docs/traces.md")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"client_behave_trace":    read(t, "internal/rooms/traces/testdata/availability4.pkl"),
		"client_device_capacity": read(t, "internal/rooms/traces/testdata/capacity.pkl"),
		"state_traces.json":      `{"a": {"messages": "2020-01-02 00:00:00\tscreen_lock\n2020-01-02 01:00:00\tWifi"}, "b": {"messages": ""}}`,
		"speed_distri.json":      `{"a": {"down_u": 1000, "down_sigma": 450, "up_u": 100, "up_sigma": 45}}`,
	} {
		filetest.Write(t, filepath.Join(dir, name), text)
	}
	ran := runLines(t, dir, blocks(page, "sh"))
	examples := blocks(page, "csv")
	if ran < 6 || len(examples) != 1 {
		t.Fatalf("the page has %d commands and %d files: must have 6 and 1", ran, len(examples))
	}
	set, err := traces.Collect(traces.CSV(strings.NewReader(examples[0]), "docs/traces.md"))
	if err != nil {
		t.Fatal(err)
	}
	var again strings.Builder
	if err := traces.WriteCSV(&again, set.Traces()); err != nil {
		t.Fatal(err)
	}
	if again.String() != examples[0] {
		t.Errorf("the example is written as\n%s", again.String())
	}
	for _, k := range traces.AllKinds() {
		if !strings.Contains(page, fmt.Sprintf("| `%v` |", k)) {
			t.Errorf("the page does not explain the kind %v", k)
		}
	}
}

// Flags that have no effect on a format are refused.
func TestTraceFlagsOfOtherFormats(t *testing.T) {
	dir := t.TempDir()
	csv, pickle := filepath.Join(dir, "week.csv"), filepath.Join(dir, "capacity.pkl")
	for path, text := range map[string]string{
		csv: "device,time_s,kind,value\nd,0,available,1\nd,9,end,\n", pickle: read(t, "internal/rooms/traces/testdata/capacity.pkl"),
	} {
		filetest.Write(t, path, text)
	}
	const flash = " has no effect on a file of the format %s (%s): leave it out, or name a file of flash"
	for _, c := range []struct{ flag, path, want string }{
		{"--skip", csv, "--skip: has no effect on a file of the format csv (" + csv + "): leave it out, or name a file of fedscale or flash"},
		{"--battery", csv, fmt.Sprintf("--battery:"+flash, "csv", csv)},
		{"--need=wifi", csv, fmt.Sprintf("--need:"+flash, "csv", csv)},
		{"--origin=2020-01-02", csv, fmt.Sprintf("--origin:"+flash, "csv", csv)},
		{"--days=2", csv, fmt.Sprintf("--days:"+flash, "csv", csv)},
		{"--hold-s=9", csv, fmt.Sprintf("--hold-s:"+flash, "csv", csv)},
		{"--seed=1", csv, fmt.Sprintf("--seed:"+flash, "csv", csv)},
		{"--seed=1", pickle, fmt.Sprintf("--seed:"+flash, "fedscale", pickle)},
		{"--skip", pickle, ""}, {"--from=csv", csv, ""},
	} {
		var errors bytes.Buffer
		status, want := Main([]string{"trace", "stats", c.path, c.flag}, &bytes.Buffer{}, &errors), 0
		if c.want != "" {
			want = 2
		}
		if got := strings.TrimSpace(strings.TrimPrefix(errors.String(), "fedsim:")); status != want || got != c.want {
			t.Errorf("%s %s: status %d, %s, want %d, %s", c.path, c.flag, status, got, want, c.want)
		}
	}
}
