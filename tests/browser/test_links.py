"""Links of a report with a hundred findings of uneven heights land where they point to."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gradfuzz.fuzzer.results.finding import Finding
from tests.report_data import finding, finished

Open = Callable[..., Any]

DISTANCE = """\
id => new Promise(resolve => {
  let before, still = 0;
  const look = () => {
    const top = document.getElementById(id).getBoundingClientRect().top;
    still = top === before ? still + 1 : 0;
    before = top;
    if (still < 10) requestAnimationFrame(look);
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
def long_report(saved: Any) -> Any:
    return saved(finished(FOUND))


WIDE = {"width": 1280, "height": 900}
PHONE = {"width": 375, "height": 812}
NO_ANCHORS = """\
() => {
  const style = new CSSStyleSheet();
  style.replaceSync("html { overflow-anchor: none }");
  document.adoptedStyleSheets = [style];
}"""
"""As in a browser that does not keep the view in place when something above it grows."""


@pytest.mark.parametrize(
    ("size", "motion", "anchors"),
    [(WIDE, "no-preference", True), (PHONE, "reduce", True), (PHONE, "no-preference", False)],
    ids=["wide", "phone, reduced motion", "phone, no scroll anchoring"],
)
def test_links_land(
    size: dict[str, int], motion: str, anchors: bool, long_report: Path, open_page: Open
) -> None:
    how = {"viewport": size, "reduced_motion": motion}
    page = open_page(long_report, **how).page
    if not anchors:
        page.evaluate(NO_ANCHORS)
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
    if anchors:
        for number in (9, 88):
            page.evaluate("id => { location.hash = id; }", IDS[number])
            land("address", IDS[number])
        page.go_back()
        land("back", IDS[9])
        page.go_forward()
        land("forward", IDS[88])
    page.reload()
    land("reload", IDS[88 if anchors else 71])
    page = open_page(long_report, f"#{IDS[64]}", **how).page
    land("open", IDS[64])
    assert {way: px for way, px in off.items() if abs(px) > 2} == {}
