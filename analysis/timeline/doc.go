// Package timeline keeps what a sample of a run's devices does when, as the run's
// journal tells it, and writes it as a Chrome trace, which Perfetto
// (https://ui.perfetto.dev) opens. Time is virtual.
//
// # Tracks
//
// The server has a track with its rounds and the updates of the coupling. A device
// has one with its attempts, each from the server's message to the answer or its
// loss, and within an attempt the stretches of download, computation and upload.
// What is left of an attempt is waiting for a radio to wake or a hub to pass
// something on. From its answer to the end of the round, or to the next message, a
// device waits. It is away when it cannot be reached, and flat when its battery is
// empty; both end what it was doing. Slices of a track nest and never overlap: an
// absence in which an attempt ends is two.
//
// # Size
//
// The sample is of at most as many devices as the selection says: first evenly
// spaced ones of those that its first round asks, then evenly spaced ones of the
// others. It is of the selection's rounds, which cut off what reaches beyond them.
// So the size of what is kept is bounded, however large the run is.
//
// The same run makes the same bytes. The package must not know how a run comes about,
// nor how pictures are drawn.
package timeline
