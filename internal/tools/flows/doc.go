// Package flows simulates transfers that share links. It models one direction of a tree:
// every device has its own rate, devices may lie in cells behind one link each, and
// all cells lie behind the server's access link.
//
// Rates are max-min fair at every instant, as computed by progressive filling (Bertsekas
// and Gallager, Data Networks, section 6.5.2): all rates grow equally until a link on
// the way is full or the device's own rate is reached. On a tree that is
//
//	rate of a flow = min(own rate, level of its cell, level of the server's link).
//
// The level of a link fills its capacity. For a cell it is the x with sum over its flows
// of min(own rate, x) = capacity. For the server's link it is the x with sum over cells
// of min(the cell's capacity, sum of min(own rate, x)) = capacity. It is infinite if the
// flows do not fill the link.
//
// The end of a flow that follows the level of a link is not scheduled separately. A
// FairShare has clocks that count service instead of time ("virtual time": Parekh and
// Gallager, IEEE/ACM Transactions on Networking 1993), one per link and one per class of
// flows with equal own rates in the same cell. A flow ends at a fixed reading of the
// clock of its class. An arrival or departure that changes the level only changes the
// rate of a clock. It costs O((1 + k) log n) for n flows, where k is the number of
// classes and cells whose limiting link changes: 0 for equal own rates on a contended
// link, about 1 for different own rates, all of them in the worst case.
//
// The package converts bytes to instants, given capacities and rates. It schedules no
// events and draws no random numbers: the owner of the event queue asks for the next
// instant at which a flow ends. It must not know the contents of transfers, or why
// capacities and rates change.
package flows
