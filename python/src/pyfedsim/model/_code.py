"""The code of a model, for its fingerprint: files with what they import, notebooks, simple values."""

from __future__ import annotations

import ast
import contextlib
import dis
import functools
import hashlib
import importlib.util
import inspect
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

_SIMPLE = (type(None), bool, int, float, complex, str, bytes, type(...))
_WRAPPERS: dict[type, tuple[str, ...]] = {
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    MethodType: ("__func__",),
    property: ("fget", "fset", "fdel"),
    functools.cached_property: ("func",),
    functools.partial: ("func", "args", "keywords"),
}
_PACKAGE = Path(__file__).resolve().parents[1]
_KEYS = ("stdlib", "platstdlib", "purelib", "platlib")
_LIBRARIES = [*(Path(sysconfig.get_path(key)).resolve() for key in _KEYS), _PACKAGE]


def file_of(of: Any) -> Path | None:
    """Return the file that defines a class or a function; None if there is none."""
    try:
        file = Path(inspect.getfile(of)).resolve()
    except (TypeError, OSError):
        return None
    return file if file.is_file() else None


def is_own(file: Path) -> bool:
    """Return whether a file belongs to the user: to no library, and not to pyfedsim."""
    if {"site-packages", "dist-packages"} & set(file.parts):
        return False
    return not any(file.is_relative_to(library) for library in _LIBRARIES)


def is_simple(value: object) -> bool:
    """Return whether a value is a number or text, or has such values only."""
    if isinstance(value, Mapping):
        return all(is_simple(x) for pair in value.items() for x in pair)
    if isinstance(value, (tuple, list, AbstractSet)):
        return all(map(is_simple, value))
    return isinstance(value, (*_SIMPLE, np.generic))


def digest(roots: Iterable[object], model: object) -> str:
    """Return the hash of the code of classes and functions, and of simple attributes of a model."""
    code = _Code()
    texts = [code.text(root) for root in roots]
    texts.append(code.text(_attributes(model)))
    texts += sorted(
        f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}" for file in code.files
    )
    return hashlib.sha256("\n".join(texts).encode(errors="surrogatepass")).hexdigest()[:16]


class _Code:
    """Texts of values that are equal in every process, and the files of the user that they need."""

    def __init__(self) -> None:
        self.files: set[Path] = set()
        self.seen: set[int] = set()  # classes and functions

    def text(self, value: Any) -> str:
        """Return a text of a value, without addresses."""
        if isinstance(value, _SIMPLE):
            return f"{type(value).__name__} {value!r}"
        if isinstance(value, (tuple, list)):
            return f"[{', '.join(map(self.text, value))}]"
        if isinstance(value, (Mapping, AbstractSet)):  # whose order may differ by process
            members = value.items() if isinstance(value, Mapping) else value
            return f"{{{', '.join(sorted(map(self.text, members)))}}}"
        if isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
            return f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
        if isinstance(value, CodeType):
            return self._compiled(value)
        if isinstance(value, ModuleType):
            self._import(value.__name__)
            return f"module {value.__name__}"
        if isinstance(value, (FunctionType, type)):
            return self._defined(value)
        for kind, inner in _WRAPPERS.items():
            if isinstance(value, kind):
                return self.text([getattr(value, name) for name in inner])
        return f"{self._defined(type(value))} {self.text(_attributes(value))}"

    def _compiled(self, code: CodeType) -> str:
        parts = (code.co_name, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        return self.text((*parts, code.co_flags, *names, code.co_code, code.co_consts))

    def _defined(self, of: FunctionType | type) -> str:
        """Return a text of a class or a function, and note its file. It is written once."""
        name = f"{type(of).__name__} {of.__qualname__}"
        file = file_of(of)
        library = not is_own(file) if file else of.__module__ in sys.builtin_module_names
        if id(of) in self.seen or library:
            return name
        self.seen.add(id(of))
        if file:
            package = getattr(sys.modules.get(of.__module__), "__package__", None)
            self._read(file, package or "")
        if isinstance(of, type):
            parts = [
                f"{key} {self.text(value)}"
                for key, value in sorted(vars(of).items())
                if key[:2] != "__" or isinstance(value, (FunctionType, classmethod, staticmethod))
            ]
            return "\n".join((name, *map(self.text, of.__mro__[1:-1]), *parts))
        parts = [self.text((of.__defaults__, of.__kwdefaults__, _contents(of)))]
        if not file:  # of a notebook, as what it uses
            parts += [self.text(of.__code__), *self._used(of)]
        return "\n".join((name, *parts))

    def _used(self, of: FunctionType) -> Iterator[str]:
        """Yield texts of the global functions, classes, modules and simple values of a function."""
        for name in sorted(set(_global_names(of.__code__))):
            value = of.__globals__.get(name)
            if is_simple(value) or isinstance(value, (FunctionType, type, ModuleType)):
                yield f"{name} {self.text(value)}"

    def _read(self, file: Path, package: str) -> None:
        """Note a file, and those that it imports."""
        if file in self.files or not is_own(file):
            return
        self.files.add(file)
        if file.suffix != ".py":
            return
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self._import(alias.name)
            elif isinstance(node, ast.ImportFrom):
                name = f"{'.' * node.level}{node.module or ''}"
                for alias in node.names:
                    self._import(name, package, alias.name)

    def _import(self, name: str, package: str = "", member: str = "") -> None:
        """Note the files of a module and its packages, and of a member that is a module."""
        try:
            name = importlib.util.resolve_name(name, package)
        except ImportError:
            return
        parts = [*name.split("."), *([member] if member else [])]
        for n in range(1, len(parts) + 1):
            file, parent = _found(".".join(parts[:n])) or (None, "")
            if file and not is_own(file):  # a library
                return
            if file:
                self._read(file, parent)


def _attributes(of: object) -> dict[str, object]:
    """Return the simple attributes of an object whose names do not begin with ``_``."""
    return {k: v for k, v in getattr(of, "__dict__", {}).items() if k[:1] != "_" and is_simple(v)}


def _contents(of: FunctionType) -> list[object]:
    """Return the values of the variables around a function, but for those without one yet."""
    found = []
    for cell in of.__closure__ or ():
        with contextlib.suppress(ValueError):
            found.append(cell.cell_contents)
    return found


def _global_names(code: CodeType) -> Iterator[str]:
    """Yield the names of globals that compiled code reads, with those of functions within."""
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield step.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _global_names(constant)


def _found(name: str) -> tuple[Path | None, str] | None:
    """Return the file of a module, if it has one, and its package; None: there is no such module.

    It imports no module but packages of the user.
    """
    module = sys.modules.get(name)
    try:
        spec = getattr(module, "__spec__", None) or importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        spec = None
    if spec is None:
        return None
    file = Path(spec.origin).resolve() if spec.has_location and spec.origin else None
    return file if file and file.is_file() else None, spec.parent or ""
