"""One stored result as bytes: a netCDF file that any reader opens, and from which the dataset comes back exactly.

NetCDF has fewer types than NumPy, and readers give meaning to some attributes. So the file holds the values in the
nearest of its types, and two attributes in JSON: ``provenance`` says how the result was made, ``layout`` every name,
type and attribute as it was. The last bytes, which readers ignore, are a checksum of all others. Nothing is executed.
"""

import hashlib
import io
import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from scipy.io import netcdf_file

FOOTER = b"\nsgdnoise-sha256:"
FOOTER_SIZE = len(FOOTER) + 64
NATIVE = ("f4", "f8", "i1", "i2", "i4")
KINDS = "biufcmMSU"
# Readers change values by these.
MEANINGFUL = {"scale_factor", "add_offset", "missing_value", "_FillValue", "valid_range", "valid_min", "valid_max"}
MEANINGFUL |= {"units", "calendar", "dtype", "coordinates", "_Unsigned", "_Encoding"}
NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class DamagedEntryError(ValueError):
    """An entry is not what was written: truncated, altered, or no entry at all."""


def is_whole(data: bytes) -> bool:
    """Tell whether not a bit of an entry has changed since it was made."""
    return data[-FOOTER_SIZE:] == FOOTER + hashlib.sha256(data[:-FOOTER_SIZE]).hexdigest().encode()


def encode(result: xr.Dataset, provenance: Mapping[str, Any]) -> bytes:
    """Turn a dataset and its provenance into the bytes of an entry."""
    buffer = io.BytesIO()
    file = netcdf_file(buffer, "w", version=2)
    names: dict[str, str] = {}
    layout: dict[str, Any] = {"variables": [], "attributes": _to_json("attributes", dict(result.attrs))}
    for number, (dimension, size) in enumerate(result.sizes.items()):
        names[str(dimension)] = _in_file(dimension, number)
        if size:  # netCDF takes a length of zero for an unlimited one
            file.createDimension(names[str(dimension)], size)
    for number, (name, variable) in enumerate(result.variables.items(), len(names)):
        values = np.asarray(variable.values)
        kind = "object" if values.dtype.hasobject else values.dtype.str
        values, word = _as_native(name, values), names.get(str(name)) or _in_file(name, number)
        if values.size:
            dimensions = [names[str(dimension)] for dimension in variable.dims]
            if values.ndim > variable.ndim:
                dimensions.append(f"bytes_{number}")
                file.createDimension(dimensions[-1], values.shape[-1])
            stored = file.createVariable(word, values.dtype, dimensions)
            stored[...] = values
            _annotate(stored, variable.attrs)
        attributes = _to_json(f"attributes of {name}", dict(variable.attrs))
        where = [list(map(str, variable.dims)), list(variable.shape)]
        layout["variables"].append([word, name, *where, kind, name in result.coords, attributes])
    _annotate(file, result.attrs)
    file.provenance = json.dumps(dict(provenance), sort_keys=True).encode()
    file.layout = json.dumps(layout).encode()
    file.flush()
    content = buffer.getvalue()
    file.close()
    return content + FOOTER + hashlib.sha256(content).hexdigest().encode()


def decode(data: bytes) -> tuple[xr.Dataset, dict[str, Any]]:
    """Turn the bytes of an entry into its dataset and provenance; raise if a single bit has changed."""
    if not is_whole(data):
        raise DamagedEntryError("its checksum does not match")
    with netcdf_file(io.BytesIO(data[:-FOOTER_SIZE]), "r", mmap=False) as file:
        layout = json.loads(file.layout)
        parts: dict[bool, dict[str, Any]] = {True: {}, False: {}}
        for word, name, dimensions, shape, kind, is_coordinate, attributes in layout["variables"]:
            raw = file.variables[word].data if word in file.variables else None
            values = _from_native(raw, tuple(shape), kind)
            parts[is_coordinate][name] = (dimensions, values, _from_json(attributes))
        return xr.Dataset(parts[False], parts[True], _from_json(layout["attributes"])), json.loads(file.provenance)


def _in_file(name: Any, number: int) -> str:
    """Return the name itself, where netCDF has room for it."""
    if not isinstance(name, str):
        raise TypeError(f"names in a result must be strings, got {name!r}")
    return name if NAME.fullmatch(name) and not re.fullmatch(r"(name|bytes)_\d+", name) else f"name_{number}"


def _as_native(name: Any, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return values in a type of netCDF: the same, a smaller one that holds them, or as bytes along a new axis."""
    if values.dtype.hasobject and all(isinstance(value, str) for value in values.flat):
        values = values.astype(str)
    if values.dtype.kind not in KINDS:
        raise TypeError(f"variable {name} of a result must hold numbers, strings or times, got {values.dtype}")
    if values.dtype.str[1:] in NATIVE or values.size == 0:
        return values
    if values.dtype.kind in "bui" and values.min() >= -(2**31) and values.max() < 2**31:
        return values.astype("i1" if values.dtype.kind == "b" else "i4")
    values = np.char.encode(values, "utf-8") if values.dtype.kind == "U" else values
    return np.frombuffer(values.tobytes(), "i1").reshape(*values.shape, values.dtype.itemsize)


def _from_native(raw: Any, shape: tuple[int, ...], kind: str) -> np.ndarray[Any, Any]:
    dtype = np.dtype(kind)
    if raw is None:
        return np.empty(shape, dtype)
    if raw.ndim == len(shape):
        return np.array(raw, dtype).reshape(shape)
    if dtype.kind in "UO":
        text = np.frombuffer(raw.tobytes(), f"S{raw.shape[-1]}").reshape(shape)
        return np.char.decode(text, "utf-8").astype(dtype)
    return np.frombuffer(raw.tobytes(), dtype).reshape(shape).copy()


def _annotate(target: Any, attributes: Mapping[Any, Any]) -> None:
    """Give a reader of the file those attributes that netCDF can hold and that change no value."""
    for name, value in attributes.items():
        if not isinstance(name, str) or not NAME.fullmatch(name) or name in MEANINGFUL or hasattr(target, name):
            continue
        if isinstance(value, str | bool | None):
            setattr(target, name, str(value).encode() or b" ")
        elif isinstance(value, int | np.integer) and abs(int(value)) < 2**31:
            setattr(target, name, np.int32(value))
        elif isinstance(value, int | float | np.integer | np.floating):
            setattr(target, name, np.float64(value))


def _to_json(name: str, value: Any) -> Any:
    """Turn attributes into JSON from which they come back with their types."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) in (list, tuple):
        return {type(value).__name__: [_to_json(name, item) for item in value]}
    if type(value) is dict:
        return {"dict": [[_to_json(name, key), _to_json(f"{name}[{key!r}]", item)] for key, item in value.items()]}
    if isinstance(value, np.generic | np.ndarray) and value.dtype.kind in KINDS:
        kind = "array" if isinstance(value, np.ndarray) else "scalar"
        return {kind: [value.dtype.str, list(value.shape), value.tobytes().hex()]}
    raise TypeError(f"{name} of a result must be numbers, strings, arrays or lists of them, got {value!r}")


def _from_json(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "dict":
        return {_from_json(key): _from_json(item) for key, item in content}
    if kind in ("list", "tuple"):
        return (list if kind == "list" else tuple)(map(_from_json, content))
    dtype, shape, data = content
    array = np.frombuffer(bytes.fromhex(data), dtype).reshape(shape)
    return array.copy() if kind == "array" else array[()]
