package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// All installed programs train the same models to the same accuracy, in three rounds.
func TestTrainingsEndAlike(t *testing.T) {
	if _, err := os.Stat(filepath.Join(os.Getenv("FEDSIM_DATA"), "mnist")); err != nil {
		t.Skip("FEDSIM_DATA has no folder mnist with the four files of MNIST")
	}
	tools, missing := findTrainingTools()
	for _, m := range missing {
		t.Log("without ", m)
	}
	if tools.numpy == "" {
		t.Skip("there is no Python with NumPy")
	}
	var out, log strings.Builder
	if err := compareTraining(&out, &log, 1, "(softmax|784-128-10), batch 32, (fedsim$|NumPy|PyTorch loop$|pfl)",
		true); err != nil {
		t.Fatal(err, log.String())
	}
	rows := 0
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "| softmax") || strings.HasPrefix(line, "| 784-128-10") {
			rows++
		}
		if strings.Contains(line, "does not count") {
			t.Error(line)
		}
	}
	want := 4 // fedsim and NumPy
	for _, python := range []string{tools.torch, tools.pfl} {
		if python != "" {
			want += 2
		}
	}
	if rows < want {
		t.Errorf("%d rows, want %d:\n%s", rows, want, out.String())
	}
}
