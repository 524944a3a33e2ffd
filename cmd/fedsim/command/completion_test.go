package command

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fedsim/experiment"
	"fedsim/experiment/into"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// completed returns the completions of the last word of a command line, and the directive
// for the shell.
func completed(t *testing.T, words ...string) (offers []string, directive string) {
	t.Helper()
	var out, errors bytes.Buffer
	if status := Main(append([]string{"__complete"}, words...), &out, &errors); status != 0 {
		t.Fatalf("%q: status %d: %s", words, status, errors.String())
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	for _, line := range lines[:len(lines)-1] {
		name, _, _ := strings.Cut(line, "\t")
		offers = append(offers, name)
	}
	return offers, lines[len(lines)-1]
}

// The directives are the sums of those of cobra: 2 no space after the word, 4 no files,
// 8 files with these extensions, 16 directories, 32 in this order.
func TestCompletion(t *testing.T) {
	t.Chdir(t.TempDir())
	filetest.Write(t, "query.toml", "[methods.ours]\nalgorithm = \"cocoa\"\n")
	for _, c := range []struct {
		line      string // "_" is an empty word
		want      []string
		directive string
	}{
		{"r", []string{"run", "report"}, ":4"},
		{"run qu", []string{"quickstart-small", "quickstart", "query.toml"}, ":4"},
		{"run other/", []string{"toml"}, ":8"},
		{"run quickstart _", nil, ":4"},
		{"theory theo", []string{"theory"}, ":4"},
		{"scenarios show query", nil, ":4"},
		{"check quickstart rush", []string{"rush-hour"}, ":4"},
		{"data describe quick", []string{"quickstart-small", "quickstart"}, ":4"},
		{"plot _", nil, ":16"},
		{"version _", nil, ":4"},
		{"export _", nil, ":16"},
		{"export x r", []string{"rounds", "runs"}, ":4"},
		{"run --progress _", []string{"auto", "plain", "json", "none"}, ":4"},
		{"run --out _", nil, ":16"},
		{"help fleet sh", []string{"show"}, ":4"},
		{"help nothing _", nil, ":4"},
		{"fleet show s", []string{"sensors"}, ":4"},
		{"completion _", []string{"bash", "zsh", "fish", "powershell"}, ":4"},

		{"run --set net", []string{"network.profile=", "network.bytes_scale=", "network."}, ":38"},
		{"run --set des", []string{"description="}, ":38"},
		{"run --set network.rt", []string{"network.rtt_ms="}, ":38"},
		{"run --set=network.rt", []string{"network.rtt_ms="}, ":38"},
		{"run --set network.nothing", nil, ":38"},
		{"run --set faults.drop_phase=",
			[]string{"faults.drop_phase=start", "faults.drop_phase=compute", "faults.drop_phase=upload",
				"faults.drop_phase=uniform"}, ":36"},
		{"run --set faults.drop_phase=u", []string{"faults.drop_phase=upload", "faults.drop_phase=uniform"}, ":36"},
		{"run --set data.bias=", []string{"data.bias=true", "data.bias=false"}, ":36"},
		{"run --set run.rounds=", nil, ":36"},
		{"run --set run.outer=", []string{"run.outer=1"}, ":36"},
		{"run --set data.path=", nil, ":0"},
		{"run --set run.nothing=", nil, ":4"},
		{"run --set methods.cocoa.options.th", []string{"methods.cocoa.options.theta="}, ":38"},
		// The methods, experiments and points of a scenario.
		{"run query.toml --set methods.",
			[]string{"methods.ours.algorithm=", "methods.ours.label=", "methods.ours.protocol=",
				"methods.ours.program.command=", "methods.ours.program.timeout_s=", "methods.ours.program.processes=",
				"methods.ours.options.theta=", "methods.ours.options.stop=", "methods.ours.options.check_every=",
				"methods.ours.options.max_epochs="}, ":38"},
		{"run fig3-faults --set experiment.fig3-faults.axis.u", []string{"experiment.fig3-faults.axis.update="}, ":38"},
		{"run fig3-faults --set experiment.fig3-faults.axis.update=one",
			[]string{"experiment.fig3-faults.axis.update=one W update"}, ":36"},
		{"run table1 --set experiment.table1.axis.data=Hu", []string{"experiment.table1.axis.data=Human Activity"},
			":36"},
		{"data describe --set _", []string{"data.source=", "data.path=", "data.client_column=",
			"data.label_column=", "data.target=", "data.partition.method=", "data.partition.clients=",
			"data.partition.alpha=", "data.validation_fraction=", "data."}, ":38"},
		{"data describe --set run.ro", nil, ":38"},
	} {
		words := strings.Fields(c.line)
		if last := len(words) - 1; words[last] == "_" {
			words[last] = ""
		}
		got, directive := completed(t, words...)
		expect.That(t, slices.Equal(got, c.want) && directive == c.directive,
			"%s: offers %q and %s, must offer %q and %s", c.line, got, directive, c.want, c.directive)
	}
}

// The ids of the runs in a run directory are offered, even if it is unfinished.
func TestCompletionOfRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	var out, errors bytes.Buffer
	const text = "[data.synthetic]\nclients = 3\nfeatures = 4\n[problem]\noptimum.when = \"never\"\n[run]\nrounds " +
		"= 1\n" +
		"seeds = [1, 2]\n[methods.mocha]\n[methods.cocoa]\n"
	filetest.Write(t, "quickstart.toml", text)
	small := []string{"run", "quickstart.toml", "--out", "made", "--progress", "none"}
	if status := Main(small, &out, &errors); status != 0 {
		t.Fatal(errors.String())
	}
	ids := []string{"quickstart/mocha/seed=1", "quickstart/mocha/seed=2", "quickstart/cocoa/seed=1",
		"quickstart/cocoa/seed=2"}
	for _, c := range []struct {
		words []string
		want  []string
	}{
		{[]string{"made", "--run", ""}, ids},
		{[]string{"made", "--run", "quickstart/c"}, ids[2:]},
		{[]string{"made", "--run=quickstart/cocoa/seed=2"}, ids[3:]},
		{[]string{"made", "--run", "other"}, nil},
		{[]string{"nothing", "--run", ""}, nil},
		{[]string{"--run", ""}, nil},
	} {
		got, directive := completed(t, append([]string{"explain"}, c.words...)...)
		expect.That(t, slices.Equal(got, c.want) && directive == ":4",
			"explain %q: offers %q and %s, must offer %q and :4", c.words, got, directive, c.want)
	}
	// The directory of a killed run: the finished results are in .unfinished.
	s := expect.Value(scenario.Load("quickstart.toml", nil))(t)
	d := expect.Value(into.Create(s, into.Options{Dir: "killed", Every: time.Nanosecond}))(t)
	expect.NoError(t, experiment.Run(t.Context(), s.Experiments, d.Options()))
	_ = d.Close(os.ErrProcessDone) // not complete
	if got, _ := completed(t, "explain", "killed", "--run", ""); !slices.Equal(got, ids) {
		t.Errorf("killed run: offers %q, must offer %q", got, ids)
	}
}

