package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedsim/internal/tools/columns"
	"fedsim/internal/tools/quote"
	"fedsim/results"
	"fedsim/results/rundir"
)

// content is what the page says beside its charts.
type content struct {
	Description string
	Absent      []string // missing from a partial merge
	Made        *rundir.Manifest
	Messages    []results.Message
	Scenario    string // resolved, as TOML
	claim       string // into.Claim

	plan    planned
	devices bool             // the run directory has rows by device
	results results.Sections // as in the terminal
}

// planned is what the page says of a plan; the zero value: there is none.
type planned struct {
	condition, html string
	facts           [][2]string
}

// part is a section of the page. Folded, its title and its answer are shown.
type part struct {
	ID, Title, Answer string
	HTML              template.HTML
}

// Condition is the state of the run in words.
func (r *Report) Condition() string {
	switch {
	case r.Plan != nil:
		return r.plan.condition
	case r.State == rundir.Incomplete && len(r.Absent) > 0:
		return "partial merge"
	case r.State == rundir.Incomplete:
		return "interrupted"
	default:
		return string(r.State)
	}
}

// Ran says in a line what ran.
func (r *Report) Ran() string {
	count := func(status results.Status) (n int) {
		for i := range r.Runs {
			if r.Runs[i].Status == status {
				n++
			}
		}
		return n
	}
	texts := []string{r.Condition()}
	if r.Expected > 0 {
		texts = append(texts, fmt.Sprintf("%d of %s", count(results.Done), columns.Count(r.Expected, "run")))
		if n := count(results.Stalled); n > 0 {
			texts = append(texts, fmt.Sprintf("%d stalled", n))
		}
	}
	if n := len(r.Absent); n > 1 {
		texts = append(texts, fmt.Sprintf("absent: %s and %d more", r.Absent[0], n-1))
	} else if n == 1 {
		texts = append(texts, "absent: "+r.Absent[0])
	}
	for _, fact := range r.plan.facts {
		texts = append(texts, fact[0]+" "+fact[1])
	}
	if n := len(r.Made.Seeds); n > 0 {
		texts = append(texts, columns.Count(n, "seed"))
	}
	return strings.Join(append(texts, r.Made.Data), " · ")
}

// MadeBy says which program made the results, when, and how long it took.
func (r *Report) MadeBy() string {
	m := r.Made
	texts := []string{fmt.Sprintf("made by fedsim %s", m.Version), m.Go,
		fmt.Sprintf("%s/%s", m.Platform.OS, m.Platform.Arch)}
	if c := m.Clock; c != nil {
		texts = append(texts, c.Started.UTC().Format("2006-01-02 15:04 UTC"))
		if c.Finished != nil {
			texts = append(texts, results.HumanTime(c.Finished.Sub(c.Started).Seconds()))
		}
	}
	return strings.Join(texts, " · ")
}

// Command is the command line of the run.
func (r *Report) Command() string { return quote.Shell(r.Made.Command...) }

// Figures returns what the page shows first: the figure and the comparison of each experiment. The script of the page
// fills elements with the attribute data-chart.
func (r *Report) Figures() template.HTML {
	if len(r.Runs) == 0 && r.State == rundir.Running && r.Plan == nil {
		return "<p>No run has started: fedsim prepares the data and tunes the methods. " +
			"The page shows the rounds when there are some.</p>"
	}
	return template.HTML(r.perExperiment("", func(i int, e *experimentPage) string {
		html := "<div class=\"curve\">" + chart("curves", i) + "</div>\n"
		if len(e.compared) > 1 {
			html += fmt.Sprintf("<label class=\"control\">target <select id=\"target-%d\" data-shows=\"%[1]d\">", i)
			for k, c := range e.compared {
				html += fmt.Sprintf("<option value=\"%d\"%s>%s</option>", k,
					map[bool]string{true: " selected"}[k == e.goal], template.HTMLEscapeString(c.target))
			}
			html += "</select></label>\n"
		}
		for k, c := range e.compared {
			html += fmt.Sprintf("<div class=\"comparison\" data-shown=\"%d/%d\"%s>\n%s</div>\n", i, k,
				map[bool]string{true: " hidden"}[k != e.goal], c.sections.HTML())
		}
		return html
	}))
}

