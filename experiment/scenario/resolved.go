package scenario

import (
	"bytes"
	"fmt"

	"fedsim/config"
	"fedsim/results"
)

// resolved is the document that a scenario is written back as.
type resolved struct {
	Name        string `toml:"name"`
	Description string `toml:"description"`
	Settings
	Experiment []resolvedExperiment `toml:"experiment,omitempty"`
}

type resolvedExperiment struct {
	Name        string                        `toml:"name"`
	Description string                        `toml:"description"`
	Methods     []string                      `toml:"methods"`
	Set         config.InlineTable            `toml:"set,omitempty"`
	Sweep       config.InlineTable            `toml:"sweep,omitempty"`
	Sample      *resolvedSample               `toml:"sample"`
	Axis        []resolvedAxis                `toml:"axis,omitempty"`
	Tuning      *Tuning                       `toml:"tuning"`
	Tune        map[string]config.InlineTable `toml:"tune,omitempty"`
	Ranks       bool                          `toml:"ranks"`
	Table       *gridTable                    `toml:"table"`
	Figure      *results.Figure               `toml:"figure"`
	Figures     []results.Figure              `toml:"figures,omitempty"`
}

type resolvedAxis struct {
	Name   string          `toml:"name"`
	Points []resolvedPoint `toml:"points"`
}

type resolvedPoint struct {
	Label string             `toml:"label"`
	Set   config.InlineTable `toml:"set,omitempty"`
}

// Resolved writes the scenario as TOML with every default written out and the
// overrides folded in; reading it gives the same experiments. A scenario that was recorded by an
// earlier version is returned unchanged, which identifies its run, unless a key has now
// another meaning.
func (s *Scenario) Resolved() ([]byte, error) {
	doc := resolved{Name: s.Name, Description: s.Description, Settings: s.Settings}
	doc.Federation.ProtocolOptions = s.protocolOptions
	for i := range s.designs {
		doc.Experiment = append(doc.Experiment, s.designs[i].resolved())
	}
	text, err := config.Encode(doc)
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	if text = bytes.TrimLeft(text, "\n"); len(text) > config.MaxSource { // which could not be read back
		return nil,
			config.Errors{
				{Place: config.Place{File: s.File},
					Text: fmt.Sprintf("has %d bytes with every default written out: must have at most %d", len(text),
						config.MaxSource)},
			}
	}
	if s.recorded != nil && extends(text, s.recorded) {
		return s.recorded, nil
	}
	return text, nil
}

func (d *design) resolved() resolvedExperiment {
	e := resolvedExperiment{
		Name: d.name, Description: d.description, Methods: d.methods,
		Set: d.set, Ranks: d.ranks, Table: d.table,
	}
	if len(d.figures) > 0 {
		e.Figure, e.Figures = &d.figures[0], d.figures[1:]
	}
	for i := range d.axes {
		a := &d.axes[i]
		if a.swept != nil {
			e.Sweep = append(e.Sweep, a.sweep())
			continue
		}
		if a.sample != nil {
			e.Sample = a.sample.resolved(a)
			continue
		}
		named := resolvedAxis{Name: a.name}
		for _, point := range a.points {
			named.Points = append(named.Points, resolvedPoint{Label: point.label, Set: point.set})
		}
		e.Axis = append(e.Axis, named)
	}
	for _, t := range d.tuned {
		if e.Tune == nil {
			e.Tune = map[string]config.InlineTable{}
			e.Tuning = &d.tuning
		}
		var grid config.InlineTable
		for i := range t.axes {
			grid = append(grid, t.axes[i].sweep())
		}
		e.Tune[t.method] = grid
	}
	return e
}

// sweep returns the axis of a swept key as the scenario has it: the key with the
// list of its values.
func (a *axis) sweep() config.Assignment {
	values := make([]*config.Node, len(a.points))
	for i, point := range a.points {
		values[i] = point.set[0].Value
	}
	return config.Assignment{Path: a.swept, Value: config.NewList(values, config.Place{})}
}
