// Package work owns the directory of a plan: workers on any number of machines do the groups
// of the plan there, and make the prerequisites that the groups share.
//
//	DIR/plan.json                    the plan
//	DIR/scenario.toml                the resolved scenario
//	DIR/needs/                       a state file for each prerequisite
//	DIR/attempts/ID/WORKER/          the unfinished run directory of a worker for a group
//	DIR/attempts/ID/WORKER.json      its last claim
//	DIR/done/ID/                     the attempt that finished the group
//	DIR/done/ID.json                 its last claim
//	DIR/claims/ID.json               who works on it now, see [Claim]
//	DIR/failed/ID.json               why it failed, see [Failure]
//
// ID is that of a group or of a prerequisite. Files whose names begin with a dot are temporary.
//
// Nothing relies on a claim: it only saves work. Two workers may do the same group, each in its
// own attempt. Their results have the same bytes, and the first attempt that is renamed to
// DIR/done/ID stays. All ages are differences of times that the file server gave to files.
//
// The package must not know how runs are computed, nor which engine starts workers.
package work
