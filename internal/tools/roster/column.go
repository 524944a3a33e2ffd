package roster

import "fmt"

// Column has a value of each client of a roster that has state. Pointers to values stay valid.
type Column[T any] struct {
	all     []T                // by client
	lazy    *index             // nil: all has the values
	some    []*[chunk]T        // by place
	places  int                // number of values in some
	initial func(client int) T // nil: the zero value
}

// chunk is how many values are allocated at once.
const chunk = 1024

// NewColumn returns a column with the initial values of clients; nil: zero values.
func NewColumn[T any](r *Roster, initial func(client int) T) *Column[T] {
	c := &Column[T]{lazy: r.lazy, initial: initial}
	if c.lazy == nil {
		c.all = make([]T, r.clients)
		if initial != nil {
			for t := range c.all {
				c.all[t] = initial(t)
			}
		}
		return c
	}
	for _, client := range c.lazy.clients {
		c.add(int(client))
	}
	r.columns = append(r.columns, c)
	return c
}

// At returns the value of a client, which must have state.
func (c *Column[T]) At(client int) *T {
	if c.lazy == nil {
		return &c.all[client]
	}
	return c.find(client)
}

// Has reports whether a client has a value.
func (c *Column[T]) Has(client int) bool { return c.lazy == nil || c.lazy.find(client) >= 0 }

// find is At in a lazy population. It is a call, so that At is inlined.
//
//go:noinline
func (c *Column[T]) find(client int) *T {
	place := c.lazy.find(client)
	if place < 0 {
		panic(fmt.Sprintf("roster: client %d has no state: call Add first", client))
	}
	return &c.some[place/chunk][place%chunk]
}

// add appends the initial value of a client.
func (c *Column[T]) add(client int) {
	place := c.places
	if place%chunk == 0 {
		c.some = append(c.some, new([chunk]T))
	}
	c.places++
	if c.initial != nil {
		c.some[place/chunk][place%chunk] = c.initial(client)
	}
}
