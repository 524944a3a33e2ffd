"""Serves a model from a file: ``python -m pyfedsim.model FILE.py[:Class]``."""

from __future__ import annotations

import sys

from pyfedsim.learner._load import load
from pyfedsim.learner._serve import answer_loaded, take_pipes
from pyfedsim.model import Model, Server
from pyfedsim.model._here import pass_on


def main() -> None:
    """Load the class and answer fedsim's requests."""
    if len(sys.argv) != 2:  # noqa: PLR2004
        sys.exit("usage: python -m pyfedsim.model FILE.py[:Class]")
    requests, responses = take_pipes()
    if sys.argv[1] == "--here":
        pass_on(requests, responses)
        return
    answer_loaded(lambda: Server(load(sys.argv[1], Model)()), requests, responses)


if __name__ == "__main__":
    main()
