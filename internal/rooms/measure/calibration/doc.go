// Package calibration fits the model of a federation's times to logs of real runs, and says how
// well each value is known.
//
// [Fit] estimates the time of an attempt of client i,
//
//	waiting for the client's poll
//	+ rtt/2 + 8 max(0, wire_factor bytes_down - burst)/rate_down
//	+ launch
//	+ s_i (task_overhead + step_overhead steps + traffic bytes/1e9 + FLOPs/rate) e
//	+ rtt/2 + 8 max(0, wire_factor bytes_up - burst)/rate_up
//	+ waiting for the server's poll
//
// by nonnegative least squares on relative errors, with confidence intervals by bootstrap of whole
// rounds. What a log cannot tell apart is named and keeps its default. [Calibration.Fleet] and
// [Calibration.Scenario] make a fleet and a scenario of the result. [Calibration.Figures] hands
// times and estimates to package plots.
//
// The package must not know how runs are simulated or stored, or how figures look.
package calibration
