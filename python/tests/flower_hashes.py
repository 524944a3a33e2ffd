"""Print the hashes of thirteen strategies, an asynchronous loop and a legacy app as JSON.

They must not depend on the release of Flower, the hash seed of Python, or the call of
ClientApps (``--lazy``).
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import flower_apps as apps
import flower_legacy
from pyfedsim import flower


def hashes(*, lazy: bool) -> dict[str, list[Any]]:
    """Return events, model and metrics of each app."""
    found = {}
    runs: dict[str, tuple[Any, Any]] = {
        name: (apps.server_app(make()), apps.client_app) for name, make in apps.STRATEGIES.items()
    }
    runs["asynchronous"] = (apps.asynchronous_app(60), apps.client_app)
    runs["legacy"] = (flower_legacy.server_app(3), flower_legacy.client_app)
    with tempfile.TemporaryDirectory() as folder:
        for name, (server, client) in runs.items():
            run = flower.run(
                server,
                client,
                apps.scenario(**apps.DROPS),
                flops_per_example=apps.FLOPS_PER_EXAMPLE,
                lazy=lazy,
                out=Path(folder) / name,
                figures=False,
            )
            rows = (Path(folder) / name / "rounds.parquet").read_bytes().hex()
            found[name] = [run.event_hash, run.model_sha256, rows]
    return found


if __name__ == "__main__":
    json.dump(hashes(lazy="--lazy" in sys.argv), sys.stdout)
