package report

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fedsim/internal/rooms/explain"
	"fedsim/internal/tools/expect"
	_ "fedsim/internal/tools/rapidseed"
	"fedsim/plots"
	"fedsim/results"
	"fedsim/results/rundir"
)

const source = `name = "made"
description = "</script><b>& \u2028"
[run]
seeds = [1, 2]
rounds = 3
[methods.mocha]
[methods.slow]
algorithm = "cocoa"
[[experiment]]
name = "e"
sweep = { "faults.drop_probability" = [0.0, 0.5] }
[experiment.figure]
title = "The figure"
panel = "faults.drop_probability"
`

// writeRun writes a run directory of the scenario; each run has the given rounds.
func writeRun(t *testing.T, rounds int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "made")
	w := expect.Value(rundir.Create(dir, false, rundir.About{
		Version: "test", Command: []string{"fedsim", "run", "made"}, Scenario: []byte(source), Seeds: []uint64{1, 2},
		Targets: results.ToSuboptimalities(0.1), Data: "made up", Started: time.Unix(0, 0).UTC(),
	}))(t)
	defer w.Discard()
	i := 0
	for _, p := range []string{"0.0", "0.5"} {
		for _, method := range []string{"mocha", "slow"} {
			for seed := range uint64(2) {
				run := results.Run{
					ID: fmt.Sprintf("e/%s/faults.drop_probability=%s/seed=%d", method, p, seed+1), Experiment: "e",
					Method: method, Algorithm: "mocha",
					Point: []results.Setting{{Key: "faults.drop_probability", Value: p}}, Seed: seed + 1,
					Status: results.Done, Reference: results.Reference{Optimum: 1, OptimumGap: 1e-9},
					Clocked: results.Clocked{WallS: math.NaN()},
					Hashes:  results.Hashes{EventHash: uint64(i), ModelHash: uint64(100 + i)},
				}
				for h := range rounds + 1 {
					s := math.Pow(0.5, float64(h)) * float64(i+1)
					x := results.Round{Round: h, TimeS: float64(h*(i+1)) / 3, Primal: 1 + s, Dual: math.NaN(),
						Gap: math.NaN(), Suboptimality: s, TrainError: s / 7, TestError: s / 3,
						ValidationError: math.NaN()}
					if h > 0 {
						x.Participants, x.Dropped, x.Late, x.FLOPs, x.BytesDown, x.BytesUp, x.EnergyJ = 7, i, 1, 10, 20,
							30, 0.1
					}
					run.Rounds = append(run.Rounds, x)
				}
				rows, err := w.Begin(i, run)
				expect.Must(t, err == nil && rows.End(run) == nil, "%v", err)
				i++
			}
		}
	}
	expect.NoError(t, w.Finish(rundir.Complete, rundir.End{At: time.Unix(90, 0).UTC()}))
	return dir
}

// unpacked decodes columns like the script of the page.
func unpacked(t *testing.T, c *packedColumns, rows int) map[string][]float64 {
	t.Helper()
	plain := expect.Value(io.ReadAll(flate.NewReader(bytes.NewReader(c.Data))))(t)
	columns := make(map[string][]float64)
	for k, name := range c.Names {
		size := c.Bits[k] / 8
		for i := range rows {
			var word [8]byte
			for b := range size {
				word[b] = plain[b*rows+i]
			}
			if size == 4 {
				columns[name] = append(columns[name],
					float64(math.Float32frombits(binary.LittleEndian.Uint32(word[:]))))
			} else {
				columns[name] = append(columns[name], math.Float64frombits(binary.LittleEndian.Uint64(word[:])))
			}
		}
		plain = plain[size*rows:]
	}
	expect.That(t, len(plain) == 0, "%d extra bytes", len(plain))
	return columns
}

