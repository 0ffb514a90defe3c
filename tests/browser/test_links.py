"""Links of a report with a hundred findings of uneven heights land where they point to."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.reports.html import render
from tests.report_data import finding, finished

Open = Callable[..., Any]

DISTANCE = """\
id => new Promise(resolve => {
  let before, still = 0;
  const look = () => {
    const top = document.getElementById(id).getBoundingClientRect().top;
    still = top === before ? still + 1 : 0;
    before = top;
    if (still < 15) requestAnimationFrame(look);
    else resolve(top - 1.5 * parseFloat(getComputedStyle(document.documentElement).fontSize));
  };
  look();
})"""
"""How far below its place, 1.5 rem under the window's upper edge, an element comes to rest."""


def uneven(number: int) -> Finding:
    """With one to thirty-seven lines of code, and with or without pictures."""
    lines = "".join(f'print("line {k}")\n' for k in range(1 + number * 17 % 37))
    made = finding(number, with_evidence=number % 3 != 1)
    return dataclasses.replace(made, ports={**made.ports, "short": lines})


FOUND = [uneven(number) for number in range(100)]
IDS = [one.id for one in FOUND]


@pytest.fixture(scope="module")
def long_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("long") / "report.html"
    path.write_text(render(finished(FOUND), None), encoding="utf-8")
    return path


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
@pytest.mark.parametrize("size", [(1280, 900), (375, 812)], ids=["wide", "phone"])
def test_links_land(size: tuple[int, int], motion: str, long_report: Path, open_page: Open) -> None:
    how = {"viewport": {"width": size[0], "height": size[1]}, "reduced_motion": motion}
    page = open_page(long_report, **how).page
    off: dict[str, float] = {}

    def land(by: str, target: str) -> None:
        off[f"{by} to {target}"] = page.evaluate(DISTANCE, target)

    def click(place: str, target: str) -> None:
        page.locator(f"{place} a[href='#{target}']").first.click()
        land(place, target)

    click("#table", IDS[52])
    for key, number in (("j", 53), ("j", 54), ("k", 53)):
        page.keyboard.press(key)
        land(key, IDS[number])
    click("nav", "tested")
    click("nav", "details")
    click("#causes", IDS[20])
    click("article", IDS[20])
    click("#table", IDS[97])
    page.locator(f"#table a[href='#{IDS[71]}']").focus()
    page.keyboard.press("Enter")
    land("Enter", IDS[71])
    page.evaluate("id => { location.hash = id; }", IDS[9])
    land("address", IDS[9])
    page.evaluate("id => { location.hash = id; }", IDS[88])
    page.go_back()
    land("back", IDS[9])
    page.go_forward()
    land("forward", IDS[88])
    page.reload()
    land("reload", IDS[88])
    for number in (3, 64, 98):
        page = open_page(long_report, fragment=f"#{IDS[number]}", **how).page
        land("open", IDS[number])
    assert {way: px for way, px in off.items() if abs(px) > 2} == {}
