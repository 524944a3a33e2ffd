"""Drive devices and links of a scenario in virtual time.

:class:`Engine` starts ``fedsim engine SCENARIO`` and has one method for each operation
of its line protocol (docs/protocols.md#engine). Requests and events are dictionaries
with the fields of the protocol: nothing is copied between JSON and the caller.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

from pyfedsim import _binary
from pyfedsim._notebook import numbered
from pyfedsim._scenario import arguments, as_file
from pyfedsim.errors import (
    EngineClosedError,
    EngineError,
    ScenarioError,
    UsageError,
    error_of_exit,
    in_python,
    reports_failure,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType

    from typing_extensions import NotRequired, Self

    from pyfedsim._scenario import Scenario, Value

__all__ = [
    "AvailableResponse",
    "ClientMetric",
    "CloseResponse",
    "Engine",
    "Event",
    "ExchangeResponse",
    "FinishResponse",
    "Message",
    "Metric",
    "MetricValue",
    "Refusal",
    "WaitResponse",
]

VERSION = 1
"""Version of the engine protocol."""

Kind = Literal["train", "evaluate", "query"]
End = Literal["all", "count", "until", "work", "stalled", "round"]

_STDERR_LINES = 50  # that an error shows
_GRACE_S = 10.0  # for the end of the process after the end of its input


class Message(TypedDict):
    """A request to a client: downlink, computation, uplink.

    ``id`` is a positive integer that the driver counts up, and ``client`` a number from 0.
    ``down_bytes`` and ``up_bytes`` are exact. ``expires_ns`` is the virtual time in nanoseconds at
    which the attempt ends without a response; None: never. ``flops``
    and ``up_bytes`` are None if they become known after the downlink: the attempt then
    stops with the event ``work`` and continues after :meth:`Engine.work`. ``steps`` is the number
    of mini-batch steps of the work, and ``traffic_bytes`` the bytes of memory that it reads and
    writes. They take time if the devices of the scenario have overheads.
    """

    id: int
    client: int
    down_bytes: int
    flops: float | None
    up_bytes: int | None
    expires_ns: NotRequired[int | None]
    steps: NotRequired[float]
    traffic_bytes: NotRequired[float]


class Event(TypedDict):
    """What happened to a message, at virtual time ``t_ns`` in nanoseconds.

    ``id`` and ``client`` are those of the message, ``ev`` is what happened, and ``reason`` why an
    attempt failed.
    """

    id: int
    client: int
    t_ns: int
    ev: Literal["response", "failure", "expired", "work"]
    reason: NotRequired[str]


class Refusal(TypedDict):
    """A message that was not sent: its ``id``, and the ``reason``."""

    id: int
    reason: str


class Metric(TypedDict):
    """A metric that the driver will report: its ``name``, and its ``unit``, such as "ms".

    ``split`` is ``train``, ``validation``, ``test`` or empty; ``better`` is ``higher``,
    ``lower`` or empty.
    """

    split: str
    name: str
    better: NotRequired[str]
    unit: NotRequired[str]


class MetricValue(TypedDict):
    """The ``value`` of a metric of the whole model, in the unit of the metric.

    ``split`` and ``name`` are those of the metric. ``better`` and ``unit`` declare a metric that
    ``hello`` did not declare.
    """

    split: str
    name: str
    value: float
    better: NotRequired[str]
    unit: NotRequired[str]


class ClientMetric(TypedDict):
    """The ``values`` of a metric of ``clients``: one value for each client, in its unit.

    ``split`` and ``name`` are those of the metric. ``rows`` are how many rows each client has,
    by which the weighted mean weighs them; without it, or with None, they are not known. ``better``
    and ``unit`` declare a metric that ``hello`` did not declare.
    """

    split: str
    name: str
    clients: Sequence[int]
    values: Sequence[float]
    rows: NotRequired[Sequence[int | None]]
    better: NotRequired[str]
    unit: NotRequired[str]


class AvailableResponse(TypedDict):
    """Ranges of ``available`` clients, both ends included, at virtual time ``now_ns``.

    That changes next at ``next_change_ns``, in nanoseconds; None: never.
    """

    now_ns: int
    available: list[list[int]]
    next_change_ns: int | None


class SendResponse(TypedDict):
    """The messages that were ``refused`` at virtual time ``now_ns`` in nanoseconds."""

    now_ns: int
    refused: list[Refusal]


class WaitResponse(TypedDict):
    """The ``events`` until ``now_ns``, in order of time, and what ended the wait (``end``)."""

    now_ns: int
    events: list[Event]
    end: End


class ExchangeResponse(WaitResponse):
    """The ``events`` of an exchange until ``now_ns``, and its messages that were ``refused``.

    ``end`` is what ended the wait. ``taken`` has the ids whose responses the server takes, if a policy decided.
    """

    refused: list[Refusal]
    taken: NotRequired[list[int]]


class CloseResponse(TypedDict):
    """The ``row`` of the round, with the columns of rounds.parquet, at ``now_ns``."""

    now_ns: int
    row: dict[str, Any]


class FinishResponse(TypedDict):
    """The ``directory`` of the results, and the hashes of all events and of the model.

    ``event_hash`` is equal for equal simulations; ``model_hash`` is None without a model.
    """

    directory: str  # None if a failed run has saved nothing
    event_hash: str
    model_hash: NotRequired[str | None]


class Engine:
    """The devices and links of a scenario, driven by this program.

    An engine is a context manager. Leaving it without :meth:`finish` ends the program
    and leaves a checkpoint if there is one. Methods raise
    :class:`~pyfedsim.errors.EngineError` for an operation that the engine refuses;
    such an operation changes nothing. An engine may be used by several threads; their
    operations are done one after another.

    Parameters
    ----------
    scenario
        Path of a scenario, name of a shipped scenario, or its content as a dictionary.
        It describes one run: no sweep. Its methods are ignored.
    method
        Name of the method, for the results.
    seed
        Seed of the run.
    metrics
        The metrics that :meth:`close_round` will report.
    set
        Settings that override keys of the scenario.
    out
        Run directory; None: ``runs/<scenario>-<method>``, with a number in a notebook if that
        holds a run.
    force
        Overwrite an existing run.
    resume
        Resume the run in ``out``, or start it if there is none. The driver repeats its
        operations from the first, and the engine compares them with the recorded ones.
    checkpoint_s
        Minimum seconds between checkpoints; 0: none; None: the default of fedsim.
    step_flops
        FLOPs of one step of the method, for policies that limit work by them; None:
        not known.
    notes
        More about the driver, for the manifest, such as versions of libraries; the same
        over a resume.
    driver
        Name of the driver, for the manifest.
    figures
        Draw the figures of the scenario at the end.
    stderr
        Whether lines that the engine writes for people go to :data:`sys.stderr`.

    Attributes
    ----------
    now_ns
        Virtual time in nanoseconds after the last operation.
    clients
        Number of clients.
    features
        Names of what this version of fedsim adds to the protocol.
    hello
        All fields of the first response.
    """

    now_ns: int
    clients: int
    features: frozenset[str]
    hello: Mapping[str, Any]

    def __init__(
        self,
        scenario: Scenario,
        *,
        method: str,
        seed: int = 1,
        metrics: Iterable[Metric] = (),
        set: Mapping[str, Value] | None = None,  # noqa: A002 - as in fedsim --set
        out: str | os.PathLike[str] | None = None,
        force: bool = False,
        resume: bool = False,
        checkpoint_s: float | None = None,
        step_flops: float | None = None,
        notes: Mapping[str, str] | None = None,
        figures: bool = True,
        driver: str = "pyfedsim",
        stderr: bool = True,
    ) -> None:
        self.now_ns = 0
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._tail: deque[str] = deque(maxlen=_STDERR_LINES)
        self._ended: BaseException | None = None
        self._stderr = stderr
        self._raised = False  # an exception has the lines that report a failure
        command = ["engine", *arguments(set)]
        if resume and out is None:
            raise UsageError("resume=True: needs out, the run directory")
        if force:
            command.append("--force")
        if not figures:
            command.append("--no-figures")
        if checkpoint_s is not None:
            command.append(f"--checkpoint={checkpoint_s}")
        request: dict[str, Any] = {
            "op": "hello",
            "v": [VERSION],
            "driver": driver,
            "method": method,
            "seed": seed,
            "metrics": list(metrics),
            **_given(step_flops=step_flops, notes=None if notes is None else dict(notes)),
        }

        def start(directory: str | None) -> None:
            place = f"{'--resume' if resume else '--out'}={directory}"
            self._begin([*command, *([] if directory is None else [place])], scenario, request)

        numbered(start, out)
        self.clients = self.hello["clients"]
        self.features = frozenset(self.hello.get("features", ()))

    def _begin(self, command: list[str], scenario: Scenario, request: dict[str, Any]) -> None:
        """Start the program and the run."""
        self._ended, self._raised = None, False
        self._tail.clear()
        self._file = as_file(scenario)
        command += ["--", self._file.__enter__()]
        started = _binary.command(command)
        # An own session: an interrupt from the terminal reaches this program alone.
        self._process = subprocess.Popen(
            started,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=sys.platform != "win32",
        )
        assert self._process.stdin is not None  # noqa: S101 - for mypy
        assert self._process.stdout is not None  # noqa: S101
        self._stdin = self._process.stdin
        self._stdout = self._process.stdout
        self._relay = threading.Thread(target=self._pass_on, args=(self._stderr,), daemon=True)
        self._relay.start()
        try:
            self.hello = self._ask(request)
        except BaseException as error:
            problem = self._start_error(error)
            self.close()
            if problem is None:
                raise
            raise problem from error

    def __enter__(self) -> Self:
        """Return the engine."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the program."""
        self.close()

    def available(self) -> AvailableResponse:
        """Return which clients are available now, and when that changes next."""
        return cast("AvailableResponse", self._ask({"op": "available"}))

    def select(self, round: int) -> list[int]:  # noqa: A002 - the field of the protocol
        """Return the clients that the scenario's selection asks in a round, counted from 1."""
        return cast("list[int]", self._ask({"op": "select", "round": round})["clients"])

    def select_epochs(self, round: int, epochs: int) -> dict[int, int]:  # noqa: A002
        """Return the clients of ``select``, and how many of the method's epochs each makes.

        ``round`` counts from 1. Clients that make fewer than ``epochs`` take the time of all
        (``federation.partial_share``).
        """
        response = self._ask({"op": "select", "round": round, "epochs": epochs})
        return dict(zip(response["clients"], response["epochs"], strict=True))

    def select_batteries(
        self,
        round: int,  # noqa: A002
        report_bytes: int,
    ) -> tuple[list[int], dict[int, tuple[float | None, bool]]]:
        """Return the clients of ``select``, and the batteries that all available clients report.

        A report is the state of charge as a share of full, None without a battery, and whether
        its device is plugged in. Request and report have ``report_bytes`` each, which take
        time and energy. ``round`` counts from 1.
        """
        request = {"op": "select", "round": round, "report_bytes": report_bytes}
        response = self._ask(request)
        states = zip(response["battery"], response["charging"], strict=True)
        return response["clients"], dict(zip(response["reported"], states, strict=True))

    def send(self, round: int, kind: Kind, msgs: Sequence[Message]) -> SendResponse:  # noqa: A002
        """Send messages, and return those that were refused; takes no virtual time.

        A client has one attempt at a time: a second message to it waits for the first.

        Parameters
        ----------
        round
            Number of the round, from 1.
        kind
            What the clients are asked to do.
        msgs
            The messages, with bytes and FLOPs.
        """
        request = {"op": "send", "round": round, "kind": kind, "msgs": msgs}
        return cast("SendResponse", self._ask(request))

    def wait(
        self,
        ids: Iterable[int] | None = None,
        *,
        count: int | None = None,
        until_ns: int | None = None,
    ) -> WaitResponse:
        """Advance until messages have ended, and return the events.

        Events of other messages that fall before are returned as well.

        Parameters
        ----------
        ids
            The messages to wait for; None: any.
        count
            How many of them; None: all.
        until_ns
            Virtual time in nanoseconds at which the wait ends in any case; None: no limit.
        """
        wanted = None if ids is None else list(ids)
        optional = _given(ids=wanted, count=count, until_ns=until_ns)
        return cast("WaitResponse", self._ask({"op": "wait", **optional}))

    def exchange(
        self,
        round: int,  # noqa: A002 - the field of the protocol
        kind: Kind,
        msgs: Sequence[Message],
        *,
        count: int | None = None,
        until_ns: int | None = None,
        policy: bool = False,
    ) -> ExchangeResponse:
        """Send messages and wait for them, in one operation; return the events.

        Parameters
        ----------
        round, kind, msgs
            As in :meth:`send`.
        count, until_ns
            As in :meth:`wait`.
        policy
            Whether the protocol of the scenario decides when the round ends and whose
            responses the server takes (``taken``); then neither ``count`` nor ``until_ns`` is
            given.
        """
        request = {"op": "exchange", "round": round, "kind": kind, "msgs": msgs}
        optional = _given(count=count, until_ns=until_ns, policy=policy or None)
        return cast("ExchangeResponse", self._ask({**request, **optional}))

    def work(
        self,
        id: int,  # noqa: A002 - the field of the protocol
        flops: float,
        up_bytes: int,
        *,
        steps: float | None = None,
        traffic_bytes: float | None = None,
    ) -> None:
        """Continue an attempt that stopped with the event ``work``.

        Parameters
        ----------
        id
            The id of its message.
        flops, up_bytes, steps, traffic_bytes
            FLOPs of the work, bytes of the response, mini-batch steps, and bytes of memory that
            the work reads and writes, as in :class:`Message`.
        """
        request = {"op": "work", "id": id, "flops": flops, "up_bytes": up_bytes}
        self._ask({**request, **_given(steps=steps, traffic_bytes=traffic_bytes)})

    def advance(self, until_ns: int) -> WaitResponse:
        """Advance to the virtual time ``until_ns`` in nanoseconds, and return the events."""
        return cast("WaitResponse", self._ask({"op": "advance", "until_ns": until_ns}))

    def cancel(self, ids: Iterable[int]) -> None:
        """Cancel the messages with these ids, which have not ended."""
        self._ask({"op": "cancel", "ids": list(ids)})

    def close_round(
        self,
        round: int,  # noqa: A002 - the field of the protocol
        taken: Iterable[int],
        *,
        failed: Iterable[int] = (),
        flops: float = 0.0,
        metrics: Iterable[MetricValue] = (),
        clients: Iterable[ClientMetric] = (),
    ) -> CloseResponse:
        """End a round and record it; return its row.

        Parameters
        ----------
        round
            Number from 1; 0 before the first message: the initial model.
        taken
            Ids of the messages whose responses the server uses.
        failed
            Ids of messages whose responses report an error: their clients count as dropped, not as
            late.
        flops
            FLOPs of the server; they take virtual time under ``federation.server_gflops``.
        metrics
            Metrics of the whole model.
        clients
            Metrics of clients.
        """
        request: dict[str, Any] = {
            "op": "close",
            "round": round,
            "taken": list(taken),
            "flops": flops,
            "metrics": list(metrics),
            **_given(clients=list(clients) or None, failed=list(failed) or None),
        }
        return cast("CloseResponse", self._ask(request))

    def finish(
        self,
        state: Literal["done", "failed"] = "done",
        *,
        model_sha256: str | None = None,
        warnings: Iterable[str] = (),
    ) -> FinishResponse:
        """Write the run directory and return its place; the engine ends.

        Parameters
        ----------
        state
            Whether the driver is done or has failed.
        model_sha256
            SHA-256 of the final model in hex digits, for the manifest; None: there is none.
        warnings
            Reasons to doubt the results, which summaries and reports show.
        """
        optional = _given(model_sha256=model_sha256, warnings=list(warnings) or None)
        response = self._ask({"op": "finish", "state": state, **optional})
        self.close()
        return cast("FinishResponse", response)

    def close(self) -> None:
        """End the program. A run that did not finish is interrupted."""
        if self._owner != os.getpid():
            return  # a forked child does not own the program
        if self._ended is None:
            self._ended = EngineClosedError("the engine is closed")
        with contextlib.suppress(OSError):  # if the program ended first
            self._stdin.close()
        try:
            self._process.wait(_GRACE_S)
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise
        finally:
            self._relay.join()
            self._stdout.close()
            if self._stderr and not self._raised:
                for line in filter(reports_failure, self._tail):
                    print(line, file=sys.stderr)  # noqa: T201
                self._raised = True
            self._file.__exit__(None, None, None)

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Write a request and return its response."""
        line = _ENCODER.encode(request).encode()
        with self._lock:
            if self._ended is not None:
                raise EngineClosedError(str(self._ended)) from self._ended
            try:
                # An engine that has ended may have said why.
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    self._stdin.write(line)
                    self._stdin.write(b"\n")
                    self._stdin.flush()
                answer = self._stdout.readline()
            except BaseException as error:
                # Interrupted within an operation: its response is lost.
                self._ended = error
                raise
            if not answer.endswith(b"\n"):
                self._ended = self._why_ended()
                raise self._ended
            try:
                response = json.loads(answer)
            except ValueError:
                start = answer[:80].decode(errors="replace").rstrip()
                self._ended = EngineClosedError(f"a line of the engine is no response: {start}")
                raise self._ended from None
            if "error" in response:
                raise self._refusal(response["error"])
            if "now_ns" in response:
                self.now_ns = response["now_ns"]
            return cast("dict[str, Any]", response)

    def _refusal(self, error: Mapping[str, Any]) -> EngineError:
        """Return the exception of an error object."""
        fatal = bool(error.get("fatal"))
        text = in_python(error["message"])
        refusal = EngineError(error["code"], text, error.get("field"), fatal=fatal)
        if fatal:
            self._ended = refusal
        return refusal

    def _start_error(self, error: BaseException) -> Exception | None:
        """Return the error of a scenario or run directory that the engine refused, or None."""
        if not isinstance(error, EngineError) or error.code not in ("scenario", "directory"):
            return None
        status = self._process.wait(_GRACE_S)
        self._relay.join()
        self._raised = True
        found = error_of_exit(status, "\n".join(self._tail))
        try:  # places in a temporary file are left out
            self._file.__exit__(type(found), found, None)
        except ScenarioError as problem:
            return problem
        return found

    def _why_ended(self) -> Exception:
        """Return the error of a program that ended by itself."""
        try:
            status = self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        self._relay.join()
        self._raised = True
        if status == 0:
            return EngineClosedError("fedsim engine ended without a response")
        return error_of_exit(status, "\n".join(self._tail))

    def _worded(self, line: str) -> str:
        """Return a line of standard error as this driver shows it."""
        return line

    def _pass_on(self, show: bool) -> None:
        """Pass standard error on, and keep its last lines for errors."""
        assert self._process.stderr is not None  # noqa: S101 - for mypy
        with self._process.stderr as lines:
            for raw in lines:
                line = self._worded(raw.decode(errors="replace").rstrip("\r\n"))
                self._tail.append(line)
                if show and not reports_failure(line):
                    print(line, file=sys.stderr)  # noqa: T201


def _given(**fields: Any) -> dict[str, Any]:
    """Return the fields of a request that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


# Of a request as one line; infinities and NaN are errors.
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"), check_circular=False)
