"""``python -m sgdnoise store {list,verify,prune,export}``: look after the results store."""

import argparse
import csv
import io
import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sgdnoise.fingerprint import module_hashes
from sgdnoise.store import DamagedEntryError, Store, StoreError, decode

Note = dict[str, Any]


def note_of(store: Store, key: str) -> Note | None:
    """Return the provenance of an entry, or None if the entry is damaged."""
    try:
        return decode(store.path(key).read_bytes())[1]
    except (DamagedEntryError, OSError):
        return None


def is_stale(note: Note) -> bool:
    """Tell whether the library has changed, in a part that the result depends on, since it was made."""
    recorded = note.get("modules", {})
    return bool(module_hashes(list(recorded)) != recorded)


def list_entries(store: Store, _: argparse.Namespace) -> int:
    """Print a line for each entry."""
    for key in store.entries():
        note = note_of(store, key)
        size = store.path(key).stat().st_size
        if note is None:
            print(f"{key}  damaged")
            continue
        state = "stale" if is_stale(note) else "valid"
        print(f"{key}  {state}  {size / 1e3:9.1f} kB  {note['wall_time']:8.2f} s  {note['function']}({note['point']})")
    print(f"{len(store.entries())} entries in {store.folder}")
    return 0


def verify(store: Store, _: argparse.Namespace) -> int:
    """Check every entry against its checksum; fail if one is damaged."""
    damaged = [key for key in store.entries() if not store.has(key)]
    for key in damaged:
        print(f"{key}  damaged; the next sweep computes it again")
    print(f"{len(store.entries()) - len(damaged)} entries are whole, {len(damaged)} damaged")
    return 1 if damaged else 0


def prune(store: Store, arguments: argparse.Namespace) -> int:
    """Remove entries that no sweep of the present library would use: damaged ones and stale ones."""
    freed = count = 0
    for key in store.entries():
        note = note_of(store, key)
        if note is not None and not is_stale(note):
            continue
        count, freed = count + 1, freed + store.path(key).stat().st_size
        if not arguments.dry_run:
            store.path(key).unlink()
    for part in store.folder.glob(".*.part"):
        if not arguments.dry_run:
            part.unlink(missing_ok=True)
    verb = "would be removed" if arguments.dry_run else "removed"
    print(f"{count} entries {verb}, {freed / 1e6:.1f} MB")
    return 0


def export(store: Store, arguments: argparse.Namespace) -> int:
    """Write one zip with the entries that a figure was made from, and a table of them."""
    keys = [key for key in store.uses(arguments.label) if store.has(key)]
    if not keys:
        known = ", ".join(sorted(path.stem for path in (store.folder / "used").glob("*.json"))) or "none yet"
        print(f"store: label must be one that a sweep has used ({known}), got {arguments.label!r}", file=sys.stderr)
        return 2
    target = Path(arguments.output or f"{arguments.label}.zip")
    write_zip(store, keys, target)
    print(f"{target}: {len(keys)} datasets")
    return 0


def write_zip(store: Store, keys: list[str], target: Path, shorten: Callable[[bytes], bytes] = bytes) -> None:
    """Write datasets, each as it is or shortened, and a table of them; the same results give the same bytes."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["file", "parameters", "version", "revision", "wall_time_s"])
    part = target.with_suffix(".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        for key in keys:
            data = store.path(key).read_bytes()
            note = decode(data)[1]
            writer.writerow([f"{key}.nc", note["point"], note["version"], note["revision"], f"{note['wall_time']:.3f}"])
            archive.writestr(zipfile.ZipInfo(f"{key}.nc"), shorten(data), zipfile.ZIP_DEFLATED)
        archive.writestr(zipfile.ZipInfo("results.csv"), table.getvalue(), zipfile.ZIP_DEFLATED)
    os.replace(part, target)


def main(words: list[str]) -> int:
    """Run a command; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m sgdnoise", description=__doc__)
    tools = parser.add_subparsers(required=True)
    commands = tools.add_parser("store", help="look after the results store").add_subparsers(required=True)
    for name, run, about in (
        ("list", list_entries, "a line for each entry"),
        ("verify", verify, "check every entry"),
        ("prune", prune, "remove what is damaged or was made by other code"),
        ("export", export, "one zip of the results behind a figure"),
    ):
        command = commands.add_parser(name, help=about, description=about)
        command.set_defaults(run=run)
        command.add_argument("--folder", help="of the store (default: SGDNOISE_STORE, or _build/results)")
        if name == "prune":
            command.add_argument("--dry-run", action="store_true", help="only say what would be removed")
        if name == "export":
            command.add_argument("label", help="name of the notebook, or the label given to the sweep")
            command.add_argument("--output", help="the zip to write (default: LABEL.zip)")
    arguments = parser.parse_args(words)
    try:
        return int(arguments.run(Store(arguments.folder), arguments))
    except (StoreError, OSError) as error:
        print(f"store: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
