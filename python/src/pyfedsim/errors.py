"""Errors of fedsim as exceptions.

Each class stands for an exit status of fedsim, or for an error object of the engine
protocol. All derive from :class:`FedsimError`.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass

__all__ = [
    "BinaryNotFoundError",
    "EngineClosedError",
    "EngineError",
    "ExternalError",
    "FedsimError",
    "Interrupted",
    "Problem",
    "RunError",
    "ScenarioError",
    "Stalled",
    "UsageError",
    "error_of_exit",
]

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_STALLED = 3
EXIT_INTERRUPTED = 75


class FedsimError(Exception):
    """An error of fedsim; the text has one line per problem."""


class BinaryNotFoundError(FedsimError):
    """The program fedsim was not found."""


class UsageError(FedsimError):
    """The arguments are wrong (exit status 2)."""


class RunError(FedsimError):
    """The command failed (exit status 1)."""


class ExternalError(RunError):
    """The program of a learner or a model failed or broke its protocol (exit status 1)."""


class Interrupted(FedsimError):  # noqa: N818 - a state, like KeyboardInterrupt
    """The run was interrupted (exit status 75); it can be resumed.

    Attributes
    ----------
    directory
        The run directory to resume, or None if nothing was saved.
    """

    def __init__(self, text: str, directory: str | None = None) -> None:
        super().__init__(text)
        self.directory = directory


class Stalled(FedsimError):  # noqa: N818 - a state of the run
    """In some run no device can act again (exit status 3); the results are complete.

    Attributes
    ----------
    directory
        The run directory, or None if it is not known.
    """

    def __init__(self, text: str, directory: str | None = None) -> None:
        super().__init__(text)
        self.directory = directory


@dataclass(frozen=True)
class Problem:
    """A problem of a scenario and its place.

    Attributes
    ----------
    text
        What is wrong and what would be right.
    file, line, column
        The place in the scenario, counted from 1; None where fedsim gives none.
    key
        The dotted key, such as ``faults.drop_probability``; None if the problem has none.
    """

    text: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    key: str | None = None

    def __str__(self) -> str:
        """Return the problem with its place, as fedsim prints it."""
        place = self.file or ""
        if self.line is not None:
            place += f":{self.line}:{self.column}"
        return f"{place}: {self.text}" if place else self.text


class ScenarioError(UsageError):
    """A scenario or a setting is wrong (exit status 2).

    ``file``, ``line``, ``column`` and ``key`` are those of the first problem.

    Attributes
    ----------
    problems
        All problems, in the order of fedsim; at least one.
    """

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(p) for p in problems))
        self.problems = problems
        first = problems[0]
        self.file = first.file
        self.line = first.line
        self.column = first.column
        self.key = first.key


class EngineError(FedsimError):
    """The engine refused an operation; a refused operation changes nothing.

    Attributes
    ----------
    code
        Code of the engine protocol, such as ``past``, ``unknown-id`` or ``device``.
    field
        The field of the request that is wrong; None if the error is of no field.
    fatal
        Whether the engine cannot continue.
    """

    def __init__(
        self, code: str, message: str, field: str | None = None, *, fatal: bool = False
    ) -> None:
        place = "" if field is None or field in message else f"{field}: "
        super().__init__(f"{place}{message} ({code})")
        self.code = code
        self.message = message
        self.field = field
        self.fatal = fatal


class EngineClosedError(FedsimError):
    """The engine ended, or was closed before the operation."""


# "x.toml:14:20: text", "--set faults.x=2: text" and "name: text".
_PLACED = re.compile(r"(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): (?P<text>.*)")
_OVERRIDE = re.compile(r"--set (?P<key>[^\s=]+)=.*?: (?P<text>.*)")
_FILE = re.compile(r"(?P<file>[^\s:]+(?::[\\/][^:]*)?): (?P<text>.*)")
_SCENARIO = re.compile(r"[^:]+\.toml: .*|\S+: unknown scenario .*")
_LEARNER = re.compile(
    r"\blearner \S+ (failed|is|has|did|does)\b|: starting external: learner "
    r"|\bmodel [^:]+: (hello|init|gradient of|evaluate of)\b"
)
_STARTS = re.compile(r"fedsim: .* starts \d+ programs?, with your permissions:")
_PROGRAM = re.compile(r"  (methods\.\S+|problem): .*")  # that is started
_NO_FILES = {"note", "estimate", "warning", "learner"}
# "unknown key data.clints: ...", "problem.lambda = "x": ...".
_KEY = re.compile(r"(?:unknown key )?(?P<key>[A-Za-z][\w\-]*(?:\.[\w\-\"\[\]]+)*)(?: = |:)")


def parse_problem(line: str) -> Problem | None:
    """Return the problem that a line of fedsim's standard error reports, or None."""
    line = line.strip()
    if not line or line.startswith("fedsim: "):
        return None
    if match := _PLACED.fullmatch(line):
        key = _KEY.match(match["text"])
        return Problem(
            match["text"],
            match["file"],
            int(match["line"]),
            int(match["column"]),
            key["key"] if key else None,
        )
    if match := _OVERRIDE.fullmatch(line):
        return Problem(line, key=match["key"])
    if (match := _FILE.fullmatch(line)) and match["file"] not in _NO_FILES:
        return Problem(match["text"], match["file"])
    return None


