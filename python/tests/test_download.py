"""Downloads, from a server of the tests. Nothing is fetched from a network."""

from __future__ import annotations

import errno
import gzip
import hashlib
import http.server
import os
import threading
import zipfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pytest

import pyfedsim
from pyfedsim import data as _download

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTENT = np.random.default_rng(1).bytes(700_000)


class Server(http.server.ThreadingHTTPServer):
    """Sends files by path, and remembers the first byte of each answer."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.asked: list[tuple[str, int]] = []
        self.ranges = True
        self.end: int | None = None  # the bytes after which connections end

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{path}"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        content = self.server.files.get(self.path[1:])
        first = int(self.headers.get("Range", "bytes=0-")[6:-1]) if self.server.ranges else 0
        self.server.asked.append((self.path[1:], first))
        if content is None or first >= len(content):
            self.send_error(404 if content is None else 416)
            return
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(len(content) - first))
        self.end_headers()
        self.wfile.write(content[first : self.server.end])

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Give a server with a packed file under two addresses, which is the set "small"."""
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        server.files = {"a/small.gz": gzip.compress(CONTENT), "b/small.gz": gzip.compress(CONTENT)}
        urls = (server.url("a/small.gz"), server.url("b/small.gz"))
        sha256 = hashlib.sha256(CONTENT).hexdigest()
        file = _download._File("small/small.gz", urls, len(CONTENT), sha256)
        monkeypatch.setitem(_download._SETS, "small", (file,))
        yield server
        server.shutdown()
        thread.join()


def fetch(folder: Path, **options: Any) -> Path:
    return _download.download("small", folder, progress=False, **options)


def test_a_file_is_fetched_once(server: Server, tmp_path: Path) -> None:
    path = fetch(tmp_path / "new" / "folder")
    assert path == tmp_path / "new" / "folder" / "small" / "small.gz"
    assert gzip.decompress(path.read_bytes()) == CONTENT
    assert fetch(tmp_path / "new" / "folder") == path
    assert server.asked == [("a/small.gz", 0)]
    assert [found.name for found in path.parent.iterdir()] == ["small.gz"]


def test_another_packing_is_the_same_file(server: Server, tmp_path: Path) -> None:
    server.files["a/small.gz"] = gzip.compress(CONTENT, 1, mtime=7)
    fetch(tmp_path)
    assert server.asked == [("a/small.gz", 0)]


@pytest.mark.parametrize("ranges", [True, False])
def test_a_download_resumes(server: Server, tmp_path: Path, ranges: bool) -> None:
    """A server without ranges sends all bytes again."""
    server.end, server.ranges = 300_000, ranges
    del server.files["b/small.gz"]
    with pytest.raises(
        pyfedsim.errors.FedsimError, match=r"small\.gz: the connection ended \d+ bytes"
    ):
        fetch(tmp_path)
    part = tmp_path / "small" / "small.gz.part"
    assert part.stat().st_size == 300_000
    server.end, server.asked = None, []
    path = fetch(tmp_path)
    assert server.asked == [("a/small.gz", 300_000 if ranges else 0)]
    assert gzip.decompress(path.read_bytes()) == CONTENT
    assert not part.exists()


def test_first_bytes_of_another_file(server: Server, tmp_path: Path) -> None:
    """They are thrown away, also if there are as many as the file has."""
    part = tmp_path / "small" / "small.gz.part"
    part.parent.mkdir()
    for size in (1000, len(server.files["a/small.gz"])):
        part.write_bytes(bytes(size))
        server.asked = []
        fetch(tmp_path).unlink()
        assert server.asked == [("a/small.gz", size), ("a/small.gz", 0)]


def test_a_complete_part_is_checked_and_named(server: Server, tmp_path: Path) -> None:
    part = tmp_path / "small" / "small.gz.part"
    part.parent.mkdir()
    part.write_bytes(server.files["a/small.gz"])
    assert gzip.decompress(fetch(tmp_path).read_bytes()) == CONTENT


def test_the_second_place_is_tried(server: Server, tmp_path: Path) -> None:
    for wrong in (None, gzip.compress(CONTENT[1:]), b"<html>", gzip.compress(CONTENT + b"1")):
        server.files.pop("a/small.gz", None)
        if wrong is not None:
            server.files["a/small.gz"] = wrong
        server.asked = []
        fetch(tmp_path).unlink()
        assert [path for path, _ in server.asked] == ["a/small.gz", "b/small.gz"]


def test_wrong_content_is_removed(server: Server, tmp_path: Path) -> None:
    wrong = CONTENT[:-1] + b"0"
    server.files = {"a/small.gz": gzip.compress(wrong), "b/small.gz": b"<html>moved</html>"}
    with pytest.raises(pyfedsim.errors.FedsimError) as caught:
        fetch(tmp_path)
    text = str(caught.value)
    assert f"700000 bytes with SHA-256 {hashlib.sha256(wrong).hexdigest()}, want 700000" in text
    assert f"{server.url('b/small.gz')}: what it sent is corrupt" in text
    assert text.endswith(f"save it as {tmp_path / 'small' / 'small.gz'}")
    assert list((tmp_path / "small").iterdir()) == []


