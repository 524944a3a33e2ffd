"""The command fedsim-flower: run a Flower project folder in virtual time."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyfedsim import errors

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
        places = read.get_project_config(project)["tool"]["flwr"]["app"]["components"]
        overrides = read.parse_config_args(options.run_config)
        config = read.get_fused_config_from_dir(project, overrides)
        load = flwr.first("flwr.supercore.object_ref:load_app", "flwr.common.object_ref:load_app")
        server = load(places["serverapp"], errors.UsageError, project)
        client = load(places["clientapp"], errors.UsageError, project)
    except (OSError, ValueError) as error:
        raise errors.UsageError(f"{project}: {error}") from error
    return run(
        server,
        client,
        options.scenario,
        run_config=config,
        flops_per_example=options.flops_per_example,
        epochs=options.epochs,
        seed=options.seed,
        method=options.method or project.resolve().name,
        lazy=options.lazy,
        rounds=options.rounds,
        set={key: _value(flwr.first("tomllib", "tomli"), text) for key, text in options.set},
        out=options.out,
        force=options.force,
        figures=not options.no_figures,
    )


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
    return parser


if __name__ == "__main__":
    sys.exit(main())
