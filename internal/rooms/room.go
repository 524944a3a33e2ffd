// Package rooms defines a room: an optional part of a run, in its own folder, which registers itself.
//
// A room has keys of a scenario, with rules and traits. It declares columns of rounds, and adds to the runs in which
// it is in use. The package must not know any room.
package rooms

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"fedsim/algorithms"
	"fedsim/clients"
	"fedsim/config"
	"fedsim/federation"
	"fedsim/results"
)

// Room is an optional part of runs. All functions but those of Keys and Traits may be nil.
type Room struct {
	Name  string
	Place int // among the rooms, in whose order keys and columns are: a new room has the next number
	Keys  []Keys

	// Check reports all errors in the keys of the room. Keys are those of a scenario.
	Check  func(c *config.Checker, s Settings)
	Traits []Trait
	// CheckRun reports what the settings and the method of a run cannot live with, under its own protocol.
	CheckRun func(c *config.Checker, s Settings, run Run)
	// Note says what users should know of the results; empty: nothing.
	Note func(s Settings) string

	Columns *results.Declared // of rounds; nil: there are none
	// Missing says what gives a declared column values; empty: it has values.
	Missing func(s Settings, column string) string

	// Feature returns the clients.Feature that the room adds to a run; nil: none.
	Feature func(s Settings, once Once) (clients.Feature, error)
	// Coding returns how the room codes messages between server and devices; nil: it does not.
	Coding func(s Settings) *algorithms.Coding
	// Privacy returns how the room protects updates; nil: it does not.
	Privacy func(s Settings) algorithms.Privacy

	// StopAt returns where runs end, for a room that says which seeds run.seeds = "until-certain" takes; nil: another.
	StopAt func(s Settings) results.Target
	// Programs returns the programs of an experiment, none at first; nil: the room has none.
	Programs func(ctx context.Context, stderr io.Writer) Programs

	// Names are values of keys that fedsim methods describes, with the keys of the room, as Named.
	Names []string
	Named string   // "a codec of messages"
	Lines []string // what each of Names is, in one line
}

// Keys are a table of a room, or keys of the room in the table of others.
type Keys struct {
	Table string     // "energy"; empty: they are keys of In
	In    string     // "run"
	After string     // the key or table that they follow
	Doc   string     // of Table
	New   func() any // a pointer to a struct with the defaults
}

// Settings are those of a run that rooms may ask for.
type Settings struct {
	Federation *federation.Config
	Keys       config.Extras // of all rooms; see config.Part

	UntilCertain bool // run.seeds has that value
	Targets      results.Targets
	Optimum      bool // the reference optimum is known
}

// Run is what rooms may ask of a run beside its settings.
type Run struct {
	Method  *algorithms.Description
	HubSize int  // consecutive clients behind a hub; 0: there are no hubs
	Coded   bool // a room codes messages
	Learns  bool // models are trained: not in timing mode
}

// Once returns what load returns, which is called once for a key in all runs of an experiment.
type Once func(key string, load func() (any, error)) (any, error)

// Trait is what a key claims, and how it is taken out of use. What it does not claim is refused.
type Trait struct {
	Key  string                                  // "energy.grid"
	With []string                                // keys that have no effect without it, and claim nothing
	Used func(s Settings) (value any, used bool) // whether the key is in use
	Off  string                                  // the required value without the key: "empty"

	Metric string // that runs declare while it is in use: "epsilon"; empty: none

	AnyClients bool   // a lazy population, in which clients have no state until they are asked, goes with it
	AnyCost    bool   // so do relative costs
	Why        string // why they do not: "under which there is no energy"
	AnyProgram bool   // another program may drive the run
	Instead    string // what the program does itself, where it may not: "adds the noise"
	Shares     bool   // runs that differ in the key may share their rounds: methods do not depend on it
	AllRounds  bool   // it ends no run before its rounds are over
}

var all []*Room

// Register adds a room. Init functions call it.
func Register(r Room) {
	at, taken := slices.BinarySearchFunc(all, &r, func(a, b *Room) int { return cmp.Compare(a.Place, b.Place) })
	if taken {
		panic(fmt.Sprintf("rooms: %s has the place of %s: a new room has the next number", r.Name, all[at].Name))
	}
	all = slices.Insert(all, at, &r)
}

// All returns the rooms in their order.
func All() []*Room { return all }

// Extras returns the keys of all rooms in a table, with their defaults; "": their tables.
func Extras(in string) (extras config.Extras) {
	for _, r := range all {
		for _, k := range r.Keys {
			if k.In == in {
				extras = append(extras, config.Extra{After: k.After, Key: k.Table, Doc: k.Doc, Value: k.New()})
			}
		}
	}
	return extras
}
