"""The live page as a reader uses it: with the keyboard, on a phone, without scripts, at settings that cannot run."""

import json
import re
from importlib.resources import files

import pytest
from conftest import watched

from bookbuild import sphinx_ext
from bookbuild.check import Page, is_outside

pytestmark = pytest.mark.endtoend

SLIDERS = ("batch", "persistence", "rate", "features", "momentum")
PHONE = {"viewport": {"width": 375, "height": 740}, "device_scale_factor": 2, "has_touch": True, "is_mobile": True}
STATE = """() => ({
    settings: {...sgdnoise.page.settings},
    state: document.getElementById("live").dataset.state,
    status: document.querySelector(".live-status").textContent,
    theory: document.querySelector(".live-legend span + span").textContent,
    labels: [...document.querySelectorAll(".live canvas")].map(canvas => canvas.getAttribute("aria-label")),
})"""
# All of the run at once, as any number of frames would have it; a frame that is due finds it at its end.
FINISH = """() => {
    const page = sgdnoise.page;
    while (page.run.work());
    page.draw();
    page.tell();
    return {
        series: ["distance", "loss", "response", "correlation"].map(name => page.run.series[name].filter(isFinite)),
        pictures: [...document.querySelectorAll(".live canvas")].map(canvas => canvas.toDataURL()),
    };
}"""


def open_live(page, html):
    page.goto((html / f"{sphinx_ext.LIVE_PAGE}.html").as_uri())
    page.wait_for_function("window.sgdnoise && sgdnoise.page")


def press(page, selector, key, times=1):
    page.locator(selector).focus()
    for _ in range(times):
        page.keyboard.press(key)


@pytest.fixture
def opened(page, html):
    """The live page; whatever a test does with it, nothing may be complained of and nothing fetched."""
    open_live(page, html)
    yield page
    assert page.complaints == []
    assert page.outside == []


def content(html):
    text = (html / f"{sphinx_ext.LIVE_PAGE}.html").read_text()
    return json.loads(re.search(r'id="live-content">(.*?)</script>', text, flags=re.DOTALL).group(1))


def test_a_run_is_drawn_over_the_theory_frame_by_frame(opened):
    """Nothing is done for it but to open the page: it starts, is drawn as it goes, and ends."""
    opened.wait_for_function("sgdnoise.page.run.step > 5")
    picture = "document.querySelector('.live canvas').toDataURL()"
    early = opened.evaluate(picture)
    opened.wait_for_function("document.getElementById('live').dataset.state === 'finished'", timeout=60_000)
    found = opened.evaluate(STATE)
    assert opened.evaluate(picture) != early
    assert found["status"].startswith("Finished. The two networks are 0.")
    assert all("in the simulation" in label and "in theory" in label for label in found["labels"])
    assert opened.evaluate("sgdnoise.page.pace.frames") > 10
    assert float(opened.locator("#live").get_attribute("data-frames-per-second")) > 0
    cells = opened.locator(".live-readings td").all_inner_texts()
    assert all(float(cell) > 0 for cell in cells), cells


def test_run_and_theory_are_compared_at_the_same_time(opened):
    solution = "{time: [0, 1, 2], distance: [0, 10, 30], response: [5, 7]}"
    for name, when, value in (
        ("distance", 0, 0),
        ("distance", 1, 10),
        ("distance", 1.5, 20),
        ("distance", 9, 30),  # after its end: the last
        ("response", 1.5, 6),
        ("response", 0.5, float("nan")),  # before the waiting time
        ("distance", "NaN", float("nan")),
    ):
        assert opened.evaluate(f"sgdnoise.theory.at({solution}, '{name}', {when})") == pytest.approx(value, nan_ok=True)
    young = (
        "{time: [0, 0.3], distance: [0, 1], loss: [1, 1], magnetization: [0, 1], norm: [1, 1], correlation: [NaN, NaN],"
    )
    run = f"{{series: {young} response: [NaN, NaN]}}, wait: 60}}"
    shown, end = opened.evaluate(f"[sgdnoise.view.read({run}, sgdnoise.page.theory), sgdnoise.page.theory.loss.at(-1)]")
    expected = opened.evaluate("sgdnoise.theory.at(sgdnoise.page.theory, 'loss', 0.3)")
    assert shown["loss"] == {"run": 1, "theory": expected}
    assert expected > 1.2 * end


