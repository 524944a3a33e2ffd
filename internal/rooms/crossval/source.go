package crossval

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fedsim/data"
)

// TableSpec describes one table.
type TableSpec struct {
	Name string // base name of its files
	Config
	Sets []Set // one column each
}

// Set is one data set of a table.
type Set struct {
	Label string
	Data  data.Config
	// Fallback is used when the file of Data does not exist; nil: a missing file is an
	// error.
	Fallback *data.Config
	Paper    map[string]Reference // published errors by model
}

// Reference is a published mean with its standard error.
type Reference struct{ Mean, StandardError float64 }

// Source is the origin of the rows of a set, after the search for files.
type Source struct {
	Config    data.Config
	Generated bool   // the rows are generated, not measured
	Text      string // description of the origin, one line
}

// Locate finds the data of the set. It looks for a file at its path, then in the folder.
// It returns Fallback only when the file exists in neither place. Locate does not read
// the file.
func (s *Set) Locate(folder string) (Source, error) {
	cfg := s.Data
	if cfg.Path == "" {
		return source(cfg), nil
	}
	places := []string{cfg.Path}
	if folder != "" && !filepath.IsAbs(cfg.Path) {
		places = append(places, filepath.Join(folder, cfg.Path))
	}
	for _, place := range places {
		switch _, err := os.Stat(place); {
		case err == nil:
			found := source(cfg)
			found.Config.Path = place
			return found, nil
		case !errors.Is(err, fs.ErrNotExist):
			return Source{}, fmt.Errorf("data set %q: %w", s.Label, err)
		}
	}
	if s.Fallback == nil {
		return Source{}, fmt.Errorf("data set %q: file %s not found beside the scenario, in the working directory or in the folder FEDSIM_DATA", s.Label, cfg.Path)
	}
	fallback := source(*s.Fallback)
	fallback.Text += fmt.Sprintf(", in place of %s %s, which was not found", cfg.Source, cfg.Path)
	return fallback, nil
}

// source describes a configuration.
func source(cfg data.Config) Source {
	switch {
	case cfg.Source == data.SourceAlphaBeta:
		return Source{Config: cfg, Generated: true, Text: "generated, synthetic(alpha, beta)"}
	case cfg.Source != data.SourceSynthetic:
		return Source{Config: cfg, Text: cfg.Source + " " + cfg.Path}
	case cfg.Preset != "":
		return Source{Config: cfg, Generated: true, Text: "generated, with the sizes of " + cfg.Preset}
	default:
		return Source{Config: cfg, Generated: true, Text: "generated"}
	}
}
