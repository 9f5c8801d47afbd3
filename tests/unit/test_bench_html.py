"""The page of `bench --html`, and the geometry of its plots."""

from __future__ import annotations

import itertools

import pytest
from bench_results import Page, record, slower

from uhost.report import html, plots
from uhost.report.compare import compare_results


def pages() -> dict[str, str]:
    a, b = [record()], [slower()]
    return {
        "results": html.report([record(cycles=7710), record(model="other")]),
        "comparison": html.report([*a, *b], compare_results(a, b)),
        "plain": html.report([{k: v for k, v in a[0].items() if k not in ("timing", "memory")}]),
    }


@pytest.mark.parametrize("name", ["results", "comparison", "plain"])
def test_a_page_needs_nothing_else(name: str) -> None:
    text = pages()[name]
    page = Page(text)
    assert "http" not in text
    assert "<script" not in text
    assert "url(" not in text
    assert "@import" not in text
    assert not [v for n, v in page.attributes if n in ("src", "srcset", "data")]
    links = {value for n, value in page.attributes if n == "href"}
    assert links <= {f"#{name}" for name in page.ids}
    assert "prefers-color-scheme: dark" in text


def test_a_page_shows_every_figure_with_its_unit() -> None:
    text = pages()["results"]
    shown = {one.strip() for one in Page(text).texts}
    assert "Cycles per operator, by the device's counter" in shown
    assert "Executed instructions per operator" in shown
    assert {"77.10 µs", "65.00 µs", "2.9 KiB", "1.6 KiB", "100 B", "6,500", "at 100 MHz"} <= shown
    assert {"0 conv_2d_0", "1 reshape_1", "2 softmax_2"} <= {" ".join(t.split()) for t in shown}
    assert "lower bound 1.6 KiB" in shown
    assert any(one.startswith("x (input): 512 B at offset 1,024, steps 0 to 0") for one in shown)


def test_a_page_escapes_names() -> None:
    text = html.report([record(model="<b>&")])
    assert "<b>&<" not in text
    assert "&lt;b&gt;&amp;" in text


def test_a_comparison_page_names_both_sides() -> None:
    shown = {one.strip() for one in Page(pages()["comparison"]).texts}
    assert {"a: board, unicorn, arm_gcc", "b: board, unicorn, zig", "+39.2 %"} <= shown
    same = html.report([record()], compare_results([record()], [record()]))
    assert "a: a: board, unicorn, arm_gcc" not in same


def test_bars_are_in_proportion() -> None:
    rows = [plots.Row("a", 100), plots.Row("b", 50), plots.Row("c", None), plots.Row("d", 0)]
    plot = plots.bars("title", rows, str)
    widths = [bar.width for bar in plot.bars]
    assert widths[0] == plots.WIDTH - 400
    assert widths[1:] == [widths[0] / 2, 0.0, 0.0]
    assert [bar.share for bar in plot.bars] == ["66.7 %", "33.3 %", "-", "0.0 %"]
    pair = plots.pairs("title", [plots.Pair("p", 50, 100, 100.0)], str)
    assert [bar.width for bar in pair.bars] == [widths[1], widths[0]]
    assert [bar.share for bar in pair.bars] == ["", "+100.0 %"]


def test_blocks_of_the_schedule_lie_inside_and_apart() -> None:
    plot = plots.schedule(record())
    bottom, right = plot.top + plot.height, plot.left + plot.width
    for tile in plot.tiles:
        assert plot.left <= tile.x
        assert tile.x + tile.width <= right + 1e-6
        assert plot.top - 1e-6 <= tile.y
        assert tile.y + tile.height <= bottom + 1e-6
    for one, two in itertools.combinations(plot.tiles, 2):
        beside = one.x + one.width <= two.x + 1e-6 or two.x + two.width <= one.x + 1e-6
        below = one.y + one.height <= two.y + 1e-6 or two.y + two.height <= one.y + 1e-6
        assert beside or below
    a, x = plot.tiles[:2]
    assert a.y + a.height == pytest.approx(bottom)
    assert a.width == pytest.approx(plot.width)
    assert x.width == pytest.approx(plot.width / 3)
    assert a.height == pytest.approx(plot.height * 1024 / 1664)
    assert a.label == "a, 1.0 KiB"
    assert plot.peaks == (plot.left,)
    assert [tick.text for tick in plot.rows] == ["0.0 KiB", "0.5 KiB", "1.0 KiB", "1.5 KiB"]


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [("short", 100.0, "short"), ("a_long_name_of_a_tensor", 64.0, "a_lo…ensor")],
)
def test_long_names_lose_their_middle(text: str, width: float, expected: str) -> None:
    assert plots.shorten(text, width) == expected
