package devices

import (
	"fmt"

	"fedsim/config"
)

// DropProbability holds the probabilities p_t^h with which device t drops out in round h (paper, assumption 2
// and section 5.4): one for all, or one for each device, or one for each round. In a scenario it is a number, a
// list with a number for each device, or a table { by_round = [...] }. A Go program sets one of the fields.
type DropProbability struct {
	All      float64   // of every device in every round
	ByDevice []float64 // of each device, in every round; empty: All
	ByRound  []float64 // of all devices in each round; the last value applies to all later rounds. Empty: All
}

var _ config.Custom = (*DropProbability)(nil)

// byRound is the table with probabilities by round.
type byRound struct {
	ByRound []float64 `toml:"by_round"`
}

// TypeTOML returns the type.
func (*DropProbability) TypeTOML() string { return "float or list of floats or table" }

// DecodeTOML takes a number, a list of numbers or a table with the key by_round.
func (p *DropProbability) DecodeTOML(n *config.Node, key string) config.Errors {
	*p = DropProbability{}
	switch {
	case n.IsList():
		return config.Decode(n, key, &p.ByDevice)
	case n.IsTable():
		var table byRound
		problems := config.Decode(n, key, &table)
		p.ByRound = table.ByRound
		return problems
	}
	problems := config.Decode(n, key, &p.All)
	if problems.Err() != nil {
		problems = config.Errors{}
		problems.AddProblem(n.Place, config.Problem{Key: key, Value: n.Value(),
			Want: "must be a number, a list with one for each device, or { by_round = [...] }"})
	}
	return problems
}

// MarshalTOML returns the value.
func (p DropProbability) MarshalTOML() ([]byte, error) {
	switch {
	case len(p.ByDevice) > 0:
		return []byte(config.Literal(p.ByDevice)), nil
	case len(p.ByRound) > 0:
		return []byte("{ by_round = " + config.Literal(p.ByRound) + " }"), nil
	default:
		return []byte(config.Literal(p.All)), nil
	}
}

// Each calls yield with every probability and its key, below the key of all.
func (p *DropProbability) Each(key string, yield func(key string, p float64)) {
	yield(key, p.All)
	for device, each := range p.ByDevice {
		yield(fmt.Sprintf("%s[%d]", key, device), each)
	}
	for h, each := range p.ByRound {
		yield(fmt.Sprintf("%s.by_round[%d]", key, h), each)
	}
}

// Max returns the largest of the probabilities.
func (p *DropProbability) Max() float64 {
	largest := 0.0
	p.Each("", func(_ string, each float64) { largest = max(largest, each) })
	return largest
}
