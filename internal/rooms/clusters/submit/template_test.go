package submit

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// job returns a job in a directory whose name a shell could misread.
func job(t *testing.T) *Job {
	t.Helper()
	dir := filepath.Join(t.TempDir(), `it's "a" $(touch x) \ plan; `+"`y` %j #é")
	expect.NoError(t, os.MkdirAll(dir, 0o777))
	binary := filepath.Join(dir, "fedsim")
	return &Job{
		ID: "0123456789abcdef", Name: "lte", Version: "1.2+x y", Number: 2, Tasks: 3, Minutes: 20, MemoryMiB: 300,
		Cores: 2, Binary: binary, Dir: dir, Here: dir, Data: dir, File: filepath.Join(dir, "2-slurm.sh"),
		Command: []string{binary, "work", dir, "--no-wait", "--workers", "2"},
	}
}

// render renders a job with an engine.
func render(t *testing.T, engine string, j *Job, options ...string) (text string, submit []string) {
	t.Helper()
	expect.NoError(t, j.SetOptions(options))
	e := Shipped(engine)
	if e == nil {
		e = ofThePage(t, engine)
	}
	text, submit, err := e.Render(j)
	expect.NoError(t, err)
	return text, submit
}

// ofThePage loads the template of docs/clusters.md.
func ofThePage(t *testing.T, engine string) *Engine {
	t.Helper()
	page := string(filetest.Read(t, "../../../../docs/clusters.md"))
	_, rest, found := strings.Cut(page, "\n`"+engine+".sh`\n\n```bash\n")
	text, _, closed := strings.Cut(rest, "```\n")
	expect.Must(t, found && closed, "the page has no %s.sh", engine)
	e := expect.Value(Load(filetest.New(t, engine+".sh", text)))(t)
	return e
}

func TestEngines(t *testing.T) {
	got := strings.Join(Engines(), " ")
	expect.That(t, got == "kubernetes slurm", "%v", got)
	for _, name := range Engines() {
		e := Shipped(name)
		expect.That(t, e.Name == name, "%v", e.Name)
		text, err := shipped.ReadFile("engines/" + Shipped(name).file)
		lines := strings.Count(string(text), "\n")
		expect.That(t, err == nil && lines <= 90, "%s has %d lines (%v)", name, lines, err)
	}
	expect.That(t, Shipped("slurmm") == nil, "an unknown engine is known")
}

func TestSlurm(t *testing.T) {
	j := job(t)
	text, submit := render(t, "slurm", j, "--partition=debug", "-A", "my account")
	for _, line := range []string{
		"#SBATCH --job-name=fedsim-lte", "#SBATCH --array=1-3", "#SBATCH --time=20", "#SBATCH --mem=300M",
		"#SBATCH --cpus-per-task=2", "#SBATCH --requeue", "#SBATCH --signal=B:TERM@60", "#SBATCH --partition=debug",
		"#SBATCH -A 'my account'",
	} {
		expect.That(t, slices.Contains(strings.Split(text, "\n"), line), "no line %s in\n%s", line, text)
	}
	expect.That(t, slices.Equal(submit, []string{"sbatch", j.File}), "%q", submit)
	expect.That(t, strings.HasPrefix(text, "#!/bin/bash\n#SBATCH "), "%.40q", text)
}

// The scripts call the worker with its arguments unchanged, whatever the name of the
// directory, and end with its status. The worker is a script that records its arguments.
func TestScriptsCallTheWorker(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	for _, test := range []struct {
		engine, worker string // the worker's end
		state          string // of the task, in the end
		status         int
		requeued       string
	}{
		{"slurm", "exit 0", "RUNNING", 0, ""},
		{"slurm", "exit 3", "RUNNING", 3, ""},
		{"slurm", "exit 75", "RUNNING", 75, "requeue 41_7"},
		{"slurm", "exit 75", "COMPLETING", 75, ""},
		{"slurm", `trap 'exit 75' TERM; while :; do kill -TERM $PPID; sleep 0.01; done`, "RUNNING", 75, "requeue 41_7"},
		{"slurm", `trap 'exit 0' TERM; while :; do kill -TERM $PPID; sleep 0.01; done`, "RUNNING", 0, ""},
		{"hyperqueue", "exit 0", "", 0, ""},
		{"hyperqueue", "exit 75", "", 75, ""},
	} {
		t.Run(test.engine+" "+test.worker+" "+test.state, func(t *testing.T) {
			t.Parallel()
			j := job(t)
			write := func(name, text string) string {
				t.Helper()
				path := filepath.Join(j.Dir, name)
				expect.NoError(t, os.WriteFile(path, []byte("#!/bin/bash\n"+text), 0o777))
				return path
			}
			write("fedsim", `printf '%s\n' "$PWD" "$FEDSIM_DATA" "$@" >"${0%/*}/arguments"`+"\n"+test.worker+"\n")
			write("scontrol", `printf '%s ' "$@" >"${0%/*}/requeued"`+"\n")
			write("squeue", "echo "+test.state+"\n")
			text, _ := render(t, test.engine, j)
			cmd := exec.Command(bash, write("script", text))
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), "PATH="+j.Dir+":"+os.Getenv("PATH"), "SLURM_ARRAY_JOB_ID=41",
				"SLURM_ARRAY_TASK_ID=7")
			out, err := cmd.CombinedOutput()
			expect.That(t, cmd.ProcessState.ExitCode() == test.status && len(out) == 0, "%v: %s", err, out)
			arguments, err := os.ReadFile(filepath.Join(j.Dir, "arguments"))
			want := strings.Join(append([]string{j.Here, j.Data}, j.Command[1:]...), "\n") + "\n"
			expect.That(t, string(arguments) == want && err == nil, "arguments\n%swant\n%s%v", arguments, want, err)
			requeued, err := os.ReadFile(filepath.Join(j.Dir, "requeued"))
			expect.That(t, strings.TrimSpace(string(requeued)) == test.requeued && (test.requeued == "" || err == nil),
				"scontrol %q, want %q (%v)", requeued, test.requeued, err)
		})
	}
}

