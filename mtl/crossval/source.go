package crossval

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fedsim/data"
)

// Table is one table to be made.
type Table struct {
	Name string // of its files
	Config
	Sets []Set // one column each
}

// Set is one data set of a table.
type Set struct {
	Label string
	Data  data.Config
	// Fallback is what stands in when the file of Data is nowhere; nil: nothing
	// does, and a missing file is an error.
	Fallback *data.Config
	Paper    map[string]Reference // published figures by model
}

// Reference is a published mean with its standard error.
type Reference struct{ Mean, StandardError float64 }

// Source is where the rows of a set come from in the end.
type Source struct {
	Config    data.Config
	Generated bool   // the rows are generated, not measured
	Text      string // one line that says so
}

// Locate finds the data of the set: a file is looked for under its path as it is
// given, then in the folder. Only when it is in neither place does Fallback
// stand in; a file that cannot be read is an error later on.
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
		return Source{}, fmt.Errorf("data set %q: there is no %s beside the scenario, in the working directory or in the folder that FEDSIM_DATA names", s.Label, cfg.Path)
	}
	other := source(*s.Fallback)
	other.Text += fmt.Sprintf(", in place of %s %s, which was not found", cfg.Source, cfg.Path)
	return other, nil
}

// source describes a configuration as it is.
func source(cfg data.Config) Source {
	switch {
	case cfg.Source != data.SourceSynthetic:
		return Source{Config: cfg, Text: cfg.Source + " " + cfg.Path}
	case cfg.Preset != "":
		return Source{Config: cfg, Generated: true, Text: "generated, with the sizes of " + cfg.Preset}
	default:
		return Source{Config: cfg, Generated: true, Text: "generated"}
	}
}
