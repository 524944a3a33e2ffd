package devices

import (
	"fedsim/config"
	"fedsim/internal/registry"
	"fedsim/internal/rng"
)

// Model is what a device model says of the devices of a run as time passes. A field
// that is nil leaves its matter to the tables of the scenario; one at least must be
// set.
//
// Whatever it answers depends on the setup and the options, on the device and on the
// instant alone: not on the clock of the machine, on a global generator, or on what
// was asked before. That is what makes a run the same for any number of workers and
// any event queue, and lets one that was interrupted be gone on with. Several
// goroutines may ask at once, about different devices.
type Model struct {
	Speed        Speed            // how fast processors are
	Availability Availability     // when devices can be reached
	Charging     ChargingSchedule // when chargers are plugged in
}

// Stream is a source of random numbers.
type Stream = rng.Stream

// ModelSetup is what a device model is built for.
type ModelSetup struct {
	Devices int    // how many there are, numbered from 0
	Seed    uint64 // of the run
}

// Stream returns the random numbers that a device model has for a device and a number
// of its own choice, such as that of an interval: the same ones whenever it is asked.
// They have nothing to do with those of another device or number, nor with any other
// draws of the run.
func (s ModelSetup) Stream(device, number int) Stream {
	return rng.New(s.Seed, rng.DeviceModel, device, number)
}

// ModelFactory describes a device model and builds it for runs.
type ModelFactory struct {
	Name      string                // as devices.model names it: lower case, words joined by hyphens
	Summary   string                // one line for listings
	Reference string                // where the model and its numbers come from
	Options   func() config.Options // a new struct holding the defaults
	// New builds the model for one run; the options are what Options returned, decoded
	// and valid.
	New func(ModelSetup, config.Options) (Model, error)
}

var models = registry.New[ModelFactory]("devices")

// RegisterModel makes a device model known under its name. It is called from init
// functions and panics on a factory that is incomplete or already known.
func RegisterModel(f ModelFactory) {
	models.Add(f.Name, f, f.Options != nil && f.New != nil, "a name, options and a constructor")
}

// LookupModel returns the device model registered under a name.
func LookupModel(name string) (ModelFactory, bool) { return models.Lookup(name) }

// ModelNames returns the names of the registered device models in alphabetical order.
func ModelNames() []string { return models.Names() }
