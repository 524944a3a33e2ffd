"""Serves a learner from a file: ``python -m pyfedsim.learner FILE.py [Class]``."""

from __future__ import annotations

import argparse
import json
import sys
import traceback

from pyfedsim.learner._load import load
from pyfedsim.learner._serve import answer_all, last_line, take_pipes, write


def main() -> None:
    """Load the class and answer fedsim's requests."""
    parser = argparse.ArgumentParser(
        prog="python -m pyfedsim.learner",
        description="Serve a learner for fedsim on standard input and output.",
    )
    parser.add_argument(
        "file",
        metavar="FILE.py[:Class]",
        help='file with a subclass of pyfedsim.learner.Learner, or "module:Class"',
    )
    parser.add_argument(
        "name",
        metavar="Class",
        nargs="?",
        help="the class, if the file has several. A scenario finds a FILE.py beside it",
    )
    arguments = parser.parse_args()
    source = arguments.file + (f":{arguments.name}" if arguments.name else "")
    requests, responses = take_pipes()
    try:
        learner = load(source)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - fedsim reports any of them
        traceback.print_exc()
        if requests.readline():  # fedsim reports the error of its first request
            write(responses, json.dumps({"error": last_line(error)}).encode() + b"\n")
        sys.exit(1)
    answer_all(learner, requests, responses)


if __name__ == "__main__":
    main()
