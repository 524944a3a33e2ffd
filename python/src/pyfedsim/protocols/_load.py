"""Finds a class in a file or module, and the command that serves it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pyfedsim.protocols._learner import Learner
from pyfedsim.protocols._serve import Answering, Server, answer_all, take_pipes

if TYPE_CHECKING:
    from types import ModuleType

    from pyfedsim.method import Method
    from pyfedsim.model import Model


def bases(kind: str) -> tuple[type, ...]:
    """Return the classes of a kind: "model" or "method"."""
    from pyfedsim.method import Method  # noqa: PLC0415 - both import this module
    from pyfedsim.model import Model  # noqa: PLC0415

    return (Model,) if kind == "model" else (Method, Learner)


def command(program: object, kind: str = "method") -> list[str]:
    """Return the command that serves a class, for ``command`` of a method or of the problem.

    ``program`` is a subclass of Method, or Learner, or of Model if that is the kind, which is defined
    in a file; or text: "FILE.py", "FILE.py:Class" or "module:Class".

    Raises
    ------
    TypeError
        if it is neither, or a class that another process cannot import
    """
    if isinstance(program, str):
        name, _, wanted = split(program)
        if name.endswith(".py"):
            program = f"{Path(name).resolve()}{':' if wanted else ''}{wanted}"
        return [sys.executable, "-m", "pyfedsim.protocols", kind, program]
    if not (isinstance(program, type) and issubclass(program, bases(kind))):
        raise TypeError(
            f'a {kind} must be a subclass of {bases(kind)[0].__name__}, "FILE.py" or "module:Class", '
            f"not {program!r:.60}"
        )
    file = getattr(sys.modules.get(program.__module__), "__file__", None)
    if file is None or "." in program.__qualname__ or not Path(file).is_file():
        raise TypeError(
            f"another process cannot import the {kind} {program.__qualname__}: define it at the "
            f"top of a file (in a notebook: %%writefile {kind}.py) and give "
            f'"{kind}.py:{program.__name__}"'
        )
    if "." in program.__module__:  # of a package, whose files cannot be imported alone
        return command(f"{program.__module__}:{program.__name__}", kind)
    return command(f"{file}:{program.__name__}", kind)


def split(source: str) -> tuple[str, str, str]:
    """Divide "FILE.py:Class" or "module:Class" at the colon, if there is a class."""
    name, colon, wanted = source.rpartition(":")
    return (name, colon, wanted) if colon and wanted.isidentifier() else (source, "", "")


def load(source: str, kind: str = "method") -> Any:
    """Return the class that "FILE.py", "FILE.py:Class" or "module:Class" names.

    Without a class, the file must define exactly one of the kind that no other class of
    the file derives from. The folder of the file comes first on sys.path.
    """
    name, _, wanted = split(source)
    module = file_module(name) if name.endswith(".py") else importlib.import_module(name)
    classes = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, bases(kind))
    }
    own = {key: value for key, value in classes.items() if value.__module__ == module.__name__}
    if wanted:
        if wanted not in classes:
            has = ", ".join(own) or "none"
            raise ImportError(f"{name} has no {kind} {wanted}, it has: {has}")
        return classes[wanted]
    last = [c for c in own.values() if not any(c in other.__mro__[1:] for other in own.values())]
    if len(last) != 1:
        names = ", ".join(c.__name__ for c in last) or "none"
        raise ImportError(f"{name} must define one {kind}, it has: {names}; name it: {name}:Class")
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


def server_of(program: Any) -> Answering:
    """Return what answers fedsim's requests for a class, or for an instance of a model."""
    if isinstance(program, type) and issubclass(program, Learner):
        return Server(program)
    from pyfedsim import method, model  # noqa: PLC0415 - both import this module

    if isinstance(program, type) and issubclass(program, method.Method):
        return Server(method.served(program))
    return model.Server(program() if isinstance(program, type) else program)


def serve(program: type[Model | Method | Learner] | Model) -> NoReturn:
    """Answer fedsim's requests for a class, or for a model, and end the process with its input.

    ``program`` is a subclass of Model, Method or :class:`pyfedsim.protocols.Learner`, or an instance of a
    model. Standard output belongs to the protocol: what the program and its libraries print goes to
    standard error, which fedsim passes on.
    """
    answer_all(server_of(program), *take_pipes())
