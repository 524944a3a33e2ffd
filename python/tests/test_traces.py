"""Traces of FedScale and FLASH, converted to the csv of fedsim."""

from __future__ import annotations

import json
import math
import os
import pickle
import re
import subprocess
import sys
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from pyfedsim import traces
from pyfedsim.errors import FedsimError, UsageError

PAGE = Path(__file__).resolve().parents[2] / "docs" / "time.md#traces"

# The first device is one of FedScale's.
BEHAVIOR = {
    3834: {
        "duration": 211625,
        "inactive": [65881, 133574, 208292, 276575, 295006, 356236, 400906, 475099],
        "finish_time": 518400,
        "active": [12788, 100044, 188992, 271372, 276663, 352625, 356267, 441193],
        "model": "CPH1801",
    },
    "d\u00e9": {
        "duration": 10.5,
        "inactive": [90.25, 600000],
        "finish_time": 518400,
        "active": [80.5, 518000],
        "model": None,
    },
    7: {"duration": 0, "inactive": [], "finish_time": 1, "active": (), "model": True},
}
AVAILABILITY = """device,time_s,kind,value
3834,0,available,0
3834,12788,available,1
3834,65881,available,0
3834,100044,available,1
3834,133574,available,0
3834,188992,available,1
3834,208292,available,0
3834,271372,available,1
3834,276575,available,0
3834,276663,available,1
3834,295006,available,0
3834,352625,available,1
3834,356236,available,0
3834,356267,available,1
3834,400906,available,0
3834,441193,available,1
3834,475099,available,0
3834,518400,end,
dé,0,available,0
dé,80.5,available,1
dé,90.25,available,0
dé,518000,available,1
dé,518400,end,
7,0,available,0
7,1,end,
"""
SHARED = {"computation": 162.0, "communication": 5648.109619499134}
CAPACITIES = {
    432802: SHARED,
    5: {"computation": 81, "communication": 1000},
    "x": {"communication": 2**40, "computation": 324.0},
    9: SHARED,
}
# Rates in kbit/s of 1024 bit/s; computation 81, 162, 162 and 324 have the lower median 162.
CAPACITY = """device,time_s,kind,value
432802,0,down_mbps,5.783664250367113
432802,0,up_mbps,5.783664250367113
432802,0,speed,1
432802,86400,end,
5,0,down_mbps,1.024
5,0,up_mbps,1.024
5,0,speed,2
5,86400,end,
x,0,down_mbps,1.125899906842624e+09
x,0,up_mbps,1.125899906842624e+09
x,0,speed,0.5
x,86400,end,
9,0,down_mbps,5.783664250367113
9,0,up_mbps,5.783664250367113
9,0,speed,1
9,86400,end,
"""


def converted(tmp_path: Path, devices: Any, **options: Any) -> str:
    """Return the csv of devices: those of FLASH if their keys are texts alone, else FedScale's."""
    source, out = tmp_path / "in", tmp_path / "out.csv"
    if isinstance(devices, str):
        source.write_text(devices, encoding="utf-8")
    else:
        source.write_bytes(pickle.dumps(devices, options.pop("protocol", 4)))
    traces.convert(source, out, **options)
    return out.read_text(encoding="utf-8")


@pytest.mark.parametrize("protocol", [0, 2, 3, 4, 5])
def test_fedscale(tmp_path: Path, protocol: int) -> None:
    assert converted(tmp_path, BEHAVIOR, protocol=protocol) == AVAILABILITY
    assert converted(tmp_path, CAPACITIES, protocol=protocol) == CAPACITY


def test_union_of_intervals(tmp_path: Path) -> None:
    """Intervals overlap, touch, are empty, out of order and beyond the end."""
    active = [70, 0, 5, 20, 30, 38, 60, 90, 95, 120]
    inactive = [80, 5, 9, 40, 35, 50, 60, 100, 130, 130]
    device = {"active": active, "inactive": inactive, "finish_time": 100}
    rows = converted(tmp_path, {1: device}).splitlines()[1:]
    steps = [(0, 1), (9, 0), (20, 1), (50, 0), (70, 1), (80, 0), (90, 1)]
    assert rows == [*(f"1,{at},available,{on}" for at, on in steps), "1,100,end,"]


GOOD = {"active": [2], "inactive": [5], "finish_time": 9}
TIMES = {"active": [1, 4], "inactive": [3, 6]}


