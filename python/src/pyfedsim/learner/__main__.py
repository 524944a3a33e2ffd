"""Serves a learner from a file: ``python -m pyfedsim.learner FILE.py[:Class]``."""

from __future__ import annotations

import argparse
import json
import sys
import traceback

from pyfedsim.learner._load import load
from pyfedsim.learner._serve import Server, last_line, take_pipes, write


def main() -> int:
    """Load the class and answer fedsim's requests. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m pyfedsim.learner",
        description="Serve a learner for fedsim on standard input and output.",
    )
    parser.add_argument(
        "file",
        metavar="FILE.py[:Class]",
        help="file with a subclass of pyfedsim.learner.Learner (the class, if it has several), or "
        "module:Class",
    )
    source = parser.parse_args().file
    requests, responses = take_pipes()
    try:
        learner = load(source)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - fedsim reports any of them
        traceback.print_exc()
        if requests.readline():  # fedsim reports the error of its first request
            write(responses, json.dumps({"error": last_line(error)}).encode() + b"\n")
        return 1
    server = Server(learner)
    for line in requests:
        write(responses, server.answer(line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
