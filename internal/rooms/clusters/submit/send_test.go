package submit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// scheduler puts a program with the name into PATH that runs a script of a shell.
func scheduler(t *testing.T, name, script string) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	dir := t.TempDir()
	expect.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/usr/bin/env bash\n"+script), 0o777))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestSend(t *testing.T) {
	scheduler(t, "qsub", `pwd; cat "$1"`)
	e := expect.Value(parse("dir/my.pbs", "{{define \"submit\"}}qsub\n{{.File}}{{end}}{{.Number}} {{.Tasks}}"))(t)
	j := job(t)
	for n, want := range []string{"1 3", "2 3"} {
		j.Place(e)
		text, submit, err := e.Render(j)
		expect.NoError(t, err)
		printed, err := Send(t.Context(), j, text, submit)
		folder := filepath.Join(j.Dir, "submitted")
		if err != nil || printed != folder+"; "+want || j.Number != n+1 ||
			j.File != filepath.Join(folder, want[:1]+"-my.pbs") {
			t.Errorf("%q, %v: %+v", printed, err, j)
		}
	}
	if _, err := Send(t.Context(), j, "", []string{"qsub", j.File}); err == nil ||
		!strings.Contains(err.Error(), "another process submits the plan") {
		t.Error(err)
	}
}

func TestSendFails(t *testing.T) {
	for _, test := range []struct{ script, want string }{
		{"echo 'sbatch: error: Batch job submission failed: invalid partition specified: x' >&2; exit 1",
			"qsub: exit status 1: sbatch: error: Batch job submission failed: invalid partition specified: x; " +
				"the file is "},
		{"echo \"sbatch: unrecognized option '--x'\" >&2; echo 'Try --help' >&2; exit 255",
			"qsub: exit status 255: sbatch: unrecognized option '--x'; Try --help; the file is "},
		{"echo no; exit 2", "qsub: exit status 2: no; the file is "},
		{"exit 4", "qsub: exit status 4: printed nothing; the file is "},
	} {
		scheduler(t, "qsub", test.script)
		j := job(t)
		j.Place(Shipped("slurm"))
		_, err := Send(t.Context(), j, "", []string{"qsub"})
		expect.That(t, err != nil && strings.HasPrefix(err.Error(), test.want), "%s: %v", test.script, err)
	}
	j := job(t)
	j.Place(Shipped("slurm"))
	if _, err := Send(t.Context(), j, "", []string{"no-such-scheduler"}); err == nil ||
		!strings.HasPrefix(err.Error(), "no-such-scheduler: not found: ") {
		t.Error(err)
	}
}
