package rundir

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/internal/tools/filetest"
	"fedsim/results"
)

// fuzzed is a finished directory of two short runs with rows by device, and one with named
// metrics and values by client.
func fuzzed(f *testing.F) (dir string) {
	f.Helper()
	dir = filepath.Join(f.TempDir(), "run")
	w, err := Create(dir, false, testAbout())
	if err != nil {
		f.Fatal(err)
	}
	for i, r := range syntheticRuns()[:2] {
		r.Rounds = r.Rounds[:3]
		d := begin(f, w, i, r)
		for _, rows := range deviceRows(&r, 2) {
			if err := d.Devices(rows); err != nil {
				f.Fatal(err)
			}
		}
		if err := d.End(r); err != nil {
			f.Fatal(err)
		}
	}
	addNamed(f, w, 2)
	if err := w.Finish(Complete, End{At: testFinished}); err != nil {
		f.Fatal(err)
	}
	return dir
}

// FuzzDirectory reads a run directory with one file replaced: an error names the file, and
// results without an error can be exported.
func FuzzDirectory(f *testing.F) {
	dir := fuzzed(f)
	names := []string{manifestFile, scenarioFile, roundsFile, runsFile, metricsFile}
	whole := make([][]byte, len(names))
	for i, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			f.Fatal(err)
		}
		whole[i] = text
		f.Add(uint8(i), text)
		f.Add(uint8(i), text[:len(text)/2])
	}
	f.Fuzz(func(t *testing.T, which uint8, content []byte) {
		for i, name := range names {
			text := whole[i]
			if i == int(which)%len(names) {
				text = content
			}
			filetest.Write(t, filepath.Join(dir, name), text)
		}
		for _, name := range []string{"rounds", "runs", "metrics"} {
			for _, format := range Formats {
				if err := Export(io.Discard, dir, name, format); err != nil && !strings.HasPrefix(err.Error(), dir) {
					t.Fatalf("error %q does not begin with the place", err)
				}
			}
		}
	})
}

// FuzzRounds reads rounds from a file that is something else, and FuzzMetrics their metrics.
func FuzzRounds(f *testing.F) {
	fuzzRows(f, roundsFile, func(dir string) error { _, err := Read(dir); return err })
}

func FuzzMetrics(f *testing.F) {
	fuzzRows(f, metricsFile, func(dir string) error { _, err := Read(dir); return err })
}

// FuzzDevices reads rows by device from a file that is something else.
func FuzzDevices(f *testing.F) {
	fuzzRows(f, devicesParquet, func(dir string) error {
		return Devices(dir, func(string, *results.DeviceRow) error { return nil })
	})
}

// FuzzClients does so with values by client.
func FuzzClients(f *testing.F) {
	fuzzRows(f, valuesParquet, func(dir string) error {
		return valuesTable.each(dir, "", func(*results.Run, *results.ClientRow) error { return nil })
	})
}

func fuzzRows(f *testing.F, file string, read func(dir string) error) {
	dir := fuzzed(f)
	m, err := ReadManifest(dir)
	if err != nil {
		f.Fatal(err)
	}
	path := filepath.Join(dir, file)
	content, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Add(content[:len(content)-4])
	f.Add([]byte("PAR1\x00\x00\x00\x00PAR1"))
	f.Fuzz(func(t *testing.T, content []byte) {
		filetest.Write(t, path, content)
		sum := sha256.Sum256(content)
		m.file(file).SHA256 = hex.EncodeToString(sum[:]) // else the file would be refused unread
		var text bytes.Buffer
		if err := m.write(&text); err != nil {
			t.Fatal(err)
		}
		filetest.Write(t, filepath.Join(dir, manifestFile), text.Bytes())
		if err := read(dir); err != nil && !strings.HasPrefix(err.Error(), path) {
			t.Fatalf("error %q does not begin with the place", err)
		}
	})
}