func TestColumns(t *testing.T) {
	dir := writeRun(t, 30)
	found := expect.Value(rundir.Read(dir))(t)
	r := expect.Value(Read(dir))(t)
	columns := unpacked(t, &r.Columns, r.Shown)
	expect.That(t, r.Shown == r.Rows && r.Rows == 8*31, "%d of %d rows, must be all %d", r.Shown, r.Rows, 8*31)
	same := func(a, b float64) bool {
		return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
	}
	afterStart := func(r *results.Round, v float64) float64 { // round 0 has no responses and no model
		if r.Round == 0 {
			return math.NaN()
		}
		return v
	}
	for i := range found.Runs {
		flops, down, bytes, energy := 0.0, 0.0, 0.0, 0.0
		for h := range found.Runs[i].Rounds {
			x, at := &found.Runs[i].Rounds[h], r.Runs[i].First+h
			flops += x.FLOPs
			down += x.BytesDown
			bytes += x.BytesUp
			energy += x.EnergyJ
			for name, want := range map[string]float64{
				"round": float64(x.Round), "time_s": x.TimeS, "primal": x.Primal, "gap": x.Gap,
				"suboptimality": x.Suboptimality, "train_error": afterStart(x, x.TrainError),
				"test_error": afterStart(x, x.TestError), "validation_error": math.NaN(), "flops": flops,
				"bytes_down": down, "bytes_up": bytes, "energy_j": energy,
				"train_accuracy": afterStart(x, 1-x.TrainError), "test_accuracy": afterStart(x, 1-x.TestError),
				"dropped": afterStart(x, float64(x.Dropped)), "late": afterStart(x, float64(x.Late)),
				"participants": afterStart(x, float64(x.Participants)),
			} {
				if got := columns[name][at]; !same(got, want) {
					t.Errorf("%s of round %d of %s is %v, must be %v", name, x.Round, found.Runs[i].ID, got, want)
				}
			}
		}
	}
	if want := len(results.XNames) + len(results.YNames) - 2; len(columns) != want { // no validation rows, no theta
		t.Errorf("has %d columns, must have %d without rows by device", len(columns), want)
	}
}

func TestRead(t *testing.T) {
	r := expect.Value(Read(writeRun(t, 3)))(t)
	expect.That(t, r.Expected == 8 && len(r.Runs) == 8 && r.State == rundir.Complete,
		"%d of %d runs, %s: must be all 8, complete", len(r.Runs), r.Expected, r.State)
	e := &r.Experiments[0]
	if want := []string{"Drop probability = 0.0", "Drop probability = 0.5"}; !slices.Equal(e.Figure.Panels, want) {
		t.Errorf("panels %q, must be %q", e.Figure.Panels, want)
	}
	for i, want := range [][2]int{{0, 0}, {0, 0}, {0, 1}, {0, 1}, {1, 0}, {1, 0}, {1, 1}, {1, 1}} {
		got := [2]int{r.Runs[i].Panel, r.Runs[i].Line}
		expect.That(t, got == want, "run %d is at %v, must be at %v", i, got, want)
	}
	if got := r.Runs[4].Totals; got["rounds"] != 3 || got["time_s"] != 5 || got["participants"] != 21 ||
		got["dropped"] != 12 || got["bytes_up"] != 90 {
		t.Errorf("totals of run 4 are %+v", got)
	}
	// The two seeds of "slow" at 0.5 start at 7 and 8 and do not reach 0.1 in three rounds.
	s := &e.Swept
	at := slices.IndexFunc(s.Measures, func(m measure) bool { return m.Name == "primal sub-optimality at the end" })
	if len(s.Trials) != 8 || len(s.Axes) != 2 || !slices.Equal(s.Trials[7].At, []int{1, 1}) || at < 0 ||
		s.Trials[6].Values[at] != 7.0/8 || !s.Trials[7].Ended {
		t.Errorf("trials %+v under axes %+v, measures %+v", s.Trials, s.Axes, s.Measures)
	}
	var page bytes.Buffer
	expect.NoError(t, Write(&page, r))
	// What the page has without a script.
	for want, n := range map[string]int{
		"<section id=\"results\"": 1, "<caption>e: how the runs ended": 2,
		"<caption>e: errors at the end": 1, ">faults.drop_probability = 0.5</th></tr>": 3, " · 90.0 s</p>": 1,
		"complete · 8 of 8 runs · ": 1, r.Made.ResultHash.String(): 3, // in the claim, too
		"<th scope=\"row\" data-head=\"run\">e/slow/faults.drop_probability=0.5/seed=2</th>": 1,
		"<th scope=\"row\" data-head=\"line\">Drop probability = 0.5, slow</th>":             2,
		"data-chart=\"curves\"": 1,
	} {
		got := strings.Count(page.String(), want)
		expect.That(t, got == n, "%d times %s, want %d", got, want, n)
	}
}

