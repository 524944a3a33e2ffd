// Package registry maps names to values that packages register in their init functions.
// Packages of other modules that are linked in register theirs too.
//
// It must not know the values' meaning.
package registry

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"fedsim/config"
)

// Registry maps names to values. The zero value is not usable; use New.
type Registry[T any] struct {
	owner string
	kind  string // of the values, in messages
	known map[string]T
}

// New returns an empty registry of a kind of values, as "selector". Its panics begin with
// the package that owns it, as "federation".
func New[T any](owner, kind string) *Registry[T] {
	return &Registry[T]{owner: owner, kind: kind, known: map[string]T{}}
}

// named matches the names that TOML keys, file names and lists can hold.
var named = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// Add registers x under a name. It panics when x is not complete, with the text of its
// needs, and when the name is taken or has other characters than lower case letters,
// digits and hyphens between them.
func (r *Registry[T]) Add(name string, x T, complete bool, needs string) {
	if name == "" || !complete {
		panic(fmt.Sprintf("%s: %s %q needs %s", r.owner, r.kind, name, needs))
	}
	if !named.MatchString(name) {
		panic(fmt.Sprintf("%s: the name of %s %q must be lower case letters and digits, joined by hyphens", r.owner,
			r.kind, name))
	}
	if _, taken := r.known[name]; taken {
		panic(fmt.Sprintf("%s: %s %q is registered twice", r.owner, r.kind, name))
	}
	r.known[name] = x
}

// Lookup returns the value registered under a name.
func (r *Registry[T]) Lookup(name string) (x T, ok bool) {
	x, ok = r.known[name]
	return x, ok
}

// Check reports, at the key model below c, a name that is neither empty nor registered,
// and at the key model_options the problems of the options, once they are decoded.
func (r *Registry[T]) Check(c *config.Checker, model string, options any) {
	if len(r.known) == 0 {
		c.OneOfOrEmpty("model", "")
		c.Require(model == "", "model", model,
			"must be left out: no such model is linked into this program (docs/extend.md)")
		return
	}
	c.OneOfOrEmpty("model", model, r.Names()...)
	if o, decoded := options.(config.Options); decoded {
		o.Validate(c.In("model_options"))
	}
}

// Names returns the names in alphabetical order.
func (r *Registry[T]) Names() []string { return slices.Sorted(maps.Keys(r.known)) }
