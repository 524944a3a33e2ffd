// Package slurm tests plans on Slurm: a controller and two nodes, all on this machine.
// "make test-slurm" installs Slurm and runs the tests.
package slurm

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	fedsim = flag.String("fedsim", "", "absolute path of the fedsim to test; empty: skip the tests")
	slow   = flag.Bool("slow", false, "run the tests that take minutes, too")
)

// TestArray works on a plan with an array of four tasks on two nodes. One of them is
// interrupted and goes back to the queue. The merged files must be those of one process.
func TestArray(t *testing.T) {
	p := newPlanned(t, short(t), "--group-time=0s")
	if text := p.fedsim("plan", "submit", p.dir, "--engine=slurm", "--tasks=4", "--print", "--", "--partition=debug",
		"--comment", "a b"); !strings.Contains(text, "\n#SBATCH --array=1-4\n") ||
		!strings.Contains(text, "\n#SBATCH --partition=debug\n#SBATCH --comment 'a b'\n") {
		t.Errorf("--print: %s", text)
	}
	if text, err := p.try("plan", "submit", p.dir, "--engine=slurm", "--", "--partition=none"); err == nil ||
		strings.Count(text, "\n") != 1 || !strings.Contains(text, "Invalid partition") {
		t.Errorf("a partition that is not there: %v: %s", err, text)
	}
	if tasks := p.tasks(); len(tasks) > 0 {
		t.Fatalf("submitted %v too early", tasks)
	}
	p.fedsim("plan", "submit", p.dir, "--engine=slurm", "--tasks=4", "--", "--partition=debug", "--comment", "a b")

	// Slurm sends TERM to a script whose time is nearly over, as here.
	p.until("a group is done", func() bool { return len(p.done()) > 0 })
	task, before := p.interrupt()
	p.finish()
	p.keep(before)
	for _, end := range p.ends("JobState", "Comment", "ArrayTaskId", "Restarts") {
		want := []string{"COMPLETED", "a b", end[2], "0"}
		if end[2] == task {
			want[3] = "1"
		}
		if !slices.Equal(end, want) {
			t.Errorf("state, comment, task and restarts of a task: %q, want %q", end, want)
		}
	}
	p.sameAsRun()

	if text := p.fedsim("plan", "submit", p.dir, "--engine=slurm"); !strings.HasPrefix(text, "nothing is missing: ") ||
		len(p.tasks()) > 0 {
		t.Errorf("submitted again: %s%v", text, p.tasks())
	}
}

// TestWhole is lte-high-var as it is: a minute for both nodes. With a time limit of one
// minute, Slurm interrupts every task whenever it looks, which is twice a minute.
func TestWhole(t *testing.T) {
	slowly(t)
	p := newPlanned(t, filepath.Join("..", "..", "..", "scenarios", "lte-high-var.toml"))
	p.fedsim("plan", "submit", p.dir, "--engine=slurm", "--tasks=4", "--", "--time=1")
	p.finish()
	if n := p.restarts(); n == 0 {
		t.Error("no task was interrupted")
	} else {
		t.Logf("%d restarts", n)
	}
	p.sameAsRun()
}

// TestCanceled cancels an array, and then kills tasks of another. Neither comes back by
// itself; the rest is submitted again.
func TestCanceled(t *testing.T) {
	slowly(t)
	p := newPlanned(t, short(t), "--group-time=0s")
	for _, signal := range []string{"", "--signal=KILL"} {
		before := p.done()
		p.fedsim("plan", "submit", p.dir, "--engine=slurm", "--tasks=4")
		p.until("another group is done", func() bool { return len(p.done()) > len(before) })
		job, _, _ := strings.Cut(p.tasks()[0], "_")
		p.slurm(slices.DeleteFunc([]string{"scancel", signal, job}, func(arg string) bool { return arg == "" })...)
		p.until("no task is left", func() bool { return len(p.tasks()) == 0 })
		for _, end := range p.ends("JobState", "Restarts") {
			if end[0] != "CANCELLED" || end[1] != "0" {
				t.Errorf("state and restarts of a canceled task: %q", end)
			}
		}
		if p.complete() {
			t.Fatal("the plan is complete: nothing was canceled")
		}
	}
	before := p.done()
	p.fedsim("plan", "submit", p.dir, "--engine=slurm", "--tasks=4")
	p.finish()
	p.keep(before)
	p.sameAsRun()
}

// TestLostNodes loses nodes while a worker that was started by hand does the same groups.
// Slurm requeues the tasks of a node.
func TestLostNodes(t *testing.T) {
	slowly(t)
	p := newPlanned(t, short(t), "--group-time=0s")
	p.fedsim("plan", "submit", p.dir, "--engine=slurm", "--tasks=4")
	p.until("a group is done", func() bool { return len(p.done()) > 0 })

	p.slurm("scontrol", "update", "nodename=n1", "state=down", "reason=test")
	duplicate := p.start("plan", "work", p.dir)
	p.until("a task was requeued", func() bool { return p.restarts() > 0 })

	p.until("another group is done", func() bool { return len(p.done()) > 1 })
	var done map[string]string
	before := p.restarts()
	p.until("n2 crashes", func() bool {
		done = p.done()
		return p.crash("n2")
	})
	p.until("the task of n2 was requeued", func() bool { return p.restarts() > before })
	p.finish()
	p.keep(done)
	if err := duplicate.Wait(); err != nil {
		t.Errorf("the worker by hand: %v", err)
	}
	p.sameAsRun()
}

// TestNoSlurm submits where there is no Slurm.
func TestNoSlurm(t *testing.T) {
	if *fedsim == "" {
		t.Skip("run make test-slurm")
	}
	p := planned{T: t, dir: filepath.Join(t.TempDir(), "plan"), env: append(os.Environ(), "PATH="+t.TempDir())}
	p.fedsim("plan", "make", "deadline", "-o", p.dir)
	text, err := p.try("plan", "submit", p.dir, "--engine=slurm")
	if err == nil || strings.Count(text, "\n") != 1 || !strings.Contains(text, "sbatch") {
		t.Errorf("%v: %s", err, text)
	}
}

// short returns lte-high-var with fewer rounds and seeds: five seconds on one core.
func short(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "scenarios", "lte-high-var.toml"))
	if err != nil {
		t.Fatal(err)
	}
	s := string(text)
	for _, change := range [][2]string{
		{"\nrounds = 2000\n", "\nrounds = 60\n"},
		{`"run.rounds" = 3000`, `"run.rounds" = 60`},
		{`"run.outer" = 270`, `"run.outer" = 4`},
		{"\nseeds = [1, 2, 3]\n", "\nseeds = [1]\n"},
	} {
		if strings.Count(s, change[0]) != 1 {
			t.Fatalf("lte-high-var.toml does not have %q once", change[0])
		}
		s = strings.Replace(s, change[0], change[1], 1)
	}
	file := filepath.Join(t.TempDir(), "lte-high-var.toml")
	if err := os.WriteFile(file, []byte(s), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func slowly(t *testing.T) {
	t.Helper()
	if !*slow {
		t.Skip("slow: run make test-slurm SLOW=1")
	}
}