// The script for bash, run by bash. Completions start after the last character at which
// bash breaks words.
func TestCompletionInBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	var script, errors bytes.Buffer
	if status := Main([]string{"completion", "bash"}, &script, &errors); status != 0 {
		t.Fatal(errors.String())
	}
	// A replacement of the package bash-completion for words without quotes.
	const harness = `
_init_completion() { words=("${line[@]}"); cword=$((${#words[@]} - 1)); cur=${words[cword]}; prev=${words[cword - 1]}; }
compopt() { :; }
COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
line=("$@")
COMP_TYPE=9 COLUMNS=200
__start_fedsim
printf '%s\n' "${COMPREPLY[@]}"
`
	self, err := os.Executable()
	expect.NoError(t, err)
	// The test binary acts as fedsim if that is its name, see TestMain.
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "fedsim")); err != nil {
		t.Skipf("there are no symbolic links: %v", err)
	}
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"run", "rush"}, "rush-hour\n"},
		{[]string{"run", "quickstart", "--set", "network.rt"}, "network.rtt_ms=\n"},
		{[]string{"run", "quickstart", "--set", "network.profile=et"}, "ethernet\n"},
		{[]string{"run", "quickstart", "--set", "faults.drop_phase=u"}, "upload\nuniform\n"},
	} {
		args := append([]string{"--norc", "-c", script.String() + harness, "bash", filepath.Join(dir, "fedsim")},
			c.words...)
		cmd := exec.Command(bash, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		expect.That(t, err == nil && string(out) == c.want, "%q: %v\n%s, must be %s", c.words, err, out, c.want)
	}
}

// The scripts of the other shells call the same hidden command.
func TestCompletionScripts(t *testing.T) {
	for _, s := range shells {
		var out, errors bytes.Buffer
		if status := Main([]string{"completion", s.name}, &out, &errors); status != 0 ||
			!strings.Contains(out.String(), "__complete") || errors.Len() > 0 {
			t.Errorf("%s: status %d: %s", s.name, status, errors.String())
		}
	}
	var out, errors bytes.Buffer
	if status := Main([]string{"completion", "zhs"}, &out, &errors); status != 2 ||
		errors.String() != "fedsim: unknown shell zhs: did you mean zsh?\n" {
		t.Errorf("status %d: %s", status, errors.String())
	}
}
