"""Messages between server and clients: two lengths, a header in JSON of fixed size, bytes."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Callable
from typing import Any

_LENGTHS = struct.Struct("!II")
_HEADER = 240  # with the lengths 248 bytes: equal models give equal messages


def pack(header: dict[str, Any], body: bytes = b"") -> bytes:
    """Return the bytes of a message."""
    text = json.dumps(header).encode().ljust(_HEADER)
    return _LENGTHS.pack(len(text), len(body)) + text + body


def receive(
    connection: socket.socket, first_byte: Callable[[], None] = lambda: None
) -> tuple[dict[str, Any], bytearray, int]:
    """Return header, body and bytes of the next message; calls first_byte when it begins.

    Raises ConnectionError at the end of the connection.
    """
    head = _exactly(connection, _LENGTHS.size, first_byte)
    text, body = _LENGTHS.unpack(head)
    header = json.loads(_exactly(connection, text))
    return header, _exactly(connection, body), len(head) + text + body


def _exactly(
    connection: socket.socket, size: int, first_byte: Callable[[], None] | None = None
) -> bytearray:
    data = bytearray(size)
    view, at = memoryview(data), 0
    while at < size:
        got = connection.recv_into(view[at:])
        if got == 0:
            raise ConnectionError("the connection has ended")
        if first_byte is not None:
            first_byte()
            first_byte = None
        at += got
    return data
