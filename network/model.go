package network

import (
	"fedsim/config"
	"fedsim/internal/tools/registry"
	"fedsim/internal/tools/rng"
)

// Stream is a source of random numbers.
type Stream = rng.Stream

// ModelSetup is the input for building a link model.
type ModelSetup struct {
	Devices int    // number of devices, numbered from 0
	Seed    uint64 // of the run
}

// Stream returns the random numbers of a device and a number of the model's choice, such
// as an interval's. The same arguments always give the same numbers. They are
// independent of all other draws of the run.
func (s ModelSetup) Stream(device, number int) Stream {
	return rng.New(s.Seed, rng.LinkModel, device, number)
}

// ModelFactory describes a link model and builds it for a run.
type ModelFactory struct {
	Name      string                // the value of network.model: lower case, words joined by hyphens
	Summary   string                // one line for listings
	Reference string                // source of the model and its numbers
	Options   func() config.Options // returns a new struct with the defaults
	// New builds the model for one run. The options are those that Options returned,
	// decoded and valid. Results must depend only on the setup, the options, the device
	// and the instant. They must not depend on the real clock, a global generator or
	// earlier calls. Otherwise runs would differ between worker counts and event queues,
	// and could not be resumed.
	New func(ModelSetup, config.Options) (Bandwidth, error)
}

var models = registry.New[ModelFactory]("network", "link model")

// RegisterModel registers a link model under its name. Call it from an init function. It
// panics if the factory is incomplete or the name is taken.
func RegisterModel(f ModelFactory) {
	models.Add(f.Name, f, f.Options != nil && f.New != nil, "a name, options and a constructor")
}

// LookupModel returns the link model registered under a name.
func LookupModel(name string) (ModelFactory, bool) { return models.Lookup(name) }

// ModelNames returns the names of the registered link models in alphabetical order.
func ModelNames() []string { return models.Names() }
