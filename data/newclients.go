package data

import (
	"fmt"
	"math"
	"strings"

	"fedsim/config"
	"fedsim/internal/tools/rng"
)

// NewClients are the clients of a set that take no part in a federation.
type NewClients struct {
	Train, Test *Set
	Rows        []int // training rows from which a client gets its model, each number in turn
	Steps       int   // Config.NewSteps
	Seed        uint64
	Encoding    float64 // FLOPs of the features of a row: Config.EncoderFLOPs
}

// Orders is the number of random orders of the rows of a new client, over which figures are means.
const Orders = 5

// Order returns one of the random orders of the training rows of a new client: so many rows are the first of them, so
// that more rows contain fewer.
func (n *NewClients) Order(client, order int) []int32 {
	rows := numbersTo(n.Train.Clients[client].X.Rows)
	stream := rng.New(n.Seed, rng.Newcomer, client, 1+order)
	stream.Shuffle(rows)
	return rows
}

// all returns the parts, and those of new clients.
func (s *Split) all() []*Set {
	if s.New == nil {
		return s.Parts()
	}
	return append(s.Parts(), s.New.Train, s.New.Test)
}

// takeNew moves the new clients out of the parts. It fails with a config.Problem where none would be left.
func (c *Config) takeNew(split *Split, seed uint64) error {
	if c.NewClients == 0 {
		return nil
	}
	m := len(split.Train.Clients)
	n := max(1, int(math.Round(c.NewClients*float64(m))))
	if n >= m {
		return config.Problem{Key: "data.new_clients", Value: c.NewClients,
			Want: fmt.Sprintf("must be less: it makes %d of %d clients new, and leaves none to train", n, m)}
	}
	order, is := numbersTo(m), make([]bool, m)
	stream := rng.New(seed, rng.Newcomer, -1, 0)
	stream.Draw(order, 0, n)
	for _, k := range order[:n] {
		is[k] = true
	}
	split.New = &NewClients{Train: split.Train.only(is, true), Test: split.Test.only(is, true), Rows: c.NewRows.List(),
		Steps: c.NewSteps, Seed: seed, Encoding: c.EncoderFLOPs}
	split.each(func(s *Set) *Set { return s.only(is, false) })
	return nil
}

// only returns the set of the clients that are marked so.
func (s *Set) only(marks []bool, mark bool) *Set {
	of := *s
	of.Clients = nil
	for k := range s.Clients {
		if marks[k] == mark {
			of.Clients = append(of.Clients, s.Clients[k])
		}
	}
	return &of
}

// validateNew reports everything wrong with the settings of new clients.
func (c *Config) validateNew(check *config.Checker) {
	check.Require(c.NewClients >= 0 && c.NewClients < 1, "new_clients", c.NewClients, "must be in [0, 1)")
	if c.NewClients == 0 {
		check.Require(c.NewRows == Defaults().NewRows, "new_rows", c.NewRows, "has no effect without new_clients")
		check.Require(c.NewSteps == Defaults().NewSteps, "new_steps", c.NewSteps, "has no effect without new_clients")
		return
	}
	check.Require(c.NewSteps >= 0 && c.NewSteps <= 1e6, "new_steps", c.NewSteps, "must be in [0, 1e6]")
	check.Require(c.ClientsPerTask == 1, "clients_per_task", c.ClientsPerTask, "must be 1 with new_clients")
	check.Require(c.Resident, "resident", c.Resident, "must be true with new_clients")
	check.Require(c.Source != SourceExternal, "new_clients", c.NewClients,
		"must be 0 with data.source \"external\": the rows are not here")
}

// RowCounts are numbers of rows, a list in TOML. Values can be compared.
type RowCounts [8]int32 // each is one more than the number; 0: there are no more

// NewRowCounts returns numbers of rows, of which there are at most eight.
func NewRowCounts(list ...int) (r RowCounts) {
	for i, n := range list {
		r[i] = int32(n + 1)
	}
	return r
}

// List returns the numbers.
func (r RowCounts) List() []int {
	list := []int{}
	for _, n := range r {
		if n > 0 {
			list = append(list, int(n-1))
		}
	}
	return list
}

// TypeTOML returns the type.
func (r *RowCounts) TypeTOML() string { return "list of integers" }

// DecodeTOML takes a list of at most eight different numbers.
func (r *RowCounts) DecodeTOML(n *config.Node, key string) config.Errors {
	var list []int
	problems := config.Decode(n, key, &list)
	seen := map[int]bool{}
	for _, x := range list {
		if x < 0 || x > 1e6 || seen[x] || len(list) > len(r) {
			problems.Add(n.Place, fmt.Sprintf("%s: must be at most %d different numbers in [0, 1e6]", key, len(r)))
			return problems
		}
		seen[x] = true
	}
	*r = NewRowCounts(list...)
	return problems
}

// String returns the list as TOML.
func (r RowCounts) String() string { return strings.ReplaceAll(fmt.Sprint(r.List()), " ", ", ") }

// MarshalTOML returns the list on one line.
func (r RowCounts) MarshalTOML() ([]byte, error) { return []byte(r.String()), nil }
