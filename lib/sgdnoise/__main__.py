"""``python -m sgdnoise store {list,verify,prune,export}``: look after the results store."""

import argparse
import sys
from pathlib import Path
from typing import Any

from sgdnoise.sweep.entry import DamagedEntryError, decode
from sgdnoise.sweep.keys import LIBRARY
from sgdnoise.sweep.store import Store

Note = dict[str, Any]


def note_of(store: Store, key: str) -> Note | None:
    """Return the provenance of an entry, or None if the entry is damaged."""
    try:
        return decode(store.path(key).read_bytes())[1]
    except (DamagedEntryError, OSError):
        return None


def line(store: Store, key: str, note: Note | None) -> str:
    """Describe an entry: damaged, valid, or stale, which is to say made by another state of the library."""
    if note is None:
        return f"{key}  damaged"
    state, size = "valid" if note.get("library") == LIBRARY else "stale", store.path(key).stat().st_size / 1e3
    return f"{key}  {state}  {size:9.1f} kB  {note['wall_time']:8.2f} s  {note['function']}({note['point']})"


def list_entries(store: Store, _: argparse.Namespace) -> int:
    """Print a line for each entry."""
    for key in store.entries():
        print(line(store, key, note_of(store, key)))
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
    """Remove what no sweep of the present library would use: damaged and stale entries, and unfinished files."""
    notes = {key: note_of(store, key) for key in store.entries()}
    useless = [key for key, note in notes.items() if note is None or note.get("library") != LIBRARY]
    paths = [*map(store.path, useless), *store.abandoned()]
    freed = sum(path.stat().st_size for path in paths)
    if arguments.dry_run:
        for key in useless:
            print(line(store, key, notes[key]))
    else:
        for path in paths:
            path.unlink(missing_ok=True)
    print(f"{len(useless)} entries {'would be removed' if arguments.dry_run else 'removed'}, {freed / 1e6:.1f} MB")
    return 0


def export(store: Store, arguments: argparse.Namespace) -> int:
    """Write one zip with the entries that a figure was made from, and a table of them."""
    keys = store.uses(arguments.label)
    if not keys:
        known = ", ".join(sorted(path.stem for path in (store.folder / "used").glob("*.json"))) or "none yet"
        raise ValueError(f"label must be one that a sweep has used ({known}), got {arguments.label!r}")
    missing = [key for key in keys if not store.has(key)]
    if missing:
        what = f"{len(missing)} of the {len(keys)} results of {arguments.label} are damaged or gone"
        raise ValueError(f"{what} ({', '.join(missing)}); the sweep computes them again")
    target = Path(arguments.output or f"{arguments.label}.zip")
    store.write_zip(keys, target)
    print(f"{target}: {len(keys)} datasets")
    return 0


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
            command.add_argument("--dry-run", action="store_true", help="only list what would be removed")
        if name == "export":
            command.add_argument("label", help="name of the notebook, or the label given to the sweep")
            command.add_argument("--output", help="the zip to write (default: LABEL.zip)")
    arguments = parser.parse_args(words)
    try:
        return int(arguments.run(Store(arguments.folder), arguments))
    except (OSError, ValueError) as error:
        print(f"store: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
