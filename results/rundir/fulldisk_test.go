//go:build unix

package rundir

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFullDisk writes with a limit on the size of files, in a process of its
// own: the kernel cuts a write short as it does when the disk is full. Both the
// checkpoint of a run and the last write in Finish must fail with one line that
// names the file, and must not change the directory.
func TestFullDisk(t *testing.T) {
	if at := os.Getenv("RESULTS_TEST_DISK"); at != "" {
		writeOnSmallDisk(at)
		return
	}
	for _, at := range []string{"Add", "Finish"} {
		for _, old := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, old run %v", at, old), func(t *testing.T) {
				root := t.TempDir()
				dir := filepath.Join(root, "runs", "x")
				if old {
					w := create(t, dir, false)
					addAll(t, w, syntheticRuns())
					finish(t, w, Complete)
				}
				before := tree(t, root)
				cmd := exec.Command(os.Args[0], "-test.run=^TestFullDisk$", "-test.v=false")
				cmd.Env = append(os.Environ(), "RESULTS_TEST_DISK="+at, "RESULTS_TEST_DIR="+dir)
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				line, _, _ := strings.Cut(string(out), "\n")
				if !strings.HasPrefix(line,
					at+": write "+
						filepath.Join(dir, stageDir, map[string]string{"Add": logFile, "Finish": roundsFile}[at])+
						": ") {
					t.Errorf("got %q", out)
				}
				if d := cmp.Diff(before, tree(t, root)); d != "" {
					t.Errorf("the directory changed: %s", d)
				}
			})
		}
	}
}

// writeOnSmallDisk is the process with the limit. It prints where it failed.
func writeOnSmallDisk(at string) {
	signal.Ignore(syscall.SIGXFSZ) // else the signal kills before the write fails
	runs := syntheticRuns()
	const perRun = 41 * 80 // bytes of a run's 41 rounds, at least
	limit := uint64(perRun)
	if at == "Finish" {
		limit, runs = 3*perRun, runs[:3]
		for i := range runs {
			runs[i].Rounds = runs[i].Rounds[:10]
		}
		runs[2].Rounds = syntheticRuns()[2].Rounds
		runs[2].Rounds = append(runs[2].Rounds, runs[2].Rounds...)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		fmt.Println("setrlimit:", err)
		return
	}
	about := testAbout()
	about.Resumable = at == "Add" // else there are no checkpoints
	w, err := Create(os.Getenv("RESULTS_TEST_DIR"), true, about)
	if err != nil {
		fmt.Println("Create:", err)
		return
	}
	defer w.Discard()
	for i, r := range runs {
		if err := add(w, i, r); err != nil {
			fmt.Printf("Add: %v\n", err)
			return
		}
	}
	if err := w.Finish(Complete, End{At: testFinished}); err != nil {
		fmt.Printf("Finish: %v\n", err)
		return
	}
	fmt.Println("nothing failed")
}
