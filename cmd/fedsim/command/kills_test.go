package command

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/tools/filetest"
	"fedsim/results"
	"fedsim/results/rundir"
)

// impatient is fedsim that takes claims over which are a second old.
func impatient() {
	staleAfter = time.Second
	os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr))
}

// killable has every kind of group and prerequisite, and every kind of file of a run.
const killable = crashing + `
[[experiment]]
name = "clients"
methods = ["mocha"]
set = { "run.rounds" = 40, "run.seeds" = [1, 2, 3], "run.client_metrics" = ["error"] }
[[experiment]]
name = "many"
methods = ["mocha"]
set = { "run.outer" = 2, "run.rounds" = 200, "run.eval_every" = 10, "run.seeds" = [1, 2, 3], "problem.regularizer" = "probabilistic" }
[[experiment]]
name = "alike"
methods = ["cocoa"]
set = { "run.rounds" = 100 }
sweep = { "network.uplink_mbps" = [1, 2, 3, 4, 5, 6, 7, 8], "network.downlink_mbps" = [1, 2, 3, 4] }
`

// Workers of plans are killed, terminated, stopped until others take their groups over, given a
// full disk and robbed of their claims at random moments. At the end the merged results are those
// of a run without a plan. No finished run of a killed worker is computed again.
func TestKilledWorkers(t *testing.T) {
	kills := *kills
	if kills < 12 { // each takes half a second
		kills = 4
	}
	root := t.TempDir()
	random := rand.New(rand.NewPCG(3, 4))
	var want [2]map[string]string
	scenarios := [2]string{killable, tabled}
	for i, text := range scenarios {
		scenario := filepath.Join(root, fmt.Sprint(i, ".toml"))
		filetest.Write(t, scenario, text)
		whole := filepath.Join(root, fmt.Sprint("whole", i))
		runFedsim(t, "run", scenario, "--no-figures", "--out", whole)
		want[i] = lasting(t, whole)
	}
	seen := map[string]int{}
	defer func() { t.Logf("%v", seen) }()
	for made, i := 0, 0; made < kills; i++ {
		c := &campaign{T: t, random: random, dir: filepath.Join(root, fmt.Sprint("plan", i)), pure: i%2 == 0,
			walls: map[string]float64{}, seen: seen}
		of := 0
		if i%5 == 4 {
			of = 1
		}
		runFedsim(t, "plan", "make", filepath.Join(root, fmt.Sprint(of, ".toml")), "-o", c.dir,
			fmt.Sprintf("--group-time=%ds", 60*(i/2%2)))
		made += c.run(min(12, kills-made))
		merged := filepath.Join(root, fmt.Sprint("merged", i))
		runFedsim(t, "plan", "merge", c.dir, "--out", merged, "--no-figures")
		if d := cmp.Diff(want[of], lasting(t, merged)); d != "" {
			t.Fatalf("plan %d differs from a run: %s", i, d)
		}
		for _, dir := range []string{c.dir, merged} {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// runFedsim runs a command that must succeed.
func runFedsim(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("fedsim", args...).CombinedOutput(); err != nil {
		t.Fatalf("fedsim %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// campaign is a plan whose workers die. In a pure one no work is done twice: claims are lost to
// the dead only.
type campaign struct {
	*testing.T
	random *rand.Rand
	dir    string
	pure   bool
	walls  map[string]float64 // of finished runs that were seen, by group and place
	seen   map[string]int     // what happened, of all campaigns
}

// process is a worker.
type process struct {
	*exec.Cmd
	out   bytes.Buffer
	ended chan struct{}
}

func (c *campaign) start(program string, args ...string) *process {
	c.Helper()
	p := &process{Cmd: exec.Command(program, append(args, "--checkpoint=0.01", "--workers=1")...),
		ended: make(chan struct{})}
	p.Stdout, p.Stderr = &p.out, &p.out
	if err := p.Start(); err != nil {
		c.Fatal(err)
	}
	go func() {
		_ = p.Wait() // its state tells
		close(p.ended)
	}()
	return p
}

// worker starts a worker.
func (c *campaign) worker(args ...string) *process {
	program := "fedsim"
	if !c.pure {
		program = "impatient"
	}
	return c.start(program, append([]string{"plan", "work", c.dir}, args...)...)
}

// over reports whether a process has ended.
func (p *process) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// end waits for a process and requires one of several exit statuses; -1: killed.
func (c *campaign) end(p *process, want ...int) {
	c.Helper()
	select {
	case <-p.ended:
	case <-time.After(2 * time.Minute):
		_ = p.Process.Kill()
		c.Fatalf("%v does not end: %s", p.Args, p.out.String())
	}
	got := p.ProcessState.ExitCode()
	c.seen[fmt.Sprintf("%s %d", p.Args[0], got)]++
	if !slices.Contains(want, got) {
		c.Fatalf("%v: status %d, want %v: %s", p.Args, got, want, p.out.String())
	}
}

// until waits for a condition, or for the end of a process.
func (p *process) until(met func() bool) {
	for range 60_000 {
		if p.over() || met() {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// run kills workers until there are so many kills or the plan is done, then finishes the plan. It
// returns the number of kills.
func (c *campaign) run(most int) (kills int) {
	companion := c.worker()
	for ; kills < most && !companion.over(); kills++ {
		victim := c.hit(companion)
		if companion.over() && companion.ProcessState.ExitCode() != 0 {
			companion = c.worker()
		}
		if victim != nil {
			c.end(victim, -1, 0)
		}
		c.observe()
	}
	c.end(companion, 0)
	c.end(c.worker("--no-wait"), 0)
	c.observe()
	claims, err := filepath.Glob(filepath.Join(c.dir, "claims", "*.json"))
	if err != nil || len(claims) == 0 {
		c.Errorf("there are no claims: %v", err)
	}
	for _, path := range claims {
		if text, err := os.ReadFile(path); err != nil || bytes.Contains(text, []byte(`"failure"`)) {
			c.Errorf("failed: %s, %v", text, err)
		}
	}
	return kills
}

// hit does something bad to a worker beside the companion, or to the companion. It returns a
// process that ends, or nil.
func (c *campaign) hit(companion *process) *process {
	kinds := 4
	if !c.pure {
		kinds = 6
	}
	claims := filepath.Join(c.dir, "claims", "*.json")
	kind := c.random.IntN(kinds)
	if kind == 1 { // a full disk
		p := c.start("small-disk", fmt.Sprint(1<<(9+c.random.IntN(8))), "plan", "work", c.dir)
		if c.end(p, 0, 1); p.ProcessState.ExitCode() == 1 && !strings.Contains(p.out.String(), "file too large") {
			c.Errorf("on a full disk: %s", p.out.String())
		}
		return nil
	}
	victim := companion
	if kind != 0 {
		victim = c.worker()
		victim.until(func() bool { return c.holds(victim, claims) })
	}
	time.Sleep(time.Duration(c.random.Int64N(int64(200 * time.Millisecond)))) // a random moment
	switch kind {
	case 0, 2:
		_ = victim.Process.Kill() // it may have ended
		c.end(victim, -1, 0)
	case 3:
		for range 2 {
			_ = victim.Process.Signal(syscall.SIGTERM)
		}
		c.end(victim, exitInterrupted, exitDone)
	case 4: // stopped until others have its work
		_ = victim.Process.Signal(syscall.SIGSTOP)
		if c.holds(victim, claims) {
			c.seen["stopped with a claim"]++
		}
		companion.until(func() bool { return !c.holds(victim, claims) })
		_ = victim.Process.Signal(syscall.SIGCONT)
		return victim
	case 5: // its work is free for others
		all, _ := filepath.Glob(claims)
		for _, path := range all {
			if text, err := os.ReadFile(path); err == nil && !claimEnded(text) {
				_ = os.Remove(path) // it may be gone
			}
		}
		return victim
	}
	return nil
}

// holds reports whether a process has a claim that has not ended.
func (c *campaign) holds(p *process, claims string) bool {
	paths, _ := filepath.Glob(claims)
	return slices.ContainsFunc(paths, func(path string) bool {
		text, _ := os.ReadFile(path)
		return bytes.Contains(text, fmt.Appendf(nil, `"pid": %d,`, p.Process.Pid)) && !claimEnded(text)
	})
}

// claimEnded reports whether the claim in a file has ended.
func claimEnded(claim []byte) bool { return bytes.Contains(claim, []byte(`"ended"`)) }

// observe reads the wall times of the finished runs in all attempts and done groups. A run that
// was computed again has another one.
func (c *campaign) observe() {
	c.Helper()
	c.compare(filepath.Join(c.dir, "done", "*"), func(string) bool { return true })
	if c.pure {
		c.compare(filepath.Join(c.dir, "attempts", "*", "*"), func(group string) bool {
			_, err := os.Stat(filepath.Join(c.dir, "done", group))
			return errors.Is(err, os.ErrNotExist) // else it is being removed
		})
	}
}

func (c *campaign) compare(pattern string, counts func(group string) bool) {
	c.Helper()
	dirs, err := filepath.Glob(pattern)
	if err != nil {
		c.Fatal(err)
	}
	for _, dir := range dirs {
		group := strings.Split(strings.TrimPrefix(dir, c.dir+"/"), "/")[1]
		for id, wall := range finished(c.T, filepath.Join(dir, ".unfinished")) {
			if !counts(group) {
				break
			}
			key := group + " " + id
			if _, had := c.walls[key]; !had && strings.Contains(pattern, "attempts") {
				c.seen["runs finished by the dead"]++
			}
			if had, ok := c.walls[key]; ok && had != wall {
				c.Errorf("run %s of group %s was computed again: it took %g s, then %g s", id, group, had, wall)
			}
			c.walls[key] = wall
		}
	}
}

// finished returns the wall times of the finished runs in a stage, by ID.
func finished(t *testing.T, stage string) map[string]float64 {
	t.Helper()
	found, err := rundir.Read(stage)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // ENOTDIR: a note
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	walls := map[string]float64{}
	for _, r := range found.Runs {
		if r.Status == results.Done {
			walls[r.ID] = r.WallS
		}
	}
	return walls
}
