"""A relay that delays a connection: LISTEN_PORT PORT SECONDS. netem may be missing from a kernel."""

from __future__ import annotations

import queue
import socket
import sys
import threading
import time


def pump(source: socket.socket, target: socket.socket, delay_s: float) -> None:
    """Pass bytes on, each chunk as long after its arrival as the delay."""
    chunks: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

    def send() -> None:
        while True:
            due, chunk = chunks.get()
            time.sleep(max(0.0, due - time.perf_counter()))
            try:
                if not chunk:
                    target.shutdown(socket.SHUT_WR)
                    return
                target.sendall(chunk)
            except OSError:
                return

    threading.Thread(target=send, daemon=True).start()
    chunk = b"-"
    while chunk:
        try:
            chunk = source.recv(1 << 16)
        except OSError:
            chunk = b""
        chunks.put((time.perf_counter() + delay_s, chunk))


def main() -> None:
    """Relay one connection."""
    port, target, delay_s = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    with socket.create_server(("0.0.0.0", port)) as listener:
        client, _ = listener.accept()
    server = socket.create_connection(("127.0.0.1", target))
    for connection in (client, server):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    down = threading.Thread(target=pump, args=(server, client, delay_s))
    down.start()
    pump(client, server, delay_s)
    down.join()


if __name__ == "__main__":
    main()
