package kubernetes

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

// tree is the root of the repository.
var tree = filepath.Join("..", "..", "..")

// image is the image that Dockerfile describes, as a folder.
type image struct {
	name       string
	root       string // folder of its files
	entrypoint []string
	uid, gid   int
}

// program returns the path of the image's program on this machine.
func (i *image) program() string { return filepath.Join(i.root, i.entrypoint[0]) }

// readDockerfile returns the stages of Dockerfile.
func readDockerfile() ([]instructions.Stage, error) {
	data, err := os.ReadFile(filepath.Join(tree, "Dockerfile"))
	if err != nil {
		return nil, err
	}
	parsed, err := parser.Parse(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	if err == nil && len(stages) != 2 {
		err = fmt.Errorf("Dockerfile has %d stages, not 2", len(stages))
	}
	return stages, err
}

// buildImage follows Dockerfile without Docker: it runs the command of the first stage that
// builds fedsim in the tree, and copies the files of the second stage to root.
func buildImage(ctx context.Context, root string) (*image, error) {
	stages, err := readDockerfile()
	if err != nil {
		return nil, err
	}
	made := filepath.Join(root, "..", "made") // for /out
	build := ""
	for _, c := range stages[0].Commands {
		if run, ok := c.(*instructions.RunCommand); ok {
			build = strings.Join(run.CmdLine, " ") // the last one
		}
	}
	if !strings.Contains(build, "/out/") {
		return nil, fmt.Errorf("the last command of the first stage makes nothing in /out: %s", build)
	}
	source := filepath.Join(root, "..", "source")
	if err := copyContext(ctx, source); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", strings.ReplaceAll(build, "/out/", made+"/"))
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", build, err, out)
	}
	i := &image{name: "fedsim:test", root: root}
	for _, c := range stages[1].Commands {
		switch c := c.(type) {
		case *instructions.CopyCommand:
			if c.From != stages[0].Name || len(c.SourcePaths) != 1 {
				return nil, fmt.Errorf("cannot follow %s", c)
			}
			from := strings.Replace(c.SourcePaths[0], "/out/", made+"/", 1)
			if err := os.Rename(from, filepath.Join(root, c.DestPath)); err != nil {
				return nil, err
			}
		case *instructions.UserCommand:
			user, group, _ := strings.Cut(c.User, ":")
			if i.uid, err = strconv.Atoi(user); err != nil {
				return nil, err
			}
			if i.gid, err = strconv.Atoi(group); err != nil {
				return nil, err
			}
		case *instructions.EntrypointCommand:
			i.entrypoint = c.CmdLine
		case *instructions.LabelCommand:
		default:
			return nil, fmt.Errorf("cannot follow %s", c)
		}
	}
	return i, nil
}

// copyContext copies what Docker would send to the build of a fresh clone with the changes
// of this checkout. A clone is needed since Go reads no version from a worktree of git.
func copyContext(ctx context.Context, to string) error {
	if out, err := exec.CommandContext(ctx, "git", "clone", "-q", "--shared", "--no-checkout", tree, to).
		CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	ignored, err := dockerignore()
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "git", "-C", tree, "ls-files", "-z", "--cached", "--others",
		"--exclude-standard").Output()
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if skip, err := ignored.MatchesOrParentMatches(name); err != nil {
			return err
		} else if skip { // the version would say that the checkout has changes
			return fmt.Errorf(".dockerignore leaves out %s", name)
		}
		from, err := os.Stat(filepath.Join(tree, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted since the commit
		}
		if err != nil {
			return err
		}
		data, err := os.ReadFile(filepath.Join(tree, name))
		if err != nil {
			return err
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755),
			os.WriteFile(filepath.Join(to, name), data, from.Mode())); err != nil {
			return err
		}
	}
	return exec.CommandContext(ctx, "git", "-C", to, "reset", "-q").Run()
}

// dockerignore returns the patterns of .dockerignore.
func dockerignore() (*patternmatcher.PatternMatcher, error) {
	f, err := os.Open(filepath.Join(tree, ".dockerignore"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	patterns, err := ignorefile.ReadAll(f)
	if err != nil {
		return nil, err
	}
	return patternmatcher.New(patterns)
}

// run runs the image as Docker does, but in the network of this machine.
func (i *image) run(mounts []mount, args ...string) (string, error) {
	c := &container{Root: i.root, ReadOnly: true, Mounts: mounts, Hostname: "image", UID: i.uid, GID: i.gid,
		Args: append(append([]string{}, i.entrypoint...), args...)}
	cmd, err := c.command()
	if err != nil {
		return "", err
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The program is static, the only file of the image, runs as an ordinary user, and has the
// version of the checkout.
func TestImage(t *testing.T) {
	stages, err := readDockerfile()
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile(filepath.Join(tree, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(module), "\ngo ")
	if version, _, _ := strings.Cut(after, "\n"); stages[0].BaseName != "golang:"+strings.TrimSuffix(version, ".0") ||
		stages[1].BaseName != "scratch" {
		t.Errorf("Dockerfile builds on %s and %s; go.mod needs Go %s", stages[0].BaseName, stages[1].BaseName, version)
	}
	var files []string
	err = filepath.WalkDir(built.root, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 1 || files[0] != built.program() {
		t.Errorf("the image has %v", files)
	}
	if built.uid == 0 || built.gid == 0 {
		t.Errorf("the image runs as %d:%d", built.uid, built.gid)
	}
	binary, err := elf.Open(built.program())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = binary.Close() }()
	for _, p := range binary.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the program is not static")
		}
	}
	revision, err := exec.Command("git", "-C", tree, "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	out, err := built.run(nil, "version")
	changes, err2 := exec.Command("git", "-C", tree, "status", "--porcelain").Output()
	if err2 != nil {
		t.Fatal(err2)
	}
	if err != nil || !strings.Contains(out, string(revision[:12])) ||
		strings.Contains(out, "+dirty") != (len(changes) > 0) {
		t.Errorf("version (%v): %s; the commit is %s; changes:\n%s", err, out, revision, changes)
	}
	if out, err := built.run(nil, "run", "/absent.toml"); err == nil || strings.Count(out, "\n") != 1 {
		t.Errorf("a run without a scenario (%v): %s", err, out)
	}
}

// The image runs a simulation where it can write to one folder alone.
func TestImageRuns(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chown(dir, built.uid, built.gid); err != nil {
		t.Fatal(err)
	}
	if out, err := built.run([]mount{{From: dir, To: "/work"}}, "run", "deadline", "--set", "run.rounds=20", "--out",
		"/work/run"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "run", "manifest.json")); err != nil {
		t.Error(err)
	}
	if out, err := built.run([]mount{{From: dir, To: "/work"}}, "run", "deadline", "--set", "run.rounds=20", "--out",
		"/run"); err == nil {
		t.Errorf("the image wrote to its root:\n%s", out)
	}
}

// Docker gets no builds and no runs.
func TestDockerignore(t *testing.T) {
	ignored, err := dockerignore()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bin/fedsim", "runs/deadline/runs.csv", "python/.flower/lib",
		"federation/federation.test"} {
		if match, err := ignored.MatchesOrParentMatches(name); err != nil || !match {
			t.Errorf("%s is not ignored (%v)", name, err)
		}
	}
}
