// Package traces holds what devices were seen to do: for each traced device,
// step functions of virtual time that say when it is available, when its
// charger is plugged in, and how full its battery, how fast its link and its
// processor are.
//
// A [Trace] is the trace of one device, and the readers ([CSV], [FedScale],
// [FLASH], [Synthesize], or [Open] for whichever a file holds) are sequences of
// them, one device at a time, so that a file is converted or summed up in the
// memory of one device. [Collect] packs a sequence into a [Set]: one arena of
// change points for each kind, without pointers, 8 bytes for a change of a
// switch and 16 for a change of a number.
//
// A [Source] answers what a device does at an instant and when that changes: a
// [View] from a set, [Availability] by chance, a [Combined] from several, with rates that
// [Fading] multiplies by chance. Whatever was asked before, the answer is right after any jump in time, forwards or
// backwards. [Config] is the table of a scenario that says which. Intervals are
// half-open: at the instant of a change the new value holds (docs/traces.md).
//
// It must not know of data, models, algorithms or rounds, nor what a device
// does with what its trace says.
package traces
