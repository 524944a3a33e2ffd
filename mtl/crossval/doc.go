// Package crossval makes the paper's tables of prediction errors (section 5.2 and
// the appendix on skewed data): a global, a local and a multi-task model, the
// regularization of each chosen by cross-validation on the training rows, over
// shuffles of the rows.
//
// It owns the models, the choice of lambda, the mean over shuffles, where the
// data of a table come from, and how a table is written. All is solved centrally:
// it must not know of time, devices, links or rounds, nor how a scenario is
// written.
package crossval
