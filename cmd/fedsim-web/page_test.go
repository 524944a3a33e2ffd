package main

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedsim/experiment/into"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
	"fedsim/results"
	"fedsim/results/rundir"
	"fedsim/scenarios"
)

// text returns the text of a shipped scenario.
func text(t *testing.T, name string) string {
	t.Helper()
	source, ok := scenarios.Source(name)
	expect.Must(t, ok, "no scenario %s", name)
	return string(source)
}

// quiet is told of the progress of a run.
func quiet(any) {}

// A page runs what is small, and says in a line why it does not run the rest: it never starts a program and never
// reads a file.
func TestRefused(t *testing.T) {
	t.Setenv("FEDSIM_DATA", t.TempDir())
	const small = "[run]\nrounds = 2\n[methods.fedavg]\n"
	for _, test := range []struct{ name, text, want string }{
		{"small", small, ""},
		{"wearables", text(t, "wearables"), ""},
		{"a program", "[problem]\nmodel = \"external\"\nprogram = { command = [\"sh\"] }\n" + small,
			"starts a program"},
		{"a learner", "[data]\nsource = \"external\"\nexternal = { clients = 3 }\n[methods.a]\n" +
			"algorithm = \"external\"\nprogram = { command = [\"sh\"] }\n", "starts a program"},
		{"a file", "[data]\nsource = \"leaf\"\npath = \"/etc/passwd\"\n" + small,
			`reads the file "/etc/passwd"`},
		{"a file that is replaced", text(t, "vehicle"), "minutes here"},
		{"much memory", text(t, "million"), "needs at least 2.35 GB of memory"},
		{"hours", text(t, "lte-high-var"), "would take about"},
		{"many rows", text(t, "table4-skew"), "divides many generated rows"},
	} {
		s, c := check(t.Context(), test.text, nil)
		expect.That(t, s != nil && len(c.Problems) == 0, "%s: %v", test.name, c.Problems)
		expect.That(t, (c.Refused == "") == (test.want == "") && strings.Contains(c.Refused, test.want) &&
			!strings.Contains(c.Refused, "\n"), "%s: %q, want %q", test.name, c.Refused, test.want)
		expect.That(t, test.want == "" || strings.Contains(c.Refused, "fedsim run scenario.toml"), "%s: no remedy: %q",
			test.name, c.Refused)
		if test.want != "" {
			o := run(t.Context(), test.text, nil, filepath.Join(t.TempDir(), "run"), quiet)
			expect.That(t, o.State == "" && o.Refused != "", "%s: it runs", test.name)
		}
	}
}

// Errors have their line and column.
func TestProblems(t *testing.T) {
	_, c := check(t.Context(), "[run]\nrounds = 2\n[faults]\ndrop_probability = 1.4\n[methods.fedavg]\n", nil)
	expect.Must(t, len(c.Problems) == 1, "%v", c.Problems)
	p := c.Problems[0]
	expect.That(t, p.Line == 4 && p.Column == 20 && strings.Contains(p.Text, "must be"), "%+v", p)
}

// A run gives the results of the command, tells of its curves, and can be zipped.
func TestRun(t *testing.T) {
	sets := []string{"run.max_time_s=4", "run.seeds=[1]"}
	source := text(t, "quickstart-small")
	s := expect.Value(scenario.Parse(file, []byte(source), sets))(t)
	o := into.Options{Dir: filepath.Join(t.TempDir(), "run"), NoFigures: true}
	want := expect.Value(into.Run(t.Context(), s, o))(t)

	dir, share, points, methods := filepath.Join(t.TempDir(), "run"), 0.0, 0, []string{}
	p := &page{}
	answer, _ := p.do(request{Op: "run", Text: source, Sets: sets, Dir: dir}, func(m any) {
		told := m.(message)
		expect.That(t, told.Share >= share && told.Share <= 1, "the share is %v after %v", told.Share, share)
		share = told.Share
		for _, c := range told.Curves {
			expect.That(t, len(c.X) == len(c.Y) && c.YLabel == "test accuracy by rows", "%+v", c)
			points += len(c.X)
			if !slices.Contains(methods, c.Method) {
				methods = append(methods, c.Method)
			}
		}
	})
	got := answer.(outcome)
	expect.Must(t, len(got.Problems) == 0 && got.State == rundir.Complete, "%+v", got.Problems)
	expect.That(t, got.Hash == rundir.HashOf(want).String(), "the hash is %s", got.Hash)
	claim := expect.Value(rundir.ReadFragment(got.Claim))(t)
	expect.That(t, claim.Hash.String() == got.Hash && claim.Numerics == rundir.Numerics, "the claim is %+v", claim)
	rounds := 0
	for i := range want {
		for k := range want[i].Rounds {
			m, _ := want[i].Metric("test_accuracy")
			if !math.IsNaN(m.Of(&want[i].Rounds[k])) {
				rounds++
			}
		}
	}
	expect.That(t, points == rounds && len(methods) == 3, "%d points of %d rounds, methods %v", points, rounds, methods)
	expect.That(t, len(got.Figures) == 1 && strings.Contains(got.Figures[0].SVG, "<svg") && len(got.Summary) > 0 &&
		slices.ContainsFunc(got.Summary, func(p part) bool { return len(p.Cells) == 4 }), "%d figures, summary %+v",
		len(got.Figures), got.Summary)

	_, content := p.do(request{Op: "zip", Dir: dir}, quiet)
	z := expect.Value(zip.NewReader(bytes.NewReader(content), int64(len(content))))(t)
	_, err := z.Open("run/manifest.json")
	expect.NoError(t, err)
}