@pytest.mark.parametrize(
    ("bad", "want"),
    [
        (TIMES, "finish_time has None: must be a number of seconds"),
        ({**TIMES, "finish_time": 0}, "finish_time = 0: must be positive"),
        ({**TIMES, "finish_time": -5}, "finish_time has -5"),
        ({**TIMES, "finish_time": math.nan}, "finish_time has nan"),
        ({**TIMES, "finish_time": 1e300}, "below 9223372036"),
        ({**GOOD, "active": 9}, "active must be a list of times"),
        ({**GOOD, "inactive": None}, "inactive must be a list of times"),
        ({**GOOD, "active": [1, 2]}, "has 2 times in active and 1 in inactive"),
        ({**GOOD, "active": [7]}, "an interval ends at 5 s, before 7 s"),
        ({**GOOD, "active": [b"x"]}, "active has b'x'"),
        (None, "must have a dict"),
    ],
)
def test_invalid_devices(tmp_path: Path, bad: Any, want: str) -> None:
    """They end the conversion without a file, or are omitted."""
    with pytest.raises(FedsimError, match=r"in: device 'bad': ") as caught:
        converted(tmp_path, {"good": GOOD, "bad": bad})
    assert want in str(caught.value)
    assert not (tmp_path / "out.csv").exists()
    rows = converted(tmp_path, {"good": GOOD, "bad": bad}, skip=True)
    assert [row.partition(",")[0] for row in rows.splitlines()[1:]] == ["good"] * 4
    assert len(traces.convert(tmp_path / "in", tmp_path / "out.csv", skip=True)) == 1


@pytest.mark.parametrize(
    ("devices", "want"),
    [
        ([], "must be a dict of devices"),
        ({}, "must be a dict of devices"),
        ({1: {}}, 'with "active" (availability) or "computation" (capacity)'),
        ({"a,b": GOOD}, "the name must have 1 to 256 bytes, without a comma"),
        ({"": GOOD}, "the name must"),
        ({"a" * 257: GOOD}, "the name must"),
        ({1: GOOD, "1": GOOD}, "has two traces"),
        ({1: {"computation": 0, "communication": 1}}, "computation must be a positive number"),
        ({1: {"computation": 1, "communication": None}}, "communication must be"),
    ],
)
def test_invalid_files(tmp_path: Path, devices: Any, want: str) -> None:
    with pytest.raises(FedsimError) as caught:
        converted(tmp_path, devices)
    assert want in str(caught.value)


class Evil:
    def __reduce__(self) -> Any:
        return os.mkdir, ("made",)


@pytest.mark.parametrize("value", [Evil(), Fraction(1, 2), {1, 2}.union, datetime, Path()])
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_pickles_run_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: Any, protocol: int
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FedsimError, match="would run code"):
        converted(tmp_path, {1: {**GOOD, "active": [value]}}, protocol=protocol)
    assert not (tmp_path / "made").exists()


def test_every_beginning_of_a_pickle_is_refused(tmp_path: Path) -> None:
    whole = pickle.dumps(BEHAVIOR, 4)
    for n in range(len(whole)):
        (tmp_path / "in").write_bytes(whole[:n])
        with pytest.raises(FedsimError):
            list(traces.fedscale(tmp_path / "in"))


def flash_file(*messages: str) -> str:
    return json.dumps({"p1": {"guid": "x", "messages": "\n".join(messages)}})


def message(clock: str, state: str) -> str:
    """Return a message of January 2, 2020, the day after the origin of the tests."""
    return f"2020-01-02 {clock}\t{state}"


DAY = [
    message("00:00:00", "screen_lock"),
    message("00:00:00", "Wifi"),
    message("08:00:00", "battery_charged_on"),
    message("09:00:00", "80.5%"),
    message("10:00:00", "screen_on"),
    message("11:00:00", "screen_unlock"),
    message("12:00:00", "screen_lock"),
    message("12:00:00", "4g"),
    message("13:00:00", "wifi"),
    message("14:00:00", "phone_off"),
    message("15:00:00", "phone_on"),
    message("16:00:00", "battery_charged_off"),
    "2020-01-03 00:00:00\tbattery_low",
]
ORIGIN = datetime(2020, 1, 1)  # noqa: DTZ001 - a clock without a zone
STANDARD = "0 - - 28800 A C 39600 a 46800 A 50400 a 54000 A 57600 a c"
SHIFTED = "0 - - 7200 A C 18000 a 25200 A 28800 a 32400 A 36000 a c"  # by six hours
SEAM = "0 - C 3600 A 7200 a 10800 A 14400 a c 72000 A C 82800 a"  # from noon on