// Content returns the folded sections of the page.
func (r *Report) Content() (list []part) {
	add := func(id, title, answer, html string) {
		if html != "" {
			list = append(list, part{id, title, answer, template.HTML(html)})
		}
	}
	add("plan", "Plan", "", r.plan.html)
	devices := 0
	waited := 0.0
	for i := range r.Runs {
		if e := r.Runs[i].explained; e != nil {
			devices, waited = max(devices, len(e.Devices)), max(waited, e.All.WaitShare)
		}
	}
	without := "needs run.devices = true"
	if devices > 0 {
		without = ""
	}
	add("time", "Where the time went", cmp.Or(without, r.largest()), r.perExperiment("",
		func(i int, _ *experimentPage) string {
			if devices == 0 {
				return ""
			}
			return chart("paths", i)
		}))
	waits := ""
	if devices > 0 {
		waits = fmt.Sprintf("%d, waiting up to %.0f %% of their time", devices, 100*waited)
	}
	add("devices", "Devices", cmp.Or(without, waits), r.stragglers())
	answer := ""
	for i := range r.Experiments {
		if answer == "" && r.Experiments[i].worst != "" {
			answer = "worst tenth: " + r.Experiments[i].worst
		}
	}
	add("left", "Clients", answer, r.leftBehind())
	sweeps, axes := r.sweeps()
	add("sweep", "Sweep", axes, sweeps)
	add("energy", "Energy", r.joules(), r.perExperiment("", func(i int, _ *experimentPage) string {
		return chart("energy", i) + results.Sections{r.energy(i)}.HTML() + chart("against-energy", i)
	}))
	add("tables", "Tables", "every target and cost, errors with their limits", r.results.HTML())
	if len(r.Runs) > 0 {
		add("runs", "Runs", fmt.Sprintf("%d, with their hashes", len(r.Runs)), results.Sections{r.runs()}.HTML())
	}
	return list
}

// sweeps returns the charts of swept experiments, and the names of their axes.
func (r *Report) sweeps() (html, axes string) {
	var names []string
	html = r.perExperiment("", func(i int, e *experimentPage) string {
		swept := len(names)
		for _, a := range e.Swept.Axes {
			if len(e.Swept.Measures) > 0 && a.Name != "method" {
				names = append(names, a.Name)
			}
		}
		if swept == len(names) {
			return ""
		}
		return chart("sweep", i)
	})
	slices.Sort(names)
	return html, strings.Join(slices.Compact(names), ", ")
}

// largest names the largest part of the time of each line of the first experiment: "compute 53 % of FedAvg".
func (r *Report) largest() string {
	if len(r.Experiments) == 0 {
		return ""
	}
	names := parts()
	lines := r.byLine("", 0, nil, func(mean func(func(*reportRun) float64) float64) []string {
		best, most, sum := "", 0.0, 0.0
		for k, name := range names {
			v := mean(func(run *reportRun) float64 {
				if run.Stragglers == nil {
					return 0
				}
				return run.Stragglers.Where[k]
			})
			if sum += v; v > most {
				best, most = name, v
			}
		}
		if most == 0 {
			return []string{""}
		}
		return []string{fmt.Sprintf("%s %.0f %%", best, 100*most/sum)}
	})
	var list []string
	for _, row := range lines.Table.Blocks[0].Rows {
		if row[1] != "" {
			list = append(list, row[1]+" of "+row[0])
		}
	}
	return shortened(list)
}

