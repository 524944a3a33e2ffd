// Package registry holds what packages make known under a name from their init
// functions, also packages that are written elsewhere and linked in.
//
// It must not know what is registered.
package registry

import (
	"fmt"
	"maps"
	"slices"

	"fedsim/config"
)

// Registry is things by name. The zero value is not usable; use New.
type Registry[T any] struct {
	of    string // what panics begin with
	known map[string]T
}

// New returns an empty registry. Its panics begin with of, as in "algorithms".
func New[T any](of string) *Registry[T] { return &Registry[T]{of: of, known: map[string]T{}} }

// Add makes x known under a name. It panics for an x that is not complete, which
// needs what is said, and for a name that is taken.
func (r *Registry[T]) Add(name string, x T, complete bool, needs string) {
	if name == "" || !complete {
		panic(fmt.Sprintf("%s: factory %q needs %s", r.of, name, needs))
	}
	if _, taken := r.known[name]; taken {
		panic(fmt.Sprintf("%s: %q is registered twice", r.of, name))
	}
	r.known[name] = x
}

// Lookup returns what is known under a name.
func (r *Registry[T]) Lookup(name string) (x T, ok bool) {
	x, ok = r.known[name]
	return x, ok
}

// Check reports, at the key model below c, a name that is neither empty nor known, and
// at options what is wrong with those of the model, once they are decoded.
func (r *Registry[T]) Check(c *config.Checker, model string, options any) {
	if len(r.known) == 0 {
		c.OneOfOrEmpty("model", "")
		c.Require(model == "", "model", model, "must be left out: no such model is linked into this program (docs/plugins.md)")
		return
	}
	c.OneOfOrEmpty("model", model, r.Names()...)
	if o, decoded := options.(config.Options); decoded {
		o.Validate(c.In("options"))
	}
}

// Names returns the names in alphabetical order.
func (r *Registry[T]) Names() []string { return slices.Sorted(maps.Keys(r.known)) }