@pytest.mark.parametrize("name", SLIDERS)
def test_every_slider_changes_the_curves(opened, name):
    press(opened, "input[name=features]", "ArrowLeft", 2)  # fewer features: quicker, and as good for this
    before, first = opened.evaluate(STATE), opened.evaluate(FINISH)
    press(opened, f"input[name={name}]", "ArrowRight")
    after, second = opened.evaluate(STATE), opened.evaluate(FINISH)
    assert after["settings"] == before["settings"] | {name: after["settings"][name]}
    assert after["settings"][name] != before["settings"][name]
    assert after["status"] != before["status"]
    for old, new in zip(first["series"], second["series"], strict=True):
        assert old != new
    for old, new in zip(first["pictures"], second["pictures"], strict=True):
        assert old != new
    shown = opened.locator(f"input[name={name}]").get_attribute("aria-valuetext")
    assert shown == f"{after['settings'][name]:g}"
    assert opened.locator(f".live-slider:has(input[name={name}]) output").inner_text() == shown


def test_the_phase_is_chosen_with_an_arrow_key(opened):
    assert opened.evaluate(STATE)["settings"]["phase"] == "unsat"
    press(opened, ".live-phase input >> nth=0", "ArrowRight")
    found = opened.evaluate(STATE)
    assert found["settings"]["phase"] == "sat"
    assert found["settings"]["rate"] == opened.evaluate("sgdnoise.page.content.phases.sat.rate")
    assert opened.evaluate(FINISH)["series"][1][-1] < 0.05, "the loss of data that can be fitted vanishes"


def test_a_finished_run_adds_its_point_and_stays_as_a_ghost(opened):
    press(opened, "input[name=features]", "ArrowLeft", 2)
    counts = []
    for _ in range(2):
        opened.evaluate(FINISH)
        counts.append([opened.locator(f".alive-chart >> nth={i} >> .alive-point.run").count() for i in (0, 1)])
        press(opened, "input[name=batch]", "ArrowRight")
    assert counts == [[1, 1], [2, 2]]
    found, ghosts = opened.evaluate("[sgdnoise.page.finished, sgdnoise.page.ghosts.length]")
    assert [each["batch"] for each in found] == [0.3, 0.4]
    assert ghosts == 2
    first = opened.evaluate("sgdnoise.page.ghosts[0].series")
    late = [d for t, d in zip(first["time"], first["distance"], strict=True) if t >= 6 - 1e-9]
    mean = (sum(late) - (late[0] + late[-1]) / 2) / (len(late) - 1)
    assert found[0]["distance"] == pytest.approx(mean, rel=1e-9)
    press(opened, "input[name=momentum]", "End")
    assert opened.locator(".alive-chart >> nth=0 >> .alive-point.run").count() == 0, "of other settings"


def test_a_link_holds_the_setting(opened, html):
    press(opened, "input[name=batch]", "ArrowRight", 2)
    press(opened, "input[name=persistence]", "Home")
    press(opened, ".live-button >> nth=2", "Enter")
    wanted = opened.evaluate(STATE)["settings"]
    link = opened.locator(".live-buttons a").get_attribute("href")
    assert link == "#phase=unsat&b=0.5&tau=none&dt=0.1&N=300&beta=0&seed=1"
    opened.goto("about:blank")
    opened.goto((html / f"{sphinx_ext.LIVE_PAGE}.html").as_uri() + link)
    opened.wait_for_function("window.sgdnoise && sgdnoise.page")
    assert opened.evaluate(STATE)["settings"] == wanted
    bad = "#phase=x&b=7&tau=-1&dt=no&N=&beta=2&seed=1e9"
    assert opened.evaluate("hash => sgdnoise.links.fromHash(hash, sgdnoise.page.content)", bad) == opened.evaluate(
        "sgdnoise.page.content.start"
    )


SHUFFLE = ".live-phase >> nth=1 >> input >> nth=1"


