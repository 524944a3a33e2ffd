"""The loop of a learner: requests of fedsim on standard input, responses on standard output."""

from __future__ import annotations

import atexit
import hashlib
import json
import math
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from pyfedsim.protocols._arrays import freeze
from pyfedsim.protocols._learner import Evaluation, Learner, Work
from pyfedsim.protocols._run import open_run

VERSION = 1
"""The version of the learner protocol."""

Message = dict[str, Any]


class Answering:
    """Answers requests, both as lines of JSON."""

    quiet = False
    """Whether tracebacks are not printed."""
    error: BaseException | None = None
    """The last failure."""

    def dispatch(self, request: Message) -> Message:
        """Return the response to a request."""
        raise NotImplementedError

    def answer(self, line: bytes) -> bytes:
        """Return the response to a request, both as lines. A failure is an error response."""
        try:
            response = self.dispatch(json.loads(line))
            text = json.dumps(response, allow_nan=False, separators=(",", ":"))
        except Exception as error:  # noqa: BLE001 - fedsim ends the run with any of them
            self.error = error
            if not self.quiet:
                traceback.print_exc()
            text = json.dumps({"error": last_line(error)})
        return text.encode() + b"\n"


class Server(Answering):
    """Answers the requests for the runs of one class of learners."""

    def __init__(self, learner: type[Learner]) -> None:
        self.learner = learner
        self.runs: dict[int, Learner] = {}

    def dispatch(self, request: Message) -> Message:
        """Return the response of the method _on_OPERATION; all but two are of a run."""
        op = request["op"]
        if op == "hello":
            return self._hello(request)
        if op == "start":
            return self._start(request)
        operation = getattr(self, f"_on_{op}", None)
        if operation is None:
            return {"error": f"the operation {op!r} is unknown to version {VERSION}"}
        run = self.runs.get(request["run"])
        if run is None:
            raise ValueError(f"run {request['run']} has not started")
        response: Message = operation(run, request)
        return response

    def _hello(self, request: Message) -> Message:
        if VERSION not in request["v"]:
            raise ValueError(f"this learner speaks version {VERSION}, not {request['v']}")
        metrics = [
            {"split": m.split, "name": m.name, "better": m.better, "unit": m.unit}
            for m in self.learner.metrics
        ]
        name = self.learner.name or self.learner.__name__
        return {"v": VERSION, "name": name, "can": self.learner.can(), "metrics": metrics}

    def _start(self, request: Message) -> Message:
        run = self.learner()
        open_run(run, request)
        run.start()
        run.parameters = freeze(run.parameters)
        flops = getattr(run, "step_flops", None)
        if flops is None:
            raise ValueError(
                f"{type(run).__name__}.start does not set step_flops, the most FLOPs of a step"
            )
        self.runs[request["run"]] = run
        size = run.nbytes(run.sent_to(-1))
        answer: Message = {
            "step_flops": amount(flops, "step_flops"),
            "down_bytes": size,
            "up_bytes": size,
            "one_model": bool(run.one_model),
        }
        if run.batch_steps != 1:
            answer["batch_steps"] = whole(run.batch_steps, "batch_steps")
        if run.step_traffic_bytes:
            answer["step_traffic_bytes"] = amount(run.step_traffic_bytes, "step_traffic_bytes")
        return {**answer, **run.more()}

    def _on_begin(self, run: Learner, request: Message) -> Message:
        return {"down_bytes": whole(run.begin(request["round"]), "bytes of begin")}

    def _on_solve(self, run: Learner, request: Message) -> Message:
        work = []
        for item in request["work"]:
            client, steps = item["client"], item.get("steps")
            if client in run.pending.tentative:
                raise ValueError(f"client {client} is asked again before commit or discard")
            sent = run.sent_to(client)
            streams = item.get("streams", ())
            work.append(Work(client, steps, item["seed"], sent, request["round"] - 1, streams))
        results = []
        for item, (update, flops, size) in zip(work, run.answers(work), strict=True):
            where = f"of client {item.client}"
            steps = whole(update.steps, f"steps {where}")
            if item.steps is not None and steps > item.steps:
                raise ValueError(f"client {item.client} took {steps} steps, may take {item.steps}")
            result: Message = {
                "client": item.client,
                "steps": steps,
                "flops": amount(flops, f"flops {where}"),
                "up_bytes": whole(size, f"up_bytes {where}"),
            }
            if update.batches:
                result["batches"] = whole(update.batches, f"batches {where}")
            if update.traffic_bytes is not None:
                result["traffic_bytes"] = amount(update.traffic_bytes, f"traffic_bytes {where}")
            results.append(result)
        return {"work": results}

    def _on_commit(self, run: Learner, request: Message) -> Message:
        clients = request["clients"]
        run.commit(clients, request.get("weights") or [1.0] * len(clients))
        for client in clients:
            run.pending.tentative.pop(client, None)
        return {}

    def _on_coded(self, run: Learner, request: Message) -> Message:
        run.coded(request["clients"])
        return {}

    def _on_discard(self, run: Learner, request: Message) -> Message:
        run.discard(request["clients"])
        return {}

    def _on_end(self, run: Learner, _: Message) -> Message:
        flops = amount(run.end(), "FLOPs of end")
        run.pending.committed.clear()
        run.parameters = freeze(run.parameters)
        return {"flops": flops}

    def _on_evaluate(self, run: Learner, _: Message) -> Message:
        result = run.evaluate()
        if not isinstance(result, Evaluation):
            result = Evaluation(result)
        declared = {metric.full_name: metric for metric in run.metrics}
        for name in (*result.values, *result.clients):
            if name not in declared:
                raise ValueError(f'evaluate returned "{name}", which metrics does not declare')
        values, by_client = [], []
        for name, metric in declared.items():
            key = {"split": metric.split, "name": metric.name}
            if name in result.values:
                values.append({**key, "value": known(result.values[name])})
            if name in result.clients:
                of = {whole(c, "client"): known(v) for c, v in result.clients[name].items()}
                clients = sorted(client for client in of if of[client] is not None)
                figures = [of[client] for client in clients]
                by_client.append({**key, "clients": clients, "values": figures})
        response: Message = {"metrics": values, "model_hash": run.model_hash()}
        return {**response, "clients": by_client} if by_client else response

    def _on_loss(self, run: Learner, request: Message) -> Message:
        return {"losses": [finite(run.loss(c), f"loss of client {c}") for c in request["clients"]]}

    def _on_send(self, run: Learner, request: Message) -> Message:
        return {"down_bytes": whole(run.send(request["client"]), "bytes of send")}

    def _on_receive(self, run: Learner, request: Message) -> Message:
        client = request["client"]
        taken, flops = run.receive(client)
        run.pending.tentative.pop(client, None)
        run.pending.sent.pop(client, None)
        run.parameters = freeze(run.parameters)
        return {"taken": bool(taken), "flops": amount(flops, "FLOPs of receive")}

    def _on_save(self, run: Learner, request: Message) -> Message:
        path = Path(request["path"])
        run.save(path)
        with path.open("rb") as file:
            digest = hashlib.sha256()
            while block := file.read(1 << 20):
                digest.update(block)
        return {"sha256": digest.hexdigest()}

    def _on_load(self, run: Learner, request: Message) -> Message:
        run.load(Path(request["path"]))
        run.parameters = freeze(run.parameters)
        return {}

    def _on_finish(self, run: Learner, request: Message) -> Message:
        run.finish()
        del self.runs[request["run"]]
        return {}


