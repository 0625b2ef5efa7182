"""The files that a page offers for its figures hold the numbers that were drawn, each within its own bar."""

import base64
import io
import re
import sys
import zipfile

import matplotlib as mpl
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from PIL import Image

from bookbuild import downloads, notebooks, page, sphinx_ext
from bookbuild.texts import Refusal
from sgdnoise import plotting, report
from sgdnoise.estimates import Estimate
from sgdnoise.sweep.entry import decode

BARS = ["x", "y", "low", "high"]


@pytest.fixture(autouse=True)
def closed():
    plt.close("all")  # what other tests have left open
    yield
    plt.close("all")


@pytest.fixture
def figure():
    return plt.subplots()[0]


def drawn(figure):
    return report.numbers("plot", figure).to_dataframe()


def runs(*values):
    """Two realisations of a variable at two times."""
    return xr.DataArray(list(values), dims=("realisation", "time"), coords={"time": [0.0, 1.0]})


def test_two_bands_over_the_same_times_keep_their_own_ends(figure):
    """Matched by their times, the last band would be that of both curves."""
    (axes,) = figure.axes
    plotting.draw(axes, runs([1.0, 2.0], [3.0, 6.0]), label="low")
    plotting.draw(axes, runs([101.0, 102.0], [103.0, 106.0]), label="high")
    plotting.curve(axes, [0.0, 1.0], [50.0, 60.0], label="no bars")
    table = drawn(figure).set_index("curve")
    np.testing.assert_allclose(table.loc["low", BARS], [[0, 2, 0, 4], [1, 4, 0, 8]])
    np.testing.assert_allclose(table.loc["high", BARS], [[0, 102, 100, 104], [1, 104, 100, 108]])
    assert table.loc["no bars", ["low", "high"]].isna().all(axis=None)


def test_bars_levels_and_insets_are_in_the_table(figure):
    (axes,) = figure.axes
    axes.set(xlabel="lag", ylabel="slope")
    plotting.curve(axes, [1.0, 2.0], [3.0, 4.0], [0.5, 0.25], [0.25, 0.25], fmt="o", label="bars")
    plotting.curve(axes, None, 7.0, fmt="--", name="level")
    plotting.curve(axes, 9.0, None, name="upright")
    inset = axes.inset_axes((0.5, 0.5, 0.4, 0.4))
    plotting.curve(inset, 5.0, 6.0, fmt="o", label="inset")
    axes.plot([], [], label="in the legend only")
    table = drawn(figure).set_index("curve")
    assert list(table.index) == ["bars", "bars", "level", "upright", "inset"]
    np.testing.assert_allclose(table.loc["bars", BARS], [[1, 3, 2, 4], [2, 4, 3.5, 4.5]])
    np.testing.assert_allclose(table.loc["bars", ["x_low", "x_high"]], [[0.5, 1.5], [1.5, 2.5]])
    np.testing.assert_allclose(table.loc[["level", "upright"], ["x", "y"]], [[np.nan, 7], [9, np.nan]])
    assert table.loc["inset", ["panel", "x", "y"]].tolist() == [2, 5, 6]
    assert table.x_label.tolist() == ["lag"] * 4 + [""]


def test_what_is_drawn_is_what_is_published(figure):
    """The artists of Matplotlib, looked at for once, hold the numbers of the table."""
    (axes,) = figure.axes
    x, y, error = np.random.default_rng(0).normal(size=(3, 5))
    plotting.curve(axes, x, y, abs(error), abs(error) / 2, fmt="o", label="bars")
    plotting.curve(axes, x, y + 1, abs(error), band=True, label="band")
    table = drawn(figure).set_index("curve")
    (container,), (*bars, band) = axes.containers, axes.collections
    np.testing.assert_array_equal(container.lines[0].get_xydata(), table.loc["bars", ["x", "y"]])
    for collection, axis, ends in zip(bars, (0, 1), (["x_low", "x_high"], ["low", "high"]), strict=True):
        segments = np.array([path.vertices for path in collection.get_paths()])
        np.testing.assert_array_equal(segments[:, :, axis], table.loc["bars", ends])
    box = band.get_paths()[0].get_extents()
    assert (box.y0, box.y1) == (table.loc["band"].low.min(), table.loc["band"].high.max())