def test_shuffled_epochs_are_chosen_with_an_arrow_key(opened):
    """The batch fraction moves to the nearest that an epoch can have, the persistence goes, and both come back."""
    press(opened, "input[name=features]", "ArrowLeft", 2)
    press(opened, ".live-phase >> nth=1 >> input >> nth=0", "ArrowRight")
    found = opened.evaluate(STATE)
    assert {name: found["settings"][name] for name in ("sampling", "batch", "persistence")} == {
        "sampling": "shuffled",
        "batch": 0.25,
        "persistence": None,
    }
    assert "SGD in shuffled epochs, b = 1/4" in found["status"]
    assert found["theory"] == "DMFT for SGD in shuffled epochs, b = 1/4, dt = 0.1"
    assert opened.locator("input[name=persistence]").is_disabled()
    opened.evaluate(FINISH)
    used = opened.evaluate(
        """() => {
            const {replicas, epoch} = sgdnoise.page.run;
            const sizes = ({slots}) => Array.from({length: epoch}, (_, n) => slots.filter(slot => slot === n).length);
            return replicas.map(sizes);
        }"""
    )
    assert used == [[150] * 4] * 2
    distance, theory = opened.evaluate(
        "(r => [r.run, r.theory])(sgdnoise.view.read(sgdnoise.page.run, sgdnoise.page.theory).distance)"
    )
    assert 0.5 * theory < distance < 2 * theory
    press(opened, SHUFFLE, "ArrowLeft")
    found = opened.evaluate(STATE)
    assert found["settings"]["sampling"] == "random"
    assert found["settings"]["batch"] in opened.evaluate("sgdnoise.page.content.batches")
    assert opened.locator("input[name=persistence]").is_enabled()


def test_a_run_in_epochs_is_compared_with_the_theory_of_epochs_or_with_none(opened):
    press(opened, ".live-phase >> nth=1 >> input >> nth=0", "ArrowRight")
    press(opened, "input[name=batch]", "Home")
    press(opened, "input[name=rate]", "Home")
    found = opened.evaluate(STATE)
    assert found["settings"]["batch"] == 0.1
    assert found["theory"].startswith("no theory was solved for this setting")
    assert "the nearest setting with one: SGD in shuffled epochs" in found["theory"]
    assert opened.evaluate("sgdnoise.page.theory") is None


def test_the_sliders_of_shuffled_epochs_reach_nothing_that_cannot_run(opened):
    """Every stop of the batch slider is one over a whole number, in both phases, and starts a run."""
    press(opened, "input[name=features]", "Home")
    press(opened, ".live-phase >> nth=1 >> input >> nth=0", "ArrowRight")
    for phase in ("unsat", "sat"):
        reached = []
        press(opened, "input[name=batch]", "Home")
        for _ in range(12):
            reached.append(opened.evaluate(STATE))
            press(opened, "input[name=batch]", "ArrowRight")
        assert {each["settings"]["phase"] for each in reached} == {phase}
        batches = sorted({each["settings"]["batch"] for each in reached})
        assert batches == [0.1, 0.2, 0.25, 0.5, 1]
        assert {each["state"] for each in reached} <= {"running", "finished", "diverged"}
        press(opened, ".live-phase >> nth=0 >> input >> nth=0", "ArrowRight")


def test_a_link_cannot_ask_for_what_an_epoch_cannot_have(opened, html):
    address = (html / f"{sphinx_ext.LIVE_PAGE}.html").as_uri()
    for asked, batch in (("b=0.3&tau=2", 0.25), ("b=0.5&tau=none", 0.5), ("b=0.7&tau=8", 0.25), ("b=x", 0.25)):
        opened.goto("about:blank")
        opened.goto(f"{address}#phase=unsat&{asked}&batches=shuffled")
        opened.wait_for_function("window.sgdnoise && sgdnoise.page")
        found = opened.evaluate(STATE)
        assert found["state"] == "running"
        assert found["settings"]["sampling"] == "shuffled"
        assert found["settings"]["batch"] == batch
        assert found["settings"]["persistence"] is None
        assert opened.locator(SHUFFLE).is_checked()
    wanted = opened.evaluate(STATE)["settings"]
    link = opened.locator(".live-buttons a").get_attribute("href")
    assert opened.evaluate("hash => sgdnoise.links.fromHash(hash, sgdnoise.page.content)", link) == wanted
    assert opened.evaluate("sgdnoise.links.fromHash('#batches=toString', sgdnoise.page.content)") == opened.evaluate(
        "sgdnoise.page.content.start"
    )