func TestHyperQueue(t *testing.T) {
	j := job(t)
	text, submit := render(t, "hyperqueue", j, "--priority", "3")
	for _, line := range []string{"#HQ --array=1-3", "#HQ --cpus=2", "#HQ --name=fedsim-lte", "#HQ --priority 3"} {
		expect.That(t, slices.Contains(strings.Split(text, "\n"), line), "no line %s in\n%s", line, text)
	}
	expect.That(t, slices.Equal(submit, []string{"hq", "submit", j.File}), "%q", submit)
}

// A folder of data is mounted where the variable for it says.
func TestKubernetesData(t *testing.T) {
	text, _ := render(t, "kubernetes", job(t), "--image=x", "--claim=c", "--data=sets/har")
	for _, line := range []string{"env: [{name: FEDSIM_DATA, value: /data}]",
		`- {name: plan, mountPath: /data, subPath: "sets/har", readOnly: true}`} {
		expect.That(t, strings.Contains(text, line), "no %s in\n%s", line, text)
	}
}

func TestOptions(t *testing.T) {
	for _, test := range []struct {
		engine  string
		options []string
		want    string // of the error
	}{
		{"slurm", []string{"debug"}, `engine option "debug": must be --name, --name=value or --name value`},
		{"slurm", []string{"--partition=debug", "short"},
			`engine option "short": must be --name, --name=value or --name value`},
		{"slurm", []string{"-p", "debug", "short"},
			`engine option "short": must be --name, --name=value or --name value`},
		{"slurm", []string{"--comment=a\nb"}, `engine option "--comment=a\nb": has a line break`},
		{"kubernetes", []string{"--image=x"},
			"the engine needs the option --claim: add it after --, as in -- --claim=..."},
		{"kubernetes", []string{"--image", "x", "--claim=c", "--namspace=n"},
			"unknown option of kubernetes --namspace: known are --data, --namespace, --image, --path, --claim"},
	} {
		j := job(t)
		err := j.SetOptions(test.options)
		if err == nil {
			_, _, err = Shipped(test.engine).Render(j)
		}
		_, ok := errors.AsType[*OptionError](err)
		expect.That(t, ok && err.Error() == test.want, "%s %q: %v", test.engine, test.options, err)
	}
}

// A template of a site is an engine. Its errors have the file and the line.
func TestLoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "my pbs.sh")
	for _, test := range []struct{ text, want string }{
		{"{{define \"submit\"}}\nqsub\n-J\n1-{{.Tasks}}\n{{.File}}{{end}}\n{{quote .Command}}\n", ""},
		{"x\n{{.Task}}\n{{define \"submit\"}}qsub{{end}}", ":2:2: executing "},
		{"x\n{{define \"submit\"}}qsub\n{{.Fil}}{{end}}",
			":3:2: executing \"submit\" at <.Fil>: can't evaluate field Fil in type *submit.Job"},
		{"x\n\n{{.Tasks", ":3: unclosed action"},
		{"{{quote .Tasks}}{{define \"submit\"}}qsub{{end}}", ":1:"},
		{"echo {{.Tasks}}\n", `: has no block {{define "submit"}} with the submit command, an argument a line`},
		{"{{define \"submit\"}}{{end}}",
			`: the block "submit" is empty: it must have the submit command, an argument a line`},
		{"{{define \"submit\"}}qsub{{end}}{{.Option \"queue\" \"\"}}", ""},
	} {
		expect.NoError(t, os.WriteFile(file, []byte(test.text), 0o666))
		j := job(t)
		e, err := Load(file)
		var submit []string
		if err == nil {
			_, submit, err = e.Render(j)
		}
		if test.want == "" {
			expect.That(t, err == nil && e.Name == "my pbs" && submit[0] == "qsub",
				"%q: %v, %q", test.text, err, submit)
			continue
		}
		expect.That(t, err != nil && strings.Contains(err.Error(), file+test.want), "%q: %v", test.text, err)
	}
	if _, err := Load(file + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
