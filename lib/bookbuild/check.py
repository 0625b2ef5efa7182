"""Is the rendered book whole? Every page of the table of contents, every figure, and nothing from elsewhere.

Links within the book must lead somewhere; those that leave it are listed, never fetched.
"""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import nbformat

from bookbuild import paths, source
from bookbuild.refusal import Refusal
from bookbuild.texts import read_yaml

IMAGE_TYPES = ("image/svg+xml", "image/png")
# Elements whose address the browser fetches by itself; a link that a reader may click is none of these.
FETCHED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
    "object": "data",
}
FETCHING_LINKS = {"stylesheet", "preload", "prefetch", "icon", "shortcut", "modulepreload", "preconnect", "manifest"}


class Page(HTMLParser):
    """The addresses that a page makes the browser fetch, its images, its links and the names that links lead to."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.images: list[str] = []
        self.downloads: list[str] = []
        self.links: list[str] = []
        self.names: set[str] = set()
        self.style = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the addresses of one element."""
        values = {name: value or "" for name, value in attrs}
        if FETCHED.get(tag) in values:
            self.fetched.append(values[FETCHED[tag]])
        if tag == "link" and FETCHING_LINKS & set(values.get("rel", "").split()):
            self.fetched.append(values.get("href", ""))
        if tag == "img":
            self.images.append(values.get("src", ""))
        if tag in ("a", "area") and "href" in values:
            self.links.append(values["href"])
            if "download" in values and not is_outside(values["href"]):
                self.downloads.append(values["href"])
        self.names |= {values[name] for name in ("id", "name") if values.get(name)}
        self.style = tag == "style"
        self.fetched += style_addresses(values.get("style", ""))

    def handle_data(self, data: str) -> None:
        """Collect the addresses in a style sheet of the page."""
        if self.style:
            self.fetched += style_addresses(data)


def style_addresses(css: str) -> list[str]:
    """Return what a style sheet fetches.

    >>> style_addresses('@import "a.css"; b { background: url(c.png) }')
    ['c.png', 'a.css']
    """
    found = re.findall(r"url\(\s*['\"]?([^'\")]+)", css) + re.findall(r"@import\s+['\"]([^'\"]+)", css)
    return [address for address in found if not address.startswith("data:")]


def is_outside(address: str) -> bool:
    """Tell whether an address leads away from the book."""
    return bool(urlsplit(address).netloc) or urlsplit(address).scheme in ("http", "https", "ftp", "ws", "wss")


def toc_pages(toc: Any) -> Iterator[str]:
    """Return every page named in a table of contents, in order."""
    if isinstance(toc, dict):
        yield from (str(toc[key]) for key in ("root", "file") if key in toc)
        for key in ("parts", "chapters", "sections", "subtrees", "entries"):
            yield from toc_pages(toc.get(key))
    elif isinstance(toc, list):
        for entry in toc:
            yield from toc_pages(entry)


def count_figures(notebook: nbformat.NotebookNode) -> int:
    """Count the pictures that an executed notebook holds."""
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
    return sum(any(kind in output.get("data", {}) for kind in IMAGE_TYPES) for output in outputs)


def check_book(html: Path, profile: str) -> None:
    """Raise one sentence if a page or a figure of the book is missing or a page fetches anything from outside."""
    pages = list(toc_pages(read_yaml(paths.TOC)))
    parsed = read_pages(html)
    for page in pages:
        file = html / f"{page}.html"
        if file not in parsed or file.stat().st_size < 1000:
            raise Refusal(f"page {page} of the table of contents is missing from the book")
        images = [src for src in parsed[file].images if not is_outside(src)]
        for address in images + parsed[file].downloads:
            target = file.parent / unquote(urlsplit(address).path)
            if not target.is_file() or target.stat().st_size == 0:
                raise Refusal(f"file {address} of page {page} is missing from the book")
        if page.startswith("notebooks/"):
            notebook = source.read(Path(page).name)
            executed = source.read_executed(notebook.executed(notebook.parameters(profile)))
            if executed is None:
                raise Refusal(f"the executed copy of notebook {notebook.name} is damaged or gone")
            shown = sum("_images/" in image for image in images)
            if shown < count_figures(executed):
                raise Refusal(f"page {page} shows {shown} figures, and its notebook made {count_figures(executed)}")
    for name in {notebook.name for notebook in source.read_all()} - {Path(p).name for p in pages}:
        raise Refusal(f"notebook {name} must be named in _toc.yml")
    for file, content in parsed.items():
        for address in content.fetched:
            if is_outside(address):
                raise Refusal(f"page {file.relative_to(html)} fetches {address}, and the book must need no network")


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
