"""The archives that the book offers: means over realisations and their errors, with all that says what they are."""

import io
import json
import zipfile

import numpy as np
import pytest
import xarray as xr

from bookbuild import archives
from sgdnoise.sweep.entry import decode, encode
from sgdnoise.sweep.store import Store

NOTE = {"point": "b=0.1", "version": "1", "revision": "r", "wall_time": 2.0}


def result(realisations=3):
    values = np.array([[1.0, 5.0], [2.0, np.nan], [6.0, np.nan]])[:realisations]
    return xr.Dataset(
        {
            "error": (("realisation", "time"), values, {"long_name": "generalisation error"}),
            "count": (("time", "realisation"), np.arange(2 * realisations).reshape(2, realisations)),
            "exact": ("time", [0.25, 0.5]),
        },
        coords={"time": ("time", [0.0, 0.1], {"long_name": "time"}), "realisation": np.arange(realisations)},
        attrs={"learning_rate": 0.1},
    )


def test_mean_error_and_number_by_hand():
    """1, 2 and 6: their mean is 3, their variance 7; of the other three only one is there."""
    short = archives.summarise(result())
    np.testing.assert_allclose(short.error, [3.0, 5.0])
    np.testing.assert_allclose(short.error_standard_error, [np.sqrt(7 / 3), np.nan])
    assert short.error_realisations.values.tolist() == [3, 1]
    np.testing.assert_allclose(short["count"], [1.0, 4.0])
    np.testing.assert_allclose(short.count_standard_error, np.sqrt([1 / 3, 1 / 3]))


def test_what_has_no_realisations_and_what_describes_the_run_is_kept():
    full, short = result(), archives.summarise(result())
    xr.testing.assert_identical(short.exact, full.exact)
    assert list(short.coords) == list(full.coords)
    assert short.attrs == full.attrs
    assert short.error.attrs == {"long_name": "generalisation error"}
    assert short.error_standard_error.attrs["long_name"] == "standard error of generalisation error"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("realisations", [0, 1])
def test_too_few_realisations_have_no_error_and_give_no_warning(realisations):
    short = archives.summarise(result(realisations))
    assert short.error_standard_error.isnull().all()
    assert (short.error_realisations == realisations).all()
    assert bool(short.error.isnull().all()) == (realisations == 0)


def test_the_zip_of_the_book_holds_means_that_any_reader_opens_and_the_export_holds_all(tmp_path):
    store = Store(tmp_path / "store")
    store.write("k", encode(result(), NOTE))
    store.write_zip(["k"], tmp_path / "book.zip", shorten=archives.summary)
    store.write_zip(["k"], tmp_path / "export.zip")
    with zipfile.ZipFile(tmp_path / "book.zip") as archive:
        assert archive.namelist() == ["k.nc", "results.csv"]
        assert "k.nc,b=0.1,1,r,2.000" in archive.read("results.csv").decode()
        assert decode(archive.read("k.nc"))[1] == NOTE
        with xr.open_dataset(io.BytesIO(archive.read("k.nc")), engine="scipy") as short:
            assert short.error.dims == ("time",)
            assert json.loads(short.attrs["provenance"]) == NOTE
    with zipfile.ZipFile(tmp_path / "export.zip") as archive:
        assert archive.read("k.nc") == store.path("k").read_bytes()
