"""Print the public names of pyfedsim with their parameters, one a line.

The sources are read, not imported: no package needs to be installed. Names are those of
``__all__`` of modules without an underscore, with the attributes of classes. Annotations
are left out, since they do not change what a caller may write.
"""

import ast
import sys
from pathlib import Path

root = Path(sys.argv[1])
modules = {}
for path in sorted((root / "pyfedsim").rglob("*.py")):
    parts = path.relative_to(root).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    modules[name] = ast.parse(path.read_text(encoding="utf-8"))


def public(tree):
    """Return the names in ``__all__``, none without one."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return ast.literal_eval(node.value)
    return []


def flat(tree):
    """Return the statements at the top of a module, with those below ``if TYPE_CHECKING``."""
    for node in tree.body:
        if isinstance(node, ast.If):
            yield from node.body
        else:
            yield node


def find(module, name):
    """Return the node that defines a name of a module, and the name of its module."""
    for node in flat(modules[module]):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == name:
            return node, module
        if isinstance(node, ast.ImportFrom) and node.module in modules:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return find(node.module, alias.name)
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(getattr(target, "id", "") == name for target in targets):
            return node, module
    raise SystemExit(f"{module}: {name} of __all__ is not defined at the top of the module")


def has(node, decorator):
    return any(decorator in ast.unparse(d) for d in node.decorator_list)


def call(name, node, method=False):
    """Print how a function is called: with all that is required on one line, which no new parameter may
    change, and a line for each parameter that may be left out, which may follow."""
    a = node.args
    names = [p.arg for p in a.posonlyargs + a.args]
    values = [None] * (len(names) - len(a.defaults)) + a.defaults
    places = list(zip(names, values))[method and not has(node, "staticmethod") :]
    keys = list(zip([p.arg for p in a.kwonlyargs], a.kw_defaults))
    required = [n for n, v in places if v is None] + [f"{n}=" for n, v in keys if v is None]
    kind = "async " * isinstance(node, ast.AsyncFunctionDef)
    print(f"{kind}{name}({', '.join(required)})")
    for i, (n, v) in enumerate(places):
        if v is not None:
            print(f"{name}(..., {n}={ast.unparse(v)}), at place {i + 1}")
    for n, v in keys:
        if v is not None:
            print(f"{name}(..., {n}={ast.unparse(v)})")
    for mark, rest in ("*", a.vararg), ("**", a.kwarg):
        if rest:
            print(f"{name}(..., {mark}{rest.arg})")


def show(name, node, module):
    """Print a name, and the public attributes of a class."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        if not has(node, "overload"):
            call(name, node)
    elif isinstance(node, ast.ClassDef):
        print(f"class {name}")
        if has(node, "dataclass"):
            required = [m.target.id for m in node.body if isinstance(m, ast.AnnAssign) and m.value is None]
            print(f"{name}({', '.join(required)})")
        members(name, node, module)
    else:
        print(name)


def members(name, node, module):
    """Print the public attributes of a class, with those that it inherits from pyfedsim."""
    for base in node.bases:
        known = [n for n in flat(modules[module]) if isinstance(n, (ast.ClassDef, ast.ImportFrom))]
        if isinstance(base, ast.Name) and any(
            getattr(n, "name", "") == base.id
            or isinstance(n, ast.ImportFrom) and n.module in modules and base.id in [i.name for i in n.names]
            for n in known
        ):
            print(f"class {name} is a {base.id}")
            members(name, *find(module, base.id))
    for member in node.body:
        if isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef)):
            dunder = member.name.startswith("__") and member.name.endswith("__")
            if member.name.startswith("_") and not dunder or has(member, "overload"):
                continue
            if has(member, "property") or has(member, ".setter"):
                print(f"{name}.{member.name}")
            else:
                call(f"{name}.{member.name}", member, method=True)
        elif isinstance(member, ast.AnnAssign) and not member.target.id.startswith("_"):
            default = "" if member.value is None else " = " + ast.unparse(member.value)
            print(f"{name}.{member.target.id}{default}")


for module, tree in modules.items():
    if not any(part.startswith("_") for part in module.split(".")):
        for name in public(tree):
            show(f"{module}.{name}", *find(module, name))
