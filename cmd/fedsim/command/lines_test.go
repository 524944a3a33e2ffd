package command

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"fedsim/internal/tools/filetest"
)

var generated = regexp.MustCompile(`(?m)^// Code generated `)

// Lines of Go and Python have at most 120 columns, with tabs of four. Generated files are exempt, and raw strings of
// several lines, which are data.
func TestLinesAreShort(t *testing.T) {
	const columns = 120
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != root && (name[0] == '.' || name == "node_modules" || name == "build") {
			return filepath.SkipDir
		}
		ext := filepath.Ext(path)
		if ext != ".go" && ext != ".py" {
			return nil
		}
		source := filetest.Read(t, path)
		if generated.Match(source) {
			return nil
		}
		data := map[int]bool{}
		if ext == ".go" {
			data = linesOfRawStrings(source)
		}
		for i, line := range strings.Split(string(source), "\n") {
			if wide := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")); wide > columns && !data[i+1] {
				t.Errorf("%s:%d has %d columns: must have at most %d", path, i+1, wide, columns)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// linesOfRawStrings returns the numbers of the lines of raw strings of several lines.
func linesOfRawStrings(source []byte) map[int]bool {
	file := token.NewFileSet().AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, 0)
	lines := map[int]bool{}
	for {
		at, kind, text := s.Scan()
		if kind == token.EOF {
			return lines
		}
		if more := strings.Count(text, "\n"); kind == token.STRING && more > 0 {
			for i := range more + 1 {
				lines[file.Line(at)+i] = true
			}
		}
	}
}
