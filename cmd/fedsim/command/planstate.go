package command

import (
	"fmt"
	"math"
	"path/filepath"
	"time"

	"fedsim/internal/rooms/clusters/plan"
	"fedsim/internal/rooms/clusters/work"
	"fedsim/internal/tools/columns"
	"fedsim/internal/tools/quote"
)

func init() {
	directoryKinds = append(directoryKinds, directoryKind{is: plan.Is, none: work.ErrNoPlan, look: lookAtPlan,
		late: "a plan has no report before it is merged: use fedsim plan merge, " +
			"with --partial before all is done, or fedsim report DIR --live"})
}

// planState is the status of a plan (docs/reference/json.md).
type planState struct {
	*work.State
	Next string `json:"next"`
}

// What to do next.
const (
	nextSubmit = "submit"
	nextMerge  = "merge"
	nextSettle = "settle"
)

// lookAtPlan returns a function that returns the status of a plan directory.
func lookAtPlan(dir string) (func() (subject, error), error) {
	d, err := work.Open(dir, readVersion().String())
	if err != nil {
		return nil, err
	}
	view := d.View(time.Now)
	return func() (subject, error) {
		s, err := view.State()
		if err == nil && !plan.Is(dir) {
			err = fmt.Errorf("%s: the plan was removed", dir)
		}
		if err != nil {
			return nil, err
		}
		state := newPlanState(s)
		if state.Next == nextMerge && d.Scenario.Settings.Run.Seeds.UntilCertain() {
			state.Next = nextSettle
		}
		return state, nil
	}, nil
}

// newPlanState says what to do next.
func newPlanState(s *work.State) planState {
	switch {
	case s.Complete():
		return planState{s, nextMerge}
	case s.Workers > 0:
		return planState{s, nextWait}
	default:
		return planState{s, nextSubmit}
	}
}

func (s planState) ended() (bool, error) {
	switch {
	case s.Complete():
		return true, nil
	case s.Stuck():
		return true,
			fmt.Errorf("%s: %d of %s left: all have failed: read the reasons with fedsim show, then submit again",
				s.Directory, s.Groups.Total-s.Groups.Done, count(s.Groups.Total, "group"))
	default:
		return false, nil
	}
}

func (s planState) line() (counts, more string) {
	counts = "groups: " + s.Groups.String()
	if s.Needs.Done < s.Needs.Total {
		counts += "; prerequisites: " + s.Needs.String()
	}
	if !math.IsNaN(s.LeftS) && !s.Complete() {
		more = "; about " + columns.Span(s.LeftS) + " left"
	}
	return counts, more
}

// advice says in a line what to do next.
func (s planState) advice() string {
	submit := "fedsim plan submit " + quote.Shell(s.Directory) + " --engine ENGINE"
	switch s.Next {
	case nextMerge:
		return "fedsim plan merge " + quote.Shell(s.Directory)
	case nextSettle:
		return "fedsim settle --plan " + quote.Shell(filepath.Dir(s.Directory))
	case nextSubmit:
		return submit
	case nextWait:
		if s.Groups.Failed+s.Groups.Stopped > 0 {
			return "wait; then " + submit
		}
	}
	return "wait; fedsim report " + quote.Shell(s.Directory) + " --live shows the curves"
}

func (s planState) text(width int) string {
	names := []string{"scenario:", "groups:", "prerequisites:", "runs:", "time left:"}
	texts := []string{s.Scenario, s.Groups.String(), s.Needs.String(), fmt.Sprintf("%d of %d done", s.RunsDone, s.Runs),
		s.Left()}
	text := columns.Entries(names, texts, width) + "next:           " + s.advice() + "\n" // a command is in one line
	if items := s.Sections(width, work.Failed, work.Running); len(items) > 0 {
		text += "\n" + items.Text(width)
	}
	return text
}
