// Package flows is transfers that share links: one direction of a tree in which
// every device has a rate of its own, devices may lie in cells behind one link
// each, and all cells lie behind the server's access link.
//
// Rates are max-min fair at every instant, the limit that progressive filling
// reaches (Bertsekas and Gallager, Data Networks, section 6.5.2): every flow's
// rate grows alike until a link on its way is full or the device's own rate is
// reached. On a tree that is
//
//	rate of a flow = min(own rate, level of its cell, level of the server's link),
//
// a level being what fills the link's capacity: for a cell, the x with
// sum over its flows of min(own rate, x) = capacity; for the server's link, the
// x with sum over cells of min(the cell's capacity, sum of min(own rate, x)) =
// capacity; infinite where the flows do not fill it.
//
// What follows a link's level is not planned one by one. A FairShare keeps clocks
// that count service instead of time, one for each link and one for each class
// of flows with the same own rate in the same cell; a flow ends at a fixed
// reading of the clock of its class, and an arrival or departure that changes
// the level changes how fast a clock runs and nothing else ("virtual time":
// Parekh and Gallager, IEEE/ACM Transactions on Networking 1993). So an arrival
// or a departure costs O((1 + k) log n) for n flows, k being the number of
// classes and cells whose limiting link changes with it: 0 for equal own rates
// on a contended link, about 1 when the own rates are spread out, at worst all
// of them.
//
// The package owns bytes to instants, for given capacities and rates. It
// schedules no events and draws no numbers: whoever owns the event queue asks
// for the next instant at which something ends. It must not know what is
// transferred, nor why capacities and rates change.
package flows
