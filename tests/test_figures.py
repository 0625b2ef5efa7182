"""The files that a page offers for its figures hold what the figures show."""

import base64
import io

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from PIL import Image

from bookbuild import figures, source
from bookbuild.refusal import Refusal
from sgdnoise import plotting


@pytest.fixture
def figure():
    figure, _ = plt.subplots()
    yield figure
    plt.close(figure)


def test_error_bars_bands_levels_and_insets_are_in_the_table(figure):
    (axes,) = figure.axes
    axes.set(xlabel="lag", ylabel="slope")
    axes.errorbar([1.0, 2.0], [3.0, 4.0], [0.5, 0.25], capsize=2, label="bars")
    run = xr.DataArray([[1.0, 2.0], [3.0, 6.0]], dims=("realisation", "time"), coords={"time": [0.0, 1.0]})
    plotting.draw(axes, run, label="band")
    axes.axhline(7.0)
    axes.axvline(9.0)
    axes.errorbar([0.0], [0.5], [0.1], fmt="k_", label="dash")
    axes.plot([0.0], [0.25], gid="named")
    axes.inset_axes((0.5, 0.5, 0.4, 0.4)).plot([5.0], [6.0], "o", label="inset")
    table = figures.drawn(figure)
    bars, band, inset = (table[table.curve == name] for name in ("bars", "band", "inset"))
    assert bars[["x", "y", "low", "high"]].values.tolist() == [[1, 3, 2.5, 3.5], [2, 4, 3.75, 4.25]]
    assert set(bars.x_label) == {"lag"}
    np.testing.assert_allclose(band[["x", "y", "low", "high"]], [[0, 2, 0, 4], [1, 4, 0, 8]])
    assert inset[["panel", "x", "y"]].values.tolist() == [[2, 5, 6]]
    assert table[table.x == 9.0].y.isna().all()
    assert table[table.curve == "dash"].y.tolist() == [0.5]
    assert table[table.curve == "named"].y.tolist() == [0.25]
    level = table[table.y == 7.0]
    assert len(level) == 1
    assert level.x.isna().all()


def test_uneven_error_bars_keep_their_ends(figure):
    (axes,) = figure.axes
    axes.errorbar([1.0, 2.0, 3.0], [3.0, np.nan, 4.0], [[0.5, 1.0, 1.0], [2.0, 1.0, 1.0]], [0.1, 0.1, 0.1])
    np.testing.assert_allclose(figures.drawn(figure)[["low", "high"]], [[2.5, 5.0], [np.nan, np.nan], [3.0, 5.0]])


def test_a_curve_without_points_has_no_rows(figure):
    (axes,) = figure.axes
    axes.errorbar([], [], [], fmt="o", label="nothing known")
    assert len(figures.drawn(figure)) == 0


def test_a_figure_without_curves_has_an_empty_table_with_headings(figure):
    table = figures.drawn(figure)
    assert len(table) == 0
    assert "curve" in table


@pytest.fixture
def executed(figure):
    """An executed notebook with one published figure."""
    (axes,) = figure.axes
    axes.plot([1.0, 2.0], [3.0, 1 / 3], label="found")
    content = {"name": "plot", "csv": figures.drawn(figure).to_csv(index=False)}
    for kind in ("svg", "png"):
        picture = io.BytesIO()
        figure.savefig(picture, format=kind)
        content[kind] = base64.b64encode(picture.getvalue()).decode()
    output = nbformat.v4.new_output("display_data", {figures.MIME: content})
    page = "Before.\n\n```{glue:figure} plot\n---\nname: fig-plot\n---\nA caption.\n```\n\nAfter."
    cells = [nbformat.v4.new_code_cell("", outputs=[output]), nbformat.v4.new_markdown_cell(page)]
    return nbformat.v4.new_notebook(cells=cells)


def test_the_files_of_a_figure_hold_its_numbers(executed, tmp_path):
    figures.write_downloads(executed, tmp_path, "page-smoke")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"page-smoke-plot.{ending}" for ending in ("csv", "nc", "png")
    ]
    assert (tmp_path / "page-smoke-plot.png").read_bytes().startswith(b"\x89PNG")
    table = pd.read_csv(tmp_path / "page-smoke-plot.csv")
    with xr.open_dataset(tmp_path / "page-smoke-plot.nc") as dataset:
        for values in (table.y.values, dataset.y.values):
            np.testing.assert_allclose(values, [3.0, 1 / 3])