// Links and files bring scenarios; what is none is said in a line.
func TestLinks(t *testing.T) {
	claim := rundir.Claim{Scenario: []byte("name = \"x\"\n"), Hash: 7, Numerics: 2}
	p := &page{}
	for _, test := range []struct{ op, text, want string }{
		{"link", "#" + claim.String(), "map[hash:0000000000000007 numerics:2 text:name = \"x\"\n]"},
		{"link", rundir.Fragment(claim.Scenario), "map[text:name = \"x\"\n]"},
		{"file", "<svg><metadata>" + claim.String(), "map[hash:0000000000000007 numerics:2 text:name = \"x\"\n]"},
		{"file", "name = \"y\"\n", "map[text:name = \"y\"\n]"},
		{"link", "s=AAAA", "map[error:s=: must be a scenario, compressed: "},
		{"link", "s=" + strings.Repeat("A", 10<<20), "map[error:the link has 10485762 bytes: "},
		{"link", "outage", "map[error:the link has no scenario: "},
		{"file", "s=AAAA&h=0123456789abcdef&n=2", "map[error:s=: must be a scenario, compressed: "},
	} {
		answer, _ := p.do(request{Op: test.op, Text: test.text}, quiet)
		got := fmt.Sprint(answer)
		expect.That(t, strings.HasPrefix(got, test.want) && !strings.Contains(strings.TrimSuffix(got, "\n]"), "\n"),
			"%s %.40q: %q, want %q", test.op, test.text, got, test.want)
	}
}

// A run that is canceled says how many runs have ended.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stopped := false
	o := run(ctx, text(t, "theory"), nil, filepath.Join(t.TempDir(), "run"), func(m any) {
		if told, ok := m.(message); ok && told.Done > 0 {
			cancel()
		} else if !ok {
			stopped = true
		}
	})
	expect.That(t, o.Canceled && o.Ended > 0 && o.Ended < o.Runs && o.Claim == "" && stopped, "%+v", o)
}

// What can follow the text before the cursor: tables, keys of a table and of inline tables, values.
func TestComplete(t *testing.T) {
	p := &page{}
	s, _ := check(t.Context(), text(t, "quickstart-small"), nil)
	p.valid = s
	for _, test := range []struct{ before, word, want string }{
		{"[netw", "netw", "network"},
		{"[data]\n[network]\npro", "pro", "profile = "},
		{"[network]\nprofile = ", "", `"3g"`},
		{"[network]\nprofile = \"l", `"l`, `"lte"`},
		{"[data]\nsynthetic = { clients = 4, fea", "fea", "features = "},
		{"[run]\ndevices = ", "", "true"},
		{"run.ma", "run.ma", "run.max_time_s = "},
		{"[methods.mocha]\noptions.ep", "options.ep", "options.epochs = "},
		{"[experiment.figure]\ny_", "y_", "y_scale = "},
	} {
		o := p.complete(test.before)
		found := slices.ContainsFunc(o.List, func(of offer) bool { return of.Text == test.want })
		expect.That(t, o.Word == test.word && found, "%q: %+v, want %q", test.before, o, test.want)
	}
	expect.That(t, len(p.complete("[network]\nzzz").List) == 0, "there is a key zzz")
}

// The metric of curves is that of the first figure with lines.
func TestCurves(t *testing.T) {
	s := expect.Value(scenario.Parse(file, []byte(text(t, "outage")), nil))(t)
	c := &curve{}
	m := (&teller{s: s}).metric(&results.Run{Experiment: s.Experiments[0].Name}, c)
	expect.That(t, m.Name == "suboptimality" && c.Log && c.XLabel == "virtual time, s", "%s, %+v", m.Name, c)
}
