"""Serves a model from a file: ``python -m pyfedsim.model FILE.py[:Class]``."""

from __future__ import annotations

import json
import sys
import traceback

from pyfedsim.learner._load import load
from pyfedsim.learner._serve import last_line, take_pipes, write
from pyfedsim.model import Model, answer_all
from pyfedsim.model._here import pass_on


def main() -> None:
    """Load the class and answer fedsim's requests."""
    if len(sys.argv) != 2:  # noqa: PLR2004
        sys.exit("usage: python -m pyfedsim.model FILE.py[:Class]")
    requests, responses = take_pipes()
    if sys.argv[1] == "--here":
        pass_on(requests, responses)
        return
    try:
        model = load(sys.argv[1], Model)()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - fedsim reports any of them
        traceback.print_exc()
        if requests.readline():  # fedsim reports the error of its first request
            write(responses, json.dumps({"error": last_line(error)}).encode() + b"\n")
        sys.exit(1)
    answer_all(model, requests, responses)


if __name__ == "__main__":
    main()
