"""Serves a class of a file: ``python -m pyfedsim.protocols KIND FILE.py[:Class]``."""

from __future__ import annotations

import argparse

from pyfedsim.protocols._load import load, server_of
from pyfedsim.protocols._serve import answer_loaded, take_pipes


def main() -> None:
    """Load the class and answer fedsim's requests."""
    parser = argparse.ArgumentParser(
        prog="python -m pyfedsim.protocols",
        description="Answer the requests of fedsim on standard input and output.",
    )
    parser.add_argument("kind", choices=["model", "method", "here"])
    parser.add_argument(
        "source",
        metavar="FILE.py[:Class]",
        nargs="?",
        default="",
        help='the class in a file, or "module:Class"; not needed if the file has one of this kind',
    )
    arguments = parser.parse_args()
    pipes = take_pipes()
    if arguments.kind == "here":
        from pyfedsim.model._here import pass_on  # noqa: PLC0415 - imports sockets

        pass_on(*pipes)
        return
    answer_loaded(lambda: server_of(load(arguments.source, arguments.kind)), *pipes)


if __name__ == "__main__":
    main()
