// Package external is the method "external": a learner in another process, which answers
// JSON lines on its standard input and output (docs/protocols.md#learner). The learner has
// the model and the data. Only numbers of clients, bytes, FLOPs and metrics cross the pipe.
//
// It is external models, too: programs that compute the gradients of a model for the methods of
// fedsim (docs/protocols.md#model), with values in files that both sides share.
//
// It must not know time, devices, links or the content of models.
package external
