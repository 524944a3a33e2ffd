package licenses

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

var update = flag.Bool("update", false, "write THIRD-PARTY.txt")

// part is third-party software in the program.
type part struct {
	name, license string
	notices       []notice
}

type notice struct{ file, text string }

// platforms lists the targets of the builds: they link different modules.
var platforms = []string{"linux/amd64", "darwin/arm64", "windows/amd64"}

// linked returns the modules that the program links and the folders of their packages.
func linked(t *testing.T) map[string]map[string]bool {
	t.Helper()
	roots := map[string]map[string]bool{}
	for _, platform := range platforms {
		system, arch, _ := strings.Cut(platform, "/")
		cmd := exec.Command("go", "list", "-deps", "-json=Dir,Module", "fedsim/cmd/fedsim")
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=")
		out, err := cmd.Output()
		expect.Must(t, err == nil, "go list: %v", err)
		for d := json.NewDecoder(strings.NewReader(string(out))); ; {
			var p struct {
				Dir    string
				Module *struct {
					Path, Version, Dir string
					Main               bool
				}
			}
			if err := d.Decode(&p); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if p.Module == nil || p.Module.Main {
				continue
			}
			key := p.Module.Path + " " + p.Module.Version + "\n" + p.Module.Dir
			if roots[key] == nil {
				roots[key] = map[string]bool{}
			}
			// Packages may have licenses of their own beside or above them.
			for dir := p.Dir; strings.HasPrefix(dir, p.Module.Dir); dir = filepath.Dir(dir) {
				roots[key][dir] = true
			}
		}
	}
	return roots
}

// isNotice matches the names of license files and of files that these refer to. FreeType
// offers two licenses: the program uses the FreeType License.
var isNotice = regexp.MustCompile(`^(LICEN[CS]E|COPYING|NOTICE|PATENTS)([-.].*)?$|^ftl\.txt$`)

func readNotices(t *testing.T, root string, dirs map[string]bool) (found []notice) {
	t.Helper()
	for dir := range dirs {
		entries := expect.Value(os.ReadDir(dir))(t)
		for _, e := range entries {
			if e.IsDir() || !isNotice.MatchString(e.Name()) {
				continue
			}
			text := filetest.Read(t, filepath.Join(dir, e.Name()))
			name := expect.Value(filepath.Rel(root, filepath.Join(dir, e.Name())))(t)
			found = append(found, notice{filepath.ToSlash(name), tidy(string(text))})
		}
	}
	slices.SortFunc(found, func(a, b notice) int { return strings.Compare(a.file, b.file) })
	return found
}

// tidy converts line ends to \n and removes trailing blanks.
func tidy(text string) string {
	lines := strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\r\f")
	}
	return strings.Trim(strings.ReplaceAll(strings.Join(lines, "\n"), "\f", ""), "\n") + "\n"
}

// kinds maps sentences that identify a license to its name at spdx.org/licenses.
var kinds = []struct{ sentence, name string }{
	{"SIL OPEN FONT LICENSE Version 1.1", "OFL-1.1"},
	{"The FreeType Project LICENSE", "FTL"},
	{"Creative Commons Attribution 4.0 International", "CC-BY-4.0"},
	{"Apache License Version 2.0", "Apache-2.0"},
	{"the Apache License, Version 2.0", "Apache-2.0"},
	{"Mozilla Public License Version 2.0", "MPL-2.0"},
	{"Permission is hereby granted, free of charge, to any person obtaining a copy", "MIT"},
	{"Neither the name of", "BSD-3-Clause"},
	{"Redistribution and use in source and binary forms", "BSD-2-Clause"},
}

// licensesOf returns the names of the licenses in notices.
func licensesOf(notices []notice) string {
	var names []string
	for _, n := range notices {
		text := strings.Join(strings.Fields(n.text), " ")
		for _, k := range kinds {
			switch {
			case k.name == "BSD-2-Clause" && strings.Contains(text, "Neither the name of"):
				continue // the license has the third clause
			case k.name == "MIT" && slices.Contains(names, "OFL-1.1"):
				continue // the other license grants with the same words
			}
			if strings.Contains(text, k.sentence) && !slices.Contains(names, k.name) {
				names = append(names, k.name)
			}
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// carried returns all third-party software in the program.
func carried(t *testing.T) (parts []part) {
	t.Helper()
	for key, dirs := range linked(t) {
		name, root, _ := strings.Cut(key, "\n")
		if strings.HasPrefix(name, "github.com/golang/freetype ") {
			dirs[filepath.Join(root, "licenses")] = true
		}
		parts = append(parts, part{name: name, notices: readNotices(t, root, dirs)})
	}
	root := expect.Value(exec.Command("go", "env", "GOROOT").Output())(t)
	goroot := strings.TrimSpace(string(root))
	uplot := filepath.Join("..", "..", "rooms", "report", "uplot")
	parts = append(parts,
		part{name: "Go (standard library and runtime)", notices: readNotices(t, goroot, map[string]bool{goroot: true})},
		part{name: "uPlot 1.6.32", notices: readNotices(t, uplot, map[string]bool{uplot: true})})
	slices.SortFunc(parts,
		func(a, b part) int { return strings.Compare(strings.ToLower(a.name), strings.ToLower(b.name)) })
	for i := range parts {
		parts[i].license = licensesOf(parts[i].notices)
		expect.That(t, parts[i].license != "",
			"%s has no license that is known here: look at it and extend kinds", parts[i].name)
	}
	return parts
}

// written returns the content of THIRD-PARTY.txt.
func written(parts []part) string {
	var b strings.Builder
	b.WriteString(
		"fedsim carries the following software and fonts under licenses of their own, whose\nnotices follow.\n\n")
	for _, p := range parts {
		fmt.Fprintf(&b, "  %s: %s\n", p.name, p.license)
	}
	rule := strings.Repeat("=", 80)
	for _, p := range parts {
		for _, n := range p.notices {
			fmt.Fprintf(&b, "\n%s\n%s, %s\n%s\n\n%s", rule, p.name, n.file, rule, n.text)
		}
	}
	return b.String()
}

// TestUpToDate fails if the modules and versions that the program links differ from those
// in the file.
func TestUpToDate(t *testing.T) {
	want := written(carried(t))
	if *update {
		filetest.Write(t, "THIRD-PARTY.txt", want)
		return
	}
	if Text == want {
		return
	}
	has, wants := strings.Split(Text, "\n"), strings.Split(want, "\n")
	for _, line := range wants {
		if !slices.Contains(has, line) {
			t.Errorf("the file lacks %q", line)
			break
		}
	}
	for _, line := range has {
		if !slices.Contains(wants, line) {
			t.Errorf("the program has nothing of %q", line)
			break
		}
	}
	t.Error("THIRD-PARTY.txt is not up to date: make licenses")
}

// TestEverythingIsThere checks that the file names the licenses with special terms.
func TestEverythingIsThere(t *testing.T) {
	for _, want := range []string{
		"github.com/ajstarks/svgo v0.0.0-20211024235047-1546f124cd8b: CC-BY-4.0\n",
		"codeberg.org/go-fonts/liberation v0.6.0: BSD-3-Clause, OFL-1.1\n",
		"uPlot 1.6.32: MIT\n",
		"Go (standard library and runtime): BSD-3-Clause\n",
		"Copyright (c) 2022 Leon Sorokin",
		"Reserved Font Name Liberation",
		"The FreeType Project LICENSE",
		"By exercising the Licensed Rights",
	} {
		expect.That(t, strings.Contains(Text, want), "the notices lack %q", want)
	}
}
