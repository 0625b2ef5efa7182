r"""Your own samples instead of samples drawn from the model: checked once, copied once.

The engine needs the rows :math:`A_\mu = y_\mu x_\mu/\sqrt N`, for which the pre-activations are :math:`h = A w`. They
are the one copy that is made of the data, in the precision of a run, when the first run asks for them; all later runs
and all threads share it. Samples of the test set are further rows: their pre-activations are known wherever the loss
is.
"""

import hashlib
import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from sgdnoise.vectors.lanes import Floating, aligned, pitch

Array = NDArray[np.float64]
Samples = tuple[NDArray[Any], Array]  # inputs as they were given, (samples, features), and labels, (samples,)
LARGEST = 1e12  # squares and their sums stay finite, in either precision
ROUNDING = 1e-24  # square of the relative error of a mean
BLOCK = 2**22  # numbers that are converted at a time


class Data:
    """Samples with labels, and optionally a test set. Two records are equal if their contents are.

    Parameters
    ----------
    X, y
        Inputs (samples, features) of any real type, and labels +1 and -1. They are not copied, and must not be changed.
    test
        ``(X_test, y_test)``, or None.
    """

    def __init__(self, X: ArrayLike, y: ArrayLike, test: tuple[ArrayLike, ArrayLike] | None = None) -> None:
        self.train, self.test = _samples(X, y, "X", "y"), None
        if test is not None:
            if not isinstance(test, tuple | list) or len(test) != 2:
                raise TypeError(f"test must be a pair (X_test, y_test) or None, got {type(test).__name__}")
            self.test = _samples(*test, "X_test", "y_test")
            if self.test[0].shape[1] != self.features:
                raise ValueError(f"X_test must have the {self.features} features of X, got {self.test[0].shape[1]}")
        if self.samples < 2:
            raise ValueError(f"X must have at least two samples to train with, got {self.samples}")
        self.digest = self._content()
        self._rows: Floating | None = None
        if self.variance <= ROUNDING * float(np.mean(self.centre**2)):
            raise ValueError(f"X must vary from sample to sample, and y x is the same in all {self.samples} rows")

    @property
    def samples(self) -> int:
        """Number of samples to train with."""
        return len(self.train[0])

    @property
    def features(self) -> int:
        """Number of features of a sample."""
        return int(self.train[0].shape[1])

    @property
    def tests(self) -> int:
        """Number of samples of the test set."""
        return 0 if self.test is None else len(self.test[0])

    @property
    def alpha(self) -> float:
        """Samples per feature."""
        return self.samples / self.features

    @cached_property
    def centre(self) -> Array:
        r"""Mean of :math:`y_\mu x_\mu`, the vector :math:`v/\sqrt N` of the model."""
        total: Array = np.sum([block.sum(axis=0) for block in self.blocks()], axis=0)
        return total * math.sqrt(self.features) / self.samples

    @cached_property
    def variance(self) -> float:
        r"""Variance of :math:`y_\mu x_\mu` around its mean, averaged over the features: :math:`\Delta` of the model."""
        mean = self.centre / math.sqrt(self.features)
        return sum(float(((block - mean) ** 2).sum()) for block in self.blocks()) / self.samples

    def blocks(self) -> Iterator[Array]:
        r"""Rows :math:`A_\mu` of the samples to train with, some at a time and in double precision."""
        X, y = self.train
        size = max(1, BLOCK // self.features)
        for start in range(0, self.samples, size):
            rows = slice(start, start + size)
            yield np.multiply(X[rows], y[rows, None] / math.sqrt(self.features), dtype=np.float64, casting="unsafe")

    def rows(self, dtype: DTypeLike) -> Floating:
        r"""Rows :math:`A_\mu` of all samples as the engine needs them, those of the test set last; kept for later."""
        rows = self._rows
        if rows is None or rows.dtype != dtype:
            if self._content() != self.digest:
                raise RuntimeError("X and y must not be changed after from_data, and were: make the problem anew")
            self._rows, first = None, 0  # one copy at a time
            rows = aligned((self.samples + self.tests, pitch(self.features, dtype)), dtype)
            for X, y in filter(None, (self.train, self.test)):
                out = rows[first : first + len(X), : self.features]
                np.multiply(X, y[:, None] / math.sqrt(self.features), out=out, dtype=dtype, casting="unsafe")
                first += len(X)
            self._rows = rows
        return rows

    def bytes_of_rows(self, dtype: DTypeLike) -> int:
        """Memory that :meth:`rows` has yet to ask for."""
        if self._rows is not None and self._rows.dtype == dtype:
            return 0
        return (self.samples + self.tests) * pitch(self.features, dtype) * np.dtype(dtype).itemsize

    def _content(self) -> str:
        """Hash of types, shapes and numbers."""
        found = hashlib.sha256()
        for array in (array for pair in filter(None, (self.train, self.test)) for array in pair):
            found.update(f"{array.dtype.str}{array.shape}".encode())
            size = max(1, BLOCK // max(1, array[:1].size))
            for start in range(0, len(array), size):
                found.update(np.ascontiguousarray(array[start : start + size]).data)
        return found.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Data) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_rows": None}  # rows are made again where they are needed

    def __repr__(self) -> str:
        return f"Data({self.samples} samples, {self.features} features, {self.tests} tests, {self.digest[:12]})"


def _samples(X: Any, y: Any, name: str, label: str) -> Samples:
    """Refuse inputs and labels that are none; names are those of the parameters."""
    if np.ma.is_masked(X):
        raise ValueError(f"{name} must have no masked values, got {int(np.sum(X.mask))} of them")
    X = _array(X, name)
    if X.ndim != 2 or X.shape[0] < 1 or X.shape[1] < 2:
        raise ValueError(
            f"{name} must have the shape (samples, features), with a sample and two features or more, got {X.shape}"
        )
    if not max(abs(float(X.min())), abs(float(X.max()))) <= LARGEST:  # NaN is the minimum of what has a NaN
        sample, feature = next(
            (start, bad[0])
            for start, row in enumerate(X)
            if (bad := np.flatnonzero(~(np.abs(row.astype(float)) <= LARGEST))).size
        )
        raise ValueError(
            f"{name} must hold finite numbers of at most {LARGEST:g}, got {X[sample, feature]} in row {sample}, "
            f"column {feature}"
        )
    y = _array(y, label)
    if y.shape != (len(X),):
        raise ValueError(f"{label} must have one label for each of the {len(X)} rows of {name}, got shape {y.shape}")
    wrong = np.flatnonzero(abs(y.astype(float)) != 1)
    if wrong.size or y.dtype == bool:
        advice = "; 2*y-1 turns 0 and 1 into them" if set(np.unique(y)) <= {0, 1} else ""
        at = int(wrong[0]) if wrong.size else 0
        raise ValueError(f"{label} must hold +1 and -1 only, got {y[at]} for sample {at}{advice}")
    return X, y.astype(np.float64)


def _array(values: Any, name: str) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except (ValueError, TypeError) as error:
        raise TypeError(f"{name} must be an array of real numbers, got {type(values).__name__}: {error}") from None
    if array.dtype.kind not in "biuf":
        what = f"{type(values).__name__} of type {array.dtype}"
        raise TypeError(f"{name} must be an array of real numbers (not sparse, no objects, no text), got {what}")
    return array
