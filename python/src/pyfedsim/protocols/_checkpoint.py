"""The file of a learner's state: NumPy's .npz format, without pickle.

The names of its arrays are paths: ``parameters/NAME``, ``server/NAME``,
``client/NUMBER/NAME``, ``sent/NUMBER/NAME``, ``change/NUMBER/NAME`` and ``state/NUMBER/NAME``.
The array ``meta`` has JSON text: the lists of clients, since a client may have no arrays.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pyfedsim.protocols._arrays import Arrays, Pending, Sent, Tentative, freeze

if TYPE_CHECKING:
    from pyfedsim.protocols._learner import Learner

_FORMAT = 1


def write(path: Path, learner: Learner) -> None:
    """Write the state of a learner between two rounds or responses."""
    if learner.pending.committed:
        raise RuntimeError("save in an open round: end it first")
    arrays: Arrays = {}

    def put(group: str, members: Arrays) -> None:
        arrays.update({f"{group}/{name}": np.asarray(value) for name, value in members.items()})

    put("parameters", learner.parameters)
    put("server", learner.server_state)
    for client, members in learner.client_state.items():
        put(f"client/{client}", members)
    for client, sent in learner.pending.sent.items():
        put(f"sent/{client}", sent.parameters)
    for client, update in learner.pending.tentative.items():
        put(f"change/{client}", update.change)
        put(f"state/{client}", update.state or {})
    objects = [name for name, value in arrays.items() if value.dtype.hasobject]
    if objects:
        raise TypeError(f"{objects[0]} holds Python objects, must hold numbers")
    meta = {
        "format": _FORMAT,
        "version": learner.pending.version,
        "clients": list(learner.client_state),
        "sent": [[client, sent.version] for client, sent in learner.pending.sent.items()],
        "tentative": [
            [c, update.state is not None] for c, update in learner.pending.tentative.items()
        ],
    }
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def read(path: Path, learner: Learner) -> None:
    """Set the state of a learner to that of a file."""
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    meta = json.loads(arrays["meta"].tobytes())
    if meta["format"] != _FORMAT:
        raise ValueError(f"{path} has format {meta['format']}, this version reads {_FORMAT}")
    groups = _grouped(arrays)

    def group(*name: Any) -> Arrays:
        return groups.get("/".join(map(str, name)), {})

    learner.parameters = group("parameters")
    learner.server_state = group("server")
    learner.client_state = {client: group("client", client) for client in meta["clients"]}
    learner.pending = Pending(
        tentative={
            client: Tentative(group("change", client), group("state", client) if stateful else None)
            for client, stateful in meta["tentative"]
        },
        sent={client: Sent(freeze(group("sent", client)), v) for client, v in meta["sent"]},
        version=meta["version"],
    )


def _grouped(arrays: Arrays) -> dict[str, Arrays]:
    groups: dict[str, Arrays] = {}
    for path, value in arrays.items():
        parts = path.split("/")
        depth = 1 if parts[0] in ("parameters", "server") else 2
        groups.setdefault("/".join(parts[:depth]), {})["/".join(parts[depth:])] = value
    return groups
