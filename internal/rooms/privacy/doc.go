// Package privacy owns what privacy costs: the messages and the work of secure aggregation,
// the ring that it rounds values to, and the clipping, the noise and the accountant of
// client-level differential privacy. docs/methods.md#privacy has the formulas and their sources.
//
// It must not know any method, time, devices and links.
package privacy
