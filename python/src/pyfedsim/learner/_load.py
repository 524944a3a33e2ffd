"""Finds a class of learners in a file."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from pyfedsim.learner._adam import Adam
from pyfedsim.learner._learner import Learner


def load(source: str) -> type[Learner]:
    """Return the class that ``FILE.py`` or ``FILE.py:Class`` names.

    Without a class, the file must define exactly one subclass of Learner that no other class of
    the file derives from. The folder of the file comes first on sys.path.
    """
    name, colon, wanted = source.rpartition(":")
    if not colon or not name.endswith(".py"):
        name, wanted = source, ""
    path = Path(name).resolve()
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {name}")
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{name} is not a Python file: its name must end with .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    classes = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Learner) and value not in (Learner, Adam)
    }
    own = {key: value for key, value in classes.items() if value.__module__ == path.stem}
    if wanted:
        if wanted not in classes:
            raise ImportError(f"{name} has no learner {wanted}, it has: {', '.join(own) or 'none'}")
        return classes[wanted]
    last = [c for c in own.values() if not any(c in other.__mro__[1:] for other in own.values())]
    if len(last) != 1:
        names = ", ".join(c.__name__ for c in last) or "none"
        raise ImportError(f"{name} must define one learner, it has: {names}; name it: {name}:Class")
    return last[0]
