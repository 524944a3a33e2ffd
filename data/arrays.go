package data

import (
	"fmt"
	"math"
	"strconv"
)

// ArraysConfig is the table [data.arrays]: the names of the arrays in a file that has
// several.
type ArraysConfig struct {
	// matlab, npz: name of the array of features, or in matlab of the cells with one such array a client
	Features string `toml:"features" absent:"\"\": X of matlab, x of npz"`
	// matlab, npz: name of the labels or real targets
	Targets string `toml:"targets" absent:"\"\": Y of matlab, y of npz"`
	// matlab, npz: name of the array with the client of each row. Not for cells: each is a client
	Clients string `toml:"clients" absent:"\"\": client of npz if there is one, otherwise all rows are of one client"`
}

// Over returns the names, with those of a format where they are empty.
func (a ArraysConfig) Over(features, targets, clients string) ArraysConfig {
	for _, name := range []struct {
		of       *string
		standard string
	}{{&a.Features, features}, {&a.Targets, targets}, {&a.Clients, clients}} {
		if *name.of == "" {
			*name.of = name.standard
		}
	}
	return a
}

// allTasks is the name of the task of a set that is not federated.
const allTasks = "all"

// ByClient divides rows among the tasks that they name; all is the task of all rows. Rows
// keep their order, and so do tasks, unless all their names are whole numbers. The last
// held rows of all are test rows.
func (s *Set) ByClient(all Client, names []string) {
	index := map[string]int{}
	rows := [][]int32{}
	held := []int{}
	for i, name := range names {
		t, known := index[name]
		if !known {
			t = len(rows)
			index[name] = t
			rows, held = append(rows, nil), append(held, 0)
			s.Clients = append(s.Clients, Client{Name: name})
		}
		rows[t] = append(rows[t], int32(i))
		if i >= len(names)-all.Held {
			held[t]++
		}
	}
	for t := range s.Clients {
		name := s.Clients[t].Name
		s.Clients[t] = all.pick(rows[t])
		s.Clients[t].Name, s.Clients[t].Held = name, held[t]
	}
	s.gather()
	s.orderTasks()
}

// ClientNames returns the names of tasks that are numbers. problem is empty, or why they are
// not all different: a larger whole number may be another, rounded.
func ClientNames(tasks []float64) (names []string, problem string) {
	names = make([]string, len(tasks))
	for i, v := range tasks {
		if math.Abs(v) >= 1<<53 {
			return nil,
				fmt.Sprintf("row %d: the client %.0f must be below 2^53 in size, so that it is exact: "+
					"number the clients from 1", i+1, v)
		}
		names[i] = strconv.FormatFloat(v+0, 'f', -1, 64) // 0 for -0
	}
	return names, ""
}

// RequireRows returns why features and targets do not match, or "".
func RequireRows(x *Matrix, targets int) string {
	switch {
	case x.Rows == targets:
		return ""
	case x.Cols == targets:
		return fmt.Sprintf("the features are %d x %d for %d targets: must have a row for each target; transpose them",
			x.Rows, x.Cols, targets)
	default:
		return fmt.Sprintf("the features have %d rows, the targets %d", x.Rows, targets)
	}
}
