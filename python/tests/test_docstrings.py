"""Every public name says what it is, with all parameters, returns, units and shapes."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import re
import typing
from typing import Any

import pytest

MODULES = (
    *("pyfedsim", "pyfedsim.data", "pyfedsim.engine", "pyfedsim.errors", "pyfedsim.flower"),
    *("pyfedsim.method", "pyfedsim.model", "pyfedsim.observe", "pyfedsim.observe.flower"),
    *("pyfedsim.protocols", "pyfedsim.runs", "pyfedsim.traces"),
)
NEEDS = {"pyfedsim.flower": "flwr", "pyfedsim.observe.flower": "flwr", "pyfedsim": "torch"}

# A number has a unit, or is a count, a share or a number of something.
UNIT = re.compile(
    r"\b(seconds?|milliseconds|nanoseconds|bytes?|MB|FLOPs|rounds?|clients?|rows?|steps?|epochs?|"
    r"passes|seed|cores|number|numbers|count|counted|how many|id|ids|share|weights?|status|values?|"
    r"threads|metric|width|size)\b|"
    r"_(s|ns|bytes|flops)\b",
    re.IGNORECASE,
)
# An array has a shape, or is said to be one by name or by client.
SHAPE = re.compile(r"\bshapes?\b|\barrays? by name\b|\(\w+(, \w+)*,?\)|\bone for each\b|\bvalues\b")
ARRAY = re.compile(r"Array|ndarray")
PROPERTY = (property, functools.cached_property)
NUMBER = re.compile(r"\b(int|float)\b")


def members(module: Any) -> dict[str, Any]:
    """Return the public names of a module, and those of its classes."""
    found = {}
    for name in module.__all__:
        value = getattr(module, name)
        if not callable(value) or typing.get_origin(value) is not None:
            continue
        found[name] = value
        if not inspect.isclass(value):
            continue
        for inner, member in vars(value).items():
            if inner.startswith("_"):
                continue
            if callable(member) or isinstance(member, (*PROPERTY, staticmethod, classmethod)):
                found[f"{name}.{inner}"] = member
    return found


def plain(member: Any) -> Any:
    """Return the function of a member."""
    for name in ("fget", "func", "__func__"):  # of a property, a cached one, a class method
        member = getattr(member, name, None) or member
    return member


def described(text: str, name: str) -> str | None:
    """Return what a docstring says of a parameter: its entry, or the sentences that name it."""
    entry = re.search(
        rf"^ *(?:[\w*]+, )*\**{name}(?:, [\w*]+)*\n((?: {{4,}}.*\n?|\n)+)", text, re.MULTILINE
    )
    if entry is not None:
        return entry[1].split("\n\n")[0]
    sentences = [s for s in re.split(r"(?<=[.;])\s", text) if re.search(rf"\b{name}\b", s)]
    return " ".join(sentences) or None


def problems(where: str, member: Any, inherited: list[str]) -> list[str]:
    """Return what the docstring of a member lacks, beside those of the bases of its class."""
    function = plain(member)
    if not function.__doc__:
        return [f"{where}: has no docstring"]
    if inspect.isclass(function):
        return class_problems(where, function)
    text = "\n".join([inspect.getdoc(function) or "", *inherited])
    found = []
    signature = inspect.signature(function)
    for parameter in signature.parameters.values():
        if parameter.name in {"self", "cls"} or parameter.name.startswith("_"):
            continue
        found += value_problems(where, text, parameter.name, str(parameter.annotation))
    returned = str(signature.return_annotation)
    if isinstance(member, PROPERTY) or returned in {"None", "NoReturn"}:
        return found
    if not re.search(r"\b[Rr]eturns?\b", text):
        found.append(f"{where}: does not say what it returns ({returned})")
    return found


def class_problems(where: str, kind: type) -> list[str]:
    """Return what the docstring of a class lacks: parameters of its instances, or fields."""
    text = inspect.getdoc(kind) or ""
    values: dict[str, str] = {}
    if dataclasses.is_dataclass(kind) or typing.is_typeddict(kind):
        values = {name: str(value) for name, value in kind.__annotations__.items()}
        below = re.findall(
            r"^    (\w+): .*\n    \"{3}((?s:.*?))\"{3}", inspect.getsource(kind), re.M
        )
        text += "".join(f"\n\n{name}\n    {about}\n" for name, about in below)
    elif "__init__" in vars(kind) and not issubclass(kind, Exception):
        parameters = list(inspect.signature(vars(kind)["__init__"]).parameters.values())[1:]
        values = {p.name: str(p.annotation) for p in parameters}
    return [
        problem
        for name, annotation in values.items()
        for problem in value_problems(where, text, name, annotation)
    ]


def value_problems(where: str, text: str, name: str, annotation: str) -> list[str]:
    """Return what a docstring does not say of one value."""
    about = described(text, name)
    if about is None:
        return [f"{where}: does not describe {name}"]
    if NUMBER.search(annotation) and not UNIT.search(f"{name} {about}"):
        return [f"{where}: {name} has no unit: {about!r}"]
    if ARRAY.search(annotation) and not SHAPE.search(about):
        return [f"{where}: {name} has no shape: {about!r}"]
    return []


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.filterwarnings("ignore")
def test_docstrings(name: str) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{NEEDS[name]} is not installed")
    module = importlib.import_module(name)
    assert module.__doc__
    found = []
    for where, member in members(module).items():
        kind, _, inner = where.partition(".")
        bases = getattr(module, kind).__mro__[1:] if inner else ()
        same = [vars(base)[inner] for base in bases if inner in vars(base)]
        found += problems(where, member, [inspect.getdoc(plain(m)) or "" for m in same])
    assert found == [], "\n" + "\n".join(found)
