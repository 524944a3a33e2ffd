// Package work owns the directory of a plan: workers on any number of machines do the items
// of the plan there.
//
//	DIR/plan.json                    the plan
//	DIR/scenario.toml                the resolved scenario
//	DIR/claims/ID.json               who works on an item now, see [Claim]
//	DIR/ended/ID.json                its last claim that has ended: how far it came, why it failed
//	DIR/attempts/ID/WORKER/          the unfinished run directory of a group
//	DIR/attempts/ID/                 the checkpoints of another item
//	DIR/done/ID/                     the run directory of a finished group
//	DIR/needs/                       the states of finished items that are no groups
//
// Files whose names begin with a dot are temporary. All ages are differences of times that the file
// server gave to files.
//
// A worker claims an item: it creates the file of the claim, which it writes again at every
// heartbeat. A claim expires when its last heartbeat is a minute old, or its process was one of
// the same machine and is gone. Who finds an expired claim renames it to the ended ones, creates
// its own, and renames the attempt. So the earlier worker, if it lives, finds no directory any more and
// stops. A finished attempt is renamed to DIR/done/ID; the first one stays. Nothing relies on a claim:
// two workers that do the same item make the same bytes.
//
// The package must not know how items are computed, nor which engine starts workers.
package work
