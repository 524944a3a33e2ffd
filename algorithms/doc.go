// Package algorithms is the plugin interface of fedsim's learning methods, their
// registry, and the methods of the paper: mocha, cocoa, mb-sdca and mb-sgd, and local models. Package methods
// has others, and package kit what variations of federated averaging share.
//
// An Algorithm receives a limit on the work of a device and returns the steps, FLOPs and
// numbers sent. Its Description has its abilities and needs, before a run and after its start. A new
// method is a file that calls Register in its init function. A main package that imports it beside
// fedsim/cmd/fedsim/command is a fedsim with that method; docs/extend.md shows how.
//
// It must not know of time, devices' hardware, links, drops or deadlines: federation
// turns work into time, and commits or discards the work of each device.
package algorithms
