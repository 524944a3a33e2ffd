package into

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"slices"

	"fedsim/data"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/input"
	"fedsim/results/rundir"
)

// DataFiles returns the checksums of the files of data of a scenario, each once, by their paths in the scenario.
// Folders, and files that are not there, have none.
func DataFiles(s *scenario.Scenario) (sums []rundir.FileSum, err error) {
	for j := range scenario.Jobs(s.Experiments) {
		name := j.Candidates[0].Settings.Data.Path
		if name == "" || slices.ContainsFunc(sums, func(f rundir.FileSum) bool { return f.Name == name }) {
			continue
		}
		sum, err := sumOf(name)
		if err != nil {
			return nil, err
		}
		if sum != "" {
			sums = append(sums, rundir.FileSum{Name: name, SHA256: sum})
		}
	}
	return sums, nil
}

// sumOf returns the SHA-256 of a file of data in hexadecimal digits; empty: it is no file.
func sumOf(name string) (sum string, err error) {
	path, err := data.Locate(name)
	if err != nil {
		return "", nil // whoever reads it says so
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return "", nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer input.CloseAfter(f, &err)
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
