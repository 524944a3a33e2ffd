"""Runs a HyperQueue server and two workers with a core each until standard input ends.

The argument is the folder of the server. A line on standard output says that it runs.
"""

import sys

from hyperqueue.cluster import LocalCluster, WorkerConfig

with LocalCluster(sys.argv[1]) as cluster:
    for _ in range(2):
        cluster.start_worker(WorkerConfig(cores=1))
    print("ready", flush=True)
    sys.stdin.read()
