"""Serves a learner from a file: ``python -m pyfedsim.learner FILE.py [Class]``."""

from __future__ import annotations

import argparse

from pyfedsim.learner._load import load
from pyfedsim.learner._serve import Server, answer_loaded, take_pipes


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
    answer_loaded(lambda: Server(load(source)), *take_pipes())


if __name__ == "__main__":
    main()
