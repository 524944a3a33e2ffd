package rundir

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"fedsim/internal/tools/input"
)

// sumOf returns the SHA-256 of a file: of a scenario without its figures, and of runs.csv without its last column.
func sumOf(path string) ([]byte, error) {
	if name := filepath.Base(path); name == scenarioFile || name == runsFile {
		text, err := input.ReadOwn(path, maxText)
		if name == scenarioFile {
			return scenarioSum(text), err
		}
		sum := sha256.New()
		for line := range bytes.Lines(text) {
			sum.Write(line[:max(bytes.LastIndexByte(line, ','), 0)])
		}
		return sum.Sum(nil), err
	}
	f, err := input.OpenOwn(path, maxTable)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return sum.Sum(nil), errors.Join(err, f.Close())
}

// scenarioSum returns the checksum of a scenario without its figures, which users may change after the run: the tables
// experiment.figure and experiment.figures are left out.
func scenarioSum(text []byte) []byte {
	sum := sha256.New()
	figure := false
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("[")) {
			figure = bytes.HasPrefix(bytes.TrimLeft(line, "["), []byte("experiment.figure"))
		}
		if !figure {
			sum.Write(line)
		}
	}
	return sum.Sum(nil)
}

// file returns the entry of a file in the directory itself; nil: there is none.
func (m *Manifest) file(name string) *FileSum {
	for i := range m.Sums {
		if m.Sums[i].Name == name {
			return &m.Sums[i]
		}
	}
	return nil
}

// checkFile compares a file of the directory, if the manifest lists it, with its checksum there.
func (m *Manifest) checkFile(dir, name string) error {
	if m.file(name) == nil {
		return nil
	}
	path := filepath.Join(dir, name)
	sum, err := sumOf(path)
	if err != nil {
		return err
	}
	return m.checkSum(path, sum)
}

// checkSum compares the checksum of a file of the directory with that in the manifest.
func (m *Manifest) checkSum(path string, sum []byte) error {
	if of := m.file(filepath.Base(path)); of == nil || hex.EncodeToString(sum) == of.SHA256 {
		return nil
	}
	return fmt.Errorf("%s: is corrupt or of another run: its checksum does not match %s: "+
		"put the file of this run back, or run it again with --force", path, manifestFile)
}
