"""Convert device traces of FedScale and FLASH to the csv of fedsim (docs/time.md#traces).

python -m pyfedsim.traces convert client_behave_trace -o availability.csv
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import math
import pickle
import random
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, time, timezone
from pathlib import Path
from typing import Any, NamedTuple

from pyfedsim.errors import EXIT_FAILED, FedsimError, UsageError

__all__ = ["Trace", "convert", "fedscale", "flash"]

_NEED = ("locked", "wifi", "charging")  # what FLASH needs for a device to be available
_KINDS = ("available", "charging", "battery_level", "down_mbps", "up_mbps", "speed")
_SECOND = 10**9  # ns
_DAY = 86400 * _SECOND
_NEVER_S = 9223372036  # the largest whole number of seconds of virtual time
_MOST_DAYS = 36525  # of rates
_MOST_RATE = 1e9  # kB/s
_MOST_NAME = 256  # bytes
_PLAIN = (1e-4, 1e6)  # numbers between are written without exponent


class Trace(NamedTuple):
    """The recorded behavior of a device.

    Attributes
    ----------
    name
        Of the device.
    span
        End of the trace in nanoseconds.
    steps
        By kind, the instants in nanoseconds at which a value begins, and the values.
    """

    name: str
    span: int
    steps: dict[str, list[tuple[int, float]]]


def convert(
    source: str | Path,
    out: str | Path | None = None,
    *,
    form: str = "auto",
    skip: bool = False,
    need: Sequence[str] = _NEED,
    battery: bool = False,
    origin: datetime | None = None,
    days: float = 1,
    hold_s: float = 600,
    seed: int = 0,
) -> list[FedsimError]:
    """Convert a file of FedScale or FLASH. Returns the errors of omitted devices.

    Parameters
    ----------
    source, out
        The file, and the csv; None: standard output. An error of the file writes nothing.
    form
        Format of the file: ``"fedscale"``, ``"flash"`` or ``"auto"``, by its first byte.
    skip
        Omit devices with errors, which otherwise end the conversion.
    need, battery, origin, days, hold_s, seed
        Those of :func:`flash`, where ``hold_s`` is in seconds, ``days`` a number of days and
        ``seed`` the seed of the rates.
    """
    if form not in {"auto", "fedscale", "flash"}:
        raise UsageError(f'the format {form!r}: must be "auto", "fedscale" or "flash"')
    if form == "auto":
        with Path(source).open("rb") as file:
            start = file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
        form = "flash" if start[:1] in {b"{", b"["} else "fedscale"
    omitted: list[FedsimError] = []
    errors = omitted if skip else None
    if form == "fedscale":
        traces = fedscale(source, errors=errors)
    else:
        traces = flash(
            source,
            need=need,
            battery=battery,
            origin=origin,
            days=days,
            hold_s=hold_s,
            seed=seed,
            errors=errors,
        )
    text = io.StringIO()
    if not _write(traces, text):
        reason = f" valid one; reason for the first: {omitted[0]}" if omitted else ""
        raise FedsimError(f"{source}: has no{reason or ' device'}")
    if out is None:
        sys.stdout.write(text.getvalue())
    else:
        Path(out).write_text(text.getvalue(), encoding="utf-8", newline="\n")
    return omitted


def _write(traces: Iterable[Trace], file: Any) -> int:
    """Write traces as csv to a text file. Returns their number."""
    file.write("device,time_s,kind,value\n")
    number = 0
    for number, trace in enumerate(traces, 1):  # noqa: B007 - the number is returned
        rows = sorted(
            (at, _KINDS.index(kind), value)
            for kind, steps in trace.steps.items()
            for at, value in steps
        )
        file.writelines(
            f"{trace.name},{_time(at)},{_KINDS[kind]},{_number(value)}\n"
            for at, kind, value in rows
        )
        file.write(f"{trace.name},{_time(trace.span)},end,\n")
    return number


def fedscale(path: str | Path, *, errors: list[FedsimError] | None = None) -> Iterator[Trace]:
    """Read a pickle of FedScale. Returns the traces.

    The unpickler makes numbers, texts, lists and dicts, and refuses what would call or import
    anything.

    Parameters
    ----------
    path
        ``client_behave_trace``, whose devices have ``active``, ``inactive`` and
        ``finish_time`` in seconds, or ``client_device_capacity``, with ``computation`` in ms a
        sample and ``communication`` in kbit/s of 1024 bit/s.
    errors
        Gets the errors of invalid devices, which are omitted; None: the first is raised.
    """
    try:
        with Path(path).open("rb") as file:
            devices = _Unpickler(file, encoding="utf-8").load()
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001 - a damaged pickle raises anything
        raise FedsimError(
            f"{path}: is no pickle of numbers, texts, lists and dicts: {error}"
        ) from None
    first = next(iter(devices.values()), None) if isinstance(devices, dict) else None
    if isinstance(first, dict) and "active" in first:
        return _valid(path, devices, _available, errors)
    if isinstance(first, dict) and "computation" in first:
        return _valid(path, devices, _capacity(devices.values()), errors)
    raise FedsimError(
        f'{path}: must be a dict of devices, each a dict with "active" (availability) or '
        f'"computation" (capacity)'
    )


def flash(
    path: str | Path,
    *,
    need: Sequence[str] = _NEED,
    battery: bool = False,
    origin: datetime | None = None,
    days: float = 1,
    hold_s: float = 600,
    seed: int = 0,
    errors: list[FedsimError] | None = None,
) -> Iterator[Trace]:
    """Read a JSON file of FLASH. Returns the traces.

    Parameters
    ----------
    path
        ``state_traces.json``, whose devices have ``messages``, or ``speed_distri.json``, with
        means and deviations of rates in kB/s of 1024 bytes.
    need
        States that a device must have at the same time to be available: ``"locked"``,
        ``"screen-off"``, ``"wifi"``, ``"charging"``.
    battery
        Add battery levels. Devices without readings are then invalid.
    origin
        The clock time that is time 0, without a zone; None: the midnight before the first
        message of the file.
    days, hold_s, seed
        Of rates: length of the traces in days, seconds for which a rate holds, seed of the
        draws.
    errors
        Gets the errors of invalid devices, which are omitted; None: the first is raised.
    """
    if not need or not set(need) <= {"locked", "screen-off", "wifi", "charging"}:
        raise UsageError(f"need = {list(need)}: must be of locked, screen-off, wifi, charging")
    if not (0 < days <= _MOST_DAYS and 1 <= hold_s <= _MOST_DAYS * 86400):
        raise UsageError("days must be in (0, 36525], and hold_s in [1, 3155760000]")
    if origin is not None:
        origin = origin.replace(tzinfo=timezone.utc)
    try:
        devices = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise FedsimError(f"{path}: is no JSON: {error}") from None
    if not isinstance(devices, dict):
        raise FedsimError(f"{path}: must be an object of devices")

    def device(name: str, fields: dict[str, Any]) -> Trace:
        nonlocal origin
        if "messages" not in fields:
            return _rates(name, fields, round(days * _DAY), round(hold_s * _SECOND), seed)
        messages = list(_messages(fields["messages"]))
        if origin is None and messages:
            origin = datetime.combine(messages[0][0].date(), time(), timezone.utc)
        return _states(name, messages, origin, frozenset(need), battery=battery)

    return _valid(path, devices, device, errors)


class _Unpickler(pickle.Unpickler):
    """Makes numbers, texts, lists and dicts alone."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(
            f"{module}.{name} would run code, which is not allowed; if the numbers are NumPy's, "
            f"write the file again: pickle.dump(json.loads(json.dumps(d, default=lambda x: x.item())), "
            f'open("plain.pkl", "wb"))'
        )


