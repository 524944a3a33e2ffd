package data

import (
	"fmt"
	"slices"

	"fedsim/config"
)

// Holding is what a device holds of its method at most, beside rows.
type Holding struct {
	Vectors int // as large as a model: those of its message, of its work, and those that it keeps
	PerRow  int // numbers for each score of a row
}

// AnyMemory returns the configuration without a limit of memory.
func (c Config) AnyMemory() Config {
	c.MemoryMB, c.Holds = Megabytes{}, Holding{}
	return c
}

// Fit returns how many of the first rows of a client fit into the memory of a device beside its models of so many
// values, for rows of so many scores: 0 if not one does. A number has 8 bytes; rows have those of their matrix, and a
// target.
func (c *Config) Fit(device int, x *Matrix, values, scores int) int {
	if c.MemoryMB == (Megabytes{}) {
		return x.Rows
	}
	const number = 8
	free := float64(c.MemoryMB.of(device)*1e6) - float64(float64(number*float64(c.Holds.Vectors))*float64(values))
	each := float64(number * float64(1+c.Holds.PerRow*scores))
	if x.Dense() {
		size := float64(number * float64(x.Cols))
		if c.single() {
			size /= 2
		}
		return int(max(0, min(float64(x.Rows), free/(size+each))))
	}
	for i := range x.Rows {
		columns, _ := x.nonzeros(i)
		if free -= each + float64(12*float64(len(columns))); free < 0 { // a value and its column
			return i
		}
	}
	return x.Rows
}

// Limit returns the split with the training rows that fit into the memory of clients, without those of which not one
// row fits beside the models. short counts clients that hold fewer rows than they have, unfit those that are left out.
// It does not change split.
func (c *Config) Limit(split *Split, values, scores int) (_ *Split, short, unfit int) {
	limited, train := *split, *split.Train
	train.Clients = slices.Clone(train.Clients)
	without := make([]bool, len(train.Clients))
	for k := range train.Clients {
		client := &train.Clients[k]
		switch n := c.Fit(k, &client.X, values, scores); {
		case n == 0:
			without[k] = true
			unfit++
		case n < client.X.Rows:
			client.X, client.Y = client.X.first(n), client.Y[:n]
			short++
		}
	}
	limited.Train = &train
	if unfit > 0 {
		limited.each(func(s *Set) *Set { return s.only(without, false) })
	}
	return &limited, short, unfit
}

// first returns the first rows, which share the arena.
func (m *Matrix) first(rows int) Matrix {
	if m.Dense() {
		return m.Part(0, rows)
	}
	numbers := numbersTo(rows)
	return m.pick(numbers)
}

// validateMemory reports settings that do not go with a limit of memory.
func (c *Config) validateMemory(check *config.Checker) {
	if c.MemoryMB == (Megabytes{}) {
		return
	}
	const with = " with memory_mb"
	check.Require(!c.Pool, "pool", c.Pool, "must be false"+with)
	check.Require(c.ClientsPerTask == 1, "clients_per_task", c.ClientsPerTask, "must be 1"+with)
	check.Require(c.Resident, "resident", c.Resident, "must be true"+with)
	check.Require(c.Source != SourceExternal, "source", c.Source, "must be another"+with+": the rows are not here")
}

// Megabytes are sizes, a list in TOML. Values can be compared.
type Megabytes [8]float64 // 0: there are no more

// of returns the size of a device.
func (m *Megabytes) of(device int) float64 {
	n := len(m.list())
	return m[device%n]
}

func (m *Megabytes) list() []float64 {
	if n := slices.Index(m[:], 0); n >= 0 {
		return m[:n]
	}
	return m[:]
}

// TypeTOML returns the type.
func (m *Megabytes) TypeTOML() string { return "list of numbers" }

// DecodeTOML takes a list of at most eight sizes.
func (m *Megabytes) DecodeTOML(n *config.Node, key string) config.Errors {
	var list []float64
	problems := config.Decode(n, key, &list)
	*m = Megabytes{}
	for _, x := range list {
		if !(x > 0 && x <= 1e9) || len(list) > len(m) {
			problems.Add(n.Place, fmt.Sprintf("%s: must be at most %d numbers in (0, 1e9]", key, len(m)))
			return problems
		}
	}
	copy(m[:], list)
	return problems
}

// String returns the list as TOML.
func (m Megabytes) String() string { text, _ := m.MarshalTOML(); return string(text) }

// MarshalTOML returns the list on one line.
func (m Megabytes) MarshalTOML() ([]byte, error) {
	text := "["
	for i, x := range m.list() {
		if i > 0 {
			text += ", "
		}
		text += config.Label(x)
	}
	return []byte(text + "]"), nil
}