// joules lists the energy of the lines of the first experiment.
func (r *Report) joules() string {
	if len(r.Experiments) == 0 {
		return ""
	}
	var list []string
	for _, row := range r.energy(0).Table.Blocks[0].Rows {
		list = append(list, row[0]+": "+row[1])
	}
	return shortened(list)
}

// shortened joins the first texts of a list.
func shortened(list []string) string {
	const most = 4
	if len(list) > most {
		list = append(list[:most:most], "...")
	}
	return strings.Join(list, ", ")
}

// chart returns the place of a chart of an experiment, which the scripts of the page fill.
func chart(name string, experiment int) string {
	return fmt.Sprintf("<div data-chart=\"%s\" data-experiment=\"%d\"></div>\n", name, experiment)
}

// Hint says how to use the figure, and what its lines are.
func (r *Report) Hint() string {
	hint := "Drag over a part of the horizontal axis to zoom in; double-click to show everything. A finger or the " +
		"arrow keys move the cursor, + and − zoom. Where a run ends, its line has a dot if the run reached its " +
		"target, a circle if its budget was spent, and a cross if it stalled; a mean ends with the first run that " +
		"missed its target."
	if r.Shown < r.Rows {
		hint += fmt.Sprintf(" The page holds %d of the run's %d rounds, the first rounds of each run and evenly "+
			"spread later ones; rounds.parquet has all.", r.Shown, r.Rows)
	}
	return hint
}

func (r *Report) leftBehind() string {
	return r.perExperiment(
		`<p class="quiet">Values by client at the last evaluation, of all seeds. Positive correlations: clients with
more of it are worse; bold ones count, being at least as large as the last column. A correlation is no cause.
docs/results.md has the definitions.</p>
`, func(i int, e *experimentPage) (html string) {
			for k := range e.Left {
				html += fmt.Sprintf("<div data-chart=\"left\" data-experiment=\"%d\" data-metric=\"%d\"></div>\n",
					i, k) + e.Left[k].sections.HTML()
			}
			return html
		})
}

// stragglers returns the responses of the devices, and which of them were slow in each run.
func (r *Report) stragglers() string {
	return r.perExperiment("", func(i int, _ *experimentPage) string {
		html := results.Sections{r.participation(i)}.HTML()
		for k := range r.Runs {
			if run := &r.Runs[k]; run.Experiment == i && run.explained != nil {
				html += fmt.Sprintf("<details id=\"rounds-%d\"><summary>%s</summary>\n"+
					"<div data-chart=\"rounds\" data-experiment=\"%d\" data-run=\"%[1]d\"></div>\n"+
					"%[4]s</details>\n",
					k, template.HTMLEscapeString(run.ID), i, run.explained.Brief().HTML())
			}
		}
		return html
	})
}

// perExperiment returns what there is of experiments, with headings if there are several, below a lead.
func (r *Report) perExperiment(lead string, of func(int, *experimentPage) string) (html string) {
	for i := range r.Experiments {
		e := &r.Experiments[i]
		text := of(i, e)
		if text == "" {
			continue
		}
		html += fmt.Sprintf("<div class=\"experiment\" data-of=\"%d\">%s</div>\n", i, text)
	}
	if html == "" {
		return ""
	}
	return lead + html
}

// byLine returns a table with a row for each panel and line of an experiment: means over its runs.
func (r *Report) byLine(title string, experiment int, heads []string,
	cells func(mean func(of func(*reportRun) float64) float64) []string) results.Section {
	t := columns.Table{Label: "line", Groups: []columns.Group{{Heads: heads}}, Blocks: []columns.Block{{}}}
	f := &r.Experiments[experiment].Figure
	for panel, title := range f.Panels {
		for line := range f.Lines {
			var runs []*reportRun
			for i := range r.Runs {
				if run := &r.Runs[i]; run.Experiment == experiment && run.Panel == panel && run.Line == line {
					runs = append(runs, run)
				}
			}
			if len(runs) == 0 {
				continue
			}
			label := f.Lines[line].Text
			if strings.TrimSpace(title) != "" {
				label = title + ", " + label
			}
			t.Add(append([]string{label}, cells(func(of func(*reportRun) float64) (mean float64) {
				for _, run := range runs {
					mean += of(run) / float64(len(runs))
				}
				return mean
			})...)...)
		}
	}
	return results.Section{Title: title, Table: t}
}

