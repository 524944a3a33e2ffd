package fleets

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"fedsim/config"
	"fedsim/internal/tools/input"
)

// Read reads a fleet from a TOML or csv file. An error is config.Errors, with positions.
func Read(path string) (*Fleet, error) {
	source, err := input.ReadText(path, config.MaxSource)
	if err != nil {
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err
		}
		return nil, config.Errors{{Place: config.Place{File: path}, Text: err.Error()}}
	}
	if strings.EqualFold(filepath.Ext(path), ".csv") {
		return parseCSV(path, source)
	}
	return parseTOML(path, source)
}

// Open returns the built-in fleet with a name, or reads the file with that name.
func Open(name string) (*Fleet, error) {
	if f, ok := BuiltIn(name); ok {
		return f, nil
	}
	if level, ok := strings.CutPrefix(name, "level-"); ok && slices.Contains(Levels, level) {
		return Level(level, level), nil
	}
	if filepath.Ext(name) == "" && !strings.ContainsAny(name, `/\`) {
		return nil, config.Errors{{Text: Unknown(name) + " (the name of a file ends in .toml or .csv)"}}
	}
	return Read(name)
}

func parseTOML(name string, source []byte) (*Fleet, error) {
	root, err := config.Parse(name, source)
	if err != nil {
		return nil, err
	}
	return decode(root)
}

// decode converts a configuration tree to a fleet.
func decode(root *config.Node) (*Fleet, error) {
	f := &Fleet{}
	problems := config.Decode(root, "", f)
	if len(problems) > 0 {
		return nil, problems
	}
	c := config.NewChecker()
	f.Validate(c)
	problems.AddFound(root, c)
	if len(problems) > 0 {
		return nil, problems
	}
	return f, nil
}

// parseCSV reads classes, one per row. The header names their keys. An empty cell leaves
// a key at its default.
func parseCSV(name string, source []byte) (*Fleet, error) {
	texts := map[string]bool{}
	for _, field := range config.Fields(&Class{}) {
		texts[field.Key] = field.Type == "string"
	}
	at := config.Place{File: name}
	r := input.NewCSV(bytes.NewReader(source), config.MaxSource)
	r.TrimLeadingSpace = true
	var header []string
	var classes []*config.Node
	for {
		record, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, unreadable(name, err)
		}
		if header == nil {
			header = slices.Clone(record)
			continue
		}
		class := config.NewTable(at)
		for i, cell := range record {
			key, cell := strings.TrimSpace(header[i]), strings.TrimSpace(cell)
			line, column := r.FieldPos(i)
			place := config.Place{File: name, Line: line, Column: column}
			if class.Child(key) != nil {
				return nil, config.Errors{{Place: place, Text: fmt.Sprintf("two columns are named %q", key)}}
			}
			var value any = cell
			if x, err := input.Number(cell); err == nil && !texts[key] {
				value = x
			}
			if cell == "" || input.Missing(cell) && !texts[key] {
				continue
			}
			if err := class.Set(config.Path{key}, config.NewScalar(value, place)); err != nil {
				return nil, config.Errors{{Place: place, Text: err.Error()}}
			}
			if i == 0 {
				class.Place = place
			}
		}
		classes = append(classes, class)
	}
	if len(classes) == 0 {
		return nil,
			config.Errors{{Place: at, Text: "must have a header with the keys of classes, and a row for each class"}}
	}
	root := config.NewTable(at)
	if err := root.Set(config.Path{"class"}, config.NewList(classes, at)); err != nil {
		return nil, config.Errors{{Place: at, Text: err.Error()}}
	}
	return decode(root)
}

// unreadable adds a position to an error of the csv package.
func unreadable(name string, err error) error {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return config.Errors{{Place: config.Place{File: name}, Text: err.Error()}}
	}
	return config.Errors{{Place: config.Place{File: name, Line: parse.Line, Column: parse.Column},
		Text: parse.Err.Error()}}
}