def test_what_is_not_seen_is_published_all_the_same(figure):
    (axes,) = figure.axes
    plotting.curve(axes, [1.0, 2.0], [3.0, 4.0], [0.5, 0.25], fmt="o", name="bars", visible=False)
    plotting.curve(axes, [1.0, 2.0], [3.0, 4.0], [0.5, 0.25], band=True, name="band", visible=False)
    assert list(drawn(figure).curve) == ["bars", "bars", "band", "band"]
    assert not any(part.get_visible() for part in (*axes.lines, *axes.collections))
    assert not axes.get_legend_handles_labels()[1]


def test_a_line_whose_numbers_would_be_lost_is_refused(figure):
    (axes,) = figure.axes
    axes.plot([1.0], [2.0], label="mine")
    with pytest.raises(
        ValueError, match=r"the line 'mine' of figure 'plot' must be drawn with sgdnoise\.plotting\.curve"
    ):
        drawn(figure)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([1.0], [2.0]), "a curve must have a label or a name"),
        ((None, [1.0, 2.0], None), r"y of the curve 'it' must have the shape \(1,\), got \(2,\)"),
        (([1.0], [1.0, 2.0], None), r"x of the curve 'it' must have the shape \(2,\), got \(1,\)"),
        (([1.0, 2.0], [1.0, 2.0], [0.1]), r"error of the curve 'it' must have the shape \(2,\), got \(1,\)"),
    ],
)
def test_a_curve_without_a_name_or_of_mixed_lengths_is_refused(figure, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        plotting.curve(*figure.axes, *arguments, name="it" if len(arguments) > 2 else "")


def test_what_happens_to_an_array_later_changes_no_number(figure):
    y = np.array([1.0, 2.0])
    plotting.curve(*figure.axes, [1.0, 2.0], y, label="kept")
    y += 1
    assert drawn(figure).y.tolist() == [1.0, 2.0]


def test_a_figure_without_curves_has_an_empty_table_with_headings(figure):
    assert list(drawn(figure).columns) == list(report.ABOUT)
    assert len(drawn(figure)) == 0


NORMALISED = ("normalised_correlation", "normalised_response")


def test_an_fdt_plot_has_a_line_or_points_with_bars(figure):
    shape = (4, 2, 3)  # realisation, waiting time, lag
    values = np.random.default_rng(0).normal(size=(2, *shape))
    dims = ("realisation", "waiting_time", "lag")
    fdt = xr.Dataset(
        {name: (dims, value) for name, value in zip(NORMALISED, values, strict=True)},
        coords={"lag": [0.0, 0.5, 1.0]},
    )
    (axes,) = figure.axes
    plotting.draw_fdt(axes, fdt, label="line")
    plotting.draw_fdt(axes, fdt, [0.49, 1.0], fmt="o", label="points")
    table = drawn(figure).set_index("curve")
    mean = values.mean(axis=(1, 2))
    np.testing.assert_allclose(table.loc["line", ["x", "y"]].T, mean)
    points = table.loc["points"]
    np.testing.assert_allclose(points[["x", "y"]].T, mean[:, 1:])
    error = values.mean(axis=2).std(axis=1, ddof=1) / 2
    np.testing.assert_allclose([points.x_high - points.x, points.high - points.y], 2 * error[:, 1:])


def parts(figure):
    """The parts of a drawing as a narrow page shows them; x, y, width and height of each."""
    report.give_numbers(figure)
    figure.savefig(io.BytesIO(), format="svg", bbox_inches="tight")
    figure.set_layout_engine("none")
    return [tuple(map(float, part.split())) for part in filter(None, report.panels(figure).split(","))]


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({}, 6),
        ({"sharex": True}, 3),
        ({"sharey": True}, 6),
        ({"sharex": True, "sharey": True}, 3),
        ({"legend": True}, 7),
    ],
)
def test_a_narrow_page_shows_panels_with_all_that_they_need(options, count):
    """Six panels in two rows: those that share the numbers below stay together, a common legend is a part."""
    shared = {name: value for name, value in options.items() if name != "legend"}
    with plt.rc_context(plotting.STYLE):
        six, _ = plt.subplots(2, 3, **shared)
        if "legend" in options:
            six.legend(handles=[plt.Line2D([], [], label="a line")], loc="outside upper center")
        found = parts(six)
    assert len(found) == count, found
    assert sum(w * h for *_, w, h in found) <= 1.2 * six.get_tightbbox().width * six.get_tightbbox().height * 72**2
    rows = [y for _, y, _, _ in found]
    assert rows == sorted(rows), "from above"


