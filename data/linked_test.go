package data

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program that does not import the reader of a source says what it must import.
func TestSourceWithoutReader(t *testing.T) {
	cfg := Defaults()
	cfg.Source, cfg.Path = SourceParquet, filepath.Join(t.TempDir(), "x.parquet")
	if err := os.WriteFile(cfg.Path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(cfg); err == nil || !strings.Contains(err.Error(), "it must import fedsim/data/parquet") {
		t.Error(err)
	}
}
