// Package hyperqueue tests that fedsim submits plans to HyperQueue: to a real server with two
// workers, which `make test-hyperqueue` installs from PyPI. PyPI does not have HyperQueue's
// command line hq; hq.py stands in for it. The template is that of docs/clusters.md.
package hyperqueue

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fedsim/results/rundir"
)

// scenarios are the scenarios of the tests, with overrides that shorten them.
var scenarios = map[string][]string{
	"deadline":     nil,
	"lte-high-var": {"--set", "run.max_time_s=0.02", "--set", "data.synthetic.clients=6", "--set", "run.seeds=[1]"},
}

// site is a HyperQueue cluster with fedsim.
type site struct {
	dir, fedsim string
	env         []string
}

// newSite starts a cluster, which ends with the test.
func newSite(t *testing.T) *site {
	t.Helper()
	python, err := filepath.Abs(".venv/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(python); err != nil {
		t.Skip("HyperQueue is not installed: make test-hyperqueue installs it")
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	s := &site{dir: t.TempDir()}
	s.fedsim = filepath.Join(s.dir, "fedsim")
	build := exec.Command("go", "build", "-o", s.fedsim, "./cmd/fedsim")
	build.Dir = "../../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	hq := fmt.Sprintf("#!/bin/sh\nexec '%s' '%s/hq.py' \"$@\"\n", python, here)
	if err := os.WriteFile(filepath.Join(s.dir, "hq"), []byte(hq), 0o777); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../docs/clusters.md")
	if err != nil {
		t.Fatal(err)
	}
	template := regexp.MustCompile("(?s)`hyperqueue.sh`\n\n```bash\n(.*?)```").FindSubmatch(page)
	if template == nil {
		t.Fatal("docs/clusters.md has no hyperqueue.sh")
	}
	if err := os.WriteFile(filepath.Join(s.dir, "hyperqueue.sh"), template[1], 0o666); err != nil {
		t.Fatal(err)
	}
	server := filepath.Join(s.dir, "server")
	s.env = append(os.Environ(), "HQ_SERVER_DIR="+server, "PATH="+s.dir+":"+filepath.Dir(python)+":"+os.Getenv("PATH"))
	cluster := exec.Command(python, "cluster.py", server)
	cluster.Stderr = os.Stderr
	in, err := cluster.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cluster.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cluster.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "ready" {
	}
	if lines.Text() != "ready" {
		t.Fatalf("the cluster did not start: %v", lines.Err())
	}
	return s
}

// run runs a program of the site and returns its standard output.
func (s *site) run(t *testing.T, words ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), filepath.Join(s.dir, words[0]), words[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr = s.dir, s.env, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v: %s%s", words, err, out, stderr.Bytes())
	}
	return string(out)
}

// sent is what fedsim plan submit prints.
type sent struct {
	Tasks, Groups int
	Job           string
}

// submit submits the missing groups of a plan, and waits for the job if there is one.
func (s *site) submit(t *testing.T, words ...string) sent {
	t.Helper()
	x := s.send(t, words...)
	if x.Job != "" {
		s.wait(t, x)
	}
	return x
}

func (s *site) send(t *testing.T, words ...string) (x sent) {
	t.Helper()
	out := s.run(t, append([]string{"fedsim", "plan", "submit"}, words...)...)
	if strings.HasPrefix(out, "nothing is missing: ") {
		return x
	}
	counts, job, ok := strings.Cut(out, "; ")
	if _, err := fmt.Sscanf(strings.ReplaceAll(counts, "s,", ","), "sent: %d task, %d group", &x.Tasks,
		&x.Groups); err != nil || !ok {
		t.Fatalf("%v: %s", err, out)
	}
	x.Job = job
	return x
}

// wait waits until all tasks of a job have ended.
func (s *site) wait(t *testing.T, x sent) {
	t.Helper()
	s.run(t, "hq", "job", "wait", regexp.MustCompile(`\d+`).FindString(x.Job))
}

