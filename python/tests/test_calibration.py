from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pyfedsim
from pyfedsim import Calibration
from pyfedsim.errors import UsageError

CLIENTS = {"ann": (4.0, 8.0, 640), "bob": (2.0, 16.0, 320)}  # GFLOP/s, Mbit/s, rows
STEP_S, FLOPS_A_ROW = 1e-3, 6e4


def write(path: Path, sizes: list[int], epochs: list[int]) -> Path:
    """Write a log of four rounds a run, of times without noise."""
    lines = ["run,round,client,bytes_down,bytes_up,examples,epochs,batch,flops,sent_s,"]
    lines[0] += "reply_first_s,seen_s,receive_s,wait_s,compute_s,down_mbps,up_mbps,gflops"
    for size, passes in zip(sizes, epochs, strict=True):
        now = 0.0
        for number in range(4):
            ends = []
            for name, (gflops, mbps, rows) in CLIENTS.items():
                batch = 32 if number % 2 else 64
                flops = rows * passes * FLOPS_A_ROW * size / 1e5
                compute = STEP_S * passes * np.ceil(rows / batch) + flops / (gflops * 1e9)
                move = 8e-6 * size / mbps
                first, seen = now + move + compute, now + 2 * move + compute
                ends.append(seen)
                row = [f"{size}-{passes}", number, name, size, size, rows, passes, batch, flops]
                row += [now, first, seen, move, 0, compute, mbps, mbps, gflops]
                lines.append(",".join(map(str, row)))
            now = max(ends)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def calibration(tmp_path: Path) -> Calibration:
    log = write(tmp_path / "log.csv", [100_000, 100_000, 200_000], [1, 3, 1])
    return Calibration.fit(log, tmp_path / "cal", hold_out="rounds")


def test_values(calibration: Calibration) -> None:
    clients = {c["name"]: c for c in calibration.values["clients"]}
    assert clients["ann"]["gflops"]["value"] == pytest.approx(4, rel=1e-3)
    assert clients["bob"]["gflops"]["value"] == pytest.approx(2, rel=1e-3)
    assert {m["term"] for m in calibration.not_identified} >= {"traffic_s_per_gb"}
    assert "rounds held out in turn" in calibration.report
    assert calibration.fleet.is_file()
    assert repr(calibration).endswith("2 clients, 3 runs)")


def test_predictions(calibration: Calibration, tmp_path: Path) -> None:
    unseen = write(tmp_path / "unseen.csv", [400_000], [5])
    table = calibration.replay(unseen, library="numpy")
    assert len(table) == 8
    np.testing.assert_allclose(table["predicted_seen_s"], table["measured_seen_s"], rtol=0.02)
    text = calibration.check([unseen])
    assert "nominal: FLOPs and bytes" in text
    assert max(map(len, text.splitlines())) <= 80


def test_what_if(calibration: Calibration, tmp_path: Path) -> None:
    run = calibration.run(out=tmp_path / "base", progress=False, figures=False)
    fast = calibration.run(
        set={"network.wire.factor": 1.0, "federation.protocol": "first"}
        | {"federation.clients_per_round": 1, "federation.protocol_options.over_selection": 2.0},
        out=tmp_path / "first",
        progress=False,
        figures=False,
    )
    assert isinstance(run, pyfedsim.Run)
    last = [r.table("rounds", library="numpy")["time_s"][-1] for r in (run, fast)]
    assert last[1] < last[0]


def test_errors(calibration: Calibration, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no calibration"):
        Calibration(tmp_path)
    with pytest.raises(UsageError, match="already exists"):
        Calibration.fit(tmp_path / "log.csv", calibration.directory)
    with pytest.raises(UsageError, match="one log at least"):
        calibration.check([])
