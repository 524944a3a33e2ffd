package scenario

import (
	"fmt"
	"iter"
	"slices"

	"fedsim/algorithms"
	"fedsim/clients"
	"fedsim/config"
	"fedsim/internal/rooms"
	"fedsim/results"
)

func init() {
	for _, room := range rooms.All() {
		if room.Columns != nil {
			results.Declare(room.Columns)
		}
	}
}

// RoomSettings are the settings that rooms may ask for.
type RoomSettings = rooms.Settings

// ForRooms returns the settings that rooms may ask for.
func (s *Settings) ForRooms() RoomSettings {
	return RoomSettings{Federation: &s.Federation, Keys: slices.Concat(s.Rooms, s.Run.Rooms),
		UntilCertain: s.Run.Seeds.UntilCertain(), Targets: s.Run.Targets,
		Optimum: s.Problem.HasReference()}
}

// stopAtTarget ends runs at the target that decides how many seeds there are.
func (s *Settings) stopAtTarget() {
	for _, room := range rooms.All() {
		if room.StopAt == nil || !s.Run.Seeds.UntilCertain() {
			continue
		}
		if target := room.StopAt(s.ForRooms()); target.IsSet() {
			s.Run.StopAt = target
		}
	}
}

// traits returns the traits of the keys that are in use, and their values.
func (s *Settings) traits() iter.Seq2[*rooms.Trait, any] {
	return func(yield func(*rooms.Trait, any) bool) {
		for _, t := range allTraits() {
			if value, used := t.used(s); used && !yield(t.Trait, value) {
				return
			}
		}
	}
}

// claim reports whether all keys that are in use have a trait.
func (s *Settings) claim(trait func(*rooms.Trait) bool) bool {
	for t := range s.traits() {
		if !trait(t) {
			return false
		}
	}
	return true
}

// checkRooms reports all errors in the keys of rooms.
func (s *Settings) checkRooms(c *config.Checker) {
	for _, room := range rooms.All() {
		if room.Check != nil {
			room.Check(c, s.ForRooms())
		}
	}
	c.Require(!s.Run.Seeds.UntilCertain() ||
		slices.ContainsFunc(rooms.All(), func(r *rooms.Room) bool { return r.StopAt != nil }), "run.seeds",
		untilCertain,
		"must be a list: this program cannot tell when results are certain")
	for t, value := range s.traits() {
		c.Require(t.AnyCost || !s.Federation.Relative(), t.Key, value,
			fmt.Sprintf("must be %s with federation.cost = \"relative\" or \"authors\", %s", t.Off, t.Why))
	}
}

// MayEnd reports whether a key that is in use may end a run before its rounds are over.
func (s *Settings) MayEnd() bool { return !s.claim(func(t *rooms.Trait) bool { return t.AllRounds }) }

// Shares reports whether the keys that are in use let a run share its rounds with runs that have other settings.
func (s *Settings) Shares() bool { return s.claim(func(t *rooms.Trait) bool { return t.Shares }) }

// Features returns what rooms add to the system of a run. Once is called for what all runs have in common.
func (s *Settings) Features(once func(key string, load func() (any, error)) (any, error)) (
	list []clients.Feature, err error) {
	for _, room := range rooms.All() {
		if room.Feature == nil {
			continue
		}
		f, err := room.Feature(s.ForRooms(), once)
		if err != nil {
			return nil, err
		}
		if f != nil {
			list = append(list, f)
		}
	}
	return list, nil
}

// Coding returns how messages are coded; nil: they are not.
func (s *Settings) Coding() *algorithms.Coding {
	for _, room := range rooms.All() {
		if room.Coding == nil {
			continue
		}
		if codes := room.Coding(s.ForRooms()); codes != nil {
			return codes
		}
	}
	return nil
}

// Privacy returns what protects updates; nil: nothing does.
func (s *Settings) Privacy() algorithms.Privacy {
	for _, room := range rooms.All() {
		if room.Privacy == nil {
			continue
		}
		if p := room.Privacy(s.ForRooms()); p != nil {
			return p
		}
	}
	return nil
}

// missing says what gives a declared column values in some run of the experiment; empty: it has values, or is none.
func (e *Experiment) missing(column string) (want string) {
	for i := range e.Jobs {
		want = ""
		for _, room := range rooms.All() {
			if d := room.Columns; d != nil && d.Has(column) {
				want = room.Missing(e.Jobs[i].Candidates[0].Settings.ForRooms(), column)
			}
		}
		if want == "" {
			return ""
		}
	}
	return want
}
