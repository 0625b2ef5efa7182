"""Links of the finished book: those within it must lead somewhere; those that leave it are listed, never fetched."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from bookbuild.check import Page, is_outside
from bookbuild.refusal import Refusal


def read_pages(html: Path) -> dict[Path, Page]:
    """Return every page of a folder."""
    return {file: Page(file.read_text(encoding="utf-8")) for file in sorted(html.rglob("*.html"))}


def broken(pages: dict[Path, Page]) -> list[str]:
    """Say of every link within the book that leads to no file, or to no place in its page, where it stands."""
    found = []
    for file, page in pages.items():
        for address in dict.fromkeys(page.links):
            parts = urlsplit(address)
            if is_outside(address) or parts.scheme == "mailto":
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            name = unquote(parts.fragment)
            if parts.scheme or not target.is_file():
                found.append(f"{file.name}: {address} leads to no file")
            elif name and (target not in pages or name not in pages[target].names):
                found.append(f"{file.name}: {address} leads to no place in {target.name}")
    return found


def outside(pages: dict[Path, Page]) -> list[str]:
    """List the addresses to which links lead out of the book."""
    return sorted({address for page in pages.values() for address in page.links if is_outside(address)})


def malformed(address: str) -> bool:
    """Tell whether an address could not be followed safely: https, a host with a dot, no blanks.

    >>> [malformed(a) for a in ("https://a.example/b#c", "http://a.example", "https://localhost/x", "https://a.b/c d")]
    [False, True, True, True]
    """
    parts = urlsplit(address)
    host = parts.hostname or ""
    return parts.scheme != "https" or "." not in host.strip(".") or any(c.isspace() or c in "<>{}" for c in address)


def check_links(html: Path, list_file: Path) -> None:
    """Refuse a book with a dead or unsafe link; write the list of those that leave it."""
    pages = read_pages(html.resolve())
    wrong = broken(pages) + [
        f"{address} is no proper https address" for address in outside(pages) if malformed(address)
    ]
    if wrong:
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        raise Refusal(f"a link of the book is broken ({wrong[0]}{more})")
    list_file.write_text("".join(f"{address}\n" for address in outside(pages)), encoding="utf-8")
