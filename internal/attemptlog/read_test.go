package attemptlog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// realLogs returns the paths of real logs. It skips the test if there are none.
func realLogs(t testing.TB, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(os.Getenv("FEDSIM_DATA"), "logs", pattern))
	if os.Getenv("FEDSIM_DATA") == "" || err != nil || len(paths) == 0 {
		t.Skip("no real logs: FEDSIM_DATA must name the folder with logs/" + pattern)
	}
	return paths
}

func TestRealLogs(t *testing.T) {
	for pattern, want := range map[string]struct{ runs, rows int }{
		"cal*.csv": {3, 240}, "disturbed_cal*.csv": {3, 240}, "paced_cal*.csv": {3, 120}, "flower*.csv": {1, 24},
	} {
		log, err := Read(realLogs(t, pattern)...)
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for _, r := range log.Runs {
			rows += len(r.Attempts)
		}
		if len(log.Runs) != want.runs || rows != want.rows || len(log.Notes) > 0 {
			t.Errorf("%s: %d runs of %d rows, notes %s", pattern, len(log.Runs), rows, strings.Join(log.Notes, "\n"))
		}
	}
}
