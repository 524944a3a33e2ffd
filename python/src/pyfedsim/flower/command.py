"""The command fedsim-flower: run a Flower project folder in virtual time."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyfedsim import errors
from pyfedsim._process import call

_DESCRIPTION = """\
Run a Flower app in virtual time, on the devices and links of a fedsim scenario.
PROJECT is a folder with a pyproject.toml that has [tool.flwr.app]. The app runs
in this process; its run directory is as that of "fedsim run"."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns the exit status: that of fedsim for the same error."""
    options = _parser().parse_args(arguments)
    try:
        done = _run(options)
    except errors.FedsimError as error:
        if not (isinstance(error, errors.EngineError) and error.fatal):  # the engine told it
            print(error, file=sys.stderr)  # noqa: T201
        return _status(error)
    except KeyboardInterrupt:
        return errors.EXIT_INTERRUPTED
    print(f"{done.directory}: {done.seconds:.3f} s of virtual time")  # noqa: T201
    return 0


def _run(options: argparse.Namespace) -> Any:
    from pyfedsim.flower import _releases as flwr  # noqa: PLC0415 - slow, not for --help
    from pyfedsim.flower.simulation import run  # noqa: PLC0415

    project = Path(options.project)
    try:
        read = flwr.first("flwr.common.config")
        flower = read.get_project_config(project)["tool"]["flwr"]
        places = flower["app"]["components"]
        overrides = read.parse_config_args(options.run_config)
        config = read.get_fused_config_from_dir(project, overrides)
        load = flwr.first("flwr.supercore.object_ref:load_app", "flwr.common.object_ref:load_app")
        server = load(places["serverapp"], errors.UsageError, project)
        client = load(places["clientapp"], errors.UsageError, project)
    except (OSError, ValueError) as error:
        raise errors.UsageError(f"{project}: {error}") from error
    toml = flwr.first("tomllib", "tomli")
    settings = {key: _value(toml, text) for key, text in options.set}
    nodes = _supernodes(flower)
    if nodes is not None and _leaves_clients(toml, options.scenario, settings):
        settings["data.synthetic.clients"] = nodes
    return run(
        server,
        client,
        options.scenario,
        run_config=config,
        flops=_merged(options.flops),
        steps=_merged(options.steps),
        traffic_bytes=_merged(options.traffic_bytes),
        flops_per_example=options.flops_per_example,
        epochs=options.epochs,
        seed=options.seed,
        method=options.method or project.resolve().name,
        lazy=options.lazy,
        rounds=options.rounds,
        set=settings,
        out=options.out,
        force=options.force,
        figures=not options.no_figures,
        allow_nonfinite=options.allow_nonfinite,
    )


def _supernodes(flower: Any) -> int | None:
    """Return num-supernodes of the project's default federation; None if it has none."""
    federations = flower.get("federations", {})
    chosen = federations.get(federations.get("default", ""), {})
    nodes = chosen.get("options", {}).get("num-supernodes")
    return nodes if isinstance(nodes, int) and nodes > 0 else None


def _leaves_clients(toml: Any, scenario: str, settings: dict[str, Any]) -> bool:
    """Return whether a scenario leaves the number of clients to its default."""
    path = Path(scenario)
    try:
        text = (
            path.read_text("utf-8")
            if path.exists()
            else call(["scenarios", "show", "--", scenario])
        )
        data = toml.loads(text).get("data", {})
    except (OSError, ValueError, errors.FedsimError):
        return False  # the run reports what is wrong
    found = {f"data.{key}": value for key, value in data.items()}
    found |= {f"data.synthetic.{key}": value for key, value in data.get("synthetic", {}).items()}
    found |= settings
    generated = found.get("data.source", "synthetic") == "synthetic"
    return generated and not found.get("data.preset") and not found.get("data.synthetic.clients")


def _status(error: errors.FedsimError) -> int:
    wrong = isinstance(error, errors.EngineError) and error.code == "directory"
    if wrong or isinstance(error, errors.UsageError):
        return errors.EXIT_USAGE
    return errors.EXIT_STALLED if isinstance(error, errors.Stalled) else errors.EXIT_FAILED


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"{text!r}: must be KEY=VALUE")
    return key, value


def _merged(given: list[list[tuple[str, float]]] | None) -> dict[str, float] | None:
    """Return the pairs of an option that may be given several times; None without any."""
    return dict(pair for pairs in given for pair in pairs) if given else None


def _amounts(text: str) -> list[tuple[str, float]]:
    """Return pairs of KIND=NUMBER."""
    pairs = []
    for part in text.split(","):
        key, _, value = part.partition("=")
        try:
            pairs.append((key.strip(), float(value)))
        except ValueError:
            raise argparse.ArgumentTypeError(
                f"{part!r}: must be KIND=NUMBER, as in train=1e9"
            ) from None
    return pairs


def _value(toml: Any, text: str) -> Any:
    """Return the value of a setting: TOML, or text without quotes."""
    try:
        return toml.loads(f"value = {text}")["value"]
    except ValueError:
        return text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fedsim-flower",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("project", metavar="PROJECT", help="folder of the Flower app")
    add("scenario", metavar="SCENARIO", help="scenario file, or name of a shipped scenario")
    add(
        "--run-config",
        "-c",
        action="append",
        metavar="'K=V ...'",
        help="override keys of [tool.flwr.app.config], as flwr run does",
    )
    for option, text in (
        ("--flops", "FLOPs of a message by kind (train, evaluate, query) or type, as in train=1e9"),
        ("--steps", "mini-batch steps of a message, likewise (0)"),
        ("--traffic-bytes", "bytes of memory that the work of a message moves, likewise (0)"),
    ):
        add(option, action="append", type=_amounts, metavar="K=N,...", help=text)
    add("--flops-per-example", type=float, metavar="F", help="FLOPs of training on one example")
    add("--epochs", type=float, default=1, metavar="N", help="passes over the examples (1)")
    add("--seed", type=int, default=1, metavar="N", help="seed of devices and of the app (1)")
    add("--method", metavar="NAME", help="name in the results (name of the project folder)")
    add("--lazy", action="store_true", help="call a ClientApp only after its downlink")
    add(
        "--rounds",
        choices=("auto", "app"),
        default="auto",
        help="app: a round for each call of pyfedsim.flower.close",
    )
    add(
        "--set",
        action="append",
        type=_setting,
        default=[],
        metavar="K=V",
        help="override a key of the scenario; can be given several times",
    )
    add("--out", metavar="DIR", help="run directory (runs/<scenario>-<method>)")
    add("--no-figures", action="store_true", help="do not draw figures")
    add("--force", action="store_true", help="overwrite an existing run")
    add(
        "--allow-nonfinite",
        action="store_true",
        help="accept NaN and infinities in arrays of replies to train messages",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
