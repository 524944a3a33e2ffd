// Package timeline records the activities of a sample of a run's devices from the run's
// journal, and writes them as a Chrome trace, which Perfetto (https://ui.perfetto.dev)
// opens. Time is virtual.
//
// # Tracks
//
// The server has a track with its rounds and the updates of the coupling. A device has
// one with its attempts, each from the server's message to the response or the failure.
// An attempt holds slices of downlink, computation and uplink. In the rest of an attempt
// a radio wakes, or a hub passes something on. A device waits from its response to the
// end of the round, or to the next message. It is unavailable, or depleted when its
// battery is empty. Slices of a track nest and never overlap: a slice in which an attempt
// ends is two.
//
// # Size
//
// The sample has at most as many devices as the selection says: first evenly spaced ones
// of those that its first round asks, then evenly spaced ones of the others. It covers
// the selection's rounds, which cut longer slices. So the size of a timeline is bounded,
// however large the run is.
//
// The same run gives the same bytes. The package must not know how a run is simulated,
// nor how pictures are drawn.
package timeline