def test_links_follow_the_figure(executed):
    figures.link_downloads(executed, "../downloads", "page-smoke")
    text = executed.cells[1].source
    assert text.index("A caption.") < text.index("../downloads/page-smoke-plot.csv") < text.index("After.")
    assert [ending for ending in ("svg", "png", "csv", "nc") if f"plot.{ending}" in text] == ["svg", "png", "csv", "nc"]


@pytest.mark.parametrize("bars", [True, False])
def test_bars_are_promised_only_where_there_are_some(executed, bars):
    content = executed.cells[0].outputs[0].data[figures.MIME]
    table = pd.read_csv(io.StringIO(content["csv"]))
    content["csv"] = table.assign(low=1.0 if bars else np.nan).to_csv(index=False)
    figures.link_downloads(executed, "../downloads", "page-smoke")
    assert ("ends of the bars" in executed.cells[1].source) == bars


def test_a_diagram_offers_no_empty_table(executed, tmp_path):
    content = executed.cells[0].outputs[0].data[figures.MIME]
    content["csv"] = content["csv"].splitlines()[0] + "\n"
    figures.write_downloads(executed, tmp_path, "page-smoke")
    assert [path.name for path in tmp_path.iterdir()] == ["page-smoke-plot.png"]
    figures.link_downloads(executed, "../downloads", "page-smoke")
    assert "plot.png" in executed.cells[1].source
    assert ".csv" not in executed.cells[1].source


def test_a_picture_with_fewer_colours_looks_the_same(figure):
    (axes,) = figure.axes
    axes.plot(np.linspace(0, 1, 50), np.linspace(0, 1, 50) ** 2, "o-", color="tab:orange")
    original = io.BytesIO()
    figure.savefig(original, format="png", dpi=150)
    less = figures.small(original)
    assert len(less) < len(original.getvalue())
    with Image.open(original) as old, Image.open(io.BytesIO(less)) as new:
        assert new.size == old.size
        assert new.info["dpi"] == pytest.approx(old.info["dpi"])
        change = np.abs(np.asarray(new.convert("RGB"), float) - np.asarray(old.convert("RGB"), float))
    assert change.max() <= 24, "of 255 steps"
    assert change.mean() < 0.5


def test_a_page_of_prose_may_show_a_figure_of_a_notebook(executed, tmp_path, monkeypatch):
    monkeypatch.setattr(figures.paths, "FIGURES", tmp_path / "figures")
    source.seal(executed)
    nbformat.write(executed, tmp_path / "page.ipynb")
    place = figures.lend(tmp_path / "page.ipynb", "page", "plot")
    assert b"<svg" in place.read_bytes()
    assert [path.name for path in place.parent.iterdir()] == ["page.plot.svg"]
    assert figures.BORROWED.findall(f"```{{figure}} /_build/figures/{place.name}\n") == [("page", "plot")]
    with pytest.raises(Refusal, match="notebook page has the figures plot, and no 'plan'"):
        figures.lend(tmp_path / "page.ipynb", "page", "plan")


NORMALISED = ("normalised_correlation", "normalised_response")


def test_an_fdt_plot_has_a_line_or_points_with_bars(figure):
    shape = (4, 2, 3)  # realisation, waiting time, lag
    values = np.random.default_rng(0).normal(size=(2, *shape))
    dims = ("realisation", "waiting_time", "lag")
    curve = xr.Dataset(
        {name: (dims, value) for name, value in zip(NORMALISED, values, strict=True)},
        coords={"lag": [0.0, 0.5, 1.0]},
    )
    (axes,) = figure.axes
    plotting.draw_fdt(axes, curve, label="line")
    plotting.draw_fdt(axes, curve, [0.49, 1.0], fmt="o", label="points")
    table = figures.drawn(figure).set_index("curve")
    mean = values.mean(axis=(1, 2))
    np.testing.assert_allclose(table.loc["line", ["x", "y"]].to_numpy(float).T, mean)
    np.testing.assert_allclose(table.loc["points", ["x", "y"]].to_numpy(float).T, mean[:, 1:])
    error = values[1].mean(axis=1).std(axis=0, ddof=1) / 2
    np.testing.assert_allclose(table.loc["points", "high"] - table.loc["points", "y"], 2 * error[1:])
