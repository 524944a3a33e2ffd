package scenario

import (
	"fmt"
	"slices"
	"strings"

	"fedsim/data"
	"fedsim/results"
)

// DataSources describes the sources of the data of runs; missing: only those of generated
// sets in place of missing files.
func (s *Scenario) DataSources(missing bool) []string {
	var all []string
	for j := range Jobs(s.Experiments) {
		of := j.Candidates[0].Settings.Data
		if _, inPlaceOf := of.OrFallback(); missing && inPlaceOf == "" {
			continue
		}
		if text := sourceOf(of); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

func sourceOf(c data.Config) string {
	if made, inPlaceOf := c.OrFallback(); inPlaceOf != "" {
		return sourceOf(made) + ", " + inPlaceOf
	}
	text := "generated"
	switch {
	case c.Source == data.SourceExternal:
		return fmt.Sprintf("of the learner, %d clients", c.External.Clients)
	case c.Source == data.SourceAlphaBeta:
		text += ", synthetic(alpha, beta)"
	case c.Source != data.SourceSynthetic:
		text = c.Source + " " + c.Path
		if c.Source == data.SourceCSV && data.GeneratedFile(c.Path) {
			text += ", generated"
		}
	case c.Preset != "":
		text += ", with the sizes of " + c.Preset
	}
	if c.Target == data.TargetReal {
		text += ", real targets"
	}
	return text
}

// Sources describes the sources of the data of each point, by results.PointText.
func (e *Experiment) Sources() (notes []string) {
	seen := map[string]bool{}
	for i := range e.Jobs {
		run := &e.Jobs[i].Candidates[0]
		if point := results.PointText(run.Point); !seen[point] {
			seen[point] = true
			notes = append(notes, strings.TrimPrefix(point+": "+sourceOf(run.Settings.Data), ": "))
		}
	}
	return notes
}