def test_panels_that_share_an_axis_have_its_numbers_and_name():
    pair, (left, right) = plt.subplots(1, 2, sharey=True)
    left.set_ylabel("distance")
    assert not right.yaxis.get_major_ticks()[0].label1.get_visible()
    report.give_numbers(pair)
    assert right.yaxis.get_major_ticks()[0].label1.get_visible()
    assert right.get_ylabel() == "distance"


def test_a_scale_of_colours_stays_with_the_panel_beside_it():
    with plt.rc_context(plotting.STYLE):
        pair, panels = plt.subplots(1, 2)
        pair.colorbar(mpl.cm.ScalarMappable(), ax=panels)
        found = parts(pair)
    assert len(found) == 2
    assert found[1][2] > found[0][2], "the second one has the scale"


def test_a_wide_figure_of_one_panel_is_drawn_again_for_a_phone():
    """In the same file, below what a page shows; the letters of the figure are not repeated."""
    with plt.rc_context(plotting.STYLE):
        wide, axes = plt.subplots()
        axes.set_xlabel("a label with letters")
        once = report.drawn(wide)
        height = float(re.search(r'viewBox="0 0 [\d.]+ ([\d.]+)"', once)[1])
        file, part = report.with_narrow(once, wide)
    x, y, width, _ = map(int, part.split())
    assert x == 0
    assert y > height
    assert report.PHONE * 9 / width > report.READABLE
    assert file.count("<svg ") == file.count("</svg>") == 2
    ids = re.findall(r'<path id="(DejaVu[^"]*)"', file)
    assert len(ids) == len(set(ids)) > 5


def test_the_smallest_letters_are_known(figure):
    axes = figure.axes[0]
    usual = report.letters(figure)
    axes.text(0.5, 0.5, "small", fontsize=5)
    assert report.letters(figure) == pytest.approx(5 * report.COLUMN / (72 * figure.get_tightbbox().width), abs=0.01)
    assert report.letters(figure) < usual


def test_small_letters_are_made_larger(figure):
    axes = figure.axes[0]
    axes.text(0.5, 0.5, "small", fontsize=5)
    axes.tick_params(labelsize=4)
    inset = axes.inset_axes((0.1, 0.1, 0.3, 0.3))
    inset.tick_params(labelsize=4)
    axes.set_title("large", fontsize=20)
    report.enlarge(figure, 11 * 72 * figure.get_tightbbox().width / report.COLUMN)
    assert report.letters(figure) >= 10.9
    assert axes.title.get_fontsize() == 20


def test_ordered_values_have_different_colours_and_one_value_is_no_mistake():
    assert len(set(plotting.ordered([0.1, 0.2, 0.4, 0.8, 0.99]).values())) == 5
    assert list(plotting.ordered([0.3])) == [0.3]
    assert plotting.ordered([]) == {}


def test_words_stand_beside_their_point(figure):
    line = plotting.curve(figure.axes[0], [0.0, 1.0], [0.0, 2.0], color="#ff0000", name="line")
    plotting.label(line, "here", offset=(-4, 0))
    (text,) = figure.axes[0].texts
    assert (text.get_text(), text.xy, text.get_ha(), text.get_color()) == ("here", (1.0, 2.0), "right", "#bf0000")


def test_what_the_paper_says_is_published_too(figure):
    plotting.quoted(figure.axes[0], None, 0.015, "paper")
    plotting.quoted(figure.axes[0], [1.0], [2.0], "paper, a point")
    assert list(drawn(figure).curve) == ["paper", "paper, a point"]


@pytest.fixture
def executed(figure, shown):
    """An executed notebook with one published figure."""
    (axes,) = figure.axes
    plotting.curve(axes, [1.0, 2.0], [3.0, 1 / 3], [0.1, 0.1], fmt="o", label="found")
    report.publish("plot", figure)
    output = nbformat.v4.new_output("display_data", shown[0])
    text = "Before.\n\n```{glue:figure} plot\n---\nname: fig-plot\n---\nA caption.\n```\n\nAfter."
    cells = [nbformat.v4.new_code_cell("", outputs=[output]), nbformat.v4.new_markdown_cell(text)]
    return nbformat.v4.new_notebook(cells=cells)


def test_whoever_runs_a_notebook_sees_its_figures(executed):
    data = executed.cells[0].outputs[0].data
    assert data["image/svg+xml"].lstrip().startswith("<?xml")
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")
    assert plt.get_fignums() == [], "or Jupyter would show it twice"


