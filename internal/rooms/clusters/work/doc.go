// Package work owns the directory of a plan: workers on any number of machines do the items
// of the plan there.
//
//	DIR/plan.json                    the plan
//	DIR/scenario.toml                the resolved scenario
//	DIR/claims/ID.json               who works on an item, or did so last: how far it came, why it failed, see [Claim]
//	DIR/attempts/ID/WORKER/          the unfinished run directory of a group
//	DIR/attempts/ID/                 the checkpoints of another item
//	DIR/done/ID/                     the run directory of a finished group
//	DIR/needs/                       the states of finished items that are no groups
//
// Files whose names begin with a dot are temporary. All ages are differences of times that the file
// server gave to files.
//
// A worker claims an item: it creates the file of the claim, which it writes again at every
// heartbeat and when it ends. The item is free when its claim has ended, when its last heartbeat is a
// minute old, or when its process was one of the same machine and is gone. Who finds a free claim
// renames it away, creates its own, and renames the attempt. So the earlier worker, if it lives, finds
// no directory any more and stops. A finished attempt is renamed to DIR/done/ID; the first one stays.
// Nothing relies on a claim: two workers that do the same item make the same bytes. All decisions of a
// worker follow from the [State] that "fedsim show" prints.
//
// Schedulers start tasks, limit them and start lost ones again; they know neither items nor checkpoints.
// What that leaves to do, with which engines (L: local workers and a shared directory without a
// scheduler, S: Slurm, Kubernetes, HyperQueue), and the test that fails without it:
//
//	claim                        LS  work that is done twice                       TestClaim
//	heartbeat and expiry         LS  the work of a lost machine                    TestStaleClaimIsTakenOver
//	number of the process        L   the minute after a kill                       TestClaimOfEndedProcess
//	taking an attempt over       LS  the checkpoint of a lost worker               TestTimeOfAllWorkers
//	moving it                    LS  the group from a worker that is only slow     TestAttemptTakenOver
//	copying it                   LS  the bytes from the files that it has open     TestTakeOverOfALivingWriter
//	stop when it is taken        LS  the time of a worker that is only slow        TestGroupDoneElsewhere,
//	                                                                              TestPrerequisiteClaimedElsewhere
//	claims that have ended       LS  reasons of failures, times of all workers     TestFailure, TestTimeOfAllWorkers
//	clock of the file server      S  claims from machines with another clock       TestStateOfReadOnlyDirectory
//	failing with what it needs   LS  a wait for what nobody will make               TestFailureEndsTheWait
//	waiting for heartbeats        S  a killed worker's group, when all others end  TestNoWait
//	a group put aside            LS  other groups from an error of this machine    TestGroupThatThisMachineCannotDo
//	errors of this machine       LS  groups from failing on a wrong machine        TestOtherData
//	checksums of prerequisites   LS  results from a corrupt file                   TestCorruptPrerequisite
//
// The package must not know how items are computed, nor which engine starts workers.
package work
