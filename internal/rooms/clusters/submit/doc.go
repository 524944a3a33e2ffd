// Package submit sends the missing groups of a plan to an engine: a scheduler that runs tasks, each
// a worker.
//
// The engine of a scheduler is one template (engines/), which gives the script or manifest
// and the command that submits it. A site can write another.
//
// It must not know how groups are computed, nor the options of a scheduler.
package submit
