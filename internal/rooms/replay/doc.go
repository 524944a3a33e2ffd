// Package replay owns decorators of methods that give answers again which the method has given
// before. A method answers with sizes of messages, work, and which responses it takes; events
// depend on nothing else of it. A [Log] logs the answers of a run: a checkpoint is the log
// and the state of the method, and a resumed run gives the method's answers again, without any
// computation, until the point of the checkpoint. A [Shared] computes rounds once
// for several runs that differ in time alone.
//
// It must not know time, devices, links, or where logs are stored.
package replay
