package calibration

import (
	"os"
	"path/filepath"

	"fedsim/internal/rooms/measure/attemptlog"
)

// parse reads a log from text; a log that cannot be read is a mistake of the test.
func parse(text string) *attemptlog.Log {
	dir, err := os.MkdirTemp("", "calibration")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "log.csv")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		panic(err)
	}
	log, err := attemptlog.Read(path)
	if err != nil {
		panic(err)
	}
	return log
}

// changed changes the attempts of a log.
func changed(log *attemptlog.Log, change func(*attemptlog.Attempt)) *attemptlog.Log {
	for _, r := range log.Runs {
		for i := range r.Attempts {
			change(&r.Attempts[i])
		}
	}
	return log
}
