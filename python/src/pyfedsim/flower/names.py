"""Names and directions of metrics, from the keys that Flower apps use."""

from __future__ import annotations

import re

Name = tuple[str, str]
"""Split and name of a metric."""

_PREFIX = re.compile(
    r"^(train|training|eval|evaluate|evaluation|val|valid|validation|test)[-_. ]+(?=.)"
)
_SPLITS = {"train": "train", "training": "train", "val": "validation", "valid": "validation"}
_SPLITS["validation"] = "validation"
_LOWER = re.compile(r"loss|error|perplexity|mse|mae", re.IGNORECASE)
_HIGHER = re.compile(r"accuracy|f1|auc|auroc|precision|recall|score|r2", re.IGNORECASE)


def metric_name(split: str, key: str) -> Name:
    """Return split and name of a metric of an app.

    A prefix such as ``train_`` or ``eval-`` is removed, ``acc`` becomes ``accuracy``, and
    what fedsim's names do not allow becomes ``_``.
    """
    name = _PREFIX.sub("", key)
    if name in ("acc", "Accuracy"):
        name = "accuracy"
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", name)
    return split, (name if name[:1].isalpha() else "m" + name)[:64]


def split_of(key: str) -> str:
    """Return the split that the prefix of a key names; test if it names none."""
    match = _PREFIX.match(key)
    return _SPLITS.get(match[1], "test") if match else "test"


def direction(name: str) -> str:
    """Return whether a higher or a lower value is better, or "" if the name does not tell."""
    if _LOWER.search(name):
        return "lower"
    return "higher" if _HIGHER.search(name) else ""