def test_outside_of_jupyter_a_notebook_speaks_in_words(capsys):
    report.glue("size", 5)
    report.claim("good", "1 ± 0.1", Estimate(1.0, 0.1, 7))
    assert capsys.readouterr().out == "size = 5\nClaim 'good': 1 ± 0.1\n"


def test_what_is_missing_without_jupyter_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython.display", None)
    with pytest.raises(ImportError, match=r"sgdnoise\.report needs IPython, which Jupyter brings"):
        report.glue("size", 5)


def test_the_files_of_a_figure_hold_its_numbers(executed, tmp_path):
    downloads.write_figures(executed, tmp_path, "page-smoke")
    names = [f"page-smoke-plot.{ending}" for ending in ("csv", "nc", "png")]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert (tmp_path / "page-smoke-plot.png").read_bytes().startswith(b"\x89PNG")
    table = pd.read_csv(tmp_path / "page-smoke-plot.csv")
    with xr.open_dataset(tmp_path / "page-smoke-plot.nc") as dataset:
        assert dataset.y.values.tolist() == [3.0, 1 / 3]
        assert table.y.tolist() == [3.0, 0.3333333], "to seven digits"
        assert dataset.low.attrs["long_name"] == "y less two standard errors"


@pytest.fixture
def placed(executed, tmp_path, monkeypatch):
    """The text of the page, with the figure in its place."""
    monkeypatch.setattr(page.paths, "FIGURES", tmp_path / "figures")

    def place():
        page.place(executed, "page", "../downloads", "page-smoke")
        return executed.cells[1].source

    return place


def test_a_figure_stands_in_its_place_with_links_below(placed, tmp_path):
    text = placed()
    assert "```{figure} /_build/figures/page.plot.svg\n---\nname: fig-plot\n---\nA caption.\n```" in text
    assert b"<svg" in (tmp_path / "figures" / "page.plot.svg").read_bytes()
    assert text.index("A caption.") < text.index("../downloads/page-smoke-plot.csv") < text.index("After.")
    assert all(f'download="page-smoke-plot.{ending}"' in text for ending in ("svg", "png", "csv", "nc"))
    assert "ends of the bars" in text


@pytest.mark.parametrize("points", [0, 1])
def test_bars_and_numbers_are_promised_only_where_there_are_some(executed, placed, points, tmp_path, shown):
    other, axes = plt.subplots()
    if points:
        plotting.curve(axes, [1.0], [2.0], label="bare")
    report.publish("plot", other)
    executed.cells[0].outputs[0].data = shown[-1]
    text = placed()
    assert "plot.png" in text
    assert "ends of the bars" not in text
    assert (".csv" in text) == bool(points)
    (tmp_path / "files").mkdir()
    downloads.write_figures(executed, tmp_path / "files", "page-smoke")
    assert len(list((tmp_path / "files").iterdir())) == (3 if points else 1)


def test_a_page_of_prose_may_show_a_figure_of_a_notebook(executed, tmp_path, monkeypatch):
    monkeypatch.setattr(page.paths, "FIGURES", tmp_path / "figures")
    place = page.lend(executed, "page", "plot")
    assert b"<svg" in place.read_bytes()
    assert [path.name for path in place.parent.iterdir()] == ["page.plot.svg"]
    assert sphinx_ext.BORROWED.findall(f"```{{figure}} /_build/figures/{place.name}\n") == [("page", "plot")]
    with pytest.raises(Refusal, match="notebook page has the figures plot, and no 'plan'"):
        page.lend(executed, "page", "plan")


def test_a_picture_with_fewer_colours_looks_the_same(figure):
    (axes,) = figure.axes
    axes.plot(np.linspace(0, 1, 50), np.linspace(0, 1, 50) ** 2, "o-", color="tab:orange")
    original = io.BytesIO()
    figure.savefig(original, format="png", dpi=150)
    less = report.small(original)
    assert len(less) < len(original.getvalue())
    with Image.open(original) as old, Image.open(io.BytesIO(less)) as new:
        assert new.size == old.size
        assert new.info["dpi"] == pytest.approx(old.info["dpi"])
        change = np.abs(np.asarray(new.convert("RGB"), float) - np.asarray(old.convert("RGB"), float))
    assert change.max() <= 24, "of 255 steps"
    assert change.mean() < 0.5


def csv_file(path):
    """A table that the book offers; words stay words."""
    words = ("title", "x_label", "y_label", "curve")
    return pd.read_csv(path, dtype=dict.fromkeys(words, str)).fillna(dict.fromkeys(words, ""))


@pytest.mark.endtoend
@pytest.mark.reads
def test_every_published_point_is_within_its_bar_and_as_it_was_reported(html, source, profile):
    """All figures of the book: both files that its pages offer, and the data that the notebooks put out."""
    tables = 0
    for text in (source / "notebooks").glob("*.py"):
        notebook = notebooks.read(text.stem)
        executed = source / "_build" / "executed" / notebook.executed(notebook.parameters(profile)).name
        for name, content in notebooks.told(nbformat.read(executed, as_version=4), "figure").items():
            reported = page.table(content)
            if reported is None:
                continue
            tables += 1
            offered = html / "downloads" / f"{executed.name.rpartition('-')[0]}-{name}"
            csv = csv_file(offered.with_suffix(".csv"))
            with xr.open_dataset(offered.with_suffix(".nc")) as netcdf:
                for column in report.ABOUT:
                    rows = netcdf[column][netcdf.of_curve] if column in downloads.HEADS else netcdf[column]
                    np.testing.assert_array_equal(rows, reported[column], err_msg=str(offered))
                    assert rows.attrs == reported[column].attrs, offered
            for column in report.ABOUT:
                if csv[column].dtype == float:  # to the digits that it has
                    np.testing.assert_allclose(
                        csv[column], reported[column], rtol=10.0 ** (1 - downloads.DIGITS), err_msg=str(offered)
                    )
                else:
                    assert csv[column].tolist() == reported[column].values.tolist(), offered
            for value, low, high in (("y", "low", "high"), ("x", "x_low", "x_high")):
                known = csv[csv[low].notna() | csv[high].notna()]
                assert ((known[low] <= known[value]) & (known[value] <= known[high])).all(), offered
            assert (csv.curve != "").all(), offered
    assert tables > len(list((source / "notebooks").glob("*.py")))


def theories(persistences, batches):
    """The curves of the theory, by their labels, with the parameters of their results."""
    pairs = [(rf"theory, $\tau={tau:g}$", 0.3, tau) for tau in persistences]
    pairs += [(f"theory, $b={b:g}$", b, 2.0) for b in batches]
    return {label: {"engine": "dmft", "batch": b, "persistence": tau} for label, b, tau in pairs}


CASES = {
    "the_model training": {
        "GD": {"algorithm": "GD", "ridge": 1.0},
        "SGD": {"algorithm": "SGD"},
        "p-SGD": {"algorithm": "PersistentSGD"},
    },
    "fig03_sat_distance distance": theories((0.5, 2, 4), (0.1, 0.4, 0.8)),
}
VARIABLES = {
    "magnetisation $m$": "magnetization",
    "loss per feature $L/N$": "loss",
    "generalisation error": "error",
    "distance $d(t)$": "distance",
}


@pytest.mark.endtoend
@pytest.mark.reads
@pytest.mark.parametrize("name", CASES)
def test_curves_with_bands_are_the_means_and_errors_of_the_results_behind_them(html, notebook_pages, profile, name):
    """By another way: the archive of results that the same page offers has means and errors of its own."""
    notebook, figure = name.split()
    if f"notebooks/{notebook}" not in notebook_pages:
        pytest.skip("not in the short book; `make looks` has it")
    table = csv_file(html / "downloads" / f"{notebook}-{profile}-{figure}.csv")
    with zipfile.ZipFile(html / "downloads" / f"{notebook}-{profile}.zip") as archive:
        behind = [decode(archive.read(file))[0] for file in archive.namelist() if file.endswith(".nc")]
    for curve, parameters in CASES[name].items():
        (result,) = (run for run in behind if parameters.items() <= run.attrs.items())
        for label, drawn in table[table.curve == curve].groupby("y_label"):
            variable = VARIABLES[label]
            points = result.sel(time=drawn.x.values, method="nearest")
            error = points[f"{variable}_standard_error"]
            # The archives keep five digits of a mean, and of an error eight bits.
            where = f"{curve}, {label}"
            np.testing.assert_allclose(drawn.y, points[variable], rtol=1e-5, atol=1e-6, err_msg=where)
            for bar in (drawn.y - drawn.low, drawn.high - drawn.y):
                np.testing.assert_allclose(bar, 2 * error, rtol=1.01 * 2.0**-9, atol=1e-6, err_msg=where)