def _valid(
    path: str | Path,
    devices: dict[Any, Any],
    read: Callable[[str, dict[str, Any]], Trace],
    errors: list[FedsimError] | None,
) -> Iterator[Trace]:
    """Return the traces that ``read`` makes; it raises ValueError for an invalid device."""
    names: set[str] = set()
    kinds: tuple[str, ...] = ()
    for key, fields in devices.items():
        name = str(key)
        try:
            _check(name, fields, names)
            trace = read(name, fields)
            _alike(kinds or tuple(trace.steps), trace)
        except ValueError as problem:
            error = FedsimError(f"{path}: device {name!r}: {problem}")
            if errors is None:
                raise error from None
            errors.append(error)
        else:
            names.add(name)
            kinds = tuple(trace.steps)
            yield trace


def _check(name: str, fields: Any, names: set[str]) -> None:
    """Raise ValueError if a device has no valid name of its own, or no dict."""
    blank = name != name.strip() or not name
    if blank or len(name.encode()) > _MOST_NAME or set(name) & set(',"\r\n\0'):
        raise ValueError(
            f"the name must have 1 to {_MOST_NAME} bytes, without a comma, quote or line break, "
            "and no blank at its ends"
        )
    if name in names:
        raise ValueError("has two traces: must have one")
    if not isinstance(fields, dict):
        raise ValueError("must have a dict")  # noqa: TRY004 - as all that are invalid