def answer_all(server: Answering, requests: BinaryIO, responses: BinaryIO) -> NoReturn:
    """Answer requests until their end, and end the process.

    Exit functions run, but libraries are not unloaded: that takes PyTorch seconds.
    """
    for line in requests:
        write(responses, server.answer(line))
    atexit._run_exitfuncs()  # noqa: SLF001 - there is no other way to call them
    sys.stderr.flush()
    os._exit(0)


def answer_loaded(
    load: Callable[[], Answering], requests: BinaryIO, responses: BinaryIO
) -> NoReturn:
    """Answer requests by what ``load`` returns; fedsim reports its failure at its first request."""
    try:
        server = load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - fedsim reports any of them
        traceback.print_exc()
        if requests.readline():
            write(responses, json.dumps({"error": last_line(error)}).encode() + b"\n")
        sys.exit(1)
    answer_all(server, requests, responses)


def take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return the pipes of the protocol, and give the process others in their place.

    File descriptor 0 becomes empty and 1 becomes a copy of standard error, so that neither
    print nor a C library, nor a child process, reads or writes the protocol.
    """
    sys.stdout.flush()
    requests, responses = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    if not requests.isatty() and hasattr(signal, "SIGINT"):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # fedsim ends the run and closes the pipe
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return requests, responses


def write(responses: BinaryIO, line: bytes) -> None:
    """Write a response. The process ends if nobody reads it."""
    try:
        responses.write(line)
        responses.flush()
    except BrokenPipeError:
        os._exit(0)


def last_line(error: BaseException) -> str:
    """Return the type and the text of an exception on one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def amount(value: Any, what: str) -> float:
    """Return a finite number that is not negative."""
    number = finite(value, what)
    if number < 0:
        raise ValueError(f"{what} = {number}: must not be negative")
    return number


def known(value: Any) -> float | None:
    """Return a number, or None, which stands for an unknown value: NaN or infinite."""
    number = float(value)
    return number if math.isfinite(number) else None


def finite(value: Any, what: str) -> float:
    """Return a finite number."""
    if value is None:
        raise ValueError(f"{what} is missing: return a number")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{what} = {number}: must be finite")
    return number


def whole(value: Any, what: str) -> int:
    """Return a whole number that is not negative."""
    if value is None:
        raise ValueError(f"{what} is missing: return a whole number")
    number = int(value)
    if number != value or number < 0:
        raise ValueError(f"{what} = {value}: must be a whole number, not negative")
    return number
