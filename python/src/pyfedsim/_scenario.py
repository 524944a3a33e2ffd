"""Scenarios and settings as the command line of fedsim takes them."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Union

from pyfedsim import _temporary
from pyfedsim.errors import Problem, ScenarioError

__all__ = ["Scenario", "Value", "arguments", "as_file", "dumps"]

# A string, a number, a truth value, or lists and tables of these; NumPy's too.
Value = Any
Scenario = Union[str, "os.PathLike[str]", Mapping[str, Any]]

_BARE = re.compile(r"[A-Za-z0-9_-]+")


@contextmanager
def as_file(scenario: Scenario) -> Iterator[str]:
    """Give the argument that names a scenario: a path, a shipped name, or a temporary file."""
    if not isinstance(scenario, Mapping):
        yield os.fspath(scenario)
        return
    name = scenario.get("name", "scenario")
    if not isinstance(name, str) or not _BARE.fullmatch(name):
        raise ScenarioError(
            [Problem(f"name = {name!r}: must be a name of letters, digits, - and _", key="name")]
        )
    text = dumps(scenario)
    for key in scenario:
        if "." in key:
            table, _, rest = key.partition(".")
            raise _error(key, f'must be nested: {{"{table}": {{"{rest}": ...}}}}; or use set')
    with _temporary.folder() as folder:
        path = folder / f"{name}.toml"
        path.write_text(text, encoding="utf-8")
        try:
            yield str(path)
        except ScenarioError as error:
            # The places are those of the temporary file.
            problems = [
                Problem(p.text, key=p.key) if p.file == str(path) else p for p in error.problems
            ]
            raise ScenarioError(problems) from None


def arguments(settings: Mapping[str, Value] | None) -> list[str]:
    """Return the arguments ``--set key=value`` of settings; None leaves a key out."""
    found = []
    for key, value in (settings or {}).items():
        found += ["--set", f"{key}={'' if value is None else _value(value, key)}"]
    return found


def dumps(document: Mapping[str, Any]) -> str:
    """Return a document as TOML.

    Tables become ``[tables]``; lists of tables become ``[[arrays of tables]]``; tables
    in other lists are inline. None is an error: TOML has no such value.

    Raises
    ------
    ScenarioError
        If a value has no TOML form; the error has its key.
    """
    lines: list[str] = []
    _table(document, (), lines)
    return "\n".join(lines).lstrip("\n") + "\n"


def _table(table: Mapping[str, Any], path: tuple[str, ...], lines: list[str]) -> None:
    """Append a table: its values first, then the tables in it."""
    below: list[tuple[str, Any]] = []
    for key, value in table.items():
        if not isinstance(key, str):
            raise _error(".".join(path) or "the scenario", f"key {key!r} must be text")
        if isinstance(value, Mapping) or _is_tables(value):
            below.append((key, value))
        else:
            lines.append(f"{_key(key)} = {_value(value, '.'.join((*path, key)))}")
    for key, value in below:
        inner = (*path, key)
        header = ".".join(_key(k) for k in inner)
        if isinstance(value, Mapping):
            lines += ["", f"[{header}]"]
            _table(value, inner, lines)
        else:
            for item in value:
                lines += ["", f"[[{header}]]"]
                _table(item, inner, lines)


def _is_tables(value: object) -> bool:
    """Report whether a value is a list of tables, which is not empty."""
    return (
        isinstance(value, (list, tuple))
        and bool(value)
        and all(isinstance(v, Mapping) for v in value)
    )


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    """Return a string of TOML, whose escapes are those of JSON and that of DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: object, key: str) -> str:
    """Return a value in one line."""
    if hasattr(value, "tolist"):  # arrays and numbers of NumPy
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return float.__repr__(value)  # as in TOML: with a point or an exponent, or inf or nan
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, os.PathLike):
        return _text(os.fspath(value))
    if isinstance(value, (dt.datetime, dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, Mapping):
        return (
            "{"
            + ", ".join(f"{_key(k)} = {_value(v, f'{key}.{k}')}" for k, v in value.items())
            + "}"
        )
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return "[" + ", ".join(_value(v, key) for v in value) + "]"
    raise _error(key, f"{type(value).__name__} has no form in TOML")


def _error(key: str, text: str) -> ScenarioError:
    return ScenarioError([Problem(f"{key}: {text}", key=key)])