def _alike(kinds: tuple[str, ...], trace: Trace) -> None:
    """Raise ValueError if a trace has other kinds than those before."""
    if kinds != tuple(trace.steps):
        raise ValueError(f"has {', '.join(trace.steps)}, and others {', '.join(kinds)}")


def _available(name: str, fields: dict[str, Any]) -> Trace:
    """Return the availability of a device of FedScale: the union of its intervals."""
    finish = _instant(fields.get("finish_time"), "finish_time")
    if finish == 0:
        raise ValueError("finish_time = 0: must be positive")
    times = []
    for key in ("active", "inactive"):
        if not isinstance(fields.get(key), (list, tuple)):
            raise ValueError(f"{key} must be a list of times")  # noqa: TRY004 - invalid
        times.append([_instant(x, key) for x in fields[key]])
    active, inactive = times
    if len(active) != len(inactive):
        raise ValueError(
            f"has {len(active)} times in active and {len(inactive)} in inactive: must have equally many"
        )
    steps: list[tuple[int, float]] = [(0, 0)]
    end = 0
    for begin, until in sorted(zip(active, inactive, strict=True)):
        if until < begin:
            raise ValueError(
                f"an interval ends at {until / _SECOND:g} s, before {begin / _SECOND:g} s"
            )
        stop = min(until, finish)
        if stop > max(begin, end):
            _add(steps, max(begin, end), 1)
            _add(steps, stop, 0)
            end = stop
    if end == finish:
        steps.pop()
    return Trace(name, finish, {"available": steps})