// The initial curves show the quantity of the figure, or the first recorded one of the
// default quantities.
func TestInitialQuantity(t *testing.T) {
	nan := math.NaN()
	round := func(h int, sub, test, train, gap float64) results.Round {
		r := results.NewRound()
		r.Round, r.TimeS, r.Primal, r.Suboptimality, r.TestError, r.TrainError, r.Gap = h, float64(h), 2, sub, test,
			train, gap
		return r
	}
	for name, figure := range map[string][]results.Figure{
		"none": nil,
		"no such key": {{Kind: "lines", Panel: "network.profile", Series: "faults.drop_probability",
			Y: "suboptimality", YScale: "log"}},
		"theta":          {{Kind: "distribution", Y: "test_error"}, {Kind: "lines", Y: "theta"}},
		"sub-optimality": {{Kind: "lines", Y: "suboptimality", YScale: "log", YMin: 1e-3}},
	} {
		for _, c := range []struct {
			last results.Round
			want string
			log  bool
		}{
			{round(1, nan, 0.2, 0.1, 3), "test_error", false},
			{round(1, nan, nan, 0.1, 3), "train_error", false},
			{round(1, nan, nan, nan, 3), "gap", true},
			{round(1, nan, nan, nan, nan), "participants", false},
		} {
			runs := []results.Run{
				{ID: "a", Experiment: "e", Method: "m", Rounds: []results.Round{round(0, nan, 1, 1, nan), c.last}},
			}
			var e experimentPage
			_, err := e.arrange(figure, runs, nil)
			expect.That(t, err == nil, "%s: %v", name, err)
			expect.That(t, e.Figure.Y == c.want && e.Figure.YLog == c.log && len(e.Figure.Lines) == 1,
				"%s: is drawn as %+v, must be %s", name, e.Figure, c.want)
		}
	}
}

// Relative units are a property of an experiment.
func TestRelativeUnits(t *testing.T) {
	dir := writeRun(t, 3)
	found := expect.Value(rundir.Read(dir))(t)
	for i := range found.Runs {
		found.Runs[i].Relative = true
	}
	r := expect.Value(Of(dir, found))(t)
	e := &r.Experiments[0]
	expect.That(t, e.Relative && strings.Contains(r.results[0].Title, "not seconds"), "experiment %+v", e)
	at := slices.IndexFunc(r.Quantities, func(q plots.Quantity) bool { return q.Name == "time_s" })
	expect.That(t, found.Runs[0].Relative && len(r.Quantities[at].Units) != 0,
		"no units of time: %+v", r.Quantities[at])
}

func TestMedianTheta(t *testing.T) {
	round := func(values ...float64) *results.Round {
		return &results.Round{Thetas: values}
	}
	for _, c := range []struct {
		of   *results.Round
		want float64
	}{{round(0.3, 0.1, 0.2), 0.2}, {round(1, math.NaN(), 0.5), 0.75}, {round(), math.NaN()}} {
		if got := medianTheta(c.of); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("median of %v is %v, must be %v", c.of.Thetas, got, c.want)
		}
	}
	runs := []results.Run{{Real: true, Rounds: []results.Round{{}, *round(0.5)}}} // without accuracies
	names := func(runs []results.Run) (list []string) {
		r := new(Report)
		r.addQuantities(runs)
		for _, q := range r.Quantities {
			list = append(list, q.Name)
		}
		for _, c := range roundColumns(runs) {
			list = append(list, c.name)
		}
		return list
	}
	if with, without := names(runs), names([]results.Run{{}}); len(with) != len(without)+2 ||
		slices.Contains(without, "theta") {
		t.Errorf("with theta %q, without %q", with, without)
	}
}

