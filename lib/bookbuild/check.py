"""Is the rendered book whole? Every page of the table of contents, every figure, every link, nothing from elsewhere."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bookbuild import notebooks, paths
from bookbuild.notebooks import told
from bookbuild.texts import Refusal

FETCHING_LINKS = {"stylesheet", "preload", "prefetch", "icon", "shortcut", "modulepreload", "preconnect", "manifest"}


def toc_pages() -> list[str]:
    """Return every page of the book, in order."""
    from sphinx_external_toc.parsing import parse_toc_yaml

    return list(parse_toc_yaml(paths.TOC))


class Page(HTMLParser):
    """The addresses that a page makes the browser fetch, its images, its links and the names that links lead to."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.styles: list[str] = []
        self.feed(html)
        links = [values for tag, values in self.tags if tag in ("a", "area") and "href" in values]
        self.links = [values["href"] for values in links]
        self.downloads = [values["href"] for values in links if "download" in values and not is_outside(values["href"])]
        # A panel is a view of a figure that is there anyhow.
        images = (
            values for tag, values in self.tags if tag == "img" and "panel" not in values.get("class", "").split()
        )
        self.images = [values.get("src", "") for values in images]
        self.names = {values[name] for _, values in self.tags for name in ("id", "name") if values.get(name)}
        self.fetched = [values[name] for _, values in self.tags for name in ("src", "data", "poster") if name in values]
        heads = (values for tag, values in self.tags if tag == "link")
        self.fetched += [v.get("href", "") for v in heads if FETCHING_LINKS & set(v.get("rel", "").split())]
        self.fetched += [address for css in self.styles for address in style_addresses(css)]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element and its style."""
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        self.styles.append(self.tags[-1][1].get("style", ""))

    def handle_data(self, data: str) -> None:
        """Note a style sheet of the page."""
        self.styles += [data] if self.tags and self.tags[-1][0] == "style" else []


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
    parsed = {file: Page(file.read_text(encoding="utf-8")) for file in sorted(html.resolve().rglob("*.html"))}
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
