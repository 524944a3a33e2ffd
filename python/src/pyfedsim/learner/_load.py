"""Finds a class of learners in a file or module, and the command that serves it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyfedsim.learner._learner import Learner

if TYPE_CHECKING:
    from types import ModuleType


def command(learner: object, base: type = Learner, module: str = "pyfedsim.learner") -> list[str]:
    """Return the command that serves a learner, for the key ``command`` of a method.

    ``learner`` is a subclass of Learner that is defined in a file, or text: "FILE.py",
    "FILE.py:Class" or "module:Class". With another base and module it is a class of that base,
    which the module serves.

    Raises
    ------
    TypeError
        if it is neither, or a class that another process cannot import
    """
    if isinstance(learner, str):
        name, _, wanted = split(learner)
        if name.endswith(".py"):
            learner = f"{Path(name).resolve()}{':' if wanted else ''}{wanted}"
        return [sys.executable, "-m", module, learner]
    what = base.__name__.lower()
    if not (isinstance(learner, type) and issubclass(learner, base)):
        raise TypeError(
            f'a {what} must be a subclass of {base.__name__}, "FILE.py" or "module:Class", '
            f"not {learner!r:.60}"
        )
    file = getattr(sys.modules.get(learner.__module__), "__file__", None)
    if file is None or "." in learner.__qualname__ or not Path(file).is_file():
        raise TypeError(
            f"another process cannot import the {what} {learner.__qualname__}: define it at the "
            f"top of a file (in a notebook: %%writefile {what}.py) and give "
            f'"{what}.py:{learner.__name__}"'
        )
    if "." in learner.__module__:  # of a package, whose files cannot be imported alone
        return command(f"{learner.__module__}:{learner.__name__}", base, module)
    return command(f"{file}:{learner.__name__}", base, module)


def split(source: str) -> tuple[str, str, str]:
    """Divide "FILE.py:Class" or "module:Class" at the colon, if there is a class."""
    name, colon, wanted = source.rpartition(":")
    return (name, colon, wanted) if colon and wanted.isidentifier() else (source, "", "")


def load(source: str, base: type = Learner) -> Any:
    """Return the class that "FILE.py", "FILE.py:Class" or "module:Class" names.

    Without a class, the file must define exactly one subclass of the base that no other class of
    the file derives from. The folder of the file comes first on sys.path.
    """
    name, _, wanted = split(source)
    what = base.__name__.lower()
    module = file_module(name) if name.endswith(".py") else importlib.import_module(name)
    classes = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, base)
    }
    own = {key: value for key, value in classes.items() if value.__module__ == module.__name__}
    if wanted:
        if wanted not in classes:
            has = ", ".join(own) or "none"
            raise ImportError(f"{name} has no {what} {wanted}, it has: {has}")
        return classes[wanted]
    last = [c for c in own.values() if not any(c in other.__mro__[1:] for other in own.values())]
    if len(last) != 1:
        names = ", ".join(c.__name__ for c in last) or "none"
        raise ImportError(f"{name} must define one {what}, it has: {names}; name it: {name}:Class")
    return last[0]


def file_module(name: str) -> ModuleType:
    """Import a file as a module of its name."""
    path = Path(name).resolve()
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {name}")
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
