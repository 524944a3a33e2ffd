package experiment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"fedsim/internal/tools/checkpoint"
	"fedsim/internal/tools/checkpoint/checkpointtest"
	"fedsim/internal/tools/expect"
)

// referred has a coupling that is learnt, under each regularizer that learns one, and
// one that is known.
const referred = `
[methods.mocha]
[[experiment]]
name = "one"
[[experiment.axis]]
name = "regularizer"
points = [
	{ label = "probabilistic", set = { "problem.regularizer" = "probabilistic" } },
	{ label = "clustered", set = { "problem.regularizer" = "clustered", "problem.regularizer_options.cluster_count" = 2.0 } },
	{ label = "graphical", set = { "problem.regularizer" = "graphical", "problem.regularizer_options.lambda1" = 0.1, "problem.regularizer_options.lambda2" = 0.1 } },
]
[[experiment]]
name = "known"
set = { "problem.regularizer_options.warm_start" = 0 }
[[experiment.axis]]
name = "regularizer"
points = [
	{ label = "mean", set = { "problem.regularizer" = "mean", "problem.regularizer_options.lambda1" = 0.1, "problem.regularizer_options.lambda2" = 0.1 } },
	{ label = "independent", set = { "problem.regularizer" = "independent" } },
]
[[experiment]]
name = "two"
set = { "run.outer" = 2 }
[[experiment]]
name = "none"
set = { "problem.optimum.when" = "never" }
[[experiment]]
name = "single"
set = { "data.precision" = "float32" }
`

// under are the settings of referred.
const under = "run.rounds=4"

const optimum = "optimum "

// references returns the checkpoints of references by name.
func references(a *checkpointtest.Store) map[string][]byte {
	of := a.All()
	maps.DeleteFunc(of, func(name string, _ []byte) bool { return !strings.HasPrefix(name, optimum) })
	return of
}

func holding(things map[string][]byte) *checkpointtest.Store {
	a := &checkpointtest.Store{}
	for name, content := range things {
		a.Put(name, content)
	}
	return a
}

// Runs with restored references are the same, and do not compute them again.
func TestReferencesAreRestored(t *testing.T) {
	e := parse(t, referred, under)
	want := mustGather(t, e, Options{})
	full := &checkpointtest.Store{}
	keeping := func(a *checkpointtest.Store, clock func() time.Time) Options {
		return Options{Checkpoints: checkpoint.Policy{Store: a, Every: time.Hour, Clock: clock}}
	}
	mustGather(t, e, keeping(full, leaping()))
	saved := references(full)
	expect.Must(t, len(saved) == 8, "%d references are saved, want 8: %v", len(saved), slices.Collect(maps.Keys(saved)))
	again := holding(saved)
	again.Saved = func(name string, _ []byte) {
		expect.That(t, !strings.HasPrefix(name, optimum), "%s is saved again", name)
	}
	same(t, want, mustGather(t, e, keeping(again, leaping())))

	quick := &checkpointtest.Store{}
	instant := time.Unix(0, 0)
	mustGather(t, e, keeping(quick, func() time.Time { return instant }))
	n := len(references(quick))
	expect.That(t, n == 0, "%d references that took no time are saved", n)

	// The optimum follows the digest of the rows: the runs use the saved one.
	moved := map[string][]byte{}
	for name, content := range saved {
		content = bytes.Clone(content)
		x := math.Float64frombits(binary.LittleEndian.Uint64(content[8:]))
		binary.LittleEndian.PutUint64(content[8:], math.Float64bits(x-1))
		moved[name] = content
	}
	for i, r := range mustGather(t, e, keeping(holding(moved), leaping())) {
		was := want[i].Optimum
		expect.That(t, r.Optimum == was-1 || math.IsNaN(was), "%s: the optimum is %g, want %g", r.ID, r.Optimum, was-1)
	}
}

// A reference that is cut off is refused, and one of other rows, too.
func TestCorruptReferencesAreRefused(t *testing.T) {
	e := parse(t, referred, under)
	full := &checkpointtest.Store{}
	keeping := func(a *checkpointtest.Store) Options {
		return Options{Checkpoints: checkpoint.Policy{Store: a, Clock: leaping()}}
	}
	mustGather(t, e, keeping(full))
	refused := func(name string, content []byte, why string) {
		t.Helper()
		_, err := gather(t.Context(), e, keeping(holding(map[string][]byte{name: content})))
		if !errors.Is(err, checkpointtest.ErrRejected) || !strings.Contains(err.Error(), name) ||
			!strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", name, err)
		}
	}
	saved := references(full)
	expect.Must(t, len(saved) != 0, "no reference is saved")
	for name, content := range saved {
		refused(name, content[:len(content)-3], "unexpected EOF")
		other := bytes.Clone(content)
		other[3]++
		refused(name, other, errOtherRows.Error())
	}
}

// An error of saving a reference ends all runs.
func TestReferencesThatCannotBeSavedEndAll(t *testing.T) {
	e := parse(t, referred, under)
	_, err := gather(t.Context(), e,
		Options{Checkpoints: checkpoint.Policy{Store: &checkpointtest.Store{Fails: optimum}, Clock: leaping()}})
	expect.That(t, errors.Is(err, checkpointtest.ErrFull), "error %v", err)
}
