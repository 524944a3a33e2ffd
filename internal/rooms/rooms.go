// Package rooms says what a room is: an optional part of a run, in a folder of its own. Package all lists them.
//
// A room is a table of a scenario. It checks its keys, declares columns of rounds, and adds observers to the
// system. The package must not know any room.
package rooms

import (
	"fmt"
	"reflect"

	"fedsim/clients"
	"fedsim/config"
	"fedsim/federation"
	"fedsim/results"
)

// Room is a pointer to the table of a room in a scenario.
type Room interface {
	// SetDefaults sets the keys to their defaults.
	SetDefaults()
	// Declared returns the columns of rounds; nil: there are none.
	Declared() *results.Declared
	// Missing says what gives a declared column values; empty: it has values.
	Missing(column string) string
	// Check reports what is wrong in the keys of the room. Keys are those of a scenario.
	Check(c *config.Checker, s Settings)
	// Traits returns the traits of the keys that are in use.
	Traits(s Settings) []Trait
	// Feature returns what the room adds to the system of a run; nil: nothing.
	Feature(s Settings, once Once) (clients.Feature, error)
}

// Settings are the other settings of a run.
type Settings struct {
	Federation *federation.Config
	Run        any // a pointer to the keys of all rooms in the table [run]; see Part
}

// Once returns what load returns, which is called once for a key in all runs of an experiment.
type Once func(key string, load func() (any, error)) (any, error)

// Trait is what a key that is in use claims, and how it is taken out of use. What it does not claim is refused.
type Trait struct {
	Key   string // "energy.grid"
	Value any
	Off   string // what the value must be without the key: "empty"

	AnyClients bool   // a lazy population, in which clients have no state until they are asked, goes with it
	AnyCost    bool   // so do relative costs
	Why        string // why they do not: "there is no energy"
	Shares     bool   // runs that differ in the key may share their rounds: methods do not depend on it
	AllRounds  bool   // it ends no run before its rounds are over
}

// Part returns the keys of a type among those of all rooms.
func Part[T any](of any) *T {
	v := reflect.ValueOf(of).Elem()
	for i := range v.NumField() {
		if part, is := v.Field(i).Addr().Interface().(*T); is {
			return part
		}
	}
	panic(fmt.Sprintf("rooms: the list of rooms has no %T", *new(T)))
}
