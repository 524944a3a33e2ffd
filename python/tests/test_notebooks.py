"""The gallery of notebooks gives the outputs that are stored in it.

``FEDSIM_UPDATE_NOTEBOOKS=1 pytest tests/test_notebooks.py -m slow`` stores new outputs.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

GALLERY = Path(__file__).parents[2] / "examples" / "notebooks"
NEEDS = {"own-model": "torch", "flower-app": "flwr"}

nbclient: Any = pytest.importorskip("nbclient", reason="nbclient is not installed")
nbformat: Any = pytest.importorskip("nbformat")
for package in ("ipykernel", "pandas"):
    pytest.importorskip(package, reason=f"{package} is not installed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("fedsim", "importable"),
    pytest.mark.skipif(not GALLERY.is_dir(), reason="the notebooks are not here"),
    pytest.mark.filterwarnings("default"),  # of Jupyter's own
]


class Client(nbclient.NotebookClient):  # type: ignore[misc]
    """Runs a notebook in a folder, and remembers the messages of the kernel."""

    def __init__(self, notebook: Any, folder: Path) -> None:
        place = {"metadata": {"path": str(folder)}}
        super().__init__(notebook, timeout=120, kernel_name="python3", resources=place)
        self.messages: list[dict[str, Any]] = []

    def process_message(self, msg: dict[str, Any], *arguments: Any) -> Any:
        self.messages.append(msg)
        return super().process_message(msg, *arguments)


def kept(notebook: Any) -> Any:
    """Return a notebook with the outputs that are stored: without notes and cleared progress.

    The metadata of figures, their scenario, are left out as well.
    """
    for cell in notebook.cells:
        cell.pop("execution_count", None)
        if cell.cell_type != "code":
            continue
        cell["execution_count"] = None
        cell["metadata"] = {}
        cell["outputs"] = [
            {**out, **({"execution_count": None} if "execution_count" in out else {})}
            for out in cell["outputs"]
            if out.get("name") != "stderr" and out.get("data", {}).get("text/plain") != ""
        ]
        for out in cell["outputs"]:
            if svg := out.get("data", {}).get("image/svg+xml"):
                out["data"]["image/svg+xml"] = re.sub(r"\n<metadata>.*?</metadata>", "", svg)
    return notebook


def outputs(notebook: Any, *, figures: bool) -> list[Any]:
    """Return what the outputs of all cells say: text, and the content or number of figures."""
    found = []
    for cell in notebook.cells:
        for out in cell.get("outputs", []):
            assert out["output_type"] != "error"
            data = out.get("data", {})
            svg = data.get("image/svg+xml")
            found.append((out.get("text"), data.get("text/plain"), svg if figures else bool(svg)))
    return found


@pytest.mark.parametrize("path", sorted(GALLERY.glob("*.ipynb")), ids=lambda path: path.stem)
def test_stored_outputs(path: Path, tmp_path: Path) -> None:
    """Text is equal, and figures of fedsim's own arithmetic; torch and BLAS round by version."""
    if needed := NEEDS.get(path.stem):
        pytest.importorskip(needed, reason=f"{needed} is not installed")
    stored = nbformat.read(path, 4)
    notebook = nbformat.read(path, 4)
    Client(notebook, tmp_path).execute()
    kept(notebook)
    if os.environ.get("FEDSIM_UPDATE_NOTEBOOKS"):
        text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True)
        path.write_text(text + "\n", encoding="utf-8")
        return
    exact = path.stem not in NEEDS
    got, want = outputs(notebook, figures=exact), outputs(stored, figures=exact)
    assert len(want) >= 2
    if needed == "torch":
        got, want = [len(got)], [len(want)]
    assert got == want


def test_gallery() -> None:
    """Each notebook leads to an existing one, is short, and is small with its outputs."""
    paths = sorted(GALLERY.glob("*.ipynb"))
    assert len(paths) == 6
    for path in paths:
        assert path.stat().st_size < 100_000
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert len(cells) <= 16
        assert "".join(cells[0]["source"]).startswith("# ")
        text = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] != "code")
        for target in re.findall(r"\]\((?!https:)([^)#]+)", text):
            assert (GALLERY / target).exists(), target


def test_progress_in_a_kernel(tmp_path: Path) -> None:
    """It is one bar of HTML that moves and goes, after an error, too."""
    code = "import pyfedsim\npyfedsim.run('quickstart', seed=1, out='x', set={}, figures=False);"
    wrong = code.replace("{}", "{'run.rounds': -1}")
    for source, raises in ((code, False), (wrong, True)):
        cell = nbformat.v4.new_code_cell(source)
        client = Client(nbformat.v4.new_notebook(cells=[cell]), tmp_path)
        if raises:
            with pytest.raises(nbclient.exceptions.CellExecutionError, match=r"run\.rounds"):
                client.execute()
        else:
            client.execute()
        shown = [m["content"] for m in client.messages if "display_data" in m["msg_type"]]
        bars = [content["data"]["text/html"] for content in shown]
        assert bars[0].startswith('<progress value="0.0000"')
        assert bars[-1] == shown[-1]["data"]["text/plain"] == ""
        assert len({content["transient"]["display_id"] for content in shown}) == 1
        shares = [float(m[1]) for bar in bars if (m := re.search(r'value="([\d.]+)"', bar))]
        assert shares == sorted(shares)
        assert raises or 0 < shares[-1] <= 1
        assert cell["outputs"][0]["data"] == {"text/plain": "", "text/html": ""}
        assert not any(out.get("name") == "stderr" for out in cell["outputs"])
