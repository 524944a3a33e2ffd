package data

import (
	"fmt"
	"strconv"
	"strings"

	"fedsim/config"
	"fedsim/internal/tools/elements"
)

// ExternalConfig is the table [data.external]: what fedsim knows of data that a learner, or
// the program of an external model, has.
type ExternalConfig struct {
	// number of clients
	Clients int `toml:"clients" absent:"0: an error"`
	// training rows of each client: one number, or a list with a number for each
	Rows Rows `toml:"rows"`
	// number of features of a row. Methods in timing mode and federation.cost = "relative" need it
	Features int `toml:"features" absent:"0: not known"`
}

// Rows is one number of rows for all clients, or a number for each: a TOML integer, or a
// list of integers on one line. Values can be compared.
type Rows string

// TypeTOML returns the type.
func (r *Rows) TypeTOML() string { return "integer or list of integers" }

// DecodeTOML takes an integer or a list of integers.
func (r *Rows) DecodeTOML(n *config.Node, key string) config.Errors {
	var one int32
	if !n.IsList() {
		problems := config.Decode(n, key, &one)
		*r = Rows(strconv.Itoa(int(one)))
		return problems
	}
	var list []int32
	problems := config.Decode(n, key, &list)
	*r = Rows(config.Literal(list))
	return problems
}

// MarshalTOML returns the rows on one line.
func (r Rows) MarshalTOML() ([]byte, error) { return []byte(r), nil }

// Of returns the rows of each of the clients. ok is false if there are not so many numbers.
func (r Rows) Of(clients int) (rows []int32, ok bool) {
	text, list := strings.CutPrefix(string(r), "[")
	if !list {
		n, err := strconv.ParseInt(text, 10, 32)
		rows = make([]int32, max(0, clients))
		for i := range rows {
			rows[i] = int32(n)
		}
		return rows, err == nil
	}
	for item := range strings.SplitSeq(strings.TrimSuffix(text, "]"), ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(item), 10, 32)
		if err != nil {
			return nil, false
		}
		rows = append(rows, int32(n))
	}
	return rows, len(rows) == clients
}

// validate checks the table.
func (e *ExternalConfig) validate(check *config.Checker) {
	const most = 1 << 30 // the engine numbers a few less
	check.Require(e.Clients >= 1 && e.Clients <= most, "clients", e.Clients,
		fmt.Sprintf("must be in [1, %d]: the number of clients that the learner has data of", most))
	check.Require(e.Features >= 0 && e.Features <= elements.Most, "features", e.Features,
		fmt.Sprintf("must be in [0, %d]; 0: not known", elements.Most))
	if e.Clients < 1 || e.Clients > most {
		return
	}
	clients := e.Clients
	if !strings.HasPrefix(string(e.Rows), "[") {
		clients = 1 // the number of each
	}
	rows, ok := e.Rows.Of(clients)
	check.Require(ok, "rows", string(e.Rows),
		fmt.Sprintf("must be one number, or a list of %d numbers, one for each client", e.Clients))
	for i, n := range rows {
		if n < 1 {
			check.Require(false, "rows", n, fmt.Sprintf("must be positive: that is the number of client %d", i))
			return
		}
	}
}

// validateExternal reports keys that have no effect on data that a learner has.
func (c *Config) validateExternal(check *config.Checker) {
	const want = "has no effect when source is \"external\": the learner prepares its data itself"
	standard := Defaults()
	check.Require(c.Path == "", "path", c.Path,
		`must be empty when source is "external"; the options of the learner may name files`)
	check.Require(c.Preset == "", "preset", c.Preset, want)
	check.Require(c.Standardize == standard.Standardize, "standardize", c.Standardize, want)
	check.Require(c.Bias == standard.Bias, "bias", c.Bias, want)
	check.Require(c.Skew == standard.Skew, "skew", c.Skew, want)
	check.Require(c.Validation == 0, "validation_fraction", c.Validation, want)
	check.In("partition").Require(c.Partition.Method == "", "method", c.Partition.Method, want)
	check.Require(c.Pool == standard.Pool, "pool", c.Pool, want)
	check.Require(c.ClientsPerTask == standard.ClientsPerTask, "clients_per_task", c.ClientsPerTask, want)
	c.External.validate(check.In("external"))
}

// RowsElsewhere returns a split of which only the numbers of rows are known: those of the training,
// the test and the validation rows of each client, or nil for no such part. It has no values.
func RowsElsewhere(realTargets bool, train, test, validation []int32) *Split {
	set := func(rows []int32) *Set {
		s := &Set{Name: "rows of the program", Real: realTargets, Clients: make([]Client, len(rows))}
		for k, n := range rows {
			s.Clients[k] = Client{Name: strconv.Itoa(k), X: Matrix{Rows: int(n)}}
		}
		return s
	}
	split := &Split{Train: set(train), Test: set(test)}
	if validation != nil {
		split.Validation = set(validation)
	}
	return split
}

// errLearnersRows is the error of data that a learner has.
var errLearnersRows = config.Problem{Key: "data.source", Value: SourceExternal,
	Want: "must be another: the learner has the rows, and fedsim does not"}
