// Package roster says which clients of a population have state: all of them, or in a lazy
// population those that were added. Columns have a value of each.
//
// It must not know the meaning of the values.
package roster

import (
	"math/bits"
	"slices"
)

// Roster is the clients of a population that have state. Clients have numbers from 0 on.
type Roster struct {
	clients int
	lazy    *index // nil: all have state
	columns []interface{ add(client int) }
}

// New returns the roster of a population of so many clients. In a lazy one no client has state yet.
func New(clients int, lazy bool) *Roster {
	r := &Roster{clients: clients}
	if lazy {
		r.lazy = &index{}
	}
	return r
}

// Len returns the number of clients of the population.
func (r *Roster) Len() int { return r.clients }

// Lazy reports whether the population is lazy.
func (r *Roster) Lazy() bool { return r.lazy != nil }

// Known returns the number of clients that have state.
func (r *Roster) Known() int {
	if r.lazy == nil {
		return r.clients
	}
	return len(r.lazy.clients)
}

// Has reports whether a client has state. It may be called from several goroutines at once, but not
// beside Add.
func (r *Roster) Has(client int) bool { return r.lazy == nil || r.lazy.find(client) >= 0 }

// Add gives a client state in all columns, unless it has it. It reports whether it had none.
func (r *Roster) Add(client int) (added bool) {
	if r.Has(client) {
		return false
	}
	r.lazy.add(client)
	for _, c := range r.columns {
		c.add(client)
	}
	return true
}

// Sorted returns the clients of a lazy population that have state in ascending order. The list is
// valid until Add.
func (r *Roster) Sorted() []int32 {
	x := r.lazy
	if added := x.clients[len(x.sorted):]; len(added) > 0 {
		some := slices.Clone(added)
		slices.Sort(some)
		// Merge from the back, in place.
		i, j := len(x.sorted)-1, len(some)-1
		x.sorted = append(x.sorted, some...)
		for k := len(x.sorted) - 1; j >= 0; k-- {
			if i >= 0 && x.sorted[i] > some[j] {
				x.sorted[k] = x.sorted[i]
				i--
			} else {
				x.sorted[k] = some[j]
				j--
			}
		}
	}
	return x.sorted
}

// index finds the places of clients in columns: an open hash table (Knuth, The Art of Computer
// Programming 3, section 6.4, algorithm L) that is at most half full.
type index struct {
	clients []int32 // by place
	sorted  []int32 // ascending, without those added last
	cells   []cell
	shift   int // of the hash of a client, to the number of a cell
}

// cell is a client with its place.
type cell struct {
	client int32
	place  int32 // one more than it; 0: the cell is empty
}

// find returns the place of a client; -1: it has none.
func (in *index) find(client int) int {
	if len(in.cells) == 0 {
		return -1
	}
	for i := in.hash(client); ; i = (i + 1) & (len(in.cells) - 1) {
		switch c := &in.cells[i]; {
		case c.place == 0:
			return -1
		case int(c.client) == client:
			return int(c.place) - 1
		}
	}
}

// hash returns the first cell of a client, by multiplication (section 6.4).
func (in *index) hash(client int) int { return int(uint64(client) * 0x9e3779b97f4a7c15 >> in.shift) }

// add gives a client the next place.
func (in *index) add(client int) {
	in.clients = append(in.clients, int32(client))
	if 2*len(in.clients) <= len(in.cells) {
		in.put(len(in.clients) - 1)
		return
	}
	in.cells = make([]cell, max(1024, 2*len(in.cells)))
	in.shift = 64 - bits.TrailingZeros(uint(len(in.cells)))
	for place := range in.clients {
		in.put(place)
	}
}

// put puts a client into the cells.
func (in *index) put(place int) {
	client := in.clients[place]
	i := in.hash(int(client))
	for in.cells[i].place != 0 {
		i = (i + 1) & (len(in.cells) - 1)
	}
	in.cells[i] = cell{client, int32(place) + 1}
}
