"""Show the progress of a run: in a terminal, in a notebook, in a log."""

from __future__ import annotations

import html
import importlib
import os
import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

from pyfedsim._notebook import in_notebook

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Display", "describe"]

_LOG_EVERY_S = 10.0


def describe(line: dict[str, Any]) -> str:
    """Return a line of progress as text."""
    text = f"{line['done']}/{line['total']} {line['what']}, {100 * line['share']:.0f} %"
    if line["left_s"] is not None:
        text += f", about {_duration(line['left_s'])} left"
    return f"{text}, {line['phase']} {line['run']}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


class Display:
    """Progress on a stream; a context manager.

    In a notebook it is a bar of HTML, in a terminal a bar of tqdm or one line that changes; in a
    log a line every ten seconds, without carriage returns.
    """

    def __init__(
        self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._out = stream or sys.stderr
        self._clock = clock
        self._last = clock()
        self._cell: Any = None
        self._bar: Any = None
        self._drawn = False
        self._notebook = stream is None and in_notebook()
        self._terminal = self._out.isatty()

    def __enter__(self) -> Display:  # noqa: PYI034 - not subclassed
        """Return the display."""
        if self._notebook:
            self._show_cell("starting")  # the first line of progress may take long
        elif self._terminal:
            self._bar = _bar(self._out)
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the line or the bar."""
        if self._bar is not None:
            self._bar.close()
        elif self._cell is not None:
            self._cell.update({"text/plain": "", "text/html": ""}, raw=True)
        elif self._drawn and self._terminal:
            self._out.write("\r\x1b[K")
            self._out.flush()

    def update(self, line: dict[str, Any]) -> None:
        """Show a line of progress."""
        if self._bar is not None:
            self._bar.n = round(100 * line["share"])
            self._bar.set_postfix_str(f"{line['phase']} {line['run']}")
        elif self._notebook:
            self._show_cell(describe(line), line["share"])
        elif self._terminal:
            self._drawn = True
            self._out.write(f"\r{_fit(describe(line), self._out)}\x1b[K")
            self._out.flush()
        elif self._clock() - self._last >= _LOG_EVERY_S:
            self._last = self._clock()
            self._out.write(describe(line) + "\n")
            self._out.flush()

    def text(self, line: str) -> None:
        """Print a line that is no progress, such as a note of the scenario."""
        if self._drawn and self._terminal:
            self._out.write("\r\x1b[K")
        self._out.write(line + "\n")
        self._out.flush()

    def _show_cell(self, text: str, share: float = 0.0) -> None:
        display: Any = importlib.import_module("IPython.display").display
        bar = f'<progress value="{share:.4f}" style="width:12em"></progress>'
        content = {
            "text/plain": text,
            "text/html": f"{bar} <small>{html.escape(text)}</small>",
        }
        if self._cell is None:
            self._cell = display(content, raw=True, display_id=True)
        else:
            self._cell.update(content, raw=True)


def _bar(out: TextIO) -> Any:
    """Return a bar of tqdm, or None without tqdm."""
    try:
        from tqdm import tqdm  # noqa: PLC0415 - optional
    except ImportError:
        return None
    return tqdm(
        total=100,
        file=out,
        leave=False,
        bar_format="{percentage:3.0f}% |{bar}| {elapsed}<{remaining}{postfix}",
    )


def _fit(text: str, out: TextIO) -> str:
    """Cut text to the width of the terminal."""
    try:
        width = os.get_terminal_size(out.fileno()).columns
    except (OSError, ValueError):
        width = 80
    return text if len(text) < width else text[: width - 2] + "…"
