"""A Flower Grid whose messages travel in virtual time."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from logging import WARNING
from typing import TYPE_CHECKING, Any, cast

from pyfedsim.errors import Stalled, UsageError

from . import _releases as flwr
from .clients import FIRST_NODE, Attempt, Clients, copied, error_reply, own_streams
from .rounds import Rounds
from .work import count_bytes, kind_of

if TYPE_CHECKING:
    from pyfedsim.engine import Engine, Event, Message

RUN_ID = 1
_SECOND = 1_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

# How Flower reports the ends of messages that bring no response.
_ERRORS = {
    "failure": (flwr.ErrorCode.NODE_UNAVAILABLE, "the client failed"),
    "expired": (flwr.ErrorCode.MESSAGE_UNAVAILABLE, "the message expired"),
    "refused": (flwr.ErrorCode.NODE_UNAVAILABLE, "the message was not sent"),
}


class VirtualGrid(flwr.Grid):  # type: ignore[misc]  # its place differs between releases
    """Flower's Grid on the clock of an engine.

    A message is copied when it is sent. Its ClientApp is called at once if the client is
    idle (``lazy``: when its downlink ends), otherwise when the client gets to it: the
    bits are the same. A client's state changes when its response arrives, and never
    otherwise.

    Parameters
    ----------
    engine
        Serves time.
    clients
        Call the ClientApp.
    rounds
        Records what is delivered.
    lazy
        Call the ClientApp only after the downlink.
    poll
        Whether pull_messages returns at once. Otherwise it advances to the next response
        if there is none yet.
    """

    def __init__(
        self, engine: Engine, clients: Clients, rounds: Rounds, *, lazy: bool, poll: bool
    ) -> None:
        self._engine = engine
        self._clients = clients
        self._rounds = rounds
        self._lazy = lazy
        self._poll = poll
        self._overhead = int(engine.hello.get("overhead_bytes", 0))
        self._run = flwr.Run.create_empty(RUN_ID)
        self._next = 1
        self._sent: dict[int, int] = {}  # messages of each client
        self._under_way: dict[int, Attempt] = {}
        self._busy: dict[int, int] = {}  # messages under way of each client
        self._arrived: dict[str, Attempt] = {}  # in order of arrival
        self._unasked: dict[str, Attempt] = {}  # pushed, and never pulled
        self._calling_ns: int | None = None  # what the clock shows to a ClientApp
        self._warned_empty = False
        self.timeouts = 0
        self.exchanges = 0

    # The clock.

    @property
    def now_ns(self) -> int:
        """Virtual time in nanoseconds; in a ClientApp the time at which its message was sent."""
        return self._engine.now_ns if self._calling_ns is None else self._calling_ns

    def datetime(self) -> datetime:
        """Return the virtual time as a date; the run starts in 1970."""
        return _EPOCH + timedelta(microseconds=self.now_ns // 1000)

    def sleep(self, seconds: float) -> None:
        """Advance the clock."""
        if seconds < 0 or not math.isfinite(seconds):
            raise UsageError(f"sleep({seconds}): must be finite and not negative")
        if self._calling_ns is not None:
            raise UsageError("a ClientApp cannot advance the clock; declare its work in FLOPs")
        self._advance(self._engine.now_ns + round(seconds * _SECOND))

    def sleep_for_nodes(self, seconds: float) -> None:
        """Advance by multiples of seconds until the availability of a client may change."""
        change = self._engine.available()["next_change_ns"]
        if change is None and not self._under_way:
            raise Stalled(
                f"at {self._engine.now_ns / _SECOND:.3f} s too few clients are available, and "
                "their availability does not change; lower the strategy's min_available_nodes"
            )
        step = round(seconds * _SECOND)
        now = self._engine.now_ns
        steps = 1 if change is None else max(1, -((now - change) // step))
        self._advance(now + steps * step)

    def _advance(self, until_ns: int) -> None:
        while True:
            answer = self._engine.advance(until_ns)
            self._handle(answer["events"])
            if answer["end"] != "work":
                return

    # Flower's interface.

    def set_run(self, run: Any) -> None:
        """Do nothing: there is one run."""

    @property
    def run(self) -> Any:
        """Flower's record of the run."""
        return self._run

    def create_message(  # noqa: D102 - Flower's
        self,
        content: Any,
        message_type: str,
        dst_node_id: int,
        group_id: str,
        ttl: float | None = None,
    ) -> Any:
        return flwr.Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

    def get_node_ids(self) -> list[int]:
        """Return the node ids of the clients that are available now; takes no time."""
        return [
            client + FIRST_NODE
            for first, last in self._engine.available()["available"]
            for client in range(first, last + 1)
        ]

    def push_messages(self, messages: Iterable[Any]) -> list[str]:
        """Send messages; takes no virtual time. Returns their ids."""
        attempts = self._prepare(messages, exchange=False)
        for kind, group in _by_kind(attempts):
            answer = self._engine.send(self._rounds.number, kind, self._requests(group))
            self._refuse(answer["refused"])
        self._unasked.update((str(a.id), a) for a in attempts if a.kind == "train")
        return [str(attempt.id) for attempt in attempts]

    def pull_messages(self, message_ids: Iterable[str] | None = None) -> list[Any]:
        """Return the replies that have arrived, in order of arrival.

        If there is none, the clock advances to the next one, unless the run polls.

        Parameters
        ----------
        message_ids
            Ids from push_messages; None: all.
        """
        wanted = None if message_ids is None else set(message_ids)
        self._rounds.pulled = True
        for key in [key for key in self._unasked if wanted is None or key in wanted]:
            self._unasked.pop(key).asked = True
        if wanted is None or not wanted.isdisjoint(self._arrived):
            ready = self._collect(wanted)
            if ready or self._poll:
                return ready
        open_ids = sorted(
            n for n, a in self._under_way.items() if a.kept and (wanted is None or str(n) in wanted)
        )
        if open_ids and not self._poll:
            self._wait(open_ids, count=1, until_ns=None)
        return self._collect(wanted)

    def send_and_receive(
        self, messages: Iterable[Any], *, timeout: float | None = None
    ) -> list[Any]:
        """Send messages and wait for the replies until the timeout, in virtual seconds.

        Returns
        -------
        list
            The replies, in the order of the messages.
        """
        attempts = self._prepare(messages, exchange=True)
        if not attempts:
            return []
        until = None if timeout is None else self._engine.now_ns + round(timeout * _SECOND)
        ids = [attempt.id for attempt in attempts]
        groups = list(_by_kind(attempts))
        if len(groups) == 1:
            kind, group = groups[0]
            answer = self._engine.exchange(
                self._rounds.number, kind, self._requests(group), until_ns=until
            )
            self._refuse(answer["refused"])
            self._handle(answer["events"])
            end: str = answer["end"]
            if end == "work":
                end = self._wait(ids, count=None, until_ns=until)
        else:
            for kind, group in groups:
                self._refuse(
                    self._engine.send(self._rounds.number, kind, self._requests(group))["refused"]
                )
            end = self._wait(ids, count=None, until_ns=until)
        if end == "stalled" and until is not None:
            self._advance(until)
            end = "until"
        if any(attempt.kind == "train" for attempt in attempts):
            self.exchanges += 1
            self.timeouts += end == "until"
        replies = [self._deliver(str(n)) for n in ids if str(n) in self._arrived]
        for attempt in attempts:
            attempt.kept = False
        return replies

    # Inside.

    def _prepare(self, messages: Iterable[Any], *, exchange: bool) -> list[Attempt]:
        """Copy messages and number them, by kind; return them in their order."""
        attempts = []
        for message in messages:
            node = message.metadata.dst_node_id
            client = node - FIRST_NODE
            if not 0 <= client < self._engine.clients:
                raise UsageError(
                    f"a message goes to node {node}; the nodes are "
                    f"{FIRST_NODE} to {FIRST_NODE + self._engine.clients - 1}"
                )
            attempts.append(Attempt(client, kind_of(message), message))
        self._rounds.sending(
            attempts, self._engine.now_ns, exchange=exchange, idle=not self._under_way
        )
        for _, group in _by_kind(attempts):
            for attempt in group:
                attempt.id = self._next
                attempt.asked = exchange
                attempt.sent_ns = self._engine.now_ns
                attempt.number = self._sent.get(attempt.client, 0)
                self._next += 1
                self._sent[attempt.client] = attempt.number + 1
                fields = attempt.message.metadata.__dict__
                fields["_run_id"] = RUN_ID
                fields["_src_node_id"] = flwr.SUPERLINK_NODE_ID
                fields["_message_id"] = str(attempt.id)
                attempt.message = copied(attempt.message)
        return attempts

    def _requests(self, attempts: list[Attempt]) -> list[Message]:
        """Return what the engine must know of attempts; calls the ClientApp of idle clients."""
        with own_streams():
            return cast("list[Message]", [self._request(attempt) for attempt in attempts])

    def _request(self, attempt: Attempt) -> dict[str, Any]:
        down = count_bytes(attempt.message.content) + self._overhead
        work = None
        if not self._lazy and not self._busy.get(attempt.client):
            work = self._call(attempt)
        self._under_way[attempt.id] = attempt
        self._busy[attempt.client] = self._busy.get(attempt.client, 0) + 1
        return {
            "id": attempt.id,
            "client": attempt.client,
            "down_bytes": down,
            "flops": None if work is None else work.flops,
            "up_bytes": None if work is None else work.bytes_up + self._overhead,
            "expires_ns": _expiry(attempt),
            **({} if work is None else work.beside),
        }

    def _call(self, attempt: Attempt) -> Any:
        self._calling_ns = attempt.sent_ns
        try:
            return self._clients.call(attempt, RUN_ID)
        finally:
            self._calling_ns = None

    def _wait(self, ids: list[int], *, count: int | None, until_ns: int | None) -> str:
        """Wait for messages, and call the ClientApps that get to work meanwhile."""
        wanted = set(ids)
        while True:
            left = [n for n in ids if n in self._under_way]
            if not left or (count is not None and len(wanted) - len(left) >= count):
                return "all"
            answer = self._engine.wait(left, count=count, until_ns=until_ns)
            self._handle(answer["events"])
            if answer["end"] == "stalled" and until_ns is None:
                raise Stalled(
                    f"at {self._engine.now_ns / _SECOND:.3f} s the app waits for {len(left)} "
                    "responses that never come; give send_and_receive a timeout, or set "
                    "engine.detect_s"
                )
            if answer["end"] != "work":
                return str(answer["end"])

    def _handle(self, events: Iterable[Event]) -> None:
        """Apply events: call ClientApps, commit states, store replies."""
        for event in events:
            if event["ev"] == "work":
                attempt = self._under_way[event["id"]]
                with own_streams():
                    work = self._call(attempt)
                up_bytes = work.bytes_up + self._overhead
                self._engine.work(attempt.id, work.flops, up_bytes, **work.beside)
                continue
            attempt = self._end(event["id"])
            if event["ev"] == "response":
                self._clients.commit(attempt)
                if attempt.raised:
                    self._rounds.failed(attempt)
                elif not attempt.asked and attempt.kind == "train":
                    self._rounds.arrived(attempt)
            else:
                attempt.reply = _failed(attempt, event["ev"], event.get("reason"))
            fields = attempt.reply.metadata.__dict__
            fields["_message_id"] = f"{attempt.id}-reply"
            fields["_created_at"] = event["t_ns"] / _SECOND
            attempt.state = None
            if attempt.kept:
                self._arrived[str(attempt.id)] = attempt

    def _refuse(self, refused: Iterable[Any]) -> None:
        for refusal in refused:
            attempt = self._end(refusal["id"])
            attempt.reply = _failed(attempt, "refused", refusal["reason"])
            attempt.reply.metadata.__dict__["_message_id"] = f"{attempt.id}-reply"
            self._arrived[str(attempt.id)] = attempt

    def _end(self, number: int) -> Attempt:
        attempt = self._under_way.pop(number)
        self._busy[attempt.client] -= 1
        attempt.round = self._rounds.number
        return attempt

    def _collect(self, wanted: set[str] | None) -> list[Any]:
        keys = [key for key in self._arrived if wanted is None or key in wanted]
        return [self._deliver(key) for key in keys]

    def _deliver(self, key: str) -> Any:
        attempt = self._arrived.pop(key)
        self._rounds.delivered(attempt)
        return attempt.reply

    def warn_of_timeouts(self) -> None:
        """Warn if timeouts ended most exchanges of kind train."""
        if self.exchanges and 2 * self.timeouts > self.exchanges:
            flwr.log(
                WARNING,
                "Timeouts ended %d of %d rounds: most of the virtual time is waiting for clients "
                "that failed or are late. Lower the strategy's timeout, or set "
                "engine.detect_s, after which the server notices a failed client.",
                self.timeouts,
                self.exchanges,
            )


def _failed(attempt: Attempt, end: str, reason: str | None) -> Any:
    """Return Flower's reply to a message that brings no response."""
    code, text = _ERRORS[end]
    return error_reply(attempt.message, code, f"{text}: {reason}" if reason else text)


def _expiry(attempt: Attempt) -> int | None:
    """Return when a message expires: its ttl after its creation, which has microseconds."""
    metadata = attempt.message.metadata
    if not math.isfinite(metadata.ttl):
        return None
    age_us = attempt.sent_ns // 1000 - round(metadata.created_at * 1e6)
    return int(attempt.sent_ns - 1000 * age_us + round(metadata.ttl * _SECOND))


def _by_kind(attempts: list[Attempt]) -> Iterable[tuple[Any, list[Attempt]]]:
    """Group attempts by kind, in the order of their first one."""
    groups: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        groups.setdefault(attempt.kind, []).append(attempt)
    return groups.items()
