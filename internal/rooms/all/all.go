// Package all is the list of rooms. Keys and columns are in its order: new rooms come last.
package all

import (
	"fmt"
	"reflect"

	"fedsim/internal/rooms"
	"fedsim/internal/rooms/carbon"
	"fedsim/results"
)

// Rooms are the rooms, each of which is a table of a scenario.
type Rooms struct {
	Energy carbon.Config `toml:"energy" doc:"grams of CO2 equivalent of devices, network and server (docs/energy.md)"`
}

// RunKeys are the keys of rooms in the table [run].
type RunKeys struct {
	carbon.Budget
}

// Of returns the rooms in their order.
func Of(r *Rooms) (list []rooms.Room) {
	v := reflect.ValueOf(r).Elem()
	for i := range v.NumField() {
		list = append(list, v.Field(i).Addr().Interface().(rooms.Room))
	}
	return list
}

// Traits returns the traits of all keys that are in use. A room in use that has none claims nothing.
func Traits(r *Rooms, s rooms.Settings) (list []rooms.Trait) {
	standard := Defaults()
	v, unused := reflect.ValueOf(r).Elem(), reflect.ValueOf(&standard).Elem()
	for i, room := range Of(r) {
		traits := room.Traits(s)
		if len(traits) == 0 && fmt.Sprint(v.Field(i)) != fmt.Sprint(unused.Field(i)) {
			table := v.Type().Field(i).Tag.Get("toml")
			traits = []rooms.Trait{{Key: table, Off: "left out", Why: "nothing is known of it"}}
		}
		list = append(list, traits...)
	}
	return list
}

// Defaults returns all tables with their defaults.
func Defaults() (r Rooms) {
	for _, room := range Of(&r) {
		room.SetDefaults()
	}
	return r
}

func init() {
	for _, room := range Of(new(Rooms)) {
		if columns := room.Declared(); columns != nil {
			results.Declare(columns)
		}
	}
}
