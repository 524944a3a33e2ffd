// Package crossval computes the paper's tables of prediction errors (section 5.2 and
// the appendix on skewed data). It trains a global, a local and a multi-task model on
// several shuffles of the rows. Cross-validation on the training rows chooses the
// regularization of each.
//
// The package owns the models, the choice of lambda, the mean over shuffles, the search
// for data files, and the output of a table. All models are solved centrally. The
// package must not know of time, devices, links or rounds, nor of the scenario format, nor who makes the
// parts of a table and when they are saved.
package crossval
