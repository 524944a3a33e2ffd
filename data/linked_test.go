package data

import (
	"path/filepath"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// A program that does not import the reader of a source names the package to import.
func TestSourceWithoutReader(t *testing.T) {
	cfg := Defaults()
	cfg.Source, cfg.Path = SourceParquet, filepath.Join(t.TempDir(), "x.parquet")
	filetest.Write(t, cfg.Path, "")
	_, err := Load(cfg)
	expect.That(t, err != nil && strings.Contains(err.Error(), "it must import fedsim/data/parquet"), "%v", err)
}
