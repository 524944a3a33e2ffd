// Package fairness shows which clients a model serves worst at the last evaluation of a run
// with values by client, and what sets them apart: their rows, the time of their
// computations and transfers, the updates that the server took, or their class in the fleet.
//
// # Worst and rest
//
// The worst clients of a run are the ceil(0.1 m) of its m clients with the worst values, of
// equal ones those with lower numbers. Numbers of a method are means over its seeds of the
// means over the clients of a seed.
//
// # Rank correlations
//
// Spearman's rank correlation, equal values at the mean of their ranks, relates how bad the
// value of a client is to each of its traits; to a class it relates membership. It is
// positive if clients with more of the trait are worse. That of a method is the mean over its
// seeds. Its size counts from a threshold on: 0.3, or the critical value of the two-sided
// t test at the level of 1 % for the clients of a single run, whichever is larger. More seeds
// do not lower the threshold: they repeat the same clients. A correlation is no cause, and
// traits may go together.
//
// The package must not know how values are made, stored or shown on a page.
package fairness
