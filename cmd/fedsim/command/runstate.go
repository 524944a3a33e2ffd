package command

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"fedsim/internal/tools/columns"
	"fedsim/internal/tools/quote"
	"fedsim/results"
	"fedsim/results/rundir"
)

// runState is the status of a run directory (docs/reference/json.md).
type runState struct {
	Kind      string        `json:"kind"` // "run"
	Directory string        `json:"directory"`
	Status    rundir.Status `json:"status"`
	State     rundir.State  `json:"state"`
	Runs      int           `json:"runs"` // 0: not known
	RunsDone  int           `json:"runs_done"`
	UnderWay  []runUnderWay `json:"under_way"`
	Next      string        `json:"next"`
	resume    string        // the command
}

// runUnderWay is a run that has begun and has not ended.
type runUnderWay struct {
	Run    string  `json:"run"`
	Rounds int     `json:"rounds"`
	TimeS  float64 `json:"time_s"`
}

// What to do next.
const (
	nextWait   = "wait"
	nextResume = "resume"
	nextReport = "report"
)

func lookAtRun(dir string) (subject, error) {
	s := runState{Kind: "run", Directory: dir}
	l, err := rundir.ReadLive(dir)
	if errors.Is(err, rundir.ErrForeign) || errors.Is(err, fs.ErrNotExist) {
		return nil,
			fmt.Errorf("%s: %w: it must have a plan (fedsim plan) or a run (fedsim run)", dir, rundir.ErrForeign)
	}
	if err != nil {
		return nil, err
	}
	s.Status, s.State, s.Runs = l.Status, l.Manifest.State, l.Total
	s.resume = rundir.ResumeCommand(dir, l.Manifest.Command)
	for i := range l.Runs {
		r := &l.Runs[i]
		if r.Status == results.Done || r.Status == results.Stalled {
			s.RunsDone++
			continue
		}
		u := runUnderWay{Run: r.ID}
		if n := len(r.Rounds); n > 0 {
			u.Rounds, u.TimeS = r.Rounds[n-1].Round, r.Rounds[n-1].TimeS
		}
		s.UnderWay = append(s.UnderWay, u)
	}
	switch {
	case s.Status == rundir.Writing:
		s.Next = nextWait
	case s.State == rundir.Complete:
		s.Next = nextReport
	default:
		s.Next = nextResume
	}
	return s, nil
}

func (s runState) ended() (bool, error) {
	switch {
	case s.Status == rundir.Writing:
		return false, nil
	case s.State == rundir.Complete:
		return true, nil
	default:
		return true,
			fmt.Errorf("%s: the run is unfinished and no process works on it: resume it with %s",
				s.Directory, s.resume)
	}
}

func (s runState) line() (counts, more string) {
	counts = fmt.Sprintf("runs: %d done", s.RunsDone)
	if s.Runs > 0 {
		counts = fmt.Sprintf("runs: %d of %d done", s.RunsDone, s.Runs)
	}
	if len(s.UnderWay) > 0 {
		counts += fmt.Sprintf(", %d under way", len(s.UnderWay))
	}
	return counts, ""
}

func (s runState) text(width int) string {
	state := map[rundir.Status]string{rundir.Writing: "a process writes to it",
		rundir.Stopped: "unfinished; no process writes to it"}[s.Status]
	if s.Status == rundir.Finished {
		state = string(s.State)
	}
	counts, _ := s.line()
	var b strings.Builder
	b.WriteString(columns.Entries([]string{"state:", "runs:"}, []string{state, strings.TrimPrefix(counts, "runs: ")},
		width))
	next := map[string]string{
		nextWait:   "wait; fedsim report " + quote.Shell(s.Directory) + " --live shows the curves",
		nextResume: s.resume,
		nextReport: "fedsim report " + quote.Shell(s.Directory),
	}[s.Next]
	b.WriteString("next:   " + next + "\n")
	if n := len(s.UnderWay); n > 0 {
		under := columns.Section{Title: "under way"}
		for _, u := range s.UnderWay[:min(n, columns.MostShown)] {
			under.Notes = append(under.Notes, columns.Middle(u.Run, width-20)+": "+count(u.Rounds, "round"))
		}
		under.Notes = append(under.Notes, columns.More(n, "fedsim show --json")...)
		b.WriteString("\n" + columns.Sections{under}.Text(width))
	}
	return b.String()
}
