package main

import (
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/experiment/scenario"
)

// Every point is a valid scenario, and a sweep covers three decades.
func TestSweeps(t *testing.T) {
	for _, s := range sweeps() {
		if least, most := s.sizes[0], s.sizes[len(s.sizes)-1]; most != 1000*least {
			t.Errorf("%s: from %d to %d, not three decades", s.name, least, most)
		}
		for _, n := range s.sizes {
			if _, err := scenario.Load(s.scenario, s.set(n)); err != nil {
				t.Errorf("%s, %d: %v", s.name, n, err)
			}
		}
	}
}

func TestUpTo(t *testing.T) {
	for _, s := range upTo(sweeps(), 20) {
		for _, n := range s.sizes {
			if n > 20 {
				t.Errorf("%s: %d", s.name, n)
			}
		}
	}
}

func TestTake(t *testing.T) {
	var p point
	for _, q := range []point{{10, 2, 300}, {10, 3, 200}, {10, 4, 400}} {
		p.take(q)
	}
	if want := (point{10, 2, 200}); p != want {
		t.Errorf("%v, want %v", p, want)
	}
}

// The table of time 2e-9 n^1.5 and memory 100 MB.
func TestTable(t *testing.T) {
	all := []sweep{{name: "things"}}
	measured := [][]point{{}}
	for _, n := range []float64{1e3, 1e4, 1e5} {
		measured[0] = append(measured[0], point{n, 2e-9 * math.Pow(n, 1.5), 1e8})
	}
	var out bytes.Buffer
	if err := printTable(&out, all, measured); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"|     100000 |  0.06325 s |   632.5 ns |      10.00 |     100 MB |",
		"time grows with power 1.50 and memory with power 0.00",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}

// The smallest points, from runs to the figure.
func TestGrow(t *testing.T) {
	if testing.Short() {
		t.Skip("builds fedsim")
	}
	dir := t.TempDir()
	var out bytes.Buffer
	if err := grow(&out, io.Discard, 1, 50, dir); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"rows of each of 100 devices", "features of 300 devices"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	for _, name := range []string{"growth.png", "growth.svg"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}
