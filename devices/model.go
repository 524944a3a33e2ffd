package devices

import (
	"fedsim/config"
	"fedsim/internal/tools/registry"
	"fedsim/internal/tools/rng"
)

// Behavior is the behavior of the devices of a run over time. At least one field must be
// set. For a nil field, the tables of the scenario apply.
//
// Results must depend only on the setup, the options, the device and the instant. They
// must not depend on the real clock, a global generator or earlier calls. Otherwise runs
// would differ between worker counts and event queues, and could not be resumed. Methods
// may be called concurrently for different devices.
type Behavior struct {
	Speed        Speed            // how fast processors are
	Availability Availability     // when devices are available
	Charging     ChargingSchedule // when chargers are plugged in
	Machine      Machine          // how speed and power depend on what devices do
}

// Stream is a source of random numbers.
type Stream = rng.Stream

// ModelSetup is the input for building a device model.
type ModelSetup struct {
	Devices int    // number of devices, numbered from 0
	Seed    uint64 // of the run
}

// Stream returns the random numbers of a device and a number of the model's choice, such
// as an interval's. The same arguments always give the same numbers. They are
// independent of all other draws of the run.
func (s ModelSetup) Stream(device, number int) Stream {
	return rng.New(s.Seed, rng.DeviceModel, device, number)
}

// ModelFactory describes a device model and builds it for runs.
type ModelFactory struct {
	Name      string                // the value of devices.model: lower case, words joined by hyphens
	Summary   string                // one line for listings
	Reference string                // source of the model and its numbers
	Options   func() config.Options // returns a new struct with the defaults
	// New builds the model for one run. The options are those that Options returned,
	// decoded and valid.
	New func(ModelSetup, config.Options) (Behavior, error)
}

var models = registry.New[ModelFactory]("devices", "device model")

// RegisterModel registers a device model under its name. Call it from an init function.
// It panics if the factory is incomplete or the name is taken.
func RegisterModel(f ModelFactory) {
	models.Add(f.Name, f, f.Options != nil && f.New != nil, "a name, options and a constructor")
}

// LookupModel returns the device model registered under a name.
func LookupModel(name string) (ModelFactory, bool) { return models.Lookup(name) }

// ModelNames returns the names of the registered device models in alphabetical order.
func ModelNames() []string { return models.Names() }