def _capacity(devices: Iterable[Any]) -> Callable[[str, dict[str, Any]], Trace]:
    """Return a reader of capacities; the median device, the lower of two, has speed 1."""

    def positive(fields: Any, key: str) -> float:
        x = fields.get(key) if isinstance(fields, dict) else None
        if not (isinstance(x, (int, float)) and 0 < x < math.inf):
            raise ValueError(f"{key} must be a positive number")
        return float(x)

    times = []
    for fields in devices:
        try:
            positive(fields, "communication")
            times.append(positive(fields, "computation"))
        except ValueError:  # noqa: PERF203 - reported by the reader
            continue
    times.sort()

    def read(name: str, fields: dict[str, Any]) -> Trace:
        computation = positive(fields, "computation")
        mbps = positive(fields, "communication") * (1024 / 1e6)
        speed = times[(len(times) - 1) // 2] / computation
        steps = {"down_mbps": mbps, "up_mbps": mbps, "speed": speed}
        return Trace(name, _DAY, {kind: [(0, value)] for kind, value in steps.items()})

    return read


def _rates(name: str, fields: dict[str, Any], span: int, hold: int, seed: int) -> Trace:
    """Return rates of a device of FLASH: normal numbers, drawn again until positive."""
    steps = {}
    for way in ("down", "up"):
        mean, sigma = fields.get(f"{way}_u"), fields.get(f"{way}_sigma")
        if not (isinstance(mean, (int, float)) and 0 < mean < _MOST_RATE):
            raise ValueError(f"{way}_u = {mean}: must be in (0, 1e9), kB/s")
        if not (isinstance(sigma, (int, float)) and 0 <= sigma < _MOST_RATE):
            raise ValueError(f"{way}_sigma = {sigma}: must be in [0, 1e9), kB/s")
        generator = random.Random(f"{seed} {way} {name}")  # noqa: S311 - no secret
        values: list[tuple[int, float]] = []
        for at in range(0, span, hold):
            rate = 0.0
            while rate <= 0:
                rate = generator.gauss(mean, sigma)
            _add(values, at, rate * (1024 * 8 / 1e6))
        steps[f"{way}_mbps"] = values
    return Trace(name, span, steps)


# A message of FLASH: the state that it changes, and whether the device then has it.
_MESSAGES: dict[str, tuple[str, bool]] = {
    "battery_charged_on": ("charging", True),
    "battery_charged_off": ("charging", False),
    "wifi": ("wifi", True),
    **dict.fromkeys(("unknown", "2g", "3g", "4g", "5g"), ("wifi", False)),
    "screen_on": ("screen-off", False),
    "screen_off": ("screen-off", True),
    "screen_lock": ("locked", True),
    "screen_unlock": ("locked", False),
    "phone_off": ("off", True),
    "phone_on": ("off", False),
    **dict.fromkeys(("battery_low", "battery_okay"), ("", False)),
}
_CLOCK = re.compile(r"(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)", re.ASCII)


def _messages(text: Any) -> Iterator[tuple[datetime, str, bool, float | None]]:
    """Return the messages of a device: clock time, state, whether it is on, battery level."""
    if not isinstance(text, str):
        raise ValueError("messages must be a text")  # noqa: TRY004 - as all that are invalid
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        clock, tab, state = line.strip().partition("\t")
        digits = _CLOCK.fullmatch(clock.strip())
        if not (tab and digits):
            raise ValueError(
                f"message {number} is {line[:80]!r}: must be like 2020-01-02 15:04:05, a tab and a state"
            )
        year, month, day, hour, minute, second = map(int, digits.groups())
        at = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
        state = state.strip().lower()
        if state.endswith("%"):
            level = float(state[:-1]) / 100
            if not 0 <= level <= 1:
                raise ValueError(f"message {number} has the battery level {state}")
            yield at, "", False, level
        elif state in _MESSAGES:
            yield at, *_MESSAGES[state], None
        else:
            raise ValueError(f"message {number} has the state {state[:80]!r}, which is unknown")


def _states(
    name: str,
    messages: list[tuple[datetime, str, bool, float | None]],
    origin: datetime | None,
    need: frozenset[str],
    *,
    battery: bool,
) -> Trace:
    """Return the states of a device of FLASH, whose recording also repeats before its start."""
    messages.sort(key=lambda message: message[0])
    if not messages or messages[0][0] == messages[-1][0] or origin is None:
        raise ValueError("must have messages of at least two times")
    readings = [level for *_, level in messages if level is not None]
    if battery and not readings:
        raise ValueError(
            "has no battery reading, such as 80%: must have one if levels are asked for"
        )
    first, last = messages[0][0], messages[-1][0]
    span = _between(first, last)
    phase = _between(origin, first) % span
    now: set[str] = set()
    level = readings[-1] if readings else 0.0  # before the first reading, the last one holds
    segments = []
    for at, together in itertools.groupby(messages, key=lambda message: message[0]):
        for _, state, on, reading in together:
            (now.add if on else now.discard)(state)
            level = level if reading is None else reading
        values = (float(need <= now and "off" not in now), float("charging" in now), level)
        segments.append((phase + _between(first, at), values))
    segments.pop()  # the last message ends the trace
    steps: dict[str, list[tuple[int, float]]] = {}
    head = [(at - span, values) for at, values in segments if at >= span]
    body = [(at, values) for at, values in segments if at < span]
    seam = [(0, body[-1][1])] if phase > 0 else []
    for start, values in seam + head + body:
        for kind, value in zip(_KINDS[: 3 if battery else 2], values, strict=False):
            _add(steps.setdefault(kind, []), start, value)
    return Trace(name, span, steps)


def _between(start: datetime, end: datetime) -> int:
    """Return the time between two clock times of whole seconds, in nanoseconds."""
    return round((end - start).total_seconds()) * _SECOND


def _add(steps: list[tuple[int, float]], at: int, value: float) -> None:
    """Add a value from an instant on, in place of one of the same instant."""
    if steps and steps[-1][0] == at:
        steps.pop()
    if not steps or steps[-1][1] != value:
        steps.append((at, value))


def _instant(seconds: Any, key: str) -> int:
    """Return seconds to the nearest nanosecond."""
    if not (isinstance(seconds, (int, float)) and 0 <= seconds < _NEVER_S):
        raise ValueError(f"{key} has {seconds!r}: must be a number of seconds, below {_NEVER_S}")
    exact = float(seconds) * _SECOND
    return math.floor(exact) + (2 * (exact - math.floor(exact)) >= 1)


def _time(at: int) -> str:
    """Return nanoseconds as seconds, exactly."""
    whole, rest = divmod(at, _SECOND)
    return f"{whole}.{rest:09d}".rstrip("0").rstrip(".") if rest else str(whole)


def _number(x: float) -> str:
    """Return the shortest text that reads back as x, with an exponent from a million on."""
    if x == 0 or _PLAIN[0] <= x < _PLAIN[1]:
        return repr(float(x)).removesuffix(".0")
    return next(text for n in range(17) if float(text := f"{x:.{n}e}") == x)


def _clock(text: str) -> datetime:
    """Return a date, or a date and time, of the command line."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'{text!r}: must be like 2020-01-02 or "2020-01-02 15:04:05"'
        ) from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``python -m pyfedsim.traces``. Returns the exit status."""
    parser = argparse.ArgumentParser(
        "python -m pyfedsim.traces",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command = parser.add_subparsers(required=True).add_parser("convert", help="write csv of fedsim")
    command.add_argument(
        "source", metavar="IN", help="a pickle of FedScale or a JSON file of FLASH"
    )
    command.add_argument("-o", "--out", help="csv to write (default: standard output)")
    command.add_argument("--from", dest="form", default="auto", help="fedscale, flash or auto")
    command.add_argument("--skip", action="store_true", help="omit devices with errors")
    command.add_argument(
        "--need",
        type=lambda text: text.split(","),
        default=_NEED,
        help="FLASH states of an available device",
    )
    command.add_argument("--battery", action="store_true", help="add FLASH battery levels")
    command.add_argument("--origin", type=_clock, help="FLASH date that is time 0")
    command.add_argument("--days", type=float, default=1, help="length of FLASH rates in days")
    command.add_argument(
        "--hold-s", type=float, default=600, help="seconds between changes of FLASH rates"
    )
    command.add_argument("--seed", type=int, default=0, help="seed of FLASH rates")
    options = vars(parser.parse_args(arguments))
    try:
        omitted = convert(**options)
    except (FedsimError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2 if isinstance(error, UsageError) else EXIT_FAILED
    if omitted:
        sys.stderr.write(f"omitted {len(omitted)}; reason for the first: {omitted[0]}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
