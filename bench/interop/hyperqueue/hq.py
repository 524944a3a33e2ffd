"""A stand-in for hq, HyperQueue's command line, which PyPI does not have.

It knows "hq submit FILE", with the options of the lines "#HQ" in FILE, and "hq job wait ID".
It passes them to a real server, in the folder HQ_SERVER_DIR, by HyperQueue's Python API.
As in hq, tasks of an array count from 1 and any other option is an error.
"""

import argparse
import os
import pathlib
import shlex
import sys

from hyperqueue import Client, Job
from hyperqueue.ffi.protocol import ResourceRequest


def submit(file: str) -> None:
    lines = pathlib.Path(file).read_text().splitlines()
    words = [w for line in lines if line.startswith("#HQ ") for w in shlex.split(line[4:])]
    options = argparse.ArgumentParser(prog="hq submit", allow_abbrev=False)
    options.add_argument("--name")
    options.add_argument("--array", type=lambda text: [int(n) for n in text.split("-")])
    options.add_argument("--cpus", type=int, default=1)
    options.add_argument("--crash-limit", type=int)
    options.add_argument("--priority", type=int, default=0)
    o = options.parse_args(words)
    first, last = o.array
    job = Job(os.getcwd(), name=o.name, max_fails=None)
    for task_id in range(first, last + 1):
        job.program(
            [file],
            stdout=f"{task_id}.stdout",
            stderr=f"{task_id}.stderr",
            priority=o.priority,
            crash_limit=o.crash_limit,
            resources=ResourceRequest(cpus=o.cpus),
        ).task_id = task_id
    print("Job submitted successfully, job ID:", client().submit(job).id)


def client() -> Client:
    return Client(os.environ["HQ_SERVER_DIR"])


match sys.argv[1:]:
    case ["submit", file]:
        submit(file)
    case ["job", "wait", number]:
        client().connection.wait_for_jobs([int(number)], lambda jobs: None)
    case words:
        sys.exit(f"error: unexpected argument {words}")
