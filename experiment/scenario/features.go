package scenario

import (
	"fmt"
	"slices"

	"fedsim/clients"
	"fedsim/config"
	"fedsim/internal/rooms"
	"fedsim/internal/rooms/all"
)

type (
	// Rooms are the tables of optional parts.
	Rooms = all.Rooms
	// RunKeys are their keys in the table [run].
	RunKeys = all.RunKeys
)

// forRooms returns the settings that rooms may ask for.
func (s *Settings) forRooms() rooms.Settings {
	return rooms.Settings{Federation: &s.Federation, Run: &s.Run.RunKeys}
}

// traits returns the traits of all keys of rooms that are in use.
func (s *Settings) traits() []rooms.Trait { return all.Traits(&s.Rooms, s.forRooms()) }

// checkRooms reports what is wrong in the keys of rooms.
func (s *Settings) checkRooms(c *config.Checker) {
	for _, room := range all.Of(&s.Rooms) {
		room.Check(c, s.forRooms())
	}
	for _, t := range s.traits() {
		c.Require(t.AnyCost || !s.Federation.Relative(), t.Key, t.Value,
			fmt.Sprintf("must be %s with federation.cost = \"relative\" or \"authors\", under which %s", t.Off, t.Why))
	}
}

// RoomsEnd reports whether a room may end a run before its rounds are over.
func (s *Settings) RoomsEnd() bool {
	return slices.ContainsFunc(s.traits(), func(t rooms.Trait) bool { return !t.AllRounds })
}

// RoomsShare reports whether the rooms of a run let it share its rounds with runs that other settings have.
func (s *Settings) RoomsShare() bool {
	return !slices.ContainsFunc(s.traits(), func(t rooms.Trait) bool { return !t.Shares })
}

// Features returns what rooms add to the system of a run. Once is called for what all runs have in common.
func (s *Settings) Features(once func(key string, load func() (any, error)) (any, error)) (list []clients.Feature, err error) {
	for _, room := range all.Of(&s.Rooms) {
		f, err := room.Feature(s.forRooms(), once)
		if err != nil {
			return nil, err
		}
		if f != nil {
			list = append(list, f)
		}
	}
	return list, nil
}

// missing says what gives a declared column values in some run of the experiment; empty: it has values, or is none.
func (e *Experiment) missing(column string) (want string) {
	for i := range e.Jobs {
		want = ""
		for _, room := range all.Of(&e.Jobs[i].Candidates[0].Settings.Rooms) {
			if d := room.Declared(); d != nil && d.Has(column) {
				want = room.Missing(column)
			}
		}
		if want == "" {
			return ""
		}
	}
	return want
}
