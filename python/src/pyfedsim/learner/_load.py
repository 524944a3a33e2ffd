"""Finds a class of learners in a file or module, and the command that serves it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pyfedsim.learner._learner import Learner

if TYPE_CHECKING:
    from types import ModuleType


def command(learner: object) -> list[str]:
    """Return the command that serves a learner, for the key ``command`` of a method.

    ``learner`` is a subclass of Learner that is defined in a file, or text: "FILE.py",
    "FILE.py:Class" or "module:Class".

    Raises
    ------
    TypeError
        if it is neither, or a class that another process cannot import
    """
    if isinstance(learner, str):
        name, _, wanted = split(learner)
        if name.endswith(".py"):
            learner = f"{Path(name).resolve()}{':' if wanted else ''}{wanted}"
        return [sys.executable, "-m", "pyfedsim.learner", learner]
    if not (isinstance(learner, type) and issubclass(learner, Learner)):
        raise TypeError(
            f'a learner must be a subclass of Learner, "FILE.py" or "module:Class", '
            f"not {learner!r:.60}"
        )
    file = getattr(sys.modules.get(learner.__module__), "__file__", None)
    if file is None or "." in learner.__qualname__ or not Path(file).is_file():
        raise TypeError(
            f"another process cannot import the learner {learner.__qualname__}: define it at the "
            "top of a file (in a notebook: %%writefile learner.py) and give "
            f'"learner.py:{learner.__name__}"'
        )
    if "." in learner.__module__:  # of a package, whose files cannot be imported alone
        return command(f"{learner.__module__}:{learner.__name__}")
    return command(f"{file}:{learner.__name__}")


def split(source: str) -> tuple[str, str, str]:
    """Divide "FILE.py:Class" or "module:Class" at the colon, if there is a class."""
    name, colon, wanted = source.rpartition(":")
    return (name, colon, wanted) if colon and wanted.isidentifier() else (source, "", "")


def load(source: str) -> type[Learner]:
    """Return the class that "FILE.py", "FILE.py:Class" or "module:Class" names.

    Without a class, the file must define exactly one subclass of Learner that no other class of
    the file derives from. The folder of the file comes first on sys.path.
    """
    name, _, wanted = split(source)
    module = file_module(name) if name.endswith(".py") else importlib.import_module(name)
    classes = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Learner)
    }
    own = {key: value for key, value in classes.items() if value.__module__ == module.__name__}
    if wanted:
        if wanted not in classes:
            raise ImportError(f"{name} has no learner {wanted}, it has: {', '.join(own) or 'none'}")
        return classes[wanted]
    last = [c for c in own.values() if not any(c in other.__mro__[1:] for other in own.values())]
    if len(last) != 1:
        names = ", ".join(c.__name__ for c in last) or "none"
        raise ImportError(f"{name} must define one learner, it has: {names}; name it: {name}:Class")
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
