package command

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fedsim/experiment/into"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/columns"
	"fedsim/internal/tools/plainjson"
	"fedsim/internal/tools/quote"
	"fedsim/results"
	"fedsim/results/rundir"
)

type showFlags struct {
	all, json, watch bool
}

func newShow() *cobra.Command {
	var f showFlags
	cmd := takesOne(&cobra.Command{
		Use:   "show DIR",
		Short: "Print results, or how far a run or a plan is",
		Long: `Print the results of a run directory: the time to each target, and what the runs came
to. While a run is in progress or was killed, the results are those of the runs that
have ended, and the command that resumes it is there. Of a plan, say which groups
failed and why, which run and which wait.
Nothing in DIR is changed.

--watch prints a line for every change. It ends with status 0 when all is done, and
with status 1 when nothing runs and what is left has failed or was stopped.`,
		Example: `  fedsim show runs/quickstart
  fedsim show runs/quickstart --all
  fedsim show plans/lte --watch`,
	}, "one run directory or plan directory", completeDirectory, f.show)
	cmd.Flags().BoolVar(&f.all, "all", false, "every target, cost and file, and how the run was made")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "print every change until all is done")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON (docs/reference/json.md)")
	return cmd
}

// subject is what fedsim show --watch follows: a plan or a run at a moment.
type subject interface {
	text(width int) string
	line() (counts, more string) // the numbers in one line, and what changes all the time
	ended() (ended bool, err error)
}

// directoryKind is a kind of directories whose work has a status, beside run directories.
type directoryKind struct {
	is   func(dir string) bool
	none error  // the error of commands that need one, and have another directory
	late string // why fedsim report refuses it, and what to use
	look func(dir string) (func() (subject, error), error)
}

// directoryKinds are those of rooms: the file of each adds its own.
var directoryKinds []directoryKind

func (f *showFlags) show(cmd *cobra.Command, dir string) error {
	if f.json && f.watch {
		return usagef("--json cannot be combined with --watch: call fedsim show --json again and again")
	}
	plan, look := false, func() (subject, error) { return lookAtRun(dir) }
	for _, kind := range directoryKinds {
		if kind.is(dir) {
			var err error
			if look, err = kind.look(dir); err != nil {
				return err
			}
			plan = true
		}
	}
	out := cmd.OutOrStdout()
	if f.watch {
		w := watcher{out: out, look: look, now: time.Now}
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		return w.watch(ticker.C, cmd.Context().Done(), cmd.Context().Err)
	}
	s, err := look()
	if err != nil {
		return err
	}
	run, isRun := s.(runState)
	switch {
	case plan && f.all:
		return usagef("--all: %s is a plan: it has results when they are merged", dir)
	case isRun:
		return f.showRun(out, dir, run)
	case f.json:
		return plainjson.Print(out, s)
	default:
		return printText(out, s.text(textWidth()))
	}
}

// shownRun is the JSON output of a run directory (docs/reference/json.md).
type shownRun struct {
	runState
	Results *summary `json:"results"` // null: no run has ended
}

// showRun prints a run directory: how far it is, the results of the runs that have ended, and its files.
func (f *showFlags) showRun(out io.Writer, dir string, state runState) error {
	place := rundir.Locate(dir)
	r, err := rundir.Read(place)
	if err != nil {
		return err
	}
	m := &r.Manifest
	s, err := scenario.ParseRecorded(place, r.Scenario)
	if err != nil {
		return err
	}
	if f.json {
		shown := shownRun{runState: state}
		if len(r.Runs) > 0 {
			sum := newSummary(s, m.State, dir, r.Runs, m.Absent, m.Tables, m.Figures)
			shown.Results = &sum
		}
		return plainjson.Print(out, shown)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s, %d of %s", s.Name, completeness(m), into.Finished(r.Runs),
		count(max(state.Runs, len(m.Runs)+len(m.Absent)), "run"))
	if m.Clock != nil && m.Clock.Finished != nil {
		b.WriteString(", " + results.HumanTime(m.Clock.Finished.Sub(m.Clock.Started).Seconds()))
	}
	if state.Next == nextReport {
		fmt.Fprintf(&b, "   result %s", m.ResultHash)
	}
	b.WriteString("\n")
	if len(m.Absent) > 0 {
		fmt.Fprintf(&b, "absent: %s\n", absentText(m.Absent))
	}
	if f.all {
		b.WriteString("\n" + madeText(place, r))
	}
	if state.Next != nextReport {
		b.WriteString("\n" + state.text(textWidth()))
	}
	if len(r.Runs) > 0 {
		sections := into.Shown
		if f.all {
			sections = func(s *scenario.Scenario, runs []results.Run) results.Sections {
				return into.Sections(s, runs, true)
			}
		}
		b.WriteString("\n" + sections(s, r.Runs).Text(textWidth()))
	}
	files, err := filesText(m, place, f.all)
	if err != nil {
		return err
	}
	b.WriteString("\n" + files)
	if len(r.Runs) > 0 && !f.all {
		shell := quote.Shell(dir)
		fmt.Fprintf(&b, "more      fedsim show %s --all      every target and cost\n"+
			"          fedsim export %[1]s times -o times.tex\n", shell)
	}
	return printText(out, b.String())
}

