"""The whole book as one page for the printer, put together from the finished pages.

Nothing is rendered a second time, so that the PDF cannot say anything else than the book: the articles are taken in
the order of the table of contents, what only a screen can use is left out, and links between pages become links within
the one page. For that, every name (``id``) is given its page in front.
"""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup, Tag

from bookbuild import paths
from bookbuild.check import is_outside
from bookbuild.refusal import Refusal
from bookbuild.texts import read_yaml

STYLE = Path(__file__).with_name("print.css")
# What a reader of paper cannot use. Folded cells are plumbing; the title page says that they are left out.
SCREEN_ONLY = (
    "script, style, button, form, input, canvas, nav, template, .headerlink, .downloads, .screen-only, "
    ".toctree-wrapper, .prev-next-area, details.hide, .cell.tag_hide-cell"
)
FONTS = {
    "Book Serif": ("STIXGeneral", "STIXGeneralBol", "STIXGeneralItalic", "STIXGeneralBolIta"),
    "Book Sans": ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSans-Oblique", "DejaVuSans-BoldOblique"),
    "Book Mono": ("DejaVuSansMono", "DejaVuSansMono-Bold", "DejaVuSansMono-Oblique", "DejaVuSansMono-BoldOblique"),
}
FACES = ("", "font-weight: bold;", "font-style: italic;", "font-weight: bold; font-style: italic;")
REFERENCES = ("for", "aria-labelledby", "aria-describedby", "aria-controls", "headers")


@dataclass(frozen=True)
class Chapter:
    """A page of the book, and the part that opens with it, if one does."""

    page: str
    part: str | None = None

    @property
    def name(self) -> str:
        """What its place is called within the printed page."""
        return self.page.replace("/", "-")


def chapters(toc: dict[str, Any]) -> Iterator[Chapter]:
    """Return the pages of a table of contents in order, each part's caption with its first page.

    >>> toc = {"root": "a", "parts": [{"caption": "P", "chapters": [{"file": "b/c", "sections": [{"file": "d"}]}]}]}
    >>> [(chapter.name, chapter.part) for chapter in chapters(toc)]
    [('a', None), ('b-c', 'P'), ('d', None)]
    """
    yield Chapter(str(toc["root"]))
    for part in toc.get("parts") or [toc]:
        caption = part.get("caption")
        for page in _files(part.get("chapters", [])):
            yield Chapter(page, caption)
            caption = None


def _files(entries: list[dict[str, Any]]) -> Iterator[str]:
    for entry in entries:
        yield str(entry["file"])
        yield from _files(entry.get("sections", []))


def assemble(html: Path, profile: str) -> str:
    """Return the whole book as one page, to be put at the top of the book's folder."""
    order = list(chapters(read_yaml(paths.TOC)))
    pages = {c.page: BeautifulSoup((html / f"{c.page}.html").read_bytes(), "html.parser") for c in order}
    mathjax = _mathjax(pages.values())
    known = {page: {str(tag["id"]) for tag in soup.find_all(id=True)} for page, soup in pages.items()}
    bodies, contents, heads = [], [], []
    for chapter in order:
        article = _article(pages[chapter.page], chapter.page)
        title = plain(article.find("h1"))
        _for_print(article, chapter, known)
        link = f'<a href="#{chapter.name}">{escape(title)}</a><span data-page-of="{chapter.name}"></span>'
        contents += [f'<li class="part">{escape(chapter.part)}</li>'] if chapter.part else []
        contents += [f"<li>{link}</li>"]
        bodies += [f'<article id="{chapter.name}">{article.decode_contents()}</article>']
        heads += [_running_head(chapter, title)]
    config = settings()
    style = "\n".join([fonts(), STYLE.read_text(encoding="utf-8"), *heads])
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{escape(config["title"])}</title>
<link rel="stylesheet" href="_static/pygments.css"><style>{style}</style>{mathjax}</head>
<body>{title_page(config, profile)}
<section class="contents"><h1 id="contents">Contents</h1><ul>{"".join(contents)}</ul></section>
{"".join(bodies)}</body></html>
"""


def settings() -> dict[str, Any]:
    """Return the settings of the book: its title and whose it is."""
    return dict(read_yaml(paths.CONFIG))


def fonts() -> str:
    """Return style rules for the fonts that matplotlib brings, so that every machine prints the same."""
    import matplotlib as mpl

    folder = Path(mpl.get_data_path()) / "fonts" / "ttf"
    rules = []
    for family, faces in FONTS.items():
        for style, face in zip(FACES, faces, strict=True):
            rules.append(f'@font-face {{font-family: "{family}"; {style} src: url({folder.as_uri()}/{face}.ttf)}}')
    return "\n".join(rules)


def title_page(config: dict[str, Any], profile: str) -> str:
    """Return the first page: what this is, of which paper it is the companion, and which build."""
    from sgdnoise import __version__

    paper = read_yaml(paths.ROOT / "CITATION.cff")["preferred-citation"]
    authors = " and ".join(f"{a['given-names']} {a['family-names']}" for a in paper["authors"])
    doi = f'<a href="https://doi.org/{paper["doi"]}">doi:{paper["doi"]}</a>'
    return f"""<section class="title-page"><p class="title">{escape(config["title"])}</p>
