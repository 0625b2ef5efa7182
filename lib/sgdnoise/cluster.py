"""The same sweep on a Dask cluster: an optional extra (``pip install sgdnoise[cluster]``).

A worker that sees the store's folder (one machine, or a shared disk) writes its result there itself; one that does not
sends the bytes back. Either way a finished point is in the store before the sweep counts it.
"""

import contextlib
import os
import re
import uuid
from collections.abc import Iterator
from typing import Any

import cloudpickle

from sgdnoise import fingerprint
from sgdnoise.points import Point, compute
from sgdnoise.store import Store, StoreError
from sgdnoise.workers import Outcome, compute_into

CONNECT_SECONDS = 15
RETRIES = 3


def check_address(name: str, address: object) -> None:
    """Refuse what cannot be the address of a scheduler.

    >>> check_address("scheduler", "foo")
    Traceback (most recent call last):
    ValueError: scheduler must be an address such as tcp://host:8786, got 'foo'
    """
    if not isinstance(address, str) or not re.fullmatch(r"\w+://\S+|[^\s:/]+:\d+", address):
        raise ValueError(f"{name} must be an address such as tcp://host:8786, got {address!r}")


def run_on_cluster(store: Store, points: list[Point], address: str) -> Iterator[Outcome]:
    """Compute points on the workers of a scheduler, in whatever order they end."""
    try:
        from distributed import Client, KilledWorker, as_completed
    except ImportError as error:
        raise ImportError("scheduler needs the cluster extra: pip install 'sgdnoise[cluster]'") from error
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConnectionError(f"scheduler must be the address of a running Dask scheduler, got {address!r}") from error
    mark = f".shared-{uuid.uuid4().hex}"
    with client, _marked(store, mark):
        folder = str(store.folder.resolve())
        futures = {}
        for point in points:
            payload = cloudpickle.dumps((point, requirements(point), folder, mark))
            name = f"sgdnoise-{point.key}-{mark}"
            futures[client.submit(compute_remotely, payload, key=name, retries=RETRIES)] = point
        try:
            for future in as_completed(futures, loop=client.loop):
                point = futures[future]
                try:
                    yield _received(store, point, future.result())
                except KilledWorker:
                    yield Outcome(point, "its worker died again and again, perhaps for lack of memory")
                except Exception as error:
                    yield Outcome(point, f"{type(error).__name__}: {error}")
        finally:
            with contextlib.suppress(Exception):
                client.cancel(list(futures))


def requirements(point: Point) -> dict[str, Any]:
    """Return what a worker must have for its result to be the same as ours."""
    return fingerprint.used_modules(point.function, point.parameters) | fingerprint.environment()


def compute_remotely(payload: bytes) -> Any:
    """Compute a point on a worker: return an outcome without its function, or the bytes of the entry."""
    point, wanted, folder, mark = cloudpickle.loads(payload)
    differs = [name for name, value in wanted.items() if requirements(point).get(name) != value]
    if differs:
        return f"the worker has another version of {', '.join(differs)}", "", True
    if os.path.exists(os.path.join(folder, mark)):
        outcome = None
        while outcome is None:
            outcome = compute_into(Store(folder), point)
        return outcome.error, outcome.trace, outcome.fatal
    return compute(point)


def _received(store: Store, point: Point, answer: Any) -> Outcome:
    if not isinstance(answer, bytes):
        return Outcome(point, *answer)
    try:
        store.write(point.key, answer)
    except StoreError as error:
        return Outcome(point, str(error), fatal=True)
    return Outcome(point)


@contextlib.contextmanager
def _marked(store: Store, mark: str) -> Iterator[None]:
    """Leave a file by which a worker recognises this very store."""
    path = store.folder / mark
    path.touch()
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
