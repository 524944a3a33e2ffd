package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/internal/rooms/outside/external"
	"fedsim/internal/tools/expect"
)

// The keys of a learner in another process, and its options, are checked with their places.
func TestExternalMethodErrors(t *testing.T) {
	for name, c := range map[string]struct{ source, want string }{
		"no command": {"[methods.x]\nalgorithm = \"external\"\n",
			`x.toml:1:1: methods.x.program.command = []: must be the program of the learner and its arguments, ` +
				`as in ["python3", "learner.py"]`},
		"a text": {"[methods.x]\nalgorithm = \"external\"\nprogram.command = \"learner\"\n",
			`x.toml:3:19: methods.x.program.command = "learner": must be a list of strings: write ["learner"]`},
		"negative timeout": {"[methods.x]\nalgorithm = \"external\"\nprogram.command = [\"a\"]\nprogram.timeout_s " +
			"= -1\n",
			`x.toml:4:21: methods.x.program.timeout_s = -1: must be in (0, 1e6] seconds`},
		"another method": {"[methods.mocha]\nprogram.command = [\"a\"]\n",
			`x.toml:2:1: methods.mocha.program: must be left out: only algorithm "external" has a program to start`},
		"an option": {
			"[methods.x]\nalgorithm = \"external\"\nprogram.command = [\"a\"]\noptions = { step = [1.0, nan] }\n",
			`x.toml:4:26: methods.x.options.step[1] = NaN: must be a finite number`,
		},
		"no table": {"[methods.x]\nalgorithm = \"external\"\nprogram.command = [\"a\"]\noptions = 3\n",
			`x.toml:4:11: methods.x.options: must be a table: the options of the learner`},
		"no clients": {
			"[data]\nsource = \"external\"\n[methods.x]\nalgorithm = \"external\"\nprogram.command = [\"a\"]\n",
			`x.toml:1:1: data.external.clients = 0: must be in [1, 1073741824]: the number of clients that the ` +
				`learner has data of`,
		},
		"rows of others": {"[data]\nsource = \"external\"\n[data.external]\nclients = 2\nrows = [1, 2, 3]\n" +
			"[methods.x]\nalgorithm = \"external\"\nprogram.command = [\"a\"]\n",
			`x.toml:5:8: data.external.rows = "[1, 2, 3]": must be one number, or a list of 2 numbers, ` +
				`one for each client`},
		"no rows": {"[data]\nsource = \"external\"\n[data.external]\nclients = 2\nrows = [1, 0]\n" +
			"[methods.x]\nalgorithm = \"external\"\nprogram.command = [\"a\"]\n",
			`x.toml:5:8: data.external.rows = 0: must be positive: that is the number of client 1`},
		"a built-in method": {
			"[data]\nsource = \"external\"\n[data.external]\nclients = 2\nfeatures = 3\n[methods.mocha]\n",
			`x.toml:6:1: methods.mocha.algorithm = "mocha": must be "external", or run.mode "timing", ` +
				`or problem.model "external": with data.source = "external" only learners and external models have ` +
				`rows to learn from`},
		"prepared": {"[data]\nsource = \"external\"\nbias = true\n[data.external]\nclients = 2\n[methods.x]\n" +
			"algorithm = \"external\"\nprogram.command = [\"a\"]\n",
			`x.toml:3:8: data.bias = true: has no effect when source is "external": the learner prepares its data ` +
				`itself`},
		"some tasks": {"[run]\neval_clients = 2\n[methods.x]\nalgorithm = \"external\"\nprogram.command = [\"a\"]\n",
			`x.toml:2:16: run.eval_clients = 2: must be 0: method x evaluates its own model`},
		"another source": {"[data.external]\nclients = 2\n[methods.mocha]\n",
			`x.toml:2:11: data.external.clients = 2: has no effect…`},
	} {
		_, err := Parse("x.toml", []byte(c.source), nil)
		expect.That(t, says(err, c.want), "%s: got\n%v\nwant\n%s", name, err, c.want)
	}
}

// Files of a command are found beside the scenario. The resolved scenario reads back.
func TestExternalMethods(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"learner.py", "run-it"} {
		expect.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o777))
	}
	const source = `
[methods.x]
algorithm = "external"
program.command = ["python3", "learner.py", "--fast"]
program.timeout_s = 2.5
program.processes = 1
options = { step = 0.1, depth = 2, names = ["a", "b"], inner = { on = true } }
[methods.y]
algorithm = "external"
program.command = ["run-it"]
`
	file := filepath.Join(dir, "x.toml")
	s :=
		expect.Value(
			Parse(file, []byte(source), []string{"methods.x.options.step=0.5", "methods.y.options.inner.k=1"}))(t)
	text := resolvedOf(t, s)
	for _, from := range []string{file, "elsewhere.toml"} {
		s, err := Parse(from, text, nil)
		expect.Must(t, err == nil, "%v\n%s", err, text)
		x, _ := s.Experiments[0].Jobs[0].Candidates[0].Options.(*external.Options)
		y, _ := s.Experiments[0].Jobs[1].Candidates[0].Options.(*external.Options)
		if x.TimeoutS != 2.5 || x.Processes != 1 || x.Learner["step"] != 0.5 || x.Learner["depth"] != int64(2) ||
			len(x.Learner) != 4 {
			t.Errorf("x is %+v", x)
		}
		if strings.Join(x.Command, " ") != "python3 "+filepath.Join(dir, "learner.py")+" --fast" ||
			y.Command[0] != filepath.Join(dir, "run-it") {
			t.Errorf("the commands are %q and %q", x.Command, y.Command)
		}
		inner, _ := y.Learner["inner"].(map[string]any)
		expect.That(t, inner["k"] == int64(1), "y is %+v", y)
	}
}
