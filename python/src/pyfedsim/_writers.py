"""Copy the rounds of a run to TensorBoard, MLflow or Weights & Biases.

Each run of the run directory becomes a run of the tracker, with its settings as
parameters and its rounds as steps. The libraries are optional.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyfedsim.errors import FedsimError

if TYPE_CHECKING:
    import os

    from pyfedsim.runs import Run

__all__ = ["to_mlflow", "to_tensorboard", "to_wandb"]

# Columns of rounds.parquet and metrics.parquet that identify a row.
_KEYS = {"run", "experiment", "method", "algorithm", "seed", "outer", "round", "split", "name"}


@dataclass
class _Series:
    """A run: its parameters, and the values of each round."""

    id: str
    parameters: dict[str, str] = field(default_factory=dict)
    rounds: dict[int, dict[str, float]] = field(default_factory=dict)


def to_tensorboard(run: Run, folder: str | os.PathLike[str]) -> Path:
    """Write event files to a folder."""
    writer = _summary_writer()
    folder = Path(folder)
    for series in _series(run):
        with writer(str(folder / series.id)) as log:
            log.add_text(
                "parameters", "\n".join(f"{k}: {v}  " for k, v in series.parameters.items())
            )
            for number, values in series.rounds.items():
                for name, value in values.items():
                    log.add_scalar(name, value, number, walltime=values.get("time_s", 0.0))
    return folder


def to_mlflow(run: Run, experiment: str | None = None) -> list[str]:
    """Log runs to MLflow, and return their ids."""
    mlflow = _import("mlflow")
    entities = _import("mlflow.entities", "mlflow")
    if experiment is not None:
        mlflow.set_experiment(experiment)
    client = mlflow.MlflowClient()
    ids: list[str] = []
    for series in _series(run):
        with mlflow.start_run(run_name=series.id) as active:
            identifier = active.info.run_id
            mlflow.log_params(series.parameters)
            metrics = [
                entities.Metric(name, value, round(1e3 * values.get("time_s", 0.0)), number)
                for number, values in series.rounds.items()
                for name, value in values.items()
            ]
            for i in range(0, len(metrics), 1000):  # the most that one call takes
                client.log_batch(identifier, metrics=metrics[i : i + 1000])
            ids.append(identifier)
    return ids


def to_wandb(run: Run, **options: Any) -> list[str]:
    """Log runs to Weights & Biases, and return their ids."""
    wandb = _import("wandb")
    ids: list[str] = []
    for series in _series(run):
        active = wandb.init(**{"name": series.id, "config": series.parameters, **options})
        active.define_metric("*", step_metric="time_s")
        for number, values in series.rounds.items():
            active.log(values, step=number)
        active.finish()
        ids.append(active.id)
    return ids


def _series(run: Run) -> list[_Series]:
    """Return the runs of a run directory, in its order."""
    rows = run.table("runs", "numpy")
    swept = [
        name
        for name in rows.dtype.names
        if "." in name or name in _KEYS - {"run", "outer", "round"}
    ]
    found = {
        row["run"]: _Series(
            str(row["run"]).replace("/", "-"),
            {
                "scenario": run.directory.name,
                **{n: str(row[n]) for n in swept if n in rows.dtype.names},
            },
        )
        for row in rows
    }
    table = run.table("rounds", "numpy")
    names = [n for n in table.dtype.names if n not in _KEYS and table.dtype[n].kind in "iuf"]
    swept_numbers = {n for n in names if "." in n}
    for row in table:
        values = {
            n: float(row[n]) for n in names if n not in swept_numbers and math.isfinite(row[n])
        }
        found[row["run"]].rounds[int(row["round"])] = values
    if (run.directory / "metrics.parquet").is_file():
        for row in run.table("metrics", "numpy"):
            name = f"{row['split']}_{row['name']}" if row["split"] else str(row["name"])
            if math.isfinite(row["value"]):
                found[row["run"]].rounds[int(row["round"])][name] = float(row["value"])
    return list(found.values())


def _summary_writer() -> Any:
    """Return the class SummaryWriter of PyTorch or tensorboardX."""
    for module in ("torch.utils.tensorboard", "tensorboardX"):
        with contextlib.suppress(ImportError):
            return __import__(module, fromlist=["SummaryWriter"]).SummaryWriter
    raise FedsimError("to_tensorboard needs tensorboardX: pip install tensorboardX")


def _import(module: str, package: str | None = None) -> Any:
    """Import an optional library."""
    try:
        return __import__(module, fromlist=["*"])
    except ImportError:
        name = package or module
        raise FedsimError(f"{name} is not installed: pip install {name}") from None
