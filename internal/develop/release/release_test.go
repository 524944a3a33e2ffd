package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// full: all platforms, the first command of the README in full, also emulated, the sdist, and the
// sources without a network.
var full = flag.Bool("full", false, "test everything; takes about ten minutes")

// command runs a command in a folder with an environment and returns what it prints.
func command(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, env
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, text)
	}
	return string(text)
}

// tree is the folder of the repository; tests change the working directory.
var tree = func() string {
	tree, err := filepath.Abs("../../..")
	if err != nil {
		panic(err)
	}
	return tree
}()

// checkout makes a repository of the files around this package, at a time that is always the same.
func checkout(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "checkout")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z", "GIT_AUTHOR_NAME=x",
		"GIT_AUTHOR_EMAIL=x", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x")
	for _, args := range [][]string{{"init", "-q"}, {"--git-dir=.git", "--work-tree=" + tree, "add", "-A"},
		{"commit", "-q", "-m", "Release"}, {"checkout", "-q", "-f", "HEAD", "--", "."}} {
		command(t, dir, env, "git", args...)
	}
	return dir
}

// made makes a release candidate in a checkout and returns its dist/.
func made(t *testing.T, dir string) string {
	t.Helper()
	args := []string{version}
	if !*full {
		args = append(args, "linux/amd64")
	}
	t.Chdir(dir)
	if err := run(args, io.Discard); errors.Is(err, errTools) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "dist")
}

const version = "1.0.0-rc.1"

func TestRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs and wheels")
	}
	dist := made(t, checkout(t))
	t.Run("same bytes in another folder", func(t *testing.T) {
		again := made(t, checkout(t))
		first, err := members(dist, "")
		if err != nil {
			t.Fatal(err)
		}
		if second, err := members(again, ""); err != nil || len(second) != len(first) || len(first) < 6 {
			t.Fatalf("%d and %d files (%v)", len(first), len(second), err)
		}
		for _, m := range first {
			a, errA := os.ReadFile(m.path)
			b, errB := os.ReadFile(filepath.Join(again, m.name))
			if errA != nil || errB != nil || !bytes.Equal(a, b) {
				t.Errorf("%s differs (%v, %v)", m.name, errA, errB)
			}
		}
	})
	t.Run("checksums", func(t *testing.T) {
		command(t, dist, os.Environ(), "sha256sum", "--strict", "--quiet", "-c", "SHA256SUMS")
	})
	t.Run("archive", func(t *testing.T) { testArchive(t, dist, "amd64") })
	t.Run("bill of materials", func(t *testing.T) { testMaterials(t, dist) })
	t.Run("Debian package", func(t *testing.T) { testDeb(t, dist, "amd64") })
	t.Run("wheels", func(t *testing.T) { testWheels(t, dist) })
	t.Run("tutorial from the archive", func(t *testing.T) { testTutorialArchive(t, dist) })
	t.Run("tutorial from the wheel", func(t *testing.T) { testTutorialWheel(t, dist) })
	t.Run("sources", func(t *testing.T) { testSources(t, dist) })
	if *full {
		t.Run("archive for arm64", func(t *testing.T) { testArchive(t, dist, "arm64") })
		t.Run("Debian package for arm64", func(t *testing.T) { testDeb(t, dist, "arm64") })
	}
}

// unpack unpacks the archive for Linux and returns its folder.
func unpack(t *testing.T, dist, arch string) string {
	t.Helper()
	dir, name := t.TempDir(), "fedsim-"+version+"-linux-"+arch
	command(t, dir, os.Environ(), "tar", "-xzf", filepath.Join(dist, name+".tar.gz"))
	return filepath.Join(dir, name)
}

// prefix is what starts a program for a processor here: nothing, or an emulator.
func prefix(t *testing.T, arch string) []string {
	t.Helper()
	if arch == "amd64" {
		return nil
	}
	emulator, err := exec.LookPath("qemu-aarch64-static")
	if err != nil {
		t.Skip("qemu-aarch64-static is not installed (make emulators)")
	}
	return []string{emulator}
}

// The program runs the README's first command, or a short one, from the archive, with an empty
// environment.
func testArchive(t *testing.T, dist, arch string) {
	dir := unpack(t, dist, arch)
	for _, file := range []string{"LICENSE", "THIRD-PARTY.txt", "README.md", "CHANGELOG.md", "man/man1/fedsim-run.1",
		"completions/_fedsim"} {
		if info, err := os.Stat(filepath.Join(dir, file)); err != nil || info.Size() < 100 {
			t.Errorf("%s is missing or short (%v)", file, err)
		}
	}
	start := append(prefix(t, arch), "./fedsim")
	env := []string{"HOME=/nonexistent"}
	if got := command(t, dir, env, start[0], append(start[1:], "version")...); !strings.HasPrefix(got,
		"fedsim v"+version+" ") {
		t.Errorf("fedsim version prints %q", got)
	}
	args := []string{"run", "scenarios/deadline.toml"}
	figures := "runs/deadline/figures"
	if *full && arch == "amd64" {
		args, figures = []string{"run", "scenarios/lte-high-var.toml"}, "runs/lte-high-var/figures"
	}
	command(t, dir, env, start[0], append(start[1:], args...)...)
	if drawn, err := filepath.Glob(filepath.Join(dir, figures, "*.png")); err != nil || len(drawn) == 0 {
		t.Errorf("no figures (%v)", err)
	}
}

