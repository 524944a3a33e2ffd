// Package algorithms is the plugin interface of fedsim's optimisation methods,
// their registry, the methods of the paper: mocha, cocoa, mb-sdca, mb-sgd, and
// those it is asked about: async-mocha, which does without rounds, and the
// averaging of one model, fedavg, fedprox, fedbuff.
//
// An algorithm is told how much work a device may do and answers with what it
// did, how many FLOPs that took and how many values it must send. A method of
// one's own is a package that calls Register in its init function; a main
// package that imports it beside fedsim/cmd/fedsim/command is a fedsim with
// that method.
//
// It must not know of time, devices, links, drops or deadlines: the runtime
// turns work into time, and tells the algorithm which updates arrived.
package algorithms
