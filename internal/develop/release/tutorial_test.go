package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// page returns a page of docs/.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tree, "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// script returns the shell commands of sections of the tutorial, with the names of this release's
// files. Of the section Install it takes the block with a word. Each block ends with the time.
func script(t *testing.T, word string, sections ...string) string {
	t.Helper()
	var lines strings.Builder
	for _, section := range sections {
		_, after, ok := strings.Cut(page(t, "tutorial.md"), "\n## "+section+"\n")
		if !ok {
			t.Fatalf("the tutorial has no section %q", section)
		}
		text, _, _ := strings.Cut(after, "\n## ")
		ran := 0
		for _, block := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```").FindAllStringSubmatch(text, -1) {
			if section == "Install" && !strings.Contains(block[1], word) {
				continue
			}
			ran++
			lines.WriteString(block[1] + "date '+## " + section + ": done at %T'\n")
		}
		if ran == 0 {
			t.Fatalf("section %q has no commands", section)
		}
	}
	return strings.NewReplacer("pyfedsim-1.0.0-", "pyfedsim-1.0.0rc1-", "/fedsim-1.0.0-", "/fedsim-"+version+"-",
		" fedsim-1.0.0-", " fedsim-"+version+"-").Replace(lines.String())
}

// follow runs a script in a folder that holds one file of the release. The environment is a home
// and a PATH with the given programs alone, by name. It returns the folder.
func follow(t *testing.T, file, commands string, programs map[string]string, variables ...string) string {
	t.Helper()
	dir, bin := t.TempDir(), t.TempDir()
	for _, name := range []string{"sh", "tar", "gzip", "cat", "cut", "head", "date"} {
		programs[name] = name
	}
	for name, program := range programs {
		found, err := exec.LookPath(program)
		if err == nil {
			err = os.Symlink(found, filepath.Join(bin, name))
		}
		if err != nil {
			t.Skip(err)
		}
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?ms)^`([a-z]+[.](?:py|toml))`\n\n```[a-z]+\n(.*?)^```").
		FindAllStringSubmatch(page(t, "flower.md"), -1) {
		if err := os.WriteFile(filepath.Join(dir, m[1]), []byte(m[2]), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	printed := command(t, dir, append(variables, "PATH="+bin, "HOME="+dir), filepath.Join(bin, "sh"), "-e", "-c",
		"date '+## start at %T'\n"+commands)
	t.Log(regexp.MustCompile("(?m)^## .*").FindAllString(printed, -1))
	return dir
}

// drawn checks that figures were drawn.
func drawn(t *testing.T, dir string, figures ...string) {
	t.Helper()
	for _, f := range figures {
		if info, err := os.Stat(filepath.Join(dir, f)); err != nil || info.Size() < 10_000 {
			t.Errorf("%s is missing or empty (%v)", f, err)
		}
	}
}

// The first sections of the tutorial need the archive alone: no Go, no Python and no checkout.
func testTutorialArchive(t *testing.T, dist string) {
	commands := script(t, "tar ", "Install", "The first figure", "A table of your own")
	dir := follow(t, filepath.Join(dist, "fedsim-"+version+"-linux-amd64.tar.gz"), commands, map[string]string{})
	drawn(t, dir, "runs/quickstart/figures/quickstart.png", "runs/own/figures/own.png")
}

// The same and the section on Flower, with the wheel and Python. pip has no index: NumPy and Flower
// are downloaded before.
func testTutorialWheel(t *testing.T, dist string) {
	python := pythons(t)[0]
	house := t.TempDir()
	if text, err := exec.Command(python, "-m", "pip", "download", "-q", "-d", house, "numpy", "flwr").
		CombinedOutput(); err != nil {
		t.Skipf("NumPy and Flower cannot be downloaded from PyPI: %s", text)
	}
	wheels, err := filepath.Glob(filepath.Join(dist, "*linux*_x86_64.whl"))
	if err != nil || len(wheels) != 1 {
		t.Fatalf("wheels %v (%v)", wheels, err)
	}
	commands := script(t, "pip ", "Install", "The first figure", "A table of your own", "A Flower app")
	dir := follow(t, wheels[0], commands, map[string]string{"python3": python}, "PIP_NO_INDEX=1",
		"PIP_FIND_LINKS="+house)
	drawn(t, dir, "runs/quickstart/figures/quickstart.png", "runs/own/figures/own.png", "accuracy.png")
	if figures, err := filepath.Glob(filepath.Join(dir, "figures", "*.png")); err != nil || len(figures) == 0 {
		t.Errorf("no figure of the two runs of Flower (%v)", err)
	}
}