def states(short: str) -> str:
    """Return the csv of states: A and C begin, a and c end them, both are off at 0."""
    rows, at = ["device,time_s,kind,value"], "0"
    for i, word in enumerate(short.split()):
        if word.isdigit():
            at = word
            continue
        kind = "available" if word in "Aa" or (word == "-" and i == 1) else "charging"
        rows.append(f"p1,{at},{kind},{int(word in 'AC')}")
    return "\n".join([*rows, "p1,86400,end,", ""])


@pytest.mark.parametrize(
    ("messages", "origin", "want"),
    [
        (DAY, "2020-01-01", STANDARD),
        (DAY, None, STANDARD),
        ([DAY[9], *DAY[:9], *DAY[10:]], "2020-01-01", STANDARD),
        (["", "  ", *DAY, "\r"], "2020-01-01", STANDARD),
        (DAY, "2020-01-01 06:00:00", SHIFTED),
        (DAY, "2020-01-01 12:00:00", SEAM),
        (DAY, "2020-01-06 12:00:00", SEAM),
    ],
)
def test_states(tmp_path: Path, messages: list[str], origin: str | None, want: str) -> None:
    at = datetime.fromisoformat(origin) if origin else None
    assert converted(tmp_path, flash_file(*messages), origin=at) == states(want)


def test_states_that_are_needed(tmp_path: Path) -> None:
    off = converted(tmp_path, flash_file(*DAY[:2], DAY[12]), need=["screen-off"], origin=ORIGIN)
    assert off == states("0 - -")
    wifi = converted(tmp_path, flash_file(*DAY), need=["wifi"], origin=ORIGIN)
    assert "p1,0,available,1\n" in wifi
    with pytest.raises(UsageError, match="need = "):
        converted(tmp_path, flash_file(*DAY), need=["wify"])


def test_battery(tmp_path: Path) -> None:
    """Readings of 80 % at one and 20 % at three: the last one holds across the seam."""
    day = ["00:00:00 wifi", "01:00:00 80%", "03:00:00 20.0%", "04:00:00 wifi"]
    file = flash_file(*(message(*x.split()) for x in day))
    assert converted(tmp_path, file, battery=True) == (
        "device,time_s,kind,value\np1,0,available,0\np1,0,charging,0\np1,0,battery_level,0.2\n"
        "p1,3600,battery_level,0.8\np1,10800,battery_level,0.2\np1,14400,end,\n"
    )
    with pytest.raises(FedsimError, match="has no battery reading"):
        converted(tmp_path, flash_file(DAY[0], DAY[12]), battery=True)


@pytest.mark.once
def test_rates(tmp_path: Path) -> None:
    """kB of 1024 bytes; a rate without deviation is constant.

    The mean of the positive part of a normal distribution of mean 1 and deviation s is
    1 + s phi(1/s)/Phi(1/s). That of 144,000 numbers is within 0.005.
    """
    file = (
        '{"a": {"down_u": 1000, "down_sigma": 450, "up_u": 100, "up_sigma": 0, "model": "M"},'
        '"b": {"up_sigma": 20, "up_u": 50, "down_sigma": 0, "down_u": 125, "x": [1, {"y": null}]}}'
    )
    (tmp_path / "in").write_text(file)
    a, b = traces.flash(tmp_path / "in", days=100, hold_s=60, seed=3)
    assert a.span == 100 * 86400 * 10**9
    assert [rate for _, rate in a.steps["up_mbps"]] == [pytest.approx(0.8192)]
    assert b.steps["down_mbps"] == [(0, 1.024)]
    rates = [rate for _, rate in a.steps["down_mbps"]]
    assert [at for at, _ in a.steps["down_mbps"]] == [n * 60 * 10**9 for n in range(len(rates))]
    assert len(rates) == 144_000
    s = 0.45
    phi = math.exp(-1 / (2 * s * s)) / math.sqrt(2 * math.pi)
    mean = 8.192 * (1 + s * phi / (0.5 * math.erfc(-1 / (s * math.sqrt(2)))))
    assert sum(rates) / len(rates) == pytest.approx(mean, rel=0.005)
    (again, _) = traces.flash(tmp_path / "in", days=100, hold_s=60, seed=3)
    (other, _) = traces.flash(tmp_path / "in", days=100, hold_s=60, seed=4)
    assert again == a != other
    for wrong in ({"days": 0}, {"hold_s": 0.5}):
        with pytest.raises(UsageError, match="days must be"):
            traces.flash(tmp_path / "in", **wrong)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("[]", "must be an object of devices"),
        ("{}", "in: has no device"),
        ('{"a"', "is no JSON"),
        ('{"a": 1}', "device 'a': must have a dict"),
        ('{"a": {}}', "down_u = None"),
        ('{"a": {"messages": 5}}', "messages must be a text"),
        ('{"a": {"messages": ""}}', "must have messages of at least two times"),
        ('{"a,b": {"messages": ""}}', "without a comma"),
        ('{"\\ud800": {"messages": ""}}', "can't encode"),
        ('{"a": {"down_u": 1, "down_sigma": -1}}', "down_sigma = -1: must be in [0, 1e9)"),
        ('{"x": ' + "[" * 100_000, "is no JSON"),
        (flash_file("wifi"), "message 1 is 'wifi': must be like"),
        (flash_file("2020-01-02\twifi"), "must be like 2020-01-02 15:04:05"),
        (flash_file("2020-13-02 00:00:00\twifi"), "month must be in 1..12"),
        (flash_file(message("00:00:00", "6g")), "has the state '6g', which is unknown"),
        (flash_file(message("00:00:00", "x%")), "could not convert"),
        (flash_file(message("00:00:00", "101%")), "battery level 101%"),
        (flash_file(DAY[0]), "at least two times"),
        (flash_file(*DAY) + "{", "is no JSON"),
        (flash_file(*DAY)[:-1] + ', "b": {"down_u": 1, "down_sigma": 0, "up_u": 1, "up_sigma": 0}}',
         "has down_mbps, up_mbps, and others available, charging"),
    ],
)  # fmt: skip
def test_invalid_flash(tmp_path: Path, text: str, want: str) -> None:
    with pytest.raises(FedsimError) as caught:
        converted(tmp_path, text)
    assert want in str(caught.value)