def test_buttons_pause_restart_and_renew(opened):
    press(opened, ".live-button >> nth=0", "Enter")
    assert opened.evaluate(STATE)["state"] == "paused"
    step = opened.evaluate("sgdnoise.page.run.step")
    # Two frames later it is still there.
    opened.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert opened.evaluate("sgdnoise.page.run.step") == step
    press(opened, ".live-button >> nth=0", "Enter")
    opened.wait_for_function(f"sgdnoise.page.run.step > {step}")
    first = opened.evaluate(FINISH)
    press(opened, ".live-button >> nth=1", "Enter")
    assert opened.evaluate(FINISH)["series"] == first["series"], "the same seed, the same run"
    press(opened, ".live-button >> nth=2", "Enter")
    assert opened.evaluate(STATE)["settings"]["seed"] == 1
    assert opened.evaluate(FINISH)["series"] != first["series"]


@pytest.mark.parametrize(
    ("slider", "key", "times"), [("persistence", "ArrowLeft", 3), ("rate", "End", 1), ("rate", "Home", 1)]
)
def test_a_run_is_compared_with_the_theory_of_its_setting_or_with_none(opened, slider, key, times):
    """The first setting was solved; with another persistence or learning rate the run stands alone."""
    assert opened.evaluate(STATE)["theory"] == "DMFT for p-SGD, b = 0.3, τ = 2, dt = 0.1"
    press(opened, "input[name=features]", "ArrowLeft", 2)
    press(opened, f"input[name={slider}]", key, times)
    opened.evaluate(FINISH)
    found = opened.evaluate(STATE)
    assert found["theory"].startswith("no theory was solved for this setting (the nearest setting with one: p-SGD, ")
    assert "in theory" not in found["status"]
    assert all("no theory" in label for label in found["labels"])
    assert set(opened.locator(".live-readings td:last-child").all_inner_texts()) == {"–"}


def test_what_cannot_run_is_said_in_a_sentence(opened):
    press(opened, "input[name=features]", "ArrowLeft", 2)
    press(opened, "input[name=batch]", "ArrowLeft", 2)
    press(opened, "input[name=persistence]", "ArrowLeft", 3)
    found = opened.evaluate(STATE)
    assert found["state"] == "refused"
    assert found["status"].startswith("No run: with b = 0.1, τ = 0.25 and dt = 0.1 a sample would enter or leave")
    assert "at most 0.0278" in found["status"]
    assert opened.evaluate("sgdnoise.page.run") is None
    press(opened, ".live-button >> nth=0", "Enter")
    assert opened.evaluate(STATE)["state"] == "refused"
    press(opened, "input[name=persistence]", "Home")
    assert opened.evaluate(STATE)["state"] == "running", "vanilla SGD is always possible"


@pytest.mark.parametrize(
    ("rates", "batches", "rate", "sentence"),
    [(1, 8, 0.2, "Gradient descent does not settle"), (4, 6, 0.6, "Training diverges, its loss grows without bound")],
)
def test_a_learning_rate_that_is_too_large_is_said_in_a_sentence(opened, rates, batches, rate, sentence):
    press(opened, "input[name=features]", "ArrowLeft", 2)
    press(opened, "input[name=persistence]", "Home")
    press(opened, "input[name=rate]", "ArrowRight", rates)
    press(opened, "input[name=batch]", "ArrowRight", batches)
    opened.wait_for_function("document.getElementById('live').dataset.state === 'diverged'", timeout=60_000)
    found = opened.evaluate(STATE)
    assert found["status"].startswith(sentence)
    assert f"dt = {rate} is too large" in found["status"]


def test_little_motion_is_respected(browser, html):
    with watched(browser, reduced_motion="reduce") as page:
        open_live(page, html)
        assert page.evaluate(STATE)["state"] == "paused"
        press(page, ".live-button >> nth=0", "Enter")
        page.wait_for_function("sgdnoise.page.run.step > 2")
        assert page.complaints == []


def test_without_scripts_there_is_the_figure_and_nothing_dead(browser, html):
    with watched(browser, java_script_enabled=False) as page:
        page.goto((html / f"{sphinx_ext.LIVE_PAGE}.html").as_uri())
        assert page.locator("#live").count() == 1
        assert not page.locator("#live").is_visible()
        assert page.locator("article canvas, article input[type=range], article .live-button").count() == 0
        image = page.locator("figure img:visible").first  # the others are for dark and for narrow screens
        assert image.is_visible()
        assert image.bounding_box()["width"] > 300


def test_it_fits_a_phone(browser, html):
    with watched(browser, **PHONE) as page:
        open_live(page, html)
        assert page.evaluate("document.documentElement.scrollWidth") <= 375
        boxes = page.evaluate(
            """[...document.querySelectorAll(".live, .live *")].map(node => node.getBoundingClientRect())
                .map(({ left, right }) => [left, right])"""
        )
        assert all(left >= 0 and right <= 375 for left, right in boxes)
        heights = page.evaluate(
            "[...document.querySelectorAll('.live canvas')].map(c => c.getBoundingClientRect().top)"
        )
        assert len(set(heights)) == 3, "the plots stand below each other"
        # Twice as many pixels as points on a dense screen.
        assert page.evaluate("(c => c.width / c.clientWidth)(document.querySelector('.live canvas'))") == 2
        assert page.complaints == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_texts_can_be_read_in_both_themes(opened, theme):
    opened.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    # Also the sentence of a setting that cannot run, which has a colour of its own.
    press(opened, "input[name=persistence]", "ArrowLeft", 3)
    press(opened, "input[name=batch]", "Home")
    assert opened.evaluate(STATE)["state"] == "refused"
    opened.wait_for_function("document.getAnimations().every(a => a.playState !== 'running')")
    opened.evaluate((files("axe_playwright_python") / "axe.min.js").read_text())
    contrast = "axe.run('#live', {runOnly: ['color-contrast']})"
    found = opened.evaluate(f"{contrast}.then(({{passes, violations}}) => [passes.length, violations])")
    assert found == [1, []]


def test_a_change_of_theme_is_drawn(opened):
    press(opened, ".live-phase input >> nth=0", "ArrowRight")
    light = opened.evaluate(FINISH)["pictures"]
    opened.evaluate("document.documentElement.dataset.theme = 'dark'")
    dark = opened.evaluate(FINISH)["pictures"]
    assert all(old != new for old, new in zip(light, dark, strict=True))


def test_only_this_page_loads_the_scripts(html):
    ours = re.compile(r"_static/((?:live|alive)/.+|d3\.min\.js)(?:\?|$)")
    for page in html.rglob("*.html"):
        fetched = [address for address in Page(page.read_text()).fetched if ours.search(address)]
        assert not any(map(is_outside, fetched))
        expected = []
        if page.relative_to(html).as_posix() == f"{sphinx_ext.LIVE_PAGE}.html":
            expected = sphinx_ext.LIVE_FILES
        elif 'class="live alive"' in page.read_text():  # a figure that answers to the reader, with the same controls
            expected = sphinx_ext.ALIVE_FILES
        names = [ours.search(address)[1].split("?")[0] for address in fetched]
        assert names == sorted(expected, key=lambda name: name.endswith(".css")), page


def test_the_theory_was_shipped(html):
    shipped = content(html)
    kinds = {(g["phase"], p["batch"] == 1, p["persistence"] is None) for g in shipped["groups"] for p in g["points"]}
    assert len(kinds) == 6, "gradient descent, vanilla and persistent SGD in both phases"
    shuffled = {(g["phase"], p["batch"]) for g in shipped["groups"] for p in g["points"] if "sampling" in p}
    assert {phase for phase, _ in shuffled} == {"unsat", "sat"}
    assert {batch for _, batch in shuffled} <= {1 / n for n in shipped["epochs"]}
    for group in shipped["groups"]:
        for point in group["points"]:
            assert len(point["distance"]) == len(point["loss"]) == len(group["time"])
            assert len(point["response"]) == len(point["displacement"]) > 10
            assert point["response"][0] == 0
            assert point["displacement"][0] == 0
    assert (html / f"{sphinx_ext.LIVE_PAGE}.html").stat().st_size < 600_000
