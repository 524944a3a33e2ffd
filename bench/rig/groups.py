"""Control groups that limit the processor time of clients, of version 1 and 2.

The period is 10 ms: under longer ones, short work escapes its quota. The group around those of
the clients has no quota of its own, which would throttle all of them.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

PERIOD_US = 10_000
ROOT = Path("/sys/fs/cgroup")

# Removes the groups when standard input ends, however this process ends. Their processes
# may need a moment to die. Groups have no files that could be removed, only folders.
_REAPER = """
cat >/dev/null
for try in $(seq 100); do
    rmdir "$0"/*/ 2>/dev/null
    rmdir "$0" 2>/dev/null
    [ -d "$0" ] || exit 0
    sleep 0.1
done
"""


class Groups:
    """The groups of this process, removed at its end, even if it is killed."""

    def __init__(self) -> None:
        self._unified, parent = _controller()
        self.path = parent / f"fedsim-rig-{os.getpid()}"
        self.path.mkdir()
        self._reaper = subprocess.Popen(
            ["/bin/sh", "-c", _REAPER, str(self.path)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        # Go before others, which then disturb less.
        if self._unified:
            _enable(self.path)
            (self.path / "cpu.weight").write_text("10000", encoding="ascii")
        else:
            (self.path / "cpu.shares").write_text("100000", encoding="ascii")

    def add(self, name: str, quota: float) -> str:
        """Make a group with a share of one core; return its path."""
        path = self.path / name
        path.mkdir(exist_ok=True)
        limit = round(quota * PERIOD_US)
        if self._unified:
            (path / "cpu.max").write_text(f"{limit} {PERIOD_US}", encoding="ascii")
        else:
            (path / "cpu.cfs_period_us").write_text(str(PERIOD_US), encoding="ascii")
            (path / "cpu.cfs_quota_us").write_text(str(limit), encoding="ascii")
        return str(path)

    def close(self) -> None:
        """Remove the groups."""
        if self._reaper.stdin is not None:
            self._reaper.stdin.close()
        self._reaper.wait()


def _controller() -> tuple[bool, Path]:
    """Return whether groups are of version 2, and the folder in which to make one."""
    old = ROOT / "cpu"
    if (old / "cpu.cfs_quota_us").exists() or (old / "tasks").exists():
        return False, old
    controllers = ROOT / "cgroup.controllers"
    if controllers.exists() and "cpu" in controllers.read_text(encoding="ascii").split():
        _enable(ROOT)
        return True, ROOT
    raise RuntimeError(f"{ROOT} has no control groups for processor time")


def _enable(path: Path) -> None:
    """Let the groups in a folder limit processor time (version 2)."""
    (path / "cgroup.subtree_control").write_text("+cpu", encoding="ascii")
