"""The server: plays rounds over TCP with real messages, and writes the log.

A thread sends to each client and another one receives, over one connection that stays open.
"""

from __future__ import annotations

import math
import queue
import socket
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import training
import wire
from pyfedsim.observe import Attempt, Log

PORT = 7700


class Client:
    """A connected client, with at most one attempt under way.

    Its replies go to a queue, as the client, the header, the body and the bytes of the reply.
    The end of the connection is a reply without a header.
    """

    def __init__(self, connection: socket.socket, number: int, replies: queue.SimpleQueue) -> None:
        self.number = number
        self.alive = True
        self.busy = False
        self.round = 0  # in which its attempt was sent
        self.attempt: Attempt | None = None
        self._connection = connection
        self._outbox: queue.SimpleQueue[tuple[Callable[[int], Attempt], bytes]] = (
            queue.SimpleQueue()
        )
        self._replies = replies
        for work in (self._send, self._receive):
            threading.Thread(target=work, daemon=True).start()

    def send(self, message: bytes, begin: Callable[[int], Attempt]) -> None:
        """Send a message in the thread of this client, which begins an attempt of so many bytes."""
        self.busy = True
        self._outbox.put((begin, message))

    def close(self) -> None:
        """Close the connection, which ends the client."""
        self._connection.shutdown(socket.SHUT_RDWR)

    def _send(self) -> None:
        while True:
            begin, message = self._outbox.get()
            self.attempt = begin(len(message))
            try:
                self._connection.sendall(message)
            except OSError:
                return  # the other thread notices

    def _receive(self) -> None:
        while True:
            try:
                header, body, size = wire.receive(self._connection, self._first_byte)
            except OSError:  # ConnectionError is one
                self._replies.put((self, None, b"", 0))
                return
            if self.attempt is not None:
                self.attempt.received()
            self._replies.put((self, header, body, size))

    def _first_byte(self) -> None:
        if self.attempt is not None:
            self.attempt.first_byte()


def accept(expected: set[int], limit_s: float) -> tuple[list[Client], queue.SimpleQueue]:
    """Wait for the clients; return them by number, and the queue of their replies."""
    replies: queue.SimpleQueue = queue.SimpleQueue()
    clients = []
    with socket.create_server(("0.0.0.0", PORT), backlog=64) as listener:
        listener.settimeout(limit_s)
        while expected:
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                missing = ", ".join(map(str, sorted(expected)))
                raise RuntimeError(f"clients {missing} do not connect in {limit_s:.0f} s") from None
            connection.settimeout(None)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            hello, _, _ = wire.receive(connection)
            expected.remove(hello["id"])
            clients.append(Client(connection, hello["id"], replies))
    return sorted(clients, key=lambda client: client.number), replies


class Server:
    """Plays the rounds of a run.

    Late clients continue. They are asked again when they have replied, and the round in which
    they do takes their reply, as under federation.late = "keep".
    """

    def __init__(
        self,
        run: dict[str, Any],
        clients: list[Client],
        replies: queue.SimpleQueue,
        log: Log,
        on_round: Callable[[int], None],
    ) -> None:
        self.run, self.clients, self.replies, self.log = run, clients, replies, log
        self.on_round = on_round
        rng = np.random.default_rng(7)
        size = training.parameters(run["hidden"])
        self.model = rng.standard_normal(size, np.float32) * np.float32(0.05)
        self.taken: list[tuple[Client, np.ndarray]] = []
        self.behind_s = 0.0

    def play(self) -> None:
        """Play all rounds, then wait for the replies under way."""
        if self.run["protocol"] == "asynchronous":
            self._steps()
        else:
            start = self.log.now()
            for number in range(self.run["rounds"]):
                start = self._round(number, start)
        while self._busy(self.clients):
            self._take(None, None)
        self.log.comment(f"real work took up to {self.behind_s:.4f} s longer than its pace")

    def _round(self, number: int, start: float) -> float:
        """Play a round; return the start of the next one."""
        run, protocol = self.run, self.run["protocol"]
        asked = [client for client in self.clients if client.alive and not client.busy]
        if protocol == "first":
            asked = asked[: math.ceil(run["clients_per_round"] * run["over_selection"])]
        for client in asked:
            self._ask(client, number)
        self.on_round(number)
        end = start + run["deadline_s"]
        while self._continues(asked):
            if not self._take(number, end if protocol == "deadline" else None):
                break
        names = " ".join(str(client.number) for client, _ in self.taken)
        self._average()
        end = end if protocol == "deadline" else self.log.now()
        self.log.comment(f"round {number}: {start:.6f} to {end:.6f}, taken {names}")
        return end

    def _continues(self, asked: list[Client]) -> bool:
        """Report whether the protocol lets a round continue; a deadline ends it otherwise."""
        if self.run["protocol"] == "deadline":
            return True
        if self.run["protocol"] == "first":
            return len(self.taken) < self.run["clients_per_round"] and self._busy(self.clients)
        return self._busy(asked)

    def _steps(self) -> None:
        """Answer each reply with the model, and change it by every so many of them."""
        for client in self.clients:
            self._ask(client, 0)
        self.on_round(0)
        number = 0
        while number < self.run["rounds"] and self._busy(self.clients):
            self._take(math.inf, None)
            if len(self.taken) == self.run["buffer"]:
                self._average()
                number += 1
                self.log.comment(f"step {number}: {self.log.now():.6f}")
                self.on_round(number)
            for client in self.clients:
                if client.alive and not client.busy and number < self.run["rounds"]:
                    self._ask(client, number)

    @staticmethod
    def _busy(clients: list[Client]) -> bool:
        return any(client.busy for client in clients)

    def _ask(self, client: Client, number: int) -> None:
        """Send the model to a client."""
        run = self.run
        epochs, batch = run["epochs"], run["batch"]
        examples = run["client"][str(client.number)]["examples"]
        columns = {
            "examples": examples,
            "epochs": epochs,
            "batch": batch,
            "steps": training.steps(examples, epochs, batch),
            "flops": training.flops(run["hidden"], examples, epochs),
        }
        header = {"round": number, "epochs": epochs, "batch": batch}
        client.round = number
        client.send(
            wire.pack(header, self.model.tobytes()),
            lambda size: self.log.sent(client.number, number, bytes_down=size, **columns),
        )

    def _take(self, number: float | None, until: float | None) -> bool:
        """Receive the next reply, for a round; None: too late for any. False: there is none.

        A reply is late if it is to the message of an earlier round; with number = inf, no reply
        is late.
        """
        try:
            timeout = None if until is None else max(0.0, until - self.log.now())
            client, header, body, size = self.replies.get(timeout=timeout)
        except queue.Empty:
            return False
        attempt, client.attempt = client.attempt, None
        was_busy, client.busy = client.busy, False
        if header is None:
            client.alive = False
            if was_busy and attempt is not None:
                attempt.lost("failed")
            return True
        late = number is None or (number != math.inf and client.round < number)
        attempt.seen(bytes_up=size, client=header["durations"], outcome="late" if late else "taken")
        self.behind_s = max(self.behind_s, header["behind_s"])
        if number is not None:
            self.taken.append((client, np.frombuffer(body, np.float32)))
        return True

    def _average(self) -> None:
        """Change the model to the mean of the taken ones, weighted by examples."""
        if self.taken:
            weights = [self.run["client"][str(c.number)]["examples"] for c, _ in self.taken]
            models = [model for _, model in self.taken]
            self.model = np.average(models, axis=0, weights=weights).astype(np.float32)
        self.taken = []
