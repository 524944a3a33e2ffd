"""Run a Flower app on the virtual clock of a scenario."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import os
import platform
import re
import threading
from collections.abc import Iterator, Mapping
from logging import WARNING
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pyfedsim.engine import Engine
from pyfedsim.errors import FedsimError, UsageError
from pyfedsim.runs import Run

from . import _releases as flwr
from .app import _running
from .clients import Clients, exits, own_streams, seed_streams
from .grid import RUN_ID, VirtualGrid
from .patches import patched
from .rounds import Rounds
from .work import Amount, Meter

if TYPE_CHECKING:
    from pyfedsim._scenario import Scenario, Value

_one_at_a_time = threading.Lock()

_RESUME = re.compile(
    r"(?:the checkpoint is saved: fix the cause, then start|resume by starting) the driver with "
    r"--resume .*"
)
_RESUME_OR = re.compile(r"resume it by starting \S+ with --resume .*, (?=use --force)")


class _Engine(Engine):
    """An engine whose run cannot be resumed: no responses of clients are stored."""

    def _worded(self, line: str) -> str:
        again = "run again with force=True (fedsim-flower: --force)"
        return _RESUME_OR.sub("", _RESUME.sub(again, line))


class FlowerRun(Run):
    """The results of a Flower app: a run directory, and what the app left in memory.

    Attributes
    ----------
    arrays
        The final model: an ArrayRecord, or Parameters of a legacy strategy; None if no
        strategy returned one.
    context
        Flower's Context of the ServerApp after the run.
    seconds
        Virtual seconds of the run.
    event_hash
        Hash of all events; equal for equal simulations.
    model_sha256
        Hash of the final model; None without one.
    calls
        Number of calls of the ClientApp.
    """

    def __init__(
        self,
        directory: str,
        *,
        arrays: Any,
        context: Any,
        seconds: float,
        event_hash: str,
        model_sha256: str | None,
        calls: int,
    ) -> None:
        super().__init__(directory)
        self.arrays = arrays
        self.context = context
        self.seconds = seconds
        self.event_hash = event_hash
        self.model_sha256 = model_sha256
        self.calls = calls


def run(
    server_app: Any,
    client_app: Any,
    scenario: Scenario,
    *,
    run_config: Mapping[str, Any] | None = None,
    flops: Amount | None = None,
    flops_per_example: float | Mapping[str, float] | None = None,
    epochs: float = 1,
    steps: Amount | None = None,
    traffic_bytes: Amount | None = None,
    seed: int = 1,
    method: str = "flower",
    lazy: bool = False,
    poll: bool = False,
    rounds: Literal["auto", "app"] = "auto",
    set: Mapping[str, Value] | None = None,  # noqa: A002 - as in fedsim --set
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    figures: bool = True,
    allow_nonfinite: bool = False,
) -> FlowerRun:
    """Run an unmodified Flower app on the devices and links of a scenario.

    The app runs in this process and thread. Flower's clock is replaced while it runs; one app
    runs at a time.

    Parameters
    ----------
    server_app, client_app
        Flower's ServerApp and ClientApp.
    scenario
        Path of a scenario, name of a shipped one, or its content as a dictionary. Its data
        give the number of clients; its methods are ignored.
    run_config
        Configuration of the run, as in Flower's Context.
    flops
        FLOPs of a message by kind (train, evaluate, query) or type, as in
        ``{"train": 1e9, "query": 0}``, or a function of (client, message, reply). A reply's
        MetricRecord key ``fedsim-flops`` comes first. FLOPs that are declared nowhere are
        counted by torch, if the app has imported it.
    flops_per_example
        FLOPs of training on one of the reply's ``num-examples`` once; evaluation takes a third
        of it. Or a mapping from kinds (train, evaluate, query) to FLOPs for one example.
    epochs
        Passes over the examples in an attempt of kind train, for ``flops_per_example``.
    steps, traffic_bytes
        Mini-batch steps of a message, and bytes of memory that its work reads and writes, like
        ``flops``; the keys ``fedsim-steps`` and ``fedsim-traffic-bytes`` come first. They take
        time if the devices of the scenario have overheads; 0 if nothing declares them.
    seed
        Seed of the run: of what happens to devices, and of Python's, NumPy's and torch's
        global random streams.
    method
        Name of the method in the results.
    lazy
        Call a ClientApp only when its downlink has ended. The results have the same bits;
        attempts that fail before cost no real time, the others a little more.
    poll
        Whether ``pull_messages`` returns at once. By default the clock advances to the next
        response. Poll only if the app calls :func:`pyfedsim.flower.sleep`.
    rounds
        ``auto``: a round for each round of the strategy, or for each exchange of kind train;
        ``app``: a round for each call of :func:`pyfedsim.flower.close`.
    set
        Settings that override keys of the scenario.
    out
        Run directory; None: ``runs/<scenario>-<method>``, with a number in a notebook if that
        holds a run.
    force
        Overwrite an existing run.
    figures
        Draw the figures of the scenario at the end.
    allow_nonfinite
        Whether arrays of replies to train messages may have NaN or infinities.

    Returns
    -------
    FlowerRun
        Where the results are, and their hashes.

    Raises
    ------
    RunError
        If every training message failed in the ClientApp, or a reply has NaN or infinities.
    UsageError
        If FLOPs are not declared, the ClientApp returns no Message, or something cannot be run.
    TypeError
        If an argument has a wrong type.
    ScenarioError
        If the scenario is wrong.
    Stalled
        If the app waits for responses that never come.
    """
    if rounds not in ("auto", "app"):
        raise UsageError(f"rounds={rounds!r}: must be 'auto' or 'app'")
    _require("server_app", server_app, flwr.ServerApp)
    _require("client_app", client_app, flwr.ClientApp)
    _require("scenario", scenario, (str, os.PathLike, Mapping), "a path, a name or a dictionary")
    _require("run_config", run_config, (Mapping, type(None)), "a dictionary")
    _require("epochs", epochs, Real, "a number")
    meter = Meter(flops, flops_per_example, epochs, steps, traffic_bytes)
    config = dict(run_config or {})
    notes = {
        "flwr": flwr.release(),
        "numpy": np.__version__,
        "python": platform.python_version(),
        "calls": "lazy" if lazy else "eager",
    }
    if not _one_at_a_time.acquire(blocking=False):
        raise UsageError("another Flower app runs in this process; run one at a time")
    try:
        with _Engine(
            scenario,
            method=method,
            seed=seed,
            set=set,
            out=out,
            force=force,
            notes=notes,
            figures=figures,
        ) as engine:
            clients = Clients(
                client_app, engine.clients, seed, config, meter, allow_nonfinite=allow_nonfinite
            )
            return _run(server_app, clients, engine, config, seed, lazy, poll, rounds)
    finally:
        _one_at_a_time.release()


def _require(name: str, value: object, kind: Any, text: str = "") -> None:
    """Raise TypeError if an argument has another type."""
    if not isinstance(value, kind):
        raise TypeError(
            f"{name} is of type {type(value).__name__}; it must be "
            f"{text or 'a ' + kind.__name__}, as in run(server_app, client_app, scenario)"
        )


def _run(
    server_app: Any,
    clients: Clients,
    engine: Engine,
    config: dict[str, Any],
    seed: int,
    lazy: bool,
    poll: bool,
    by: str,
) -> FlowerRun:
    rounds = Rounds(engine, by_app=by == "app")
    grid = VirtualGrid(engine, clients, rounds, lazy=lazy, poll=poll)
    context = flwr.Context(
        run_id=RUN_ID, node_id=0, node_config={}, state=flwr.RecordDict(), run_config=dict(config)
    )
    final: list[Any] = []
    _running.append((grid, rounds))
    try:
        with patched(grid, rounds, final.append), own_streams(), _frozen():
            seed_streams(seed, "server")
            with exits("the ServerApp"):
                server_app(grid=grid, context=context)
        rounds.finish()
        clients.check_trained()
    except Exception:
        with contextlib.suppress(FedsimError):
            engine.finish("failed")
        raise
    finally:
        _running.pop()
    grid.warn_of_timeouts()
    seconds = engine.now_ns / 1e9
    arrays = final[-1] if final else None
    digest = None if arrays is None else model_sha256(arrays)
    warnings = clients.warnings()
    for text in warnings:
        flwr.log(WARNING, "%s", text)
    answer = engine.finish("done", model_sha256=digest, warnings=warnings)
    return FlowerRun(
        answer["directory"],
        arrays=arrays,
        context=context,
        seconds=seconds,
        event_hash=answer["event_hash"],
        model_sha256=digest,
        calls=clients.calls,
    )


@contextlib.contextmanager
def _frozen() -> Iterator[None]:
    """Keep modules out of garbage collections, which otherwise take a tenth of the run."""
    if gc.get_freeze_count():  # by the caller
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def model_sha256(model: Any) -> str:
    """Return the SHA-256 of the names and contents of an ArrayRecord, or of legacy Parameters."""
    digest = hashlib.sha256()
    if hasattr(model, "tensors"):
        for tensor in model.tensors:
            digest.update(tensor)
    else:
        for key, array in model.items():
            digest.update(key.encode() + b"\0" + array.data)
    return digest.hexdigest()
