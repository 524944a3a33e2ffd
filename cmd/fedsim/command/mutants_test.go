//go:build unix

package command

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"fedsim/results/rundir"
)

var (
	mutants = flag.Int("mutants", 100, "how many scenarios and how many data files are mutated, and a fifth of it run directories")
	mutant  = flag.Int("mutant", -1, "the number of the one mutant to try; -1: all")
)

const (
	// A command that reads a mutant may compute for so long. It is the time of the
	// processor, which does not depend on what else the machine does.
	mostWork = time.Second
	// What a mutant asks for may take for ever: it is interrupted after so long.
	patience = 100 * time.Millisecond
	// Who takes so long of the clock, with next to nothing to do, will not come back.
	hang = time.Minute
)

// forMutants calls try with the numbers of count mutants of a kind and the stream
// that makes each.
func forMutants(t *testing.T, kind uint64, count int, try func(t *mutated)) {
	t.Helper()
	if testing.Short() { // and the race detector computes for ten times as long
		t.Skip("computes for seconds")
	}
	dir := t.TempDir()
	var took struct {
		longest time.Duration
		of      int
		ends    [exitInterrupted + 1]int
	}
	for i := range count {
		if *mutant >= 0 && i != *mutant {
			continue
		}
		m := &mutated{T: t, number: i, random: rand.New(rand.NewPCG(kind, uint64(i))), dir: filepath.Join(dir, fmt.Sprint(i))}
		if err := os.Mkdir(m.dir, 0o777); err != nil {
			t.Fatal(err)
		}
		try(m)
		for status, n := range m.ends {
			took.ends[status] += n
		}
		if m.longest > took.longest {
			took.longest, took.of = m.longest, i
		}
		if err := os.RemoveAll(m.dir); err != nil {
			t.Fatal(err)
		}
		if testing.Verbose() && (i+1)%500 == 0 {
			t.Logf("%d mutants", i+1)
		}
	}
	t.Logf("%d mutants; commands that ended with status 0: %d, 1: %d, 2: %d, 75: %d; the longest computed for %v, with mutant %d",
		count, took.ends[0], took.ends[exitFailed], took.ends[exitUsage], took.ends[exitInterrupted], took.longest.Round(time.Millisecond), took.of)
}

// mutated is a mutant under trial.
type mutated struct {
	*testing.T
	number  int
	random  *rand.Rand
	dir     string // of its own, empty at first
	forged  bool   // it has a checksum, which is right
	longest time.Duration
	ends    [exitInterrupted + 1]int
}

// complain says what is wrong, and leaves the mutant where the flag -artifacts keeps
// it: run directories have the time in them, and their mutants differ with it.
func (m *mutated) report(format string, arguments ...any) {
	m.Helper()
	m.Errorf("mutant %d (-run %s -mutant %d): %s", m.number, m.Name(), m.number, fmt.Sprintf(format, arguments...))
	if err := os.CopyFS(filepath.Join(m.ArtifactDir(), fmt.Sprint(m.number)), os.DirFS(m.dir)); err != nil {
		m.Logf("the mutant is not kept: %v", err)
	}
}

// write puts a file into the mutant's directory and returns its path.
func (m *mutated) write(name string, content []byte) string {
	m.Helper()
	path := filepath.Join(m.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		m.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o666); err != nil {
		m.Fatal(err)
	}
	return path
}

// fedsim runs a command as the program does, and checks how it ends: as a command
// may, within a second of work, saying why when it fails.
func (m *mutated) fedsim(args ...string) (status int, stderr string) {
	m.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer time.AfterFunc(patience, cancel).Stop()
	var out, errs bytes.Buffer
	late := time.AfterFunc(hang, func() {
		debug.SetTraceback("all")
		panic(fmt.Sprintf("mutant %d of %s: %v does not end", m.number, m.Name(), args))
	})
	others, before := runtime.NumGoroutine(), processorTime()
	status = func() (status int) {
		defer func() {
			if p := recover(); p != nil {
				m.report("%v: panic: %v\n%s", args, p, debug.Stack())
				status = exitFailed
				errs.WriteString("fedsim: panic")
			}
		}()
		return execute(ctx, args, &out, &errs)
	}()
	took := processorTime() - before
	for range hang / time.Millisecond { // what was being made when it was interrupted, for nobody
		if runtime.NumGoroutine() <= others {
			break
		}
		time.Sleep(time.Millisecond)
	}
	late.Stop()
	m.longest = max(m.longest, took)
	m.ends[status]++
	stderr = errs.String()
	if took > mostWork {
		m.report("%v computed for %v, must end within %v", args, took, mostWork)
	}
	if strings.ContainsFunc(stderr, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) || ofGo.MatchString(stderr) {
		m.report("%v speaks of Go, or in control characters: %q", args, stderr)
	}
	switch status {
	case exitDone:
	case exitFailed, exitUsage, exitStalled:
		if strings.TrimSpace(stderr) == "" {
			m.report("%v did not say why it ended with status %d", args, status)
		}
	case exitInterrupted:
		if ctx.Err() == nil {
			m.report("%v: interrupted by nobody: %s", args, stderr)
		}
	default:
		m.report("%v: status %d: %s", args, status, stderr)
	}
	return status, stderr
}

// ofGo is what errors of Go's own packages say, which mean nothing to a user.
var ofGo = regexp.MustCompile(`strconv\.|(^|\s)json: |Go (value|struct)|goroutine|\bint64\b|\bfloat64\b|unmarshal|interface \{`)

// processorTime returns the time that this process has computed for.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// requireWhole checks that a run left all of its directory or none.
func (m *mutated) requireWhole(dir string, status int, stderr string) {
	m.Helper()
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		if status == exitDone {
			m.report("done, and there is nothing")
		}
		return
	}
	if err != nil {
		m.Fatal(err)
	}
	if status == exitInterrupted && len(entries) == 1 && entries[0].Name() == ".unfinished" && strings.Contains(stderr, "--resume") {
		return
	}
	r, err := rundir.Read(dir)
	switch {
	case err != nil:
		m.report("status %d and half a directory is left: %v; %s", status, err, stderr)
	case (status == exitDone || status == exitStalled) != (r.Manifest.State == rundir.Complete) && status != exitFailed: // pictures may fail
		m.report("status %d and what is left is %s", status, r.Manifest.State)
	}
}
