from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from pyfedsim.errors import (
    EngineError,
    ExternalError,
    Interrupted,
    Problem,
    RunError,
    ScenarioError,
    Stalled,
    UsageError,
    error_of_exit,
    parse_problem,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("line", "want"),
    [
        (
            'bad.toml:5:10: problem.lambda = "x": must be a number',
            ("bad.toml", 5, 10, "problem.lambda"),
        ),
        (
            "C:\\a b\\bad.toml:3:1: unknown key data.clints: known are source",
            ("C:\\a b\\bad.toml", 3, 1, "data.clints"),
        ),
        ("bad.toml:1:6: expected '.' or ']' to end table name", ("bad.toml", 1, 6, None)),
        (
            "--set network.profil=3g: unknown key network.profil: did you mean profile?",
            (None, None, None, "network.profil"),
        ),
        ("nothing: unknown scenario nothing: known are a, b", ("nothing", None, None, None)),
    ],
)
def test_parse_problem(
    line: str, want: tuple[str | None, int | None, int | None, str | None]
) -> None:
    problem = parse_problem(line)
    assert problem is not None
    assert (problem.file, problem.line, problem.column, problem.key) == want
    assert str(problem) == line


def test_other_lines_are_no_problems() -> None:
    assert parse_problem("fedsim: --seed=x: must be a whole number") is None
    assert parse_problem("") is None


@pytest.mark.parametrize(
    ("status", "kind"),
    [(1, RunError), (2, UsageError), (3, Stalled), (75, Interrupted), (-9, RunError)],
)
def test_class_of_exit_status(status: int, kind: type[Exception]) -> None:
    error = error_of_exit(status, "fedsim: something is wrong")
    assert type(error) is kind
    assert "something is wrong" in str(error)


def test_note_of_started_programs_is_no_failure() -> None:
    note = "fedsim: a.toml starts 1 program, with your permissions:\n  methods.m: python3 m.py\n"
    failure = "run a/m/seed=1: starting external: learner python3 m.py: hello: exited with status 2"
    error = error_of_exit(1, note + f"fedsim: {failure}\n")
    assert type(error) is ExternalError
    assert str(error) == failure


def test_error_of_the_engine_names_a_field_once() -> None:
    error = EngineError("type", "exchange: msgs[0]: flops is missing", "msgs[0]")
    assert str(error) == "exchange: msgs[0]: flops is missing (type)"


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (
            "r: holds a run: use --force to overwrite it",
            "r: holds a run: use force=True (--force) to overwrite it",
        ),
        (
            "no rows by device; run the scenario again with --set run.devices=true",
            'no rows by device; run the scenario again with set={"run.devices": True}',
        ),
        (
            """run the scenario again with --set 'run.client_metrics=["error"]'""",
            'run the scenario again with set={"run.client_metrics": ["error"]}',
        ),
        ("choose it, as with --set network.profile=lte", 'as with set={"network.profile": "lte"}'),
        ("or with --set run.seeds=[1]; no", 'or with set={"run.seeds": [1]}; no'),
        ("a starts x: add --allow-external if", "add allow_external=True (--allow-external) if"),
        (
            "resume with: fedsim run --resume r --allow-external --allow-other-program",
            'resume with: run(..., out="r", resume=True, allow_external=True, allow_other_program=True)',
        ),
        (
            "resume with: fedsim run --resume r --allow-external",
            'resume with: run(..., out="r", resume=True, allow_external=True)',
        ),
        (
            "the checkpoint is saved: fix the cause, then resume with: fedsim run --resume r/a.b",
            'resume with: run(..., out="r/a.b", resume=True)',
        ),
        ("needs one scenario; see fedsim run --help", "needs one scenario"),
        ("--workers=-1: must not be negative", "workers=-1: must not be negative"),
    ],
)
def test_errors_speak_python(told: str, text: str) -> None:
    error = str(error_of_exit(2, f"fedsim: {told}"))
    assert error.endswith(text)


def test_scenario_error_has_first_problem() -> None:
    error = error_of_exit(
        2, "a.toml:1:2: x.y = 3: must be 4\na.toml:5:1: unknown key z: known are a\n"
    )
    assert isinstance(error, ScenarioError)
    assert (error.file, error.line, error.column, error.key) == ("a.toml", 1, 2, "x.y")
    assert error.problems[1] == Problem("unknown key z: known are a", "a.toml", 5, 1, "z")


def test_errors_of_the_program(fedsim: Path, tmp_path: Path) -> None:
    """The program writes errors as the parser reads them."""
    path = tmp_path / "bad.toml"
    path.write_text("[data]\nclints = 3\n[methods.mocha]\n")
    done = subprocess.run(
        [fedsim, "run", path, "--set", "run.rounds=x"], capture_output=True, text=True, check=False
    )
    error = error_of_exit(done.returncode, done.stderr)
    assert isinstance(error, ScenarioError)
    assert [(p.line, p.column, p.key) for p in error.problems] == [
        (2, 1, "data.clints"),
        (None, None, "run.rounds"),
    ]