def test_no_network(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.shutdown()
    server.server_close()
    with pytest.raises(
        pyfedsim.errors.FedsimError, match=r"Connection refused.*check the network and"
    ):
        fetch(tmp_path)
    (file,) = _download._SETS["small"]
    away = _download._File(file.path, ("http://fedsim.invalid/x",), file.size, file.sha256)
    monkeypatch.setitem(_download._SETS, "small", (away,))
    with pytest.raises(
        pyfedsim.errors.FedsimError, match=r"http://fedsim\.invalid/x: \S.*: check the"
    ):
        fetch(tmp_path)


def test_a_server_that_is_silent(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()
    monkeypatch.setattr(Handler, "do_GET", lambda _: ended.wait(20))
    monkeypatch.setattr(_download, "_SILENCE_S", 0.05)
    with pytest.raises(pyfedsim.errors.FedsimError, match="no answer within"):
        fetch(tmp_path)
    ended.set()


def test_full_disk(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(out: IO[bytes], block: bytes) -> None:
        out.write(block[:100])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(_download, "_write", write)
    with pytest.raises(
        pyfedsim.errors.FedsimError, match="small: the disk is full: free space, or"
    ):
        fetch(tmp_path)
    assert list((tmp_path / "small").iterdir()) == []


def test_a_folder_that_is_a_file(server: Server, tmp_path: Path) -> None:
    (tmp_path / "small").write_text("mine")
    with pytest.raises(
        pyfedsim.errors.FedsimError, match="choose a folder that can be read and written"
    ):
        fetch(tmp_path)
    assert (tmp_path / "small").read_text() == "mine"
    assert server.asked == []


def test_a_file_of_the_user_stays(server: Server, tmp_path: Path) -> None:
    mine = tmp_path / "small" / "small.gz"
    mine.parent.mkdir()
    mine.write_bytes(gzip.compress(b"mine"))
    with pytest.raises(
        pyfedsim.errors.FedsimError, match="is not the published file: remove it, or"
    ):
        fetch(tmp_path)
    assert gzip.decompress(mine.read_bytes()) == b"mine"
    assert server.asked == []


def test_progress(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[dict[str, Any]] = []
    _download.download("small", tmp_path / "a", progress=lines.append)
    shares = [line["share"] for line in lines]
    assert shares == sorted(shares)
    assert len(shares) > 2
    assert shares[-1] == 1
    assert lines[-1]["run"] == "small.gz"
    _download.download("small", tmp_path / "b")
    assert "\r" not in capsys.readouterr().err  # not a terminal


def test_unknown_name() -> None:
    with pytest.raises(
        pyfedsim.errors.UsageError, match=r"no data set 'cifar': there are mnist, uci-har"
    ):
        _download.download("cifar")


def test_zip_with_the_nested_archive(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """UCI packs the archive of the data in another one, beside a file of names."""
    inner = tmp_path / "inner.zip"
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("UCI HAR Dataset/train/y_train.txt", "1\n2\n")
    with zipfile.ZipFile(tmp_path / "outer.zip", "w") as archive:
        archive.writestr("UCI HAR Dataset.names", "names")
        archive.write(inner, "UCI HAR Dataset.zip")
    (har,) = _download._SETS["uci-har"]
    content = inner.read_bytes()
    sha256 = hashlib.sha256(content).hexdigest()
    small = _download._File(har.path, (server.url("har"),), len(content), sha256, har.member)
    monkeypatch.setitem(_download._SETS, "uci-har", (small,))
    server.files["har"] = (tmp_path / "outer.zip").read_bytes()
    path = _download.download("uci-har", tmp_path / "data", progress=False)
    assert path == tmp_path / "data" / "har.zip"
    server.files["har"] = inner.read_bytes()  # without the member
    with pytest.raises(pyfedsim.errors.FedsimError, match="what it sent is corrupt"):
        _download.download("uci-har", tmp_path / "other", progress=False)


@pytest.mark.slow
def test_mnist_is_that_of_the_data_folder(
    fedsim: Path, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four real files arrive, have the published sums, and fedsim reads the folder."""
    data = Path(os.environ.get("FEDSIM_DATA", "missing")) / "mnist"
    if not data.is_dir():
        pytest.skip(f"no {data}: set FEDSIM_DATA to the folder that has mnist")
    files = _download._SETS["mnist"]
    here = tuple(
        _download._File(file.path, (server.url(file.path),), file.size, file.sha256)
        for file in files
    )
    monkeypatch.setitem(_download._SETS, "mnist", here)
    server.files = {file.path: (data / Path(file.path).name).read_bytes() for file in files}
    path = _download.download("mnist", tmp_path, progress=False)
    scenario = {
        "name": "digits",
        "data": {"source": "idx", "target": "classes"},
        "problem": {"regularizer": "independent", "optimum": {"when": "never"}},
        "run": {"rounds": 1, "seeds": [1]},
        "methods": {"fedavg": {"options": {"epochs": 1}}},
    }
    partition = {"data.partition.method": "shards", "data.partition.clients": 100}
    run = pyfedsim.run(
        scenario,
        set={"data.path": path / "t10k-images-idx3-ubyte.gz", **partition},
        out=tmp_path / "run",
        progress=False,
        figures=False,
    )
    assert run.manifest["state"] == "complete"
