"""Namespaces with shaped links. Everything here is in the namespaces of the calling process.

Each client has a namespace and a link of its own: a pair of veth with a token bucket at both ends.
With a cell, the clients' links end at a bridge in the namespace of a router, and one link with
HTB at both ends leads from there to the server.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

BURST = 4096
"""Bytes that a token bucket passes at once after a pause; tc's "4kb"."""


@dataclass(frozen=True)
class Link:
    """The link of a client; rates in Mbit/s."""

    client: int
    down: float
    up: float


def name(client: int) -> str:
    """Return the name of a client's namespace."""
    return f"c{client}"


def enter(client: int) -> list[str]:
    """Return the command that runs another in a client's namespace.

    "ip netns exec" would hide the control groups, since it mounts /sys anew.
    """
    return ["nsenter", f"--net=/run/netns/{name(client)}"]


def server_address(client: int, cell: bool) -> str:
    """Return the address at which a client finds the server."""
    return "10.77.200.1" if cell else f"10.77.{client}.1"


def build(links: list[Link], cell_mbps: float, fair: bool) -> None:
    """Make the namespaces and links."""
    call("mount", "-t", "tmpfs", "tmpfs", "/run")  # names of namespaces that vanish with this one
    call("ip", "link", "set", "lo", "up")
    if cell_mbps:
        _cell(links, cell_mbps, fair)
    for link in links:
        space, inner, outer = name(link.client), f"in{link.client}", f"out{link.client}"
        call("ip", "netns", "add", space)
        call("ip", "link", "add", outer, "type", "veth", "peer", "name", inner, "netns", space)
        host = 10 + link.client
        address = f"10.77.200.{host}/24" if cell_mbps else f"10.77.{link.client}.2/24"
        call("ip", "-n", space, "addr", "add", address, "dev", inner)
        call("ip", "-n", space, "link", "set", "lo", "up")
        call("ip", "-n", space, "link", "set", inner, "up")
        tbf([], outer, link.down)
        tbf(["-n", space], inner, link.up)
        if cell_mbps:
            call("ip", "link", "set", outer, "netns", "router")
            call("ip", "-n", "router", "link", "set", outer, "master", "bridge", "up")
            tbf(["-n", "router"], outer, link.down)
        else:
            call("ip", "addr", "add", f"10.77.{link.client}.1/24", "dev", outer)
            call("ip", "link", "set", outer, "up")


def tbf(namespace: list[str], device: str, mbps: float) -> None:
    """Shape what leaves a device by a token bucket."""
    rate = f"{round(mbps * 1e6)}bit"
    call(
        *("tc", *namespace, "qdisc", "replace", "dev", device, "root"),
        *("tbf", "rate", rate, "burst", "4kb", "latency", "1000ms"),
    )


def _cell(links: list[Link], mbps: float, fair: bool) -> None:
    router = ["-n", "router"]
    call("ip", "netns", "add", "router")
    call("ip", *router, "link", "add", "bridge", "type", "bridge")
    call("ip", *router, "link", "set", "bridge", "up")
    call("ip", "link", "add", "server", "type", "veth", "peer", "name", "uplink", "netns", "router")
    # HTB does not split large segments, which would pass the shaper whole.
    call("ip", "link", "set", "server", "gso_max_segs", "1")
    call("ip", "addr", "add", "10.77.200.1/24", "dev", "server")
    call("ip", "link", "set", "server", "up")
    call("ip", *router, "link", "set", "uplink", "master", "bridge", "up")
    _htb([], "server", links, mbps, "dst" if fair else "")
    _htb(router, "uplink", links, mbps, "src" if fair else "")


def _htb(namespace: list[str], device: str, links: list[Link], mbps: float, match: str) -> None:
    """Shape what leaves one end of the cell's link, with a class for each client if it is fair."""
    burst = ["burst", "4kb", "cburst", "4kb"]
    ceiling = f"{round(mbps * 1e6)}bit"
    share = f"{round(mbps * 1e6 / len(links))}bit"
    at = ["dev", device, "parent"]
    default = "1" if not match else "99"  # ARP is not of a client
    call(
        "tc",
        *namespace,
        "qdisc",
        "add",
        "dev",
        device,
        "root",
        "handle",
        "1:",
        "htb",
        "default",
        default,
    )
    call(
        "tc",
        *namespace,
        "class",
        "add",
        *at,
        "1:",
        "classid",
        "1:1",
        "htb",
        "rate",
        ceiling,
        *burst,
    )
    if not match:
        return
    rest = ["htb", "rate", "8kbit", "ceil", ceiling, *burst]
    call("tc", *namespace, "class", "add", *at, "1:1", "classid", "1:99", *rest)
    for link in links:
        minor = f"1:{100 + link.client}"
        rate = ["htb", "rate", share, "ceil", ceiling, *burst, "quantum", "1514"]
        call("tc", *namespace, "class", "add", *at, "1:1", "classid", minor, *rate)
        address = f"10.77.200.{10 + link.client}/32"
        rule = ["protocol", "ip", "u32", "match", "ip", match, address, "flowid", minor]
        call("tc", *namespace, "filter", "add", *at, "1:", *rule)


def call(*command: str) -> str:
    """Run a command; its error is an error here."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout
