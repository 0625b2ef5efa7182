"""Figures that answer to the reader: what is moved changes the number, to the one that the library gives."""

import numpy as np
import pytest
import xarray as xr
from conftest import watched

import sgdnoise as sn
from bookbuild import sphinx_ext
from bookbuild.paths import LIVE
from bookbuild.texts import fill
from sgdnoise.estimates import Estimate
from sgdnoise.interactive import batch, offer, packed, pairs, persistence, reading

pytestmark = pytest.mark.endtoend

WAITS = [3.0, 4.0, 5.0, 6.0]
TOLD = "document.querySelector('.alive-reading strong').textContent"


def show(page, view, content):
    """Put a figure with these numbers on an empty page, with the scripts and styles of the book."""
    answer = {"view": view, "label": "Figure", "content": content}
    section = fill("figure.md", figure="", svg="", file="", folder="", numbers=None, answer=answer)
    page.set_content(f"<!DOCTYPE html><html lang='en'><body>{section}</body></html>")
    for name in sphinx_ext.ALIVE_FILES:
        load = page.add_style_tag if name.endswith(".css") else page.add_script_tag
        load(path=sphinx_ext.D3 if name == sphinx_ext.D3_NAME else LIVE.parent / name)
    page.wait_for_function("window.sgdnoise.figures && sgdnoise.figures.length === 1")


@pytest.fixture(scope="module")
def run():
    """A small run of the theory with several waiting times."""
    problem, options = sn.Problem(alpha=6), {"paths": 100, "realisations": 4, "waiting_times": WAITS}
    return sn.solve_dmft(problem, sn.SGD(batch=0.3), 0.1, 9.0, seed=3, progress=False, **options)


@pytest.fixture
def opened(page, run):
    """The view of that run."""
    about = {"paper": 0.05, "waiting_times": WAITS, "longest": 4.0, "window": (0.0, 2.5)}
    show(page, "reading", {"runs": [reading(run, "a run", **about)]})
    yield page
    assert page.complaints == []


def temperature(run, low, high, first):
    """What the library gives; the number, whether it would refuse it or not."""
    waits = [wait for wait in WAITS if wait >= first and wait + high <= float(run.time[-1]) + 1e-9]
    try:
        return sn.effective_temperature(run, lags=(low, high), waiting_times=waits, drift_tolerance=1e3)
    except sn.NoPlateauError as refusal:
        return refusal.estimate


def shown(page):
    """State, value and error of the view, and what the reader is told."""
    values = page.evaluate(
        """(({state: {low, high, first}, found: {value, error}, run: {step}}) =>
            [step * low, step * high, first, value, error])(sgdnoise.figures[0])"""
    )
    return *values, page.evaluate(TOLD)


def agrees(page, run):
    low, high, first, value, error, told = shown(page)
    expected = temperature(run, round(low, 9), round(high, 9), first)
    assert value == pytest.approx(expected.value, rel=1e-5)
    assert error == pytest.approx(expected.error, rel=1e-4)
    known = "" if expected.error <= 0.3 * abs(expected.value) else "Not known to 30 per cent: "
    assert told == f"{known}T = {Estimate(expected.value, expected.error)}"
    return value


def test_the_first_number_is_that_of_the_library(opened, run):
    agrees(opened, run)
    low, high, first, *_ = shown(opened)
    assert (low, round(high, 9), first) == (0.0, 2.5, 3.0)


@pytest.mark.parametrize(("name", "part"), [("high", 0.3), ("low", 0.6)])
def test_a_drag_changes_the_temperature_to_what_the_library_gives(opened, run, name, part):
    before = agrees(opened, run)
    handle, chart = opened.locator(f".alive-handle[data-name={name}]"), opened.locator(".alive-chart").first
    start, box = handle.bounding_box(), chart.bounding_box()
    opened.mouse.move(start["x"] + start["width"] / 2, start["y"] + start["height"] / 2)
    opened.mouse.down()
    opened.mouse.move(box["x"] + part * box["width"], start["y"], steps=5)
    opened.mouse.up()
    after = agrees(opened, run)
    assert abs(after - before) > 1e-4
    opened.mouse.move(box["x"] + 0.9 * box["width"], start["y"])
    assert agrees(opened, run) == after, "it was let go"


@pytest.mark.parametrize(
    ("slider", "keys"),
    [("low", ["ArrowRight"] * 5), ("high", ["ArrowLeft"] * 8), ("first", ["End"]), ("high", ["Home"])],
)
def test_the_same_by_keyboard(opened, run, slider, keys):
    before = agrees(opened, run)
    opened.locator(f"input[name={slider}]").focus()
    for key in keys:
        opened.keyboard.press(key)
    assert agrees(opened, run) != before
    low, high, *_ = shown(opened)
    assert high - low > 0.29, "four points at least"


def test_a_number_that_is_not_known_is_said_to_be_so(opened):
    opened.locator("input[name=low]").focus()
    opened.keyboard.press("End")
    assert shown(opened)[-1].startswith("Not known to 30 per cent: T = ")


def test_another_window_would_be_noticed(opened, run):
    """Negative control: the library's number of the next window differs by more than is allowed above."""
    value = shown(opened)[3]
    assert abs(temperature(run, 0.0, 2.4, 3.0).value / value - 1) > 1e-4
    assert abs(temperature(run, 0.0, 2.5, 4.0).value / value - 1) > 1e-4


def test_it_fits_a_phone(browser, run):
    with watched(browser, viewport={"width": 375, "height": 740}) as page:
        about = {"paper": 0.05, "waiting_times": WAITS, "longest": 4.0, "window": (0.0, 2.5)}
        show(page, "reading", {"runs": [reading(run, "a run", **about)]})
        assert page.evaluate("document.documentElement.scrollWidth") <= 375
        assert page.complaints == []


def test_packed_numbers_arrive(opened):
    values = np.array([0.1, -2.5e-8, 3e7, np.nan])
    found = opened.evaluate("text => [...sgdnoise.unpack(text)].map(String)", packed(values))
    assert np.allclose(np.array(found, dtype=float), values, rtol=1e-7, equal_nan=True)


def test_an_unknown_view_is_refused():
    with pytest.raises(ValueError, match="view must be reading"):
        offer("x", "nothing", {})


PROBLEM = sn.Problem(alpha=6)


def test_temperature_against_batch_size_follows_learning_rate_and_momentum(page):
    measured = [("sum", 0.1, 0.0, 0.3, Estimate(0.05, 0.001)), ("mean", 0.1, 0.0, 0.3, Estimate(0.2, 0.01))]
    show(page, "batch", batch(PROBLEM, (0.05, 0.1), (0.0, 0.5), measured))
    told = ".alive-reading strong"
    assert page.locator(told).inner_text().startswith("dt = 0.1, β = 0. sum: highest at b = ")
    assert page.locator(".alive-point").count() == 2
    offs = [
        100 * (sn.linear_response(PROBLEM, sn.SGD(b, gradient=kind), dt, dt).integrated_temperature / T.value - 1)
        for kind, dt, _, b, T in measured
    ]
    ends = " to ".join(f"{off:+.1f}".replace("-", "−") for off in sorted(offs))
    assert f"Linear response is off from the points by {ends} per cent." in page.locator(".alive-reading").inner_text()
    page.locator("input[name=momentum]").focus()
    page.keyboard.press("End")
    page.locator("input[name=rate]").focus()
    page.keyboard.press("Home")
    assert page.locator(told).inner_text().startswith("dt = 0.05, β = 0.5.")
    assert page.locator(".alive-point").count() == 0, "nothing was measured here"
    shown = page.evaluate(
        """(({content: {curves, batches}, state: {rate, momentum}}) =>
            curves.filter(c => c.rate === rate && c.momentum === momentum)
                .map(({gradient, T}) => [gradient, batches[4], T[4]])
        )(sgdnoise.figures[0])"""
    )
    for gradient, b, value in shown:
        sgd = sn.SGD(b, gradient=gradient, momentum=0.5)
        assert value == pytest.approx(sn.linear_response(PROBLEM, sgd, 0.05, 0.05).integrated_temperature, rel=1e-3)
    assert page.complaints == []


