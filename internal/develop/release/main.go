// Command release makes the files of a release of fedsim in dist/: programs for five platforms in
// archives and Debian packages, wheels and an sdist of pyfedsim, a bill of materials for each
// program, the sources with all modules, and checksums. It is a module of its own, since the
// program does not need its libraries.
//
//	go run . 1.0.0 [linux/amd64 ...]
//
// Two releases of a commit have the same bytes. All times are those of the commit.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// platforms lists the operating systems and processors of a release, in the words of Go.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}

// release is one release in the making.
type release struct {
	version   string    // without v: 1.0.0
	commit    string    // full hash
	time      time.Time // of the commit, UTC
	root      string    // the checkout
	work      string    // a temporary folder
	source    string    // in work: the files of the commit, and python/version.txt
	host      string    // in work: the program of this machine
	out       string    // in work: the files of the release
	platforms []string
	log       io.Writer
}

func main() {
	if err := run(os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "make release:", err)
		os.Exit(1)
	}
}

// run makes dist/ in the checkout around the working directory. A failure leaves no dist/.
func run(args []string, log io.Writer) error {
	if len(args) == 0 || args[0] == "" {
		return errors.New("VERSION is missing; for example make release VERSION=1.0.0")
	}
	r := &release{version: args[0], platforms: platforms, log: log}
	if len(args) > 1 {
		r.platforms = args[1:]
	}
	if err := r.check(); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "fedsim-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r.work, r.source, r.out = work, filepath.Join(work, "fedsim-"+r.version), filepath.Join(work, "dist")
	for _, step := range []func() error{r.export, r.programs, r.wheels, r.sources, r.checksums} {
		if err := step(); err != nil {
			return err
		}
	}
	// dist/ appears whole: it is copied beside its place and renamed.
	next := filepath.Join(r.root, "dist.next")
	if err := errors.Join(os.RemoveAll(next), os.CopyFS(next, os.DirFS(r.out))); err != nil {
		return errors.Join(err, os.RemoveAll(next))
	}
	return os.Rename(next, filepath.Join(r.root, "dist"))
}

// check finds everything that keeps a release from being made, before work is done.
func (r *release) check() error {
	if !regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-rc\.[0-9]+)?$`).MatchString(r.version) {
		return fmt.Errorf("VERSION=%s is not a version; examples are 1.0.0 and 1.0.0-rc.1", r.version)
	}
	for _, p := range r.platforms {
		if !slices.Contains(platforms, p) {
			return fmt.Errorf("platform %s is not one of %s", p, strings.Join(platforms, ", "))
		}
	}
	for _, tool := range []string{"git", "go", "python3"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is missing; install it", tool)
		}
	}
	var err error
	if r.root, err = output(".", "git", "rev-parse", "--show-toplevel"); err != nil {
		return err
	}
	if changed, err := output(r.root, "git", "status", "--porcelain"); err != nil || changed != "" {
		return errors.Join(err, errors.New("the checkout has changes; commit them first"))
	}
	if _, err := os.Stat(filepath.Join(r.root, "dist")); err == nil {
		return errors.New("dist/ exists; move or remove it first")
	}
	if r.commit, err = output(r.root, "git", "rev-parse", "HEAD"); err != nil {
		return err
	}
	if tagged, err := output(r.root, "git", "rev-parse", "--verify", "--quiet",
		"refs/tags/v"+r.version+"^{commit}"); err == nil && tagged != r.commit {
		return fmt.Errorf("version %s exists: tag v%s is at %.12s, not at this commit", r.version, r.version, tagged)
	}
	seconds, err := output(r.root, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	r.time = time.Unix(unix, 0).UTC()
	return errors.Join(err, r.checkNames())
}

// checkNames compares the version with those that the files of the checkout have, and the name of
// the module with that in the build of wheels, which would have no version under another name.
func (r *release) checkNames() error {
	module, err := output(r.root, "go", "list", "-m")
	if err != nil {
		return err
	}
	build, err := os.ReadFile(filepath.Join(r.root, "python", "hatch_build.py"))
	if err != nil {
		return err
	}
	if stamp := "'" + module + "/cmd/fedsim/command.stamp="; !strings.Contains(string(build), stamp) {
		return fmt.Errorf("the module is named %s in go.mod alone; name it by make rename MODULE=%[1]s", module)
	}
	base, _, candidate := strings.Cut(r.version, "-")
	for _, x := range []struct{ file, line string }{{"CHANGELOG.md", "## " + base},
		{"CITATION.cff", "version: " + base}} {
		text, err := os.ReadFile(filepath.Join(r.root, x.file))
		if err != nil {
			return err
		}
		has := func(line string) bool { return line == x.line || strings.HasPrefix(line, x.line+" ") }
		if !candidate && !slices.ContainsFunc(strings.Split(string(text), "\n"), has) {
			return fmt.Errorf("%s has no line %q; write it for this version", x.file, x.line)
		}
	}
	return nil
}

// stamp is the version as programs print it: that of a build in a checkout with the tag.
func (r *release) stamp() string { return fmt.Sprintf("v%s %.12s", r.version, r.commit) }

// export writes the files of the commit, and the version for the build of wheels.
func (r *release) export() error {
	tar := filepath.Join(r.work, "commit.tar")
	if _, err := output(r.root, "git", "archive", "-o", tar, "--prefix", filepath.Base(r.source)+"/",
		r.commit); err != nil {
		return err
	}
	if _, err := output(r.work, "tar", "-xf", tar); err != nil {
		return err
	}
	return errors.Join(os.Mkdir(r.out, 0o777),
		os.WriteFile(filepath.Join(r.source, "python", "version.txt"), []byte(r.stamp()+"\n"), 0o666))
}

// run runs a command in a folder, with variables of the environment added to those that make
// builds depend on the commit alone.
func (r *release) run(dir string, variables []string, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath -buildvcs=false", "GOWORK=off", "CGO_ENABLED=0", "GOAMD64=v1",
		"GOARM64=v8.0", fmt.Sprint("SOURCE_DATE_EPOCH=", r.time.Unix()), "GIT_CEILING_DIRECTORIES="+r.work)
	cmd.Env = append(cmd.Env, variables...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, text)
	}
	return nil
}

// output runs a command and returns its standard output, without surrounding space.
func output(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	text, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(text)), err
}