<p class="author">{escape(config["author"])}</p>
<p>A companion of the paper<br>{escape(authors)},<br><cite>{escape(paper["title"])}</cite>,<br>
{escape(paper["journal"])} ({paper["year"]}) {paper["start"]}, {doi}.</p>
<p>Version {__version__} of the library, {escape(profile)} profile.</p>
<p class="remark">Made from the pages of the book. Code that is folded there is left out here; the notebooks, the
numbers behind each figure and the results are offered by the book itself.</p></section>"""


def _article(soup: BeautifulSoup, page: str) -> Tag:
    article = soup.select_one("article")
    if article is None or article.find("h1") is None:
        raise Refusal(f"page {page} has no article with a title, and cannot be printed")
    return article


def plain(heading: Any) -> str:
    """Return the words of a heading, without the mark that links to it."""
    return "".join(text for text in heading.find_all(string=True) if not text.find_parent(class_="headerlink")).strip()


def _running_head(chapter: Chapter, title: str) -> str:
    words = title.replace("\\", "\\\\").replace('"', '\\"')
    return f'#{chapter.name} {{page: {chapter.name}}} @page {chapter.name} {{@top-right {{content: "{words}"}}}}'


def _for_print(article: Tag, chapter: Chapter, known: dict[str, set[str]]) -> None:
    """Take out what only a screen can use, and point addresses into the one page."""
    for tag in article.select("noscript"):
        tag.unwrap()
    for tag in article.select(SCREEN_ONLY):
        tag.decompose()
    for tag in article.select("details"):
        tag["open"] = ""
    for tag in article.find_all(True):
        if tag.get("id"):
            tag["id"] = f"{chapter.name}--{tag['id']}"
        for attribute in REFERENCES:
            if tag.get(attribute):
                tag[attribute] = " ".join(f"{chapter.name}--{word}" for word in str(tag[attribute]).split())
        if tag.name == "img" and not is_outside(str(tag["src"])):
            tag["src"] = _from_top(chapter.page, str(tag["src"]))
        if tag.name == "a" and tag.get("href"):
            target = link_target(str(tag["href"]), chapter.page, known)
            if target is None:
                tag.unwrap()
            else:
                tag["href"] = target


def link_target(address: str, page: str, known: dict[str, set[str]]) -> str | None:
    """Return where a link of a page leads in print, or None if to a file that the print does not have.

    >>> known = {"book/a": {"x"}, "book/b": {"y"}}
    >>> [link_target(to, "book/a", known) for to in ("#x", "b.html#y", "b.html", "../files/z.csv", "https://c.example")]
    ['#book-a--x', '#book-b--y', '#book-b', None, 'https://c.example']
    """
    if is_outside(address) or address.startswith("mailto:"):
        return address
    parts = urlsplit(address)
    target = _from_top(page, parts.path).removesuffix(".html") if parts.path else page
    if target not in known:
        return None
    name = unquote(parts.fragment)
    return f"#{target.replace('/', '-')}--{name}" if name in known[target] else f"#{target.replace('/', '-')}"


def _from_top(page: str, address: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), address))


def _mathjax(pages: Any) -> str:
    """Return the scripts that typeset the maths, as the pages have them, without what only a screen can use."""
    for soup in pages:
        settings = [tag for tag in soup.find_all("script") if "window.MathJax" in (tag.string or "")]
        if settings and soup.find("script", src=re.compile(r"_static/formulas\.js")):
            print_only = "MathJax.options = {...MathJax.options, enableAssistiveMml: false};"
            return f'{settings[0]}<script>{print_only}</script><script defer src="_static/formulas.js"></script>'
    raise Refusal("no page of the book loads MathJax, and its formulas cannot be printed")
