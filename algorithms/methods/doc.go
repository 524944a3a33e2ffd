// Package methods has the methods that are not in the paper. A program that imports it, as package
// scenario does, has their names:
//
//	import _ "fedsim/algorithms/methods"
//
// One model is averaged by fedavg, fedprox, fedavgm, fedadagrad, fedadam, fedyogi, fednova, feddyn, scaffold,
// fedau, fedvarp, mifa and mifa-wait, with hubs by hierfavg, and without rounds by fedasync, fedbuff and
// fedcompass; asgd, ringmaster, rennala, rescaled and ringleader take gradients. Each client has its own
// model in ditto, apfl, per-fedavg, pfedme, fedrep, fedper, fedu and gossip, and one of several, or a mixture of
// them, in ifca and fedem. async-mocha is MOCHA without rounds. A method is a file, and registers itself.
//
// It must not know of time, devices' hardware, links, drops or deadlines: see package algorithms.
package methods
