package algorithms

import (
	"fedsim/config"
	"fedsim/internal/registry"
)

// Options are a method's settings.
type Options = config.Options

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
	// OwnMetrics is true when New returns a Reporter. Its sub-optimality is not known:
	// the reference optimum is that of the linear problem.
	OwnMetrics bool
	// Asynchronous is true when the method can do without rounds: what New returns is
	// then Asynchronous.
	Asynchronous bool
	// Limit is the option that limits the work of a method whose devices otherwise
	// work until they reach an accuracy; Work.Capped says where it did. Empty: no such
	// method.
	Limit string
	// Needs returns what the method with the given options demands of the round
	// protocol; nil: nothing.
	Needs func(Options) Needs
	// Workload describes the local work with the given options on d features; nil when
	// it depends on what is learnt.
	Workload func(o Options, features int) Workload
	// New starts a run; the options are what Options returned, decoded and valid.
	New func(Setup, Options) (Algorithm, error)
}

// NeedsOf returns what the method with the given options demands of the round protocol.
func (f *Factory) NeedsOf(o Options) Needs {
	if f.Needs == nil {
		return Needs{}
	}
	return f.Needs(o)
}

var factories = registry.New[Factory]("algorithms")

// Register makes a method known under its name. It is called from init
// functions and panics on a factory that is incomplete or already known.
func Register(f Factory) {
	factories.Add(f.Name, f, f.Options != nil && f.New != nil, "a name, options and a constructor")
}

// Lookup returns the method registered under name.
func Lookup(name string) (Factory, bool) { return factories.Lookup(name) }

// Names returns the registered names in alphabetical order.
func Names() []string { return factories.Names() }
