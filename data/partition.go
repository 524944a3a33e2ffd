package data

import (
	"fmt"
	"math"
	"strconv"

	"fedsim/config"
)

// The methods of a partition.
const (
	PartitionIID       = "iid"
	PartitionShards    = "shards"
	PartitionDirichlet = "dirichlet"
	PartitionPowerLaw  = "power-law"
)

// PartitionConfig is the table [data.partition]: how the rows of a set with one task are
// divided among clients. Every row goes to exactly one client. Keys of other methods must
// have their defaults.
type PartitionConfig struct {
	// how the rows of a set without clients are divided among clients: iid (at random, in equal parts),
	// shards (sorted by label, in equal shards), dirichlet (equal parts, classes by a Dirichlet
	// distribution) or power-law (parts of different sizes); "none": the clients are those of the set.
	// docs/data.md has the definitions
	Method string `toml:"method" word:"\"\": none"`
	// number of clients
	Clients int `toml:"clients" absent:"0: an error with a method"`
	// first put the rows of all clients together; false: the set must have no more than one
	Merge bool `toml:"merge"`
	// shards: number of shards of a client. A client has about as many classes
	Shards int `toml:"shards"`
	// dirichlet: concentration, positive. A small value gives a client few classes, a large one the
	// classes of the whole set
	Alpha float64 `toml:"alpha"`
	// power-law: the client of rank k has rows in proportion to k to the power of -exponent, after
	// the first rows_min; 0: equal parts
	Exponent float64 `toml:"exponent"`
	// power-law: number of classes of a client
	Classes int `toml:"classes" absent:"0: rows at random, of any class"`
	// power-law: rows that every client has at least, before the split into training and test rows
	RowsMin int `toml:"rows_min"`
}

// defaultPartition returns the parameters of methods that are not set.
func defaultPartition() PartitionConfig {
	return PartitionConfig{Shards: 2, Alpha: 0.5, Exponent: 1, RowsMin: 1}
}

// validatePartition checks the table, and keys of [data] that a partition excludes.
func (c *Config) validatePartition(check *config.Checker) {
	p, standard := &c.Partition, defaultPartition()
	in := check.In("partition")
	in.OneOfOrEmpty("method", p.Method, PartitionIID, PartitionShards, PartitionDirichlet, PartitionPowerLaw)
	const most = 1 << 26 // as many clients as the engine numbers
	in.Require(p.Method == "" || p.Clients >= 1 && p.Clients <= most, "clients", p.Clients,
		fmt.Sprintf("must be in [1, %d]", most))
	in.Require(p.Shards >= 1 && p.Shards <= most, "shards", p.Shards, fmt.Sprintf("must be in [1, %d]", most))
	in.Require(p.Alpha >= 1e-9 && p.Alpha <= 1e9, "alpha", p.Alpha, "must be in [1e-9, 1e9]")
	in.Require(p.Exponent >= 0 && p.Exponent <= 10, "exponent", p.Exponent, "must be in [0, 10]")
	in.Require(p.Classes >= 0 && p.Classes <= mostClasses, "classes", p.Classes,
		fmt.Sprintf("must be in [0, %d]", mostClasses))
	in.Require(p.RowsMin >= 1 && p.RowsMin <= math.MaxInt32, "rows_min", p.RowsMin, "must be at least 1")

	foreign := func(key string, value any, untouched bool, method string) {
		if untouched || p.Method != "" && (method == "" || method == p.Method) {
			return
		}
		want := "has no effect without data.partition.method"
		if p.Method != "" {
			want = fmt.Sprintf("has no effect when method is %q; it belongs to %q", p.Method, method)
		}
		in.Require(false, key, value, want)
	}
	foreign("clients", p.Clients, p.Clients == standard.Clients, "")
	foreign("merge", p.Merge, p.Merge == standard.Merge, "")
	foreign("shards", p.Shards, p.Shards == standard.Shards, PartitionShards)
	foreign("alpha", p.Alpha, p.Alpha == standard.Alpha, PartitionDirichlet)
	foreign("exponent", p.Exponent, p.Exponent == standard.Exponent, PartitionPowerLaw)
	foreign("classes", p.Classes, p.Classes == standard.Classes, PartitionPowerLaw)
	foreign("rows_min", p.RowsMin, p.RowsMin == standard.RowsMin, PartitionPowerLaw)
	if p.Method == "" {
		return
	}
	if c.Target == TargetReal {
		in.Require(p.Method != PartitionDirichlet, "method", p.Method,
			"must be another when target is \"real\": the rows have no classes. shards divides them by their targets")
		in.Require(p.Classes == 0, "classes", p.Classes, "must be 0 when target is \"real\": the rows have no classes")
	}
	check.Require(c.Skew == 0, "skew", c.Skew,
		"must be left out with a partition, whose rows are all used; power-law gives clients of different sizes")
	check.Require(c.ClientsPerTask == 1, "clients_per_task", c.ClientsPerTask,
		"must be 1 with a partition: increase data.partition.clients instead")
}

// partition divides the only task of a set among clients. Rows that the source holds out
// for testing are dealt like the training rows of their class, and stay held out.
func (c *Config) partition(set *Set) (*Set, error) {
	p := &c.Partition
	if p.Method == "" {
		return set, nil
	}
	if len(set.Clients) > 1 {
		if !p.Merge {
			return nil, config.Problem{Key: "data.partition.method", Value: p.Method, Want: fmt.Sprintf(
				"the set has %d clients, so it is federated already: set data.partition.merge = true to put their "+
					"rows together first, or remove the method", len(set.Clients))}
		}
		set.gather()
		set = Merge(set)
	}
	all := &set.Clients[0]
	if c.TestRows == TestRowsRandom {
		all.Held = 0 // no matter which rows the source holds out
	}
	d := newDealing(p, set, c.Seed)
	if problem := d.deal(); problem != nil {
		return nil, *problem
	}
	d.dealHeld()

	parted := set.empty()
	parted.Name = fmt.Sprintf("%s, %d clients by %s", set.Name, p.Clients, p.Method)
	parted.Clients = make([]Client, p.Clients)
	for k := range parted.Clients {
		held := len(d.held[k])
		parted.Clients[k] = all.pick(append(d.rows[k], d.held[k]...)) // in order, so the held ones are last
		parted.Clients[k].Name, parted.Clients[k].Held = strconv.Itoa(k+1), held
	}
	return parted, nil
}