func TestTimingFigure(t *testing.T) {
	last := results.NewRound()
	last.Round, last.TimeS, last.Participants = 1, 1, 3
	runs := []results.Run{{ID: "a", Experiment: "e", Method: "m", Rounds: []results.Round{results.NewRound(), last}}}
	var e experimentPage
	if _, err := e.arrange(nil, runs, nil); err != nil || e.Figure.Y != "participants" || e.Figure.YLog {
		t.Errorf("figure %+v (%v), must show participants", e.Figure, err)
	}
}

// The policy of the page allows its own script and style only, and no text of the data
// ends an element.
func TestPolicy(t *testing.T) {
	r := expect.Value(Read(writeRun(t, 3)))(t)
	var page, live bytes.Buffer
	expect.NoError(t, Write(&page, r))
	policy := expect.Value(Live(&live))(t)
	element := func(text, name string) string {
		_, text, _ = strings.Cut(text, "<"+name+">")
		text, _, _ = strings.Cut(text, "</"+name+">")
		return text
	}
	for name, text := range map[string]string{"page": page.String(), "live": live.String()} {
		for _, kind := range []string{"script", "style"} {
			inside := element(text, kind)
			expect.That(t, len(inside) >= 1000 && strings.Contains(policy, kind+"-src "+hashed(inside)),
				"%s: the policy lacks the hash of the %s of %d bytes", name, kind, len(inside))
		}
		n := strings.Count(text, "</script>")
		expect.That(t, n == 2, "%s: has %d script end tags, must have 2", name, n)
		urls := regexp.MustCompile(`(src|href)="[^#]`).FindAllString(text, -1)
		expect.That(t, len(urls) == 1, "%s: requests %q, must request only its empty icon", name, urls)
	}
	policyOf := regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).
		FindStringSubmatch(page.String())
	if policyOf == nil || !strings.Contains(strings.ReplaceAll(policyOf[1], "&#39;", "'"), "connect-src 'none'") ||
		!strings.Contains(policy, "connect-src 'self'") {
		t.Errorf("policies %q and %q: a file must not connect, a served page only to its server", policyOf, policy)
	}
	_, data, _ := strings.Cut(page.String(), `<script type="application/json" id="data">`)
	data, _, _ = strings.Cut(data, "</script>")
	var back struct{ Name string }
	err := json.Unmarshal([]byte(data), &back)
	expect.That(t, err == nil && back.Name == "made", "the name is %q (%v)", back.Name, err)
	lead := "<p class=\"lead\">&lt;/script&gt;&lt;b&gt;&amp; \u2028</p>"
	expect.That(t, strings.Contains(page.String(), lead), "%q is not in the page", lead)
	expect.That(t, strings.Contains(live.String(), `id="data"></script>`), "the served page contains data")
	for _, word := range []string{"Leon Sorokin", "THE SOFTWARE IS PROVIDED"} {
		expect.That(t, strings.Contains(page.String(), word), "the license of uPlot is missing: %q", word)
	}
}

// The list of scripts contains every script in page/.
func TestScripts(t *testing.T) {
	entries := expect.Value(os.ReadDir("page"))(t)
	for _, e := range entries {
		expect.That(t, !strings.HasSuffix(e.Name(), ".js") || slices.Contains(scripts, "page/"+e.Name()),
			"%s is not in the list of scripts", e.Name())
	}
}

func TestThin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rounds := make([]results.Round, rapid.IntRange(0, 300).Draw(t, "rounds"))
		every := rapid.IntRange(1, 7).Draw(t, "every")
		for i := range rounds {
			if i%every != 0 {
				rounds[i].Primal = math.NaN()
			}
		}
		limit := rapid.IntRange(2, 310).Draw(t, "limit")
		shown := thin(rounds, limit)
		expect.Must(t, len(shown) <= limit && len(shown) >= min(limit, (len(rounds)+every-1)/every),
			"%d of %d rounds with a limit of %d", len(shown), len(rounds), limit)
		if len(rounds) == 0 {
			return
		}
		expect.Must(t, shown[0] == 0 && shown[len(shown)-1] == len(rounds)-1,
			"selects %v of %d rounds: must contain the first and the last", shown, len(rounds))
		for i := 1; i < len(shown); i++ {
			expect.Must(t, shown[i] > shown[i-1], "selects %v: must increase", shown)
		}
	})
}

func TestFairLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOfN(rapid.IntRange(0, 5000), 0, 30).Draw(t, "lengths")
		most := rapid.IntRange(1500, 50_000).Draw(t, "most")
		limit := fairLimit(lengths, most)
		under := func(limit int) (sum int) {
			for _, n := range lengths {
				sum += min(n, limit)
			}
			return sum
		}
		if got := under(limit); got > most && limit > 50 {
			t.Fatalf("a limit of %d selects %d rows, must be at most %d", limit, got, most)
		}
		expect.Must(t, limit >= math.MaxInt || limit <= 50 || under(limit+1) > most,
			"the limit can be %d, is %d", limit+1, limit)
	})
}

// The page contains the results of package explain.
func TestStragglers(t *testing.T) {
	a := &attributed{
		report: &explain.Report{
			Rounds: []explain.RoundAnalysis{
				{Round: 1, LengthS: 2, Cause: explain.Response, Device: 1, ExcessS: 0.5,
					Path: explain.Path{
						Activities: explain.Activities{DownlinkS: 0.5, ComputeS: 1.75, OverheadS: 0.25},
					},
					IdleS: 1, Selected: 2, Taken: 2},
				{Round: 2, LengthS: 1, Cause: explain.Deadline, Device: -1, Path: explain.Path{ClockS: 1}, IdleS: 2,
					Selected: 2, Taken: 1},
			},
			Devices: []explain.Device{
				{Device: 0,
					Total: explain.Total{Selected: 2, Taken: 1, Activities: explain.Activities{ComputeS: 1, WaitS: 2},
						EnergyJ: 3}},
				{Device: 1,
					Total: explain.Total{Selected: 2, Taken: 2, Activities: explain.Activities{ComputeS: 2, WaitS: 1},
						Ended: 1, ExcessS: 0.5, EnergyJ: 4}},
			},
			TimeS: 3, Path: explain.Path{Activities: explain.Activities{DownlinkS: 0.5, ComputeS: 1.5}, ClockS: 1},
			All: explain.Total{Selected: 4, Taken: 3, WaitShare: 0.5},
		},
		rows: []results.Round{{}, {Round: 1}, {Round: 2}},
	}
	a.rounds = map[int]*explain.RoundAnalysis{1: &a.report.Rounds[0], 2: &a.report.Rounds[1]}
	s := a.summary()
	at := func(name string) int { return slices.Index(parts(), name) }
	expect.That(t, s.Waited == 0.5 && s.Path[at("downlink")] == 0.5 && s.Path[at("clock")] == 1, "stragglers %+v", s)
	path := func(name string) string { return fmt.Sprintf("path_%d", at(name)) }
	want := map[string][3]float64{
		path("downlink"): {math.NaN(), 0.5, 0}, path("compute"): {math.NaN(), 1.5, 0},
		path("overhead"): {math.NaN(), 0.25, 0}, path("clock"): {math.NaN(), 0, 1},
	}
	for _, c := range deviceColumns([]*attributed{a}) {
		values, ok := want[c.name]
		if !ok {
			values = [3]float64{math.NaN(), 0, 0}
		}
		for row, v := range values {
			if got := c.of(0, row); got != v && !(math.IsNaN(got) && math.IsNaN(v)) {
				t.Errorf("%s in row %d is %v, must be %v", c.name, row, got, v)
			}
		}
	}
}

// Each theme of the page has a color for each part of the time.
func TestPartsHaveColors(t *testing.T) {
	css := expect.Value(files.ReadFile("page/style.css"))(t)
	themes := regexp.MustCompile(`--parts: ([^;]+);`).FindAllStringSubmatch(string(css), -1)
	expect.That(t, len(themes) == 3, "there are colors for %d themes", len(themes))
	for _, theme := range themes {
		n := len(strings.Fields(theme[1]))
		expect.That(t, n == len(parts()), "%d colors for %d parts", n, len(parts()))
	}
}
