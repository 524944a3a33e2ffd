"""Hooks of the site: links to files outside docs/, and the pages of the APIs."""

from __future__ import annotations

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

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(((?:\.\./)+[^)#\s]+)(#[^)\s]*)?\)")
PYTHON = {
    "pyfedsim": "Runs, tables, scenarios",
    "pyfedsim.learner": "Learners",
    "pyfedsim.model": "External models",
    "pyfedsim.torch": "PyTorch",
    "pyfedsim.engine": "Driving a run",
    "pyfedsim.observe": "Logs of real federations",
    "pyfedsim.calibration": "Calibration",
    "pyfedsim.flower": "Flower apps",
    "pyfedsim.writers": "Trackers of experiments",
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
        if "/internal/" in path or path.endswith("/cmd/fedsim") or not doc:
            continue
        name = f"[`{path}`](https://pkg.go.dev/{path})" if "." in path.split("/")[0] else f"`{path}`"
        lines.append(f"| {name} | {doc.replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made of code."""
    python = ["# Python API", "", "The package pyfedsim ([guide](../python.md)).", ""]
    for module, title in PYTHON.items():
        python += [f"## {title}", "", f"::: {module}", "    options:", "      heading_level: 3", ""]
    files.append(File.generated(config, "api/python.md", content="\n".join(python)))
    files.append(File.generated(config, "api/go.md", content=go_packages()))
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
        if not config.repo_url:
            return text
        kind = "tree" if (ROOT / inside).is_dir() else "blob"
        return f"[{text}]({config.repo_url.rstrip('/')}/{kind}/main/{inside}{anchor})"

    return LINK.sub(rewritten, re.sub(r"^(```\w+) .*", r"\1", markdown, flags=re.MULTILINE))


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Remove the roles of Sphinx that stand before names in docstrings."""
    return re.sub(r":(?:attr|class|data|exc|func|meth|mod):(?=<code>)", "", html)