// filesText lists the files of a run directory, with their sizes if all is set.
func filesText(m *rundir.Manifest, place string, all bool) (string, error) {
	files, err := m.Files(place)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if all {
		b.WriteString("files:\n")
		for _, f := range files {
			fmt.Fprintf(&b, "%12d B  %s\n", f.Size, f.Name)
		}
		return b.String(), nil
	}
	byFolder, last := map[string][]string{}, ""
	for _, f := range files {
		folder, name := filepath.Split(filepath.ToSlash(f.Name))
		if stem := strings.TrimSuffix(f.Name, filepath.Ext(name)); folder != "" && stem == last {
			name = filepath.Ext(name) // another format
		} else {
			last = stem
		}
		byFolder[folder] = append(byFolder[folder], name)
	}
	var names, texts []string
	for _, x := range []struct{ folder, name string }{{"", "files"}, {"figures/", "figures"}, {"tables/", "tables"}} {
		if list := byFolder[x.folder]; len(list) > 0 {
			names, texts = append(names, fmt.Sprintf("%-8s", x.name)), append(texts, strings.Join(list, " "))
		}
	}
	return columns.Entries(names, texts, textWidth()), nil
}

// madeText says how a run directory was made.
func madeText(place string, r *rundir.Results) string {
	m := &r.Manifest
	var names, texts []string
	for _, line := range []struct{ name, text string }{
		{"directory", place},
		{"absent", absentText(m.Absent)},
		{"command", strings.Join(m.Command, " ")},
		{"made by", fmt.Sprintf("fedsim %s, numeric version %d", m.Version, m.Numerics)},
		{"built for",
			fmt.Sprintf("%s/%s with %s, ran on %s", m.Platform.OS, m.Platform.Arch, m.Go,
				count(m.Platform.CPUs, "core"))},
		{"time", strings.TrimSuffix(took(m)+"; "+results.ProgramTimeText(r.Runs), "; ")},
		{"data", m.Data},
		{"seeds", strings.Trim(fmt.Sprint(m.Seeds), "[]")},
		{"runs", endings(m.Runs)},
	} {
		if line.text != "" || line.name != "absent" {
			names, texts = append(names, line.name+":"), append(texts, line.text)
		}
	}
	return columns.Entries(names, texts, textWidth())
}

func completeness(m *rundir.Manifest) string {
	switch {
	case m.State == rundir.Complete:
		return "complete"
	case len(m.Absent) > 0:
		return "a partial merge"
	case m.State == rundir.Incomplete && m.Settle != nil:
		return "complete, but not settled"
	case m.State == rundir.Incomplete:
		return "interrupted, with the results so far"
	default:
		return "unfinished, with the runs that have ended"
	}
}

func took(m *rundir.Manifest) string {
	if m.Clock == nil {
		return "not recorded"
	}
	text := "started " + m.Clock.Started.Format("2006-01-02 15:04:05 MST")
	if m.Clock.Finished != nil {
		text += ", took " + results.HumanTime(m.Clock.Finished.Sub(m.Clock.Started).Seconds())
	}
	return text
}

func endings(runs []rundir.RunEntry) string {
	text := count(len(runs), "run")
	for _, status := range []results.Status{results.Done, results.Stalled, results.Interrupted} {
		n := 0
		for i := range runs {
			if runs[i].Status == status {
				n++
			}
		}
		if n > 0 {
			text += fmt.Sprintf(", %d %s", n, status)
		}
	}
	return text
}

// watcher prints a line for every change of a subject, at most one in lineEvery.
type watcher struct {
	out  io.Writer
	look func() (subject, error)
	now  func() time.Time

	shown string    // the last line without its time
	at    time.Time // when it was shown
}

// lineEvery is the least time between two lines.
const lineEvery = 5 * time.Second

// watch looks at every tick until the subject has ended, or it is interrupted.
func (w *watcher) watch(tick <-chan time.Time, done <-chan struct{}, why func() error) error {
	for {
		s, err := w.look()
		if err != nil {
			return err
		}
		ended, result := s.ended()
		if err := w.show(s, ended); err != nil || ended {
			return errors.Join(err, result)
		}
		select {
		case <-tick:
		case <-done:
			return interrupted{"fedsim show was interrupted; the work was not", why()}
		}
	}
}

// show shows the subject if it has changed; the last time in any case.
func (w *watcher) show(s subject, last bool) error {
	counts, more := s.line()
	if counts == w.shown || !last && !w.at.IsZero() && w.now().Sub(w.at) < lineEvery {
		return nil
	}
	w.shown, w.at = counts, w.now()
	return errors.Join(printf(w.out, "%s %s%s\n", w.at.Format("15:04:05"), counts, more), flush(w.out))
}

// flush writes buffered output, for a command whose output is read while it runs.
func flush(out io.Writer) error {
	if b, ok := out.(interface{ Flush() error }); ok {
		return b.Flush()
	}
	return nil
}