def test_a_pair_of_parameters_shows_its_runs_when_pointed_at_and_by_keyboard(page):
    settings = [(0.1, 1.0), (0.1, 2.0), (0.4, 2.0)]
    rng = np.random.default_rng(1)
    distance, fraction = (xr.DataArray(rng.random((3, 5)), dims=("point", "realisation")) for _ in range(2))
    show(page, "pairs", pairs(settings, distance, fraction))
    told = page.locator(".alive-reading")
    mean = Estimate.mean(distance.isel(point=1))
    assert told.inner_text().startswith(f"b = 0.1, τ = 2: d₀ = {mean}")
    assert f"d₀ {float(distance[1].min()):.3f} to {float(distance[1].max()):.3f}" in told.inner_text()
    assert page.locator(".alive-point.second").count() == 5, "a dot for each data set"
    page.locator("select").focus()
    page.keyboard.press("ArrowDown")
    assert told.inner_text().startswith("b = 0.4, τ = 2")
    page.locator(".alive-point.theory").first.hover(force=True)
    assert told.inner_text().startswith("b = 0.1, τ = 1")
    assert page.complaints == []


def test_persistent_sgd_follows_batch_and_persistence(page):
    problem, algorithm = sn.Problem(alpha=8), sn.PersistentSGD(0.3, 2.0)
    run = sn.solve_stationary(problem, algorithm, 0.1, 12.0, paths=256, realisations=3, seed=1, progress=False)
    content = persistence(problem, 0.1, (0.2, 0.3), (1.0, 2.0, 4.0), {algorithm: run}, drift_tolerance=1e3)
    show(page, "persistence", content)
    told = page.locator(".alive-reading")
    weak = sn.linear_response(problem, algorithm, 0.1, 40.0)
    chord, linear = sn.effective_temperature(run, "chord"), weak.integrated_temperature
    words = (
        f"T_int = {Estimate.of(chord)} (linear response: {linear:.3g}, off by {100 * (linear / chord.value - 1):+.0f}"
    )
    assert told.inner_text().startswith(f"b = 0.3, τ = 2: {words} per cent).")
    assert (
        f"the batch is forgotten at the rate γ = {-np.log(1 - 0.1 / 0.6) / 0.1:.3f}. Formally, at" in told.inner_text()
    )
    try:
        tail = sn.effective_temperature(run, "tail", (0.0, 4.0))
    except sn.NoPlateauError as refusal:
        tail = refusal.estimate
    found = "exclude" if tail.established else "show" if tail.refuted else "neither show nor exclude"
    words = f"at lags up to {tail.lags[1]:.3g}, the data {found} a change of the slope by more than 30 per cent."
    assert f"In practice, {words}" in told.inner_text()
    assert page.locator(".alive-point.run").count() > 20, "the run of the theory is drawn"
    expected = sn.frequency_temperature(weak, content["frequencies"]).temperature
    found = page.evaluate("(c => [...sgdnoise.unpack(c.frequency)])(sgdnoise.figures[0].content.weak[4])")
    assert np.allclose(found, expected, rtol=1e-3)
    page.locator("input[name=persistence]").focus()
    page.keyboard.press("ArrowRight")
    later = sn.linear_response(problem, sn.PersistentSGD(0.3, 4.0), 0.1, 0.1).integrated_temperature
    assert told.inner_text().startswith(f"b = 0.3, τ = 4: T_int = {later:.3g} in linear response, which is off by ")
    assert "Formally, at infinite lag, the slope has no limit in linear response" in told.inner_text()
    assert page.locator(".alive-point.run").count() == 0
    assert "Mean-field theory was not solved here" in told.inner_text()
    assert page.complaints == []