// requireSame requires that two run directories have the same files with the same bytes,
// except for the clock and the command line.
func requireSame(t *testing.T, got, want string) {
	t.Helper()
	a, b := content(t, got), content(t, want)
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if text, ok := a[name]; !ok || text != b[name] {
			t.Errorf("%s differs: %d bytes, want %d", name, len(text), len(b[name]))
		}
		delete(a, name)
	}
	if len(a) > 0 {
		t.Errorf("also has %q", slices.Sorted(maps.Keys(a)))
	}
}

// wall matches the column wall_s of runs.csv.
var wall = regexp.MustCompile(`(?m),[^,\n]*$`)

// content returns the files of a run directory, without the clock and the command line.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, path))
		files[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	files["runs.csv"] = wall.ReplaceAllString(files["runs.csv"], "")
	m, err := rundir.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	m.Clock, m.Command = nil, nil
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	files["manifest.json"] = string(text)
	return files
}

// However many tasks share the work, the merged run directory is that of fedsim run.
func TestMergedRunsAreEqual(t *testing.T) {
	s := newSite(t)
	for name, set := range scenarios {
		s.run(t, append([]string{"fedsim", "run", name, "-q", "--out", "alone " + name}, set...)...)
		for _, tasks := range []string{"1", "2", "7", "100"} {
			t.Run(name+" "+tasks, func(t *testing.T) {
				dir := fmt.Sprintf("%s's $(%s)", name, tasks)
				s.run(t, append([]string{"fedsim", "plan", "make", name, "-o", dir, "--group-time", "0s"}, set...)...)
				x := s.submit(t, dir, "--template", "hyperqueue.sh", "--tasks", tasks)
				t.Logf("%+v", x)
				if x.Tasks == 0 {
					t.Error("no task was sent")
				}
				if x := s.submit(t, dir, "--template", "hyperqueue.sh"); x.Tasks > 0 {
					t.Errorf("%d tasks were sent again", x.Tasks)
				}
				s.run(t, "fedsim", "plan", "merge", dir, "--out", dir+" merged")
				requireSame(t, filepath.Join(s.dir, dir+" merged"), filepath.Join(s.dir, "alone "+name))
			})
		}
	}
}

// After a task is killed, only the groups that it did not finish are sent again.
func TestKilledTask(t *testing.T) {
	s := newSite(t)
	long := []string{"deadline", "--set", "run.rounds=20000", "--set", "run.seeds=[1, 2]"}
	s.run(t, append([]string{"fedsim", "run", "-q", "--out", "alone"}, long...)...)
	s.run(t, append([]string{"fedsim", "plan", "make", "-o", "plan", "--group-time", "0s"}, long...)...)
	first := s.send(t, "plan", "--template", "hyperqueue.sh", "--tasks", "1")
	kill(t, filepath.Join(s.dir, "plan"))
	s.wait(t, first)
	again := s.submit(t, "plan", "--template", "hyperqueue.sh", "--tasks", "2")
	if again.Tasks == 0 || again.Groups == 0 || again.Groups >= first.Groups {
		t.Errorf("sent %+v, then %+v", first, again)
	}
	s.run(t, "fedsim", "plan", "merge", "plan", "--out", "merged")
	requireSame(t, filepath.Join(s.dir, "merged"), filepath.Join(s.dir, "alone"))
}

// kill kills a worker of a plan as soon as it has done a group and claimed another.
func kill(t *testing.T, dir string) {
	t.Helper()
	for {
		if done, err := filepath.Glob(filepath.Join(dir, "done", "*")); err != nil {
			t.Fatal(err)
		} else if len(done) == 0 {
			time.Sleep(time.Millisecond)
			continue
		}
		claims, err := filepath.Glob(filepath.Join(dir, "claims", "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range claims {
			text, _ := os.ReadFile(path) // another worker may take it
			var claim struct {
				Process struct{ PID int }
				Ended   bool
			}
			if json.Unmarshal(text, &claim) == nil && !claim.Ended && claim.Process.PID > 1 &&
				syscall.Kill(claim.Process.PID, syscall.SIGKILL) == nil {
				t.Logf("killed the process %d of %s", claim.Process.PID,
					strings.TrimSuffix(filepath.Base(path), ".json"))
				return
			}
		}
		time.Sleep(time.Millisecond)
	}
}
