package scenario

import (
	"slices"

	"fedsim/config"
)

// Seeds are those of the repetitions: a list, or all that may be taken until results are certain.
type Seeds []uint64

const untilCertain = "until-certain"

// counted are the seeds that "until-certain" may take, those of tuning among them. Places of runs do not depend on
// how many it takes.
var counted = func() (all Seeds) {
	for seed := range uint64(3000) {
		all = append(all, seed+1)
	}
	return all
}()

// UntilCertain reports whether seeds are added until results are certain.
func (s Seeds) UntilCertain() bool { return len(s) == len(counted) && slices.Equal(s, counted) }

var _ config.Custom = (*Seeds)(nil)

// TypeTOML returns the type.
func (*Seeds) TypeTOML() string { return "list of integers or string" }

// DecodeTOML takes a list of integers or "until-certain".
func (s *Seeds) DecodeTOML(n *config.Node, key string) (problems config.Errors) {
	if n.Value() == untilCertain {
		*s = counted
		return nil
	}
	if _, text := n.Value().(string); text {
		problems.AddProblem(n.Place, config.Problem{Key: key, Value: n.Value(),
			Want: `must be a list of integers or "until-certain"`})
		return problems
	}
	problems = config.Decode(n, key, (*[]uint64)(s))
	if s.UntilCertain() {
		problems.AddProblem(n.Place, config.Problem{Key: key, Want: "must have fewer seeds"})
	}
	return problems
}

// MarshalTOML returns the value.
func (s Seeds) MarshalTOML() ([]byte, error) {
	if s.UntilCertain() {
		return []byte(config.Literal(untilCertain)), nil
	}
	return []byte(config.Literal([]uint64(s))), nil
}
