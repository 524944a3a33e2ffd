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

	"fedsim/internal/tools/expect"
	"fedsim/results/rundir"
)

var (
	mutants = flag.Int("mutants", 100,
		"number of mutated scenarios and of mutated data files; a fifth as many run directories")
	mutant = flag.Int("mutant", -1, "number of the only mutant to test; -1: all")
)

const (
	// The limit on the processor time of a command that reads a mutant. Processor time
	// does not depend on the load of the machine.
	maxWork = time.Second
	// A mutated scenario may never end: the command is interrupted after this time.
	interruptAfter = 100 * time.Millisecond
	// A command that takes this long despite the interrupt hangs.
	hang = time.Minute
)

// forMutants calls try for count mutants of a kind. The kind and the number of a mutant
// determine its random stream.
func forMutants(t *testing.T, kind uint64, count int, try func(t *mutated)) {
	t.Helper()
	if testing.Short() { // the race detector is ten times slower
		t.Skip("runs mutated scenarios: not with -short")
	}
	dir := t.TempDir()
	var took struct {
		longest time.Duration
		of      int // number of the mutant
		ends    [exitInterrupted + 1]int
	}
	for i := range count {
		if *mutant >= 0 && i != *mutant {
			continue
		}
		m := &mutated{T: t, number: i, random: rand.New(rand.NewPCG(kind, uint64(i))),
			dir: filepath.Join(dir, fmt.Sprint(i))}
		expect.NoError(t, os.Mkdir(m.dir, 0o777))
		try(m)
		for status, n := range m.ends {
			took.ends[status] += n
		}
		if m.longest > took.longest {
			took.longest, took.of = m.longest, i
		}
		expect.NoError(t, os.RemoveAll(m.dir))
		if testing.Verbose() && (i+1)%500 == 0 {
			t.Logf("%d mutants", i+1)
		}
	}
	t.Logf("%d mutants; commands that ended with status 0: %d, 1: %d, 2: %d, 75: %d; "+
		"the longest took %v of processor time, with mutant %d",
		count, took.ends[0], took.ends[exitFailed], took.ends[exitUsage], took.ends[exitInterrupted],
		took.longest.Round(time.Millisecond), took.of)
}

// mutated is a mutant under test.
type mutated struct {
	*testing.T
	number  int
	random  *rand.Rand
	dir     string // its directory, initially empty
	longest time.Duration
	ends    [exitInterrupted + 1]int
}

// report reports an error and saves the mutant to the directory of the flag -artifacts.
// Run directories contain times, so their mutants cannot be reproduced from the number.
func (m *mutated) report(format string, arguments ...any) {
	m.Helper()
	m.Errorf("mutant %d (-run %s -mutant %d): %s", m.number, m.Name(), m.number, fmt.Sprintf(format, arguments...))
	if err := os.CopyFS(filepath.Join(m.ArtifactDir(), fmt.Sprint(m.number)), os.DirFS(m.dir)); err != nil {
		m.Logf("the mutant is not saved: %v", err)
	}
}

// write writes a file to the directory of the mutant and returns its path.
func (m *mutated) write(name string, content []byte) string {
	m.Helper()
	path := filepath.Join(m.dir, name)
	expect.NoError(m, os.MkdirAll(filepath.Dir(path), 0o777))
	expect.NoError(m, os.WriteFile(path, content, 0o666))
	return path
}

// fedsim runs a command and checks that it ends with a valid status, within maxWork, and
// with an error message if it fails.
func (m *mutated) fedsim(args ...string) (status int, stderr string) {
	m.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer time.AfterFunc(interruptAfter, cancel).Stop()
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
	for range hang / time.Millisecond { // computations that an interrupt has not ended yet
		if runtime.NumGoroutine() <= others {
			break
		}
		time.Sleep(time.Millisecond)
	}
	late.Stop()
	m.longest = max(m.longest, took)
	m.ends[status]++
	stderr = errs.String()
	if took > maxWork {
		m.report("%v took %v of processor time, must take at most %v", args, took, maxWork)
	}
	if strings.ContainsFunc(stderr, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) ||
		goError.MatchString(ownTypes.ReplaceAllString(stderr, "")) {
		m.report("%v prints an error of Go or control characters: %q", args, stderr)
	}
	switch status {
	case exitDone:
	case exitFailed, exitUsage, exitStalled:
		if strings.TrimSpace(stderr) == "" {
			m.report("%v: status %[2]d without an error message", args, status)
		}
	case exitInterrupted:
		if ctx.Err() == nil {
			m.report("%v: status 75 without an interrupt: %s", args, stderr)
		}
	default:
		m.report("%v: status %d: %s", args, status, stderr)
	}
	return status, stderr
}

// goError matches errors of Go's own packages, which are meaningless to a user.
var goError = regexp.MustCompile(
	`strconv\.|(^|\s)json: |Go (value|struct)|goroutine|\bint64\b|\bfloat64\b|unmarshal|interface \{`)

// ownTypes matches the values of data.precision, which users know.
var ownTypes = regexp.MustCompile(`must be one of float64, float32( \(did you mean "float(64|32)"\?\))?`)

// processorTime returns the processor time of this process.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// requireWhole checks that a run directory is complete, resumable or absent.
func (m *mutated) requireWhole(dir string, status int, stderr string) {
	m.Helper()
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		if status == exitDone {
			m.report("status 0 without a run directory")
		}
		return
	}
	expect.NoError(m, err)
	if status == exitInterrupted && len(entries) == 1 && entries[0].Name() == ".unfinished" &&
		strings.Contains(stderr, "--resume") {
		return
	}
	r, err := rundir.Read(dir)
	switch {
	case err != nil:
		m.report("status %d and a partial directory: %v; %s", status, err, stderr)
	// figures may fail
	case (status == exitDone || status == exitStalled) != (r.Manifest.State == rundir.Complete) && status != exitFailed:
		m.report("status %d and state %s", status, r.Manifest.State)
	}
}