// The bill of materials has exactly the modules of the program, and Go.
func testMaterials(t *testing.T, dist string) {
	info, err := buildinfo.ReadFile(filepath.Join(unpack(t, dist, "amd64"), "fedsim"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"std@" + strings.TrimPrefix(info.GoVersion, "go")}
	for _, m := range info.Deps {
		want = append(want, m.Path+"@"+m.Version)
	}
	text, err := os.ReadFile(filepath.Join(dist, "fedsim-"+version+"-linux-amd64.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var bom struct {
		SpecVersion string
		Components  []struct{ Name, Version, Purl string }
	}
	if err := json.Unmarshal(text, &bom); err != nil || bom.SpecVersion != "1.6" {
		t.Fatalf("version %s (%v)", bom.SpecVersion, err)
	}
	var got []string
	for _, c := range bom.Components {
		got = append(got, c.Name+"@"+c.Version)
		if c.Purl != "pkg:golang/"+c.Name+"@"+c.Version {
			t.Errorf("address %s of %s", c.Purl, c.Name)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || len(want) < 20 {
		t.Errorf("has %v, want %v", got, want)
	}
}

// The package goes into an empty root and out of it again, and leaves nothing.
func testDeb(t *testing.T, dist, arch string) {
	if _, err := exec.LookPath("dpkg"); err != nil || os.Geteuid() != 0 {
		t.Skip("needs dpkg and root")
	}
	root := t.TempDir()
	for _, dir := range []string{"var/lib/dpkg/updates", "var/lib/dpkg/info", "var/lib/dpkg/triggers"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"status", "available"} {
		if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg", file), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	dpkg := []string{"--root=" + root, "--force-not-root", "--force-script-chrootless", "--force-architecture",
		"--log=/dev/null"}
	command(t, root, os.Environ(), "dpkg", append(dpkg, "-i", filepath.Join(dist, "fedsim_1.0.0~rc.1_"+arch+".deb"))...)
	program := append(prefix(t, arch), filepath.Join(root, "usr/bin/fedsim"))
	if got := command(t, root, nil, program[0], append(program[1:], "version")...); !strings.HasPrefix(got,
		"fedsim v"+version+" ") {
		t.Errorf("fedsim version prints %q", got)
	}
	for _, file := range []string{"man/man1/fedsim.1", "bash-completion/completions/fedsim", "doc/fedsim/copyright",
		"doc/fedsim/scenarios/deadline.toml"} {
		if _, err := os.Stat(filepath.Join(root, "usr/share", file)); err != nil {
			t.Error(err)
		}
	}
	command(t, root, os.Environ(), "dpkg", append(dpkg, "--purge", "fedsim")...)
	if left, err := filepath.Glob(filepath.Join(root, "usr/*/*")); err != nil || len(left) > 0 {
		t.Errorf("left %v (%v)", left, err)
	}
}

// The wheel of this machine goes into a fresh environment of each Python, without an index for
// itself, and runs a scenario.
func testWheels(t *testing.T, dist string) {
	wheels, err := filepath.Glob(filepath.Join(dist, "*manylinux*_x86_64.whl"))
	if err != nil || len(wheels) != 1 {
		t.Fatalf("wheels %v (%v)", wheels, err)
	}
	every, err := filepath.Glob(filepath.Join(dist, "*.whl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range every {
		if info, err := os.Stat(name); err != nil || info.Size() > 20e6 {
			t.Errorf("%s has %d bytes, want at most 20 MB (%v)", name, info.Size(), err)
		}
	}
	for _, python := range pythons(t) {
		venv := filepath.Join(t.TempDir(), "venv")
		command(t, dist, os.Environ(), python, "-m", "venv", venv)
		program := filepath.Join(venv, "bin", "python")
		download := exec.Command(program, "-m", "pip", "install", "-q", "numpy", "twine")
		if text, err := download.CombinedOutput(); err != nil {
			t.Skipf("NumPy and twine cannot be installed: %s", text)
		}
		command(t, dist, os.Environ(), program, "-m", "pip", "install", "-q", "--no-index", wheels[0])
		files, err := filepath.Glob(filepath.Join(dist, "pyfedsim*"))
		if err != nil {
			t.Fatal(err)
		}
		command(t, dist, os.Environ(), program, append([]string{"-m", "twine", "check", "--strict"}, files...)...)
		script := "import pyfedsim; r = pyfedsim.run('deadline', out='out'); print(pyfedsim.__version__, " +
			"len(r.rounds) > 0)"
		if got := command(t, t.TempDir(), []string{"PATH=/usr/bin:/bin", "HOME=/nonexistent"}, program, "-c",
			script); !strings.HasSuffix(got, "1.0.0rc1 True\n") {
			t.Errorf("%s prints %q", python, got)
		}
	}
}

// pythons returns the programs of Python 3.10 to 3.13 that are here, or one of them without full.
func pythons(t *testing.T) (found []string) {
	t.Helper()
	for _, minor := range []int{13, 12, 11, 10} {
		probe := exec.Command(fmt.Sprint("python3.", minor), "-c", "import ensurepip, sys, venv; print(sys.executable)")
		probe.Env = append(os.Environ(), fmt.Sprint("PYENV_VERSION=3.", minor))
		if path, err := probe.Output(); err == nil && (len(found) == 0 || *full) {
			found = append(found, strings.TrimSpace(string(path)))
		}
	}
	if len(found) == 0 {
		t.Skip("there is no Python from 3.10 to 3.13")
	}
	return found
}

// The archive of sources builds without a network; in short tests it only lists its packages.
func testSources(t *testing.T, dist string) {
	dir := t.TempDir()
	command(t, dir, os.Environ(), "tar", "-xzf", filepath.Join(dist, "fedsim-"+version+"-source.tar.gz"))
	env := append(os.Environ(), "GOPROXY=off", "GOFLAGS=", "GOWORK=off", "GOMODCACHE="+filepath.Join(dir, "none"))
	source := filepath.Join(dir, "fedsim-"+version)
	if got := command(t, source, env, "go", "list", "-deps", "./cmd/fedsim"); !strings.Contains(got,
		"gonum.org/v1/plot\n") {
		t.Errorf("the packages are\n%s", got)
	}
	if *full {
		command(t, source, env, "go", "build", "-o", filepath.Join(dir, "fedsim"), "./cmd/fedsim")
	}
}

// What keeps a release from being made is one line, and leaves nothing.
func TestRefusals(t *testing.T) {
	dir := checkout(t)
	t.Chdir(dir)
	git := func(args ...string) { command(t, dir, os.Environ(), "git", args...) }
	refused := func(want string, args ...string) {
		t.Helper()
		if err := run(args, io.Discard); err == nil || err.Error() != want {
			t.Errorf("%v: %v, want %s", args, err, want)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "dist*")); err != nil || len(left) > 0 {
			t.Errorf("left %v (%v)", left, err)
		}
	}
	refused("VERSION is missing; for example make release VERSION=1.0.0")
	refused("VERSION=v1 is not a version; examples are 1.0.0 and 1.0.0-rc.1", "v1")
	refused("platform plan9/amd64 is not one of linux/amd64, linux/arm64, darwin/amd64, darwin/arm64, windows/amd64",
		"1.0.0", "plan9/amd64")
	refused(`CHANGELOG.md has no line "## 9.9.9"; write it for this version`, "9.9.9")
	commit := func(message string) {
		git("-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "-a", "--allow-empty", "-m", message)
	}
	git("tag", "v1.0.0-rc.1")
	commit("Another")
	head, err := output(dir, "git", "rev-parse", "--short=12", "v1.0.0-rc.1")
	if err != nil {
		t.Fatal(err)
	}
	refused("version 1.0.0-rc.1 exists: tag v1.0.0-rc.1 is at "+head+", not at this commit", "1.0.0-rc.1")
	if err := os.WriteFile(filepath.Join(dir, "new.txt"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	refused("the checkout has changes; commit them first", "1.0.0-rc.2")
	if err := os.Remove("new.txt"); err != nil {
		t.Fatal(err)
	}
	command(t, dir, os.Environ(), "go", "mod", "edit", "-module", "example.org/fedsim")
	commit("Name the module by hand")
	refused("the module is named example.org/fedsim in go.mod alone; name it by make rename MODULE=example.org/fedsim",
		"1.0.0-rc.2")
	git("reset", "-q", "--hard", "HEAD~")
	if err := os.Mkdir("dist", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"1.0.0-rc.2"}, io.Discard); err == nil ||
		err.Error() != "dist/ exists; move or remove it first" {
		t.Errorf("with dist/: %v", err)
	}
	if err := os.Remove("dist"); err != nil { // fails if something was written to it
		t.Fatal(err)
	}
	t.Setenv("PATH", "")
	refused("git is missing; install it", "1.0.0-rc.2")
}
