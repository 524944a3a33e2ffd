package data

import (
	"errors"
	"slices"
	"testing"

	"fedsim/config"
	"fedsim/internal/tools/expect"
)

// names returns the names of the clients of a set.
func names(s *Set) (list []string) {
	for k := range s.Clients {
		list = append(list, s.Clients[k].Name)
	}
	return list
}

// New clients are in no part of the others, have the rows and the test rows that they would have had, with features
// scaled by the rows of others alone, and are drawn by the seed and the split.
func TestNewClients(t *testing.T) {
	cfg := Defaults()
	cfg.Synthetic.Clients, cfg.Synthetic.Features, cfg.Standardize, cfg.Bias = 9, 4, true, true
	all := expect.Value(Prepare(cfg))(t)
	cfg.NewClients = 0.3
	split := expect.Value(Prepare(cfg))(t)
	fresh := split.New
	expect.Must(t, len(fresh.Train.Clients) == 3 && len(split.Train.Clients) == 6 && len(split.Test.Clients) == 6,
		"%d new clients and %d others", len(fresh.Train.Clients), len(split.Train.Clients))
	for k, name := range names(fresh.Train) {
		expect.That(t, !slices.Contains(names(split.Train), name), "client %s is new and takes part", name)
		at := slices.Index(names(all.Train), name)
		expect.That(t, at >= 0 && all.Train.Clients[at].X.Rows == fresh.Train.Clients[k].X.Rows &&
			all.Test.Clients[at].X.Rows == fresh.Test.Clients[k].X.Rows, "client %s has other rows", name)
		expect.That(t, fresh.Train.Clients[k].X.Cols == 5 && fresh.Test.Clients[k].X.Cols == 5, "no bias")
	}
	means := make([]float64, 5)
	split.Train.eachRow(func(x []float64) {
		for j, v := range x {
			means[j] += v / float64(split.Train.Rows())
		}
	})
	for j, mean := range means[:4] {
		expect.That(t, mean < 1e-12 && mean > -1e-12, "feature %d has the mean %g over rows of others", j, mean)
	}
	again := expect.Value(Prepare(cfg))(t)
	expect.That(t, slices.Equal(names(again.New.Train), names(fresh.Train)), "two draws differ")
	others := false
	for cfg.Split = 2; cfg.Split < 6; cfg.Split++ {
		another := expect.Value(Prepare(cfg))(t)
		others = others || !slices.Equal(names(another.New.Train), names(fresh.Train))
	}
	expect.That(t, others, "other splits have the same new clients")
	first := fresh.Order(0, 0)
	expect.That(t, slices.Equal(first, fresh.Order(0, 0)) && !slices.Equal(first, fresh.Order(0, 1)) &&
		len(first) == fresh.Train.Clients[0].X.Rows, "the orders of rows: %v", first)

	cfg.Split, cfg.NewClients = 0, 0.99
	_, err := Prepare(cfg)
	var problem config.Problem
	expect.That(t, errors.As(err, &problem) && problem.Error() ==
		"data.new_clients = 0.99: must be less: it makes 9 of 9 clients new, and leaves none to train", "%v", err)
}

// A list of numbers of rows is read, and wrong ones are refused with their key.
func TestRowCounts(t *testing.T) {
	r := NewRowCounts(0, 3, 20)
	expect.That(t, slices.Equal(r.List(), []int{0, 3, 20}) && r.String() == "[0, 3, 20]", "%s", r)
	check := config.NewChecker()
	cfg := Defaults()
	cfg.NewRows, cfg.NewSteps = NewRowCounts(7), 1
	cfg.validateNew(check)
	expect.That(t, len(check.Problems()) == 2, "without new clients: %v", check.Problems())
	check = config.NewChecker()
	cfg.NewClients, cfg.NewRows, cfg.ClientsPerTask, cfg.NewSteps = 0.5, NewRowCounts(), 2, -1
	cfg.validateNew(check)
	expect.That(t, len(check.Problems()) == 2, "%v", check.Problems())
}
