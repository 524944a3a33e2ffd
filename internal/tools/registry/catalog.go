package registry

import "slices"

// Catalog is a fixed list of values with names.
type Catalog[T any] struct {
	all  []T
	name func(*T) string
}

// NewCatalog returns the values in their order, given the name of each.
func NewCatalog[T any](name func(*T) string, all ...T) Catalog[T] { return Catalog[T]{all, name} }

// All returns the values.
func (c Catalog[T]) All() []T { return slices.Clone(c.all) }

// Names returns the names of the values, in their order.
func (c Catalog[T]) Names() []string {
	names := make([]string, len(c.all))
	for i := range c.all {
		names[i] = c.name(&c.all[i])
	}
	return names
}

// Lookup returns the value with a name; ok is false if there is none.
func (c Catalog[T]) Lookup(name string) (x T, ok bool) {
	for i := range c.all {
		if c.name(&c.all[i]) == name {
			return c.all[i], true
		}
	}
	return x, false
}