// total returns a function that returns a total of a run, for each of another total or for one.
func total(name, per string) func(*reportRun) float64 {
	return func(r *reportRun) float64 {
		switch n := r.Totals[per]; {
		case per == "":
			return r.Totals[name]
		case n > 0:
			return r.Totals[name] / n
		default:
			return math.NaN()
		}
	}
}

// participation returns the mean responses, dropouts and late responses per round.
func (r *Report) participation(experiment int) results.Section {
	relative := r.Experiments[experiment].Relative
	heads := []string{"rounds", "virtual time", "responses per round", "dropped per round", "late per round"}
	return r.byLine("responses, means over runs", experiment, heads,
		func(mean func(func(*reportRun) float64) float64) []string {
			cells := []string{results.CountText(mean(total("rounds", ""))),
				results.TimeText(mean(total("time_s", "")), relative)}
			for _, name := range []string{"participants", "dropped", "late"} {
				cells = append(cells, results.CountText(mean(total(name, "rounds"))))
			}
			return cells
		})
}

// energy returns energy, bytes and FLOPs of the runs.
func (r *Report) energy(experiment int) results.Section {
	relative := r.Experiments[experiment].Relative
	heads := []string{"energy of all devices", "per response used", "sent to devices", "sent by devices", "work"}
	return r.byLine("energy, data and work, means over runs", experiment, heads,
		func(mean func(func(*reportRun) float64) float64) []string {
			return []string{
				results.EnergyText(mean(total("energy_j", "")), relative),
				results.EnergyText(mean(total("energy_j", "participants")), relative),
				results.Scaled(mean(total("bytes_down", "")), "B"), results.Scaled(mean(total("bytes_up", "")), "B"),
				results.Scaled(mean(total("flops", "")), "FLOP"),
			}
		})
}

// runs returns a row for each run.
func (r *Report) runs() results.Section {
	t := columns.Table{Label: "run", Groups: []columns.Group{
		{Heads: []string{"status"}, Left: true}, {Heads: []string{"rounds", "virtual time", "optimum"}},
		{Heads: []string{"tuned", "event hash", "model hash"}, Left: true},
	}, Blocks: []columns.Block{{}}}
	for i := range r.Runs {
		run := &r.Runs[i]
		status, optimum := string(run.Status), "-"
		if run.reason != "" {
			status += ": " + run.reason
		}
		if !math.IsNaN(run.optimum) {
			optimum = strconv.FormatFloat(run.optimum, 'g', 6, 64)
		}
		t.Add(run.ID, status, results.CountText(run.Totals["rounds"]),
			results.TimeText(run.Totals["time_s"], r.Experiments[run.Experiment].Relative), optimum,
			cmp.Or(run.tuned, "-"), run.eventHash.String(), run.modelHash.String())
	}
	return results.Section{Title: "all runs", Table: t}
}

// Counted counts the messages, and has the first one if there are several.
func (r *Report) Counted() string {
	warnings := 0
	for _, m := range r.Messages {
		if m.Level == results.IsWarning {
			warnings++
		}
	}
	var texts []string
	if warnings > 0 {
		texts = append(texts, columns.Count(warnings, "warning"))
	}
	if n := len(r.Messages) - warnings; n > 0 {
		texts = append(texts, columns.Count(n, "note"))
	}
	text := strings.Join(texts, ", ")
	if len(r.Messages) > 1 {
		text += ": " + r.Messages[0].Text
	}
	return text
}
