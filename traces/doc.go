// Package traces holds what devices were seen to do: for each traced device,
// step functions of virtual time that say when it is available, when its
// charger is plugged in, and how full its battery, how fast its link and its
// processor are.
//
// A [Recording] is the trace of one device, and the readers ([CSV], [FedScale],
// [FLASH], [Synthesise], or [Open] for whichever a file holds) are sequences of
// them, one device at a time, so that a file is converted or summed up in the
// memory of one device. [Collect] packs a sequence into a [Set]: one arena of
// change points for each kind, without pointers, 8 bytes for a change of a
// switch and 16 for a change of a number. A [View] is a set as the devices of a
// simulation see it.
//
// Look-ups keep no state: each is a binary search on the change points, so that
// the answer is right after any jump in time, forwards or backwards, and a view
// may be used by several goroutines.
//
// It must not know of data, models, algorithms or rounds, nor what a device
// does with what its trace says.
package traces
