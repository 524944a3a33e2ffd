// Package traces provides recorded and generated behavior of devices. For each device,
// step functions of virtual time say when it is available, when its charger is plugged
// in, its battery level, the rates of its link and the speed of its processor.
//
// A [Trace] belongs to one device. The readers [CSV] and [ElectricityMaps], [Open] for
// either, and [Synthesize] return a [Sequence] of traces, one device at a time, so a file
// is summarized in the memory of one device. [Collect] packs a
// sequence into a [Set]: one array of change points per kind, without pointers, with 8
// bytes per change of a binary value and 16 per change of a number.
//
// A [Source] returns the value of a kind at an instant and its next change. A [View]
// reads a set, [Availability] generates intervals, and a [Combined] joins sources;
// [Fading] multiplies rates. A look-up may go forward or back in time by any amount.
// [Config] is the table [traces] of a scenario. Intervals are half-open: the new value
// holds at the instant of a change (docs/time.md#traces).
//
// Times are in nanoseconds of virtual time, rates in 10^6 bit/s. The package must not
// know of data, models, algorithms or rounds, or how a device responds to its trace.
package traces
