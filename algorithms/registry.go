package algorithms

import (
	"fedsim/config"
	"fedsim/internal/tools/registry"
	"fedsim/mtl"
)

// Options are a method's settings.
type Options = config.Options

// Rough is an Options whose method may be less accurate in the trials of a tuning on folds.
type Rough interface {
	Options
	Rough() Options
}

// Factory describes a method and builds its runs. A method is one file that registers one.
type Factory struct {
	Name      string         // as scenarios name it: lower case, words joined by hyphens
	Summary   string         // one line for listings
	Reference string         // where the method comes from
	Options   func() Options // a new struct holding the defaults
	// Describe returns the description of the method before runs start, with the given
	// options and models of a shape; the zero shape where it is not known yet.
	Describe func(o Options, shape mtl.Shape) Description
	// New starts a run; the options are what Options returned, decoded and valid. Callers use
	// Start.
	New func(Setup, Options) (Algorithm, error)
}

var factories = registry.New[Factory]("algorithms", "algorithm")

// Register registers a method under its name. Init functions call it. It panics when
// the factory is incomplete or the name is taken.
func Register(f Factory) {
	complete := f.Options != nil && f.Describe != nil && f.New != nil
	describe := f.Describe
	f.Describe = func(o Options, shape mtl.Shape) Description {
		d := describe(o, shape)
		d.Name = f.Name
		return d
	}
	factories.Add(f.Name, f, complete, "a name, options, a description and a constructor")
}

// Lookup returns the method registered under name.
func Lookup(name string) (Factory, bool) { return factories.Lookup(name) }

// Names returns the registered names in alphabetical order.
func Names() []string { return factories.Names() }