def test_command(tmp_path: Path, fedsim: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What it writes is read by fedsim; exit statuses are those of fedsim."""
    good = tmp_path / "states.json"
    good.write_text(flash_file(*DAY))
    arguments = ["convert", str(good), "--need", "locked,wifi", "--origin", "2020-01-01 06:00:00"]
    assert traces.main([*arguments, "-o", str(tmp_path / "x.csv")]) == 0
    done = subprocess.run(
        [fedsim, "trace", "stats", tmp_path / "x.csv"], capture_output=True, text=True, check=True
    )
    assert "devices" in done.stdout
    assert traces.main(["convert", str(good), "--from", "fedscale"]) == 1
    assert "is no pickle" in capfd.readouterr().err
    assert traces.main(["convert", str(good), "--from", "csv"]) == 2
    assert traces.main(["convert", str(tmp_path / "none")]) == 1
    good.write_text('{"b": {"messages": ""}, ' + flash_file(*DAY)[1:])
    capfd.readouterr()
    lacking = "must have messages of at least two times"
    assert traces.main(["convert", str(good), "--skip"]) == 0
    assert capfd.readouterr() == (
        states(STANDARD),
        f"omitted 1; reason for the first: {good}: device 'b': {lacking}\n",
    )
    good.write_text('{"b": {"messages": ""}}')
    assert traces.main(["convert", str(good), "--skip"]) == 1
    assert "has no valid one; reason for the first" in capfd.readouterr().err
    with pytest.raises(SystemExit):
        traces.main(["convert", str(good), "--origin", "yesterday"])
    assert "must be like 2020-01-02" in capfd.readouterr().err


def test_the_commands_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not PAGE.is_file():
        pytest.skip("the page is not in the sdist")
    monkeypatch.chdir(tmp_path)
    Path("client_behave_trace").write_bytes(pickle.dumps(BEHAVIOR))
    Path("client_device_capacity").write_bytes(pickle.dumps(CAPACITIES))
    Path("state_traces.json").write_text('{"b": {"messages": ""}, ' + flash_file(*DAY)[1:])
    rates = {"down_u": 1000, "down_sigma": 450, "up_u": 100, "up_sigma": 45}
    Path("speed_distri.json").write_text(json.dumps({"a": rates}))
    commands = re.findall(r"^python -m pyfedsim\.traces (.*)$", PAGE.read_text(), re.MULTILINE)
    assert [traces.main(command.split()) for command in commands] == [0] * 4
    assert Path("availability.csv").read_text(encoding="utf-8") == AVAILABILITY


def test_as_a_module(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pyfedsim.traces", "convert", "--help"],
        env={**os.environ, "PYTHONPATH": str(Path(traces.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "--hold-s" in done.stdout
