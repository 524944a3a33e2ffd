package explain_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/config"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/internal/rooms/explain"
	"fedsim/internal/tools/expect"
)

// five is a protocol as a plugin has it: a round ends with five responses, whatever
// clients_per_round says, or at its limit.
type five struct {
	limit engine.Time // of a round; 0: none
	early bool        // the limit is half of deadline_s
}

func init() {
	for _, name := range []string{"five", "five-early"} {
		federation.RegisterProtocol(federation.ProtocolFactory{
			Name: name, Summary: "for tests", Keys: []string{"deadline_s"},
			Traits: func(*federation.Config) federation.Traits { return federation.Traits{} },
			New: func(c *federation.Config, _ config.Options) (federation.Protocol, error) {
				return &five{engine.FromSeconds(c.DeadlineS), c.Protocol == "five-early"}, nil
			},
		})
	}
}

func (f *five) Open(r *federation.OpenRound) {
	limit := f.limit
	if f.early {
		limit /= 2
	}
	if limit > 0 {
		r.EndAt(r.Now().Add(limit))
	}
}

func (f *five) Responded(r *federation.OpenRound, _ int) {
	if r.Received() == 5 {
		r.End()
	}
}

func (f *five) Exhausted(r *federation.OpenRound) { r.End() }

func (f *five) Close(*federation.OpenRound) {}

// Protocol "first" asks the same eight devices for five responses: its rounds are those
// of the plugin. The cause is unknown where the rows do not show it.
func TestProtocolOfAPlugin(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		protocol string
		both     []string // settings of both runs
		first    []string // settings of protocol "first"
		causes   []explain.Cause
	}{
		"responses": {"five", nil, nil, []explain.Cause{explain.Response}},
		"deadline": {"five", []string{"federation.deadline_s=0.62"}, nil,
			[]explain.Cause{explain.Deadline, explain.Response}},
		"dropouts": {"five", []string{"faults.drop_probability=0.4", "faults.drop_phase=uniform"}, nil,
			[]explain.Cause{explain.Response, explain.Unknown}},
		"another time": {"five-early", []string{"federation.deadline_s=1.24"}, []string{"federation.deadline_s=0.62"},
			[]explain.Cause{explain.Response, explain.Unknown}},
	} {
		t.Run(name, func(t *testing.T) {
			got := explainScenario(t, timed, append(c.both, "federation.protocol="+c.protocol)...)
			want := explainScenario(t, timed, append(slices.Concat(c.both, c.first), "federation.protocol=first",
				"federation.clients_per_round=5", "federation.protocol_options.over_selection=1.6")...)
			var causes []explain.Cause
			for i := range got.Rounds {
				x := &got.Rounds[i]
				if !slices.Contains(causes, x.Cause) {
					causes = append(causes, x.Cause)
				}
				switch y := &want.Rounds[i]; {
				case x.Cause == explain.Unknown && y.Cause != explain.Response:
					y.Cause, y.Missed = explain.Unknown, 0
				case x.Cause == explain.Response && y.Cause == explain.Dropout && x.Taken < 5 && x.LengthS == y.LengthS:
					*y = *x // the last response arrived after the last failure
				}
			}
			if slices.Sort(causes); !slices.Equal(causes, c.causes) {
				t.Errorf("rounds ended by %v: must be by %v", causes, c.causes)
			}
			diff := cmp.Diff(want.Rounds, got.Rounds)
			expect.That(t, diff == "", "rounds of protocol first and of the plugin (-first +plugin):\n%s", diff)
			if _, err := got.WithoutSlowest(1); err == nil ||
				!strings.Contains(err.Error(), "do not record what ends a round") {
				t.Errorf("the run without a device: %v", err)
			}
			if _, err := got.Deadline(0.2); err == nil ||
				!strings.Contains(err.Error(), "do not record what ends a round") {
				t.Errorf("the run with a deadline: %v", err)
			}
		})
	}
}
