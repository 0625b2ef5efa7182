"""Is the rendered book whole? Every page of the table of contents, every figure, every link, nothing from elsewhere."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from bookbuild import notebooks, paths
from bookbuild.notebooks import told
from bookbuild.texts import Refusal, read_yaml

FETCHING_LINKS = {"stylesheet", "preload", "prefetch", "icon", "shortcut", "modulepreload", "preconnect", "manifest"}


@dataclass(frozen=True)
class Chapter:
    """A page of the book, and the part that opens with it, if one does."""

    page: str
    part: str | None = None

    @property
    def name(self) -> str:
        """What its place is called within the printed page."""
        return self.page.replace("/", "-")


def chapters(toc: Any) -> Iterator[Chapter]:
    """Return the pages of a table of contents in order, each part's caption with its first page.

    >>> toc = {"root": "a", "parts": [{"caption": "P", "chapters": [{"file": "b/c", "sections": [{"file": "d"}]}]}]}
    >>> [(chapter.name, chapter.part) for chapter in chapters(toc)]
    [('a', None), ('b-c', 'P'), ('d', None)]
    """
    if "root" in toc or "file" in toc:
        yield Chapter(str(toc.get("root") or toc["file"]), toc.get("part"))
    for part in toc.get("parts", []):
        first, *others = part["chapters"]
        yield from chapters({"sections": [{**first, "part": part.get("caption")}, *others]})
    for entry in (*toc.get("chapters", []), *toc.get("sections", [])):
        yield from chapters(entry)


def toc_pages() -> list[str]:
    """Return every page of the book, in order."""
    return [chapter.page for chapter in chapters(read_yaml(paths.TOC))]


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
        """Collect the addresses of one element; a link that a reader may click is not fetched by itself."""
        values = {name: value or "" for name, value in attrs}
        self.fetched += [values[name] for name in ("src", "data", "poster") if name in values]
        if tag == "link" and FETCHING_LINKS & set(values.get("rel", "").split()):
            self.fetched.append(values.get("href", ""))
        if tag == "img" and "panel" not in values.get("class", "").split():  # a view of a figure that is there anyhow
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


def check_book(html: Path, profile: str) -> None:
    """Raise one sentence if a page or a figure is missing, a link leads nowhere, or a page fetches from outside."""
    parsed = read_pages(html.resolve())
    pages, known = toc_pages(), {f"notebooks/{notebook.name}": notebook for notebook in notebooks.read_all()}
    for name in pages:
        file = html.resolve() / f"{name}.html"
        if file not in parsed or file.stat().st_size < 1000:
            raise Refusal(f"page {name} of the table of contents is missing from the book")
        images = [src for src in parsed[file].images if not is_outside(src)]
        for address in images + parsed[file].downloads:
            target = file.parent / unquote(urlsplit(address).path)
            if not target.is_file() or target.stat().st_size == 0:
                raise Refusal(f"file {address} of page {name} is missing from the book")
        if name in known:
            shown, made = sum("_images/" in image for image in images), len(told(known[name].copy(profile), "figure"))
            if shown < made:
                raise Refusal(f"page {name} shows {shown} figures, and its notebook made {made}")
    for name in known.keys() - set(pages):
        raise Refusal(f"notebook {known[name].name} must be named in _toc.yml")
    for file, content in parsed.items():
        for address in filter(is_outside, content.fetched):
            raise Refusal(f"page {file.name} fetches {address}, and the book must need no network")
    if wrong := broken(parsed):
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        raise Refusal(f"a link of the book is broken ({wrong[0]}{more})")


def read_pages(html: Path) -> dict[Path, Page]:
    """Return every page of a folder."""
    return {file: Page(file.read_text(encoding="utf-8")) for file in sorted(html.rglob("*.html"))}


def broken(pages: dict[Path, Page]) -> list[str]:
    """Say where links stand that lead to no file, to no place in its page, or not safely out of the book."""
    found = []
    for file, page in pages.items():
        for address in dict.fromkeys(page.links):
            parts = urlsplit(address)
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            name = unquote(parts.fragment)
            if is_outside(address):
                found += [f"{file.name}: {address} is no proper https address"] if malformed(address) else []
            elif parts.scheme != "mailto" and (parts.scheme or not target.is_file()):
                found.append(f"{file.name}: {address} leads to no file")
            elif name and (target not in pages or name not in pages[target].names):
                found.append(f"{file.name}: {address} leads to no place in {target.name}")
    return found


def malformed(address: str) -> bool:
    """Tell whether an address could not be followed safely: https, a host with a dot, no blanks.

    >>> [malformed(a) for a in ("https://a.example/b#c", "http://a.example", "https://localhost/x", "https://a.b/c d")]
    [False, True, True, True]
    """
    parts = urlsplit(address)
    host = parts.hostname or ""
    return parts.scheme != "https" or "." not in host.strip(".") or any(c.isspace() or c in "<>{}" for c in address)
