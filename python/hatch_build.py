"""Build the program fedsim into wheels, and its Go sources into the sdist.

Hatchling loads this file twice: for the version (``tool.hatch.version``) and as the
build hook. The version is that of the program: Go derives it from the tags of the
repository.

Environment
-----------
FEDSIM_GOOS, FEDSIM_GOARCH
    Platform of the wheel; the default is this machine.
PYFEDSIM_NO_BINARY
    If it is set, the wheel has no program and needs no Go.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).resolve().parent
STAMP = "version.txt"  # in an sdist: the version of the program

# Oldest systems that Go 1.26 supports. The program is linked statically, so that a
# wheel for Linux needs no C library.
TAGS = {
    ("linux", "amd64"): "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    ("linux", "arm64"): "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    ("darwin", "amd64"): "macosx_12_0_x86_64",
    ("darwin", "arm64"): "macosx_12_0_arm64",
    ("windows", "amd64"): "win_amd64",
}

# Folders without sources of the program.
OTHERS = {"bench", "bin", "dist", "docs", "examples", "python", "runs", "testdata"}


def sources() -> Path:
    """Return the folder of the Go module: in the sdist, or around this folder."""
    for folder in (HERE / "go", HERE.parent):
        if (folder / "go.mod").is_file():
            return folder
    raise SystemExit(
        f"{HERE}: no Go sources of fedsim: build pyfedsim in the repository or from its sdist"
    )


def go(arguments: list[str], **variables: str) -> str:
    """Run a command of Go and return its output."""
    program = shutil.which("go")
    if program is None:
        raise SystemExit(
            "pyfedsim has no wheel for this platform here, and building one needs Go 1.26 or "
            "later (https://go.dev/dl), which is not in PATH. To install without the program, "
            "set PYFEDSIM_NO_BINARY=1; then FEDSIM_BINARY or PATH must have fedsim."
        )
    done = subprocess.run(
        [program, *arguments],
        cwd=sources(),
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"go {arguments[0]} failed:\n{done.stderr}")
    return done.stdout


def build(goos: str, goarch: str) -> Path:
    """Build the program for a platform and return its path."""
    made = HERE / "build" / f"{goos}_{goarch}" / ("fedsim.exe" if goos == "windows" else "fedsim")
    flags = "-s -w"
    stamp = HERE / STAMP
    if stamp.is_file():
        flags += f" -X 'fedsim/cmd/fedsim/command.stamp={stamp.read_text().strip()}'"
    go(
        [
            "build",
            "-buildvcs=auto",
            f"-ldflags={flags}",
            "-o",
            str(made),
            "./cmd/fedsim",
        ],
        CGO_ENABLED="0",
        GOOS=goos,
        GOARCH=goarch,
    )
    return made


def host() -> tuple[str, str]:
    """Return the platform of this machine."""
    goos, goarch = go(["env", "GOHOSTOS", "GOHOSTARCH"]).split()
    return goos, goarch


def program_version() -> str:
    """Return the version of the program, as ``fedsim version`` prints it."""
    output = subprocess.run(
        [build(*host()), "version"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    return output.splitlines()[0].removeprefix("fedsim ")


def python_version(text: str) -> str:
    """Return a version of Go as a version of Python.

    >>> python_version("v0.9.0 66066450df90")
    '0.9.0'
    >>> python_version("v0.9.1-0.20261122112455-66066450df90+dirty 66066450df90")
    '0.9.1.dev20261122112455+g66066450df90.dirty'
    >>> python_version("(devel)")
    '0.0.0.dev0'
    """
    match = re.match(
        r"v(?P<release>\d+\.\d+\.\d+)(?:-(?P<pre>(?:alpha|beta|rc)\.?\d+))?"
        r"(?:-?(?:\.?0\.)?(?P<time>\d{14})-(?P<commit>[0-9a-f]{12}))?(?P<dirty>\+dirty)?(?: |$)",
        text,
    )
    if match is None:
        return "0.0.0.dev0"
    version = match["release"] + (match["pre"] or "").replace(".", "")
    if match["time"]:
        version += f".dev{match['time']}"
    local = ".".join(
        part
        for part in (match["commit"] and "g" + match["commit"], match["dirty"] and "dirty")
        if part
    )
    return f"{version}+{local}" if local else version


def version() -> str:
    """Return the version of the package."""
    if os.environ.get("PYFEDSIM_NO_BINARY") and shutil.which("go") is None:
        return "0.0.0.dev0"
    return python_version(program_version())


class Hook(BuildHookInterface[Any]):
    """Adds the program to wheels and the Go sources to the sdist."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Prepare a build."""
        if self.target_name == "sdist":
            stamp = HERE / "build" / STAMP
            stamp.parent.mkdir(exist_ok=True)
            stamp.write_text(program_version() + "\n")
            build_data["force_include"].update(go_sources())
            build_data["force_include"][str(stamp)] = STAMP
            return
        if self.target_name != "wheel" or os.environ.get("PYFEDSIM_NO_BINARY"):
            return
        goos = os.environ.get("FEDSIM_GOOS") or host()[0]
        goarch = os.environ.get("FEDSIM_GOARCH") or host()[1]
        program = build(goos, goarch)
        build_data["pure_python"] = False
        if (goos, goarch) in TAGS:
            build_data["tag"] = f"py3-none-{TAGS[goos, goarch]}"
        else:
            from packaging.tags import sys_tags  # noqa: PLC0415 - hatchling needs it, too

            build_data["tag"] = f"py3-none-{next(sys_tags()).platform}"
        if version == "editable":
            target = HERE / "src" / "pyfedsim" / "bin" / program.name
            target.parent.mkdir(exist_ok=True)
            shutil.copy2(program, target)
        else:
            build_data["force_include"][str(program)] = f"pyfedsim/bin/{program.name}"


def go_sources() -> dict[str, str]:
    """Return the files of the Go module that the program is made of, and their place."""
    root = sources()
    found = {}
    for folder, below, files in os.walk(root):
        here = Path(folder)
        below[:] = [
            name
            for name in sorted(below)
            if name not in OTHERS
            and not name.startswith(".")
            and not (here / name / "go.mod").is_file()
        ]
        for name in sorted(files):
            path = here / name
            if (here != root and not name.endswith("_test.go")) or name in {
                "go.mod",
                "go.sum",
                "LICENSE",
            }:
                found[str(path)] = str(Path("go") / path.relative_to(root))
    return found


if __name__ == "__main__":
    sys.stdout.write(version() + "\n")
