"""Reads the rows that "fedsim data export" writes."""

import json
from pathlib import Path

import numpy as np


def read(folder):
    """Return training and test rows of each client, as lists of (x, y); labels are -1 and +1."""
    folder = Path(folder)
    if not (folder / "data.json").exists():
        raise FileNotFoundError(
            f"there are no rows in {folder.resolve()}: fedsim data export SCENARIO --out {folder}"
        )
    about = json.loads((folder / "data.json").read_text())
    splits = []
    for split in ("train", "test"):
        x, y = (np.load(folder / f"{split}_{name}.npy") for name in "xy")
        ends = np.cumsum(about[f"{split}_rows"])[:-1]
        splits.append(list(zip(np.split(x, ends), np.split(y, ends))))
    return splits