def reports_failure(line: str) -> bool:
    """Report whether a line of standard error becomes the text of an exception.

    Other lines are notes of fedsim, and what learners write for people.
    """
    if _STARTS.fullmatch(line):
        return False
    forms = (_PLACED, _OVERRIDE, _SCENARIO)
    return line.startswith("fedsim: ") or any(form.fullmatch(line) for form in forms)


# What the command line says, and the argument of Python. A place in a text ends before
# punctuation and a space, or at the end.
_END = r"(?=[,;:.]?(?:\s|$))"
_WORDS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"use --force to"), "use force=True (--force) to"),
    (re.compile(r"or --out for another"), "or out (--out) for another"),
    (re.compile(r"another directory with --out\b"), "another directory with out"),
    (re.compile(r"start over with --force\b"), "start over with force=True"),
    (re.compile(r"add --allow-external\b"), "add allow_external=True (--allow-external)"),
    (
        re.compile(r"add --allow-other-program\b"),
        "add allow_other_program=True (--allow-other-program)",
    ),
    (
        re.compile(r"fedsim run --resume (\S+) --allow-external --allow-other-program"),
        r'run(..., out="\1", resume=True, allow_external=True, allow_other_program=True)',
    ),
    (
        re.compile(r"fedsim run --resume (\S+) --allow-external"),
        r'run(..., out="\1", resume=True, allow_external=True)',
    ),
    (re.compile(r"fedsim run --resume (\S+?)" + _END), r'run(..., out="\1", resume=True)'),
    (re.compile(r"with --resume (\S+?)" + _END), r'with out="\1", resume=True'),
    (re.compile(r"; see fedsim [a-z ]+ --help"), ""),
    (re.compile(r"--checkpoint="), "checkpoint_s="),
    (re.compile(r"--(workers|seed|run)(?==|: )"), r"\1"),
)
_SETTING = re.compile(r"--set (?:(?P<quote>['\"])(?P<whole>.+?)(?P=quote)|(?P<bare>\S+?))" + _END)


def in_python(text: str) -> str:
    """Return a text of fedsim with the arguments of Python for the flags that it names."""
    for flag, argument in _WORDS:
        text = flag.sub(argument, text)
    return _SETTING.sub(_setting, text)


def _setting(found: re.Match[str]) -> str:
    """Return the argument ``set`` of a flag ``--set key=value``; a value is TOML, or text."""
    key, equals, value = (found["whole"] or found["bare"]).partition("=")
    if not equals:
        return found[0]
    value = {"true": "True", "false": "False"}.get(value, value)
    try:
        ast.literal_eval(value)
    except (SyntaxError, ValueError):
        value = json.dumps(value)
    return f"set={{{json.dumps(key)}: {value}}}"


def error_of_exit(status: int, stderr: str, directory: str | None = None) -> FedsimError:
    """Return the exception of an exit status other than 0.

    Parameters
    ----------
    status
        Exit status of fedsim; negative for a signal.
    stderr
        The lines that fedsim wrote to standard error, without progress.
    directory
        The run directory if it is known.
    """
    lines = [x for x in stderr.splitlines() if x.strip() and not _PROGRAM.fullmatch(x)]
    failures = [line for line in lines if reports_failure(line)]
    texts = [line.removeprefix("fedsim: ").removeprefix("hello: ") for line in failures or lines]
    text = in_python("\n".join(texts))
    if not text:
        text = f"fedsim ended with exit status {status} and no message"
    if status == EXIT_USAGE:
        problems = [p for p in map(parse_problem, lines) if p is not None]
        return ScenarioError(problems) if problems else UsageError(text)
    if status == EXIT_STALLED:
        return Stalled(text, directory)
    if status == EXIT_INTERRUPTED:
        return Interrupted(text, directory)
    if status < 0:
        return RunError(f"fedsim was ended by signal {-status}\n{text}")
    if _LEARNER.search(text):
        return ExternalError(text)
    return RunError(text)
