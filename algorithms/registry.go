package algorithms

import (
	"fmt"
	"sort"

	"fedsim/config"
)

// Options are a method's settings: a pointer to a struct with tags `toml` and
// `doc`, decoded strictly from the method's table.
type Options interface {
	// Validate reports everything wrong with the settings.
	Validate(*config.Checker)
}

// Factory describes a method and builds its runs.
type Factory struct {
	Name      string         // as scenarios name it: lower case, words joined by hyphens
	Summary   string         // one line for listings
	Reference string         // where the method comes from
	Options   func() Options // a new struct holding the defaults
	// AuthorUnits is what one step costs in the units of the authors' released
	// drivers; 0: the drivers do not have the method.
	AuthorUnits float64
	// OneModel is true when every device is sent the same model, whatever its task,
	// so that the answers of devices behind one hub add up to one.
	OneModel bool
	// Load describes the local work with the given options on d features; nil when
	// it depends on what is learnt.
	Load func(o Options, features int) Load
	// New starts a run; the options are what Options returned, decoded and valid.
	New func(Setup, Options) (Algorithm, error)
}

var registry = map[string]Factory{}

// Register makes a method known under its name. It is called from init
// functions and panics on a factory that is incomplete or already known.
func Register(f Factory) {
	if f.Name == "" || f.Options == nil || f.New == nil {
		panic(fmt.Sprintf("algorithms: factory %q needs a name, options and a constructor", f.Name))
	}
	if _, known := registry[f.Name]; known {
		panic(fmt.Sprintf("algorithms: %q is registered twice", f.Name))
	}
	registry[f.Name] = f
}

// Lookup returns the method registered under name.
func Lookup(name string) (Factory, bool) {
	f, ok := registry[name]
	return f, ok
}

// Names returns the registered names in alphabetical order.
func Names() []string {
	names := make([]string, 0, len(registry))
	for name := range registry {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
