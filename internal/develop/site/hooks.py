"""Hooks of the site: its home, links to files outside docs/, the pages of the APIs, and the notebooks."""

from __future__ import annotations

import json
import posixpath
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[3]
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(((?:\.\./)+[^)#\s]+)(#[^)\s]*)?\)")
NOTEBOOKS = "examples/notebooks/"
PYTHON = {
    "pyfedsim": "Runs, tables, scenarios",
    "pyfedsim.method": "Methods",
    "pyfedsim.model": "Models",
    "pyfedsim.protocols": "Learners",
    "pyfedsim.data": "Public data",
    "pyfedsim.errors": "Exceptions",
    "pyfedsim.engine": "Driving a run",
    "pyfedsim.observe": "Logs of real federations",
    "pyfedsim.calibration": "Calibration",
    "pyfedsim.flower": "Flower apps",
}


def go_packages() -> str:
    """Return the page of the public Go packages: names, first sentences, links to their reference."""
    listed = subprocess.run(
        ["go", "list", "-f", "{{.ImportPath}}\t{{.Doc}}", "./..."], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    lines = ["# Go API", "", "The public packages. `go doc PACKAGE` in a checkout prints the complete reference.", ""]
    lines += ["| package | content |", "|---|---|"]
    for line in listed.splitlines():
        path, _, doc = line.partition("\t")
        if "/internal/" in path or "/cmd/" in path or not doc:
            continue
        name = f"[`{path}`](https://pkg.go.dev/{path})" if "." in path.split("/")[0] else f"`{path}`"
        lines.append(f"| {name} | {doc.replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"


def notebook_page(path: Path) -> tuple[str, dict[str, str]]:
    """Return a notebook with its outputs as a page, and its figures by name."""
    parts: list[str] = []
    figures: dict[str, str] = {}
    title = ""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            source = re.sub(r"\]\(\.\./\.\./docs/", "](../", re.sub(r"\]\((\S+)\.ipynb\)", r"](\1.md)", source))
            title = ([title, *re.findall(r"^#+ (.*)", source, re.MULTILINE)])[-1]
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {"text/plain": output.get("text")})
            if "image/svg+xml" in data:
                name = f"{path.stem}-{len(figures) + 1}.svg"
                figures[name] = "".join(data["image/svg+xml"])
                parts.append(f"![Figure: {title}]({name})")
            elif "text/html" in data:  # a table of pandas: with the style of the site
                table = re.search(r"<table.*</table>", "".join(data["text/html"]), re.DOTALL)
                if table is None:
                    raise PluginError(f"{path}: an output in HTML is not a table")
                plain = re.sub(r"<(table|tr)[^>]*>", r"<\1>", table[0])
                # The name of the index has a row of its own: it goes to the first one.
                parts.append(
                    re.sub(
                        r"<th>\w*</th>(.*?)</tr>\s*<tr>\s*(<th>[^<]+</th>)(\s*<th></th>)+",
                        r"\2\1",
                        plain,
                        count=1,
                        flags=re.DOTALL,
                    )
                )
            else:
                parts.append(f"```text\n{''.join(data['text/plain']).rstrip()}\n```")
    parts.insert(1, f"The notebook is [`{NOTEBOOKS}{path.name}`](../../{NOTEBOOKS}{path.name}).")
    return "\n\n".join(parts) + "\n", figures


def suited() -> list[str]:
    """Return the scenarios of the gallery of the page run/, which "make site" has made."""
    page = (ROOT / "bin/run/index.html").read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="gallery">(.*?)</script>', page, re.DOTALL)
    if found is None:
        raise PluginError("bin/run/index.html has no gallery")
    return [scenario["name"] for scenario in json.loads(found[1])]


def linked(markdown: str, page: Page) -> str:
    """Add links to the page run/: below the figures of scenarios, and below blocks that run them."""
    place = posixpath.relpath("run", page.url or ".")
    for name in suited():
        link = rf'\g<0>\n\n<a href="{place}/#{name}">Run {name} in a page</a>\n'
        figure = rf"^!\[[^\]]*\]\([^)]*images/{name}\.png\)$"
        block = rf"^```sh\n(?:(?!```).*\n)*?(?:go run \./cmd/)?fedsim run {name}\n(?:(?!```).*\n)*```$"
        for place_of in (figure, block):
            markdown, there = re.subn(place_of, link, markdown, count=1, flags=re.MULTILINE)
            if there:
                break
    return markdown


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made of code."""
    python = ["# Python API", "", "The package pyfedsim ([guide](../python.md)).", ""]
    for module, title in PYTHON.items():
        python += [f"## {title}", "", f"::: {module}", "    options:", "      heading_level: 3", ""]
    home = re.sub(r"\]\((?!docs/|https?://|#)", "](../", (ROOT / "README.md").read_text(encoding="utf-8"))
    home = home.replace(
        "\n\n", '\n\n<p><a href="run/">Run a scenario in this browser</a>, with the same bits.</p>\n\n', 1
    )
    files.append(File.generated(config, "index.md", content=home.replace("](docs/", "](")))
    files.append(File.generated(config, "api/python.md", content="\n".join(python)))
    files.append(File.generated(config, "api/go.md", content=go_packages()))
    for path in sorted((ROOT / NOTEBOOKS).glob("*.ipynb")):
        content, figures = notebook_page(path)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=content))
        for name, figure in figures.items():
            files.append(File.generated(config, f"notebooks/{name}", content=figure))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links that leave docs/ to the repository, or drop them while it has no address.

    A word after the language of a block is for the tests of pages: Markdown knows none there.
    """

    def rewritten(match: re.Match[str]) -> str:
        text, target, anchor = match[1], match[2], match[3] or ""
        inside = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page.file.src_uri), target))
        if inside.startswith("docs/"):
            return match[0]
        if not (ROOT / inside).exists():
            raise PluginError(f"{page.file.src_uri}: {target} does not exist")
        if inside.startswith(NOTEBOOKS) and not page.file.src_uri.startswith("notebooks/"):
            place = posixpath.relpath(f"notebooks/{Path(inside).stem}.md", posixpath.dirname(page.file.src_uri))
            return f"[{text}]({place}{anchor})"
        if not config.repo_url:
            return text
        kind = "tree" if (ROOT / inside).is_dir() else "blob"
        return f"[{text}]({config.repo_url.rstrip('/')}/{kind}/main/{inside}{anchor})"

    return LINK.sub(rewritten, re.sub(r"^(```\w+) .*", r"\1", linked(markdown, page), flags=re.MULTILINE))


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Remove the roles of Sphinx that stand before names in docstrings."""
    return re.sub(r":(?:attr|class|data|exc|func|meth|mod):(?=<code>)", "", html)
