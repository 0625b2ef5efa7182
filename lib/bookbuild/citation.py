"""How to cite: one file, ``CITATION.cff``, makes everything else that says so.

``python -m bookbuild citation`` writes ``.zenodo.json`` and ``codemeta.json`` from it, for archives and search engines;
a test compares them. The book has from it the BibTeX entries of its first page, and on every page a footer and the
``citation_*`` tags that reference managers read.
"""

import json
from html import escape
from pathlib import Path
from textwrap import fill
from typing import Any

from bookbuild import paths
from bookbuild.texts import read_yaml
from sgdnoise import __version__

ZENODO, CODEMETA = paths.ROOT / ".zenodo.json", paths.ROOT / "codemeta.json"
LICENCES = "https://spdx.org/licenses/"


def read() -> dict[str, Any]:
    """Return the citation of the software, that of the paper within it."""
    return dict(read_yaml(paths.ROOT / "CITATION.cff"))


def authors(entry: dict[str, Any]) -> list[str]:
    """Return the names of the authors, family names first.

    >>> authors({"authors": [{"family-names": "Mignacco", "given-names": "Francesca"}, {"name": "The developers"}]})
    ['Mignacco, Francesca', 'The developers']
    """
    return [one.get("name") or f"{one['family-names']}, {one['given-names']}" for one in entry["authors"]]


def zenodo(cited: dict[str, Any]) -> dict[str, Any]:
    """Return what an archive is told."""
    return {
        "title": cited["title"],
        "upload_type": cited["type"],
        "creators": [{"name": name} for name in authors(cited)],
        "license": cited["license"],
        "version": __version__,
        "description": cited["abstract"],
        "keywords": cited["keywords"],
        "related_identifiers": [
            {"identifier": cited["preferred-citation"]["doi"], "relation": "isSupplementTo", "scheme": "doi"}
        ],
    }


def codemeta(cited: dict[str, Any]) -> dict[str, Any]:
    """Return what a search engine for software is told."""
    paper = cited["preferred-citation"]
    return {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "name": cited["title"],
        "author": [{"@type": "Organization", "name": name} for name in authors(cited)],
        "license": f"{LICENCES}{cited['license']}",
        "version": __version__,
        "description": cited["abstract"],
        "keywords": cited["keywords"],
        "programmingLanguage": "Python",
        "referencePublication": {
            "@type": "ScholarlyArticle",
            "name": paper["title"],
            "author": [{"@type": "Person", "name": name} for name in authors(paper)],
            "@id": f"https://doi.org/{paper['doi']}",
        },
    }


def files() -> dict[Path, str]:
    """Return the files that are made from the citation, with their texts."""
    cited = read()
    texts = {ZENODO: zenodo(cited), CODEMETA: codemeta(cited)}
    return {path: json.dumps(content, indent=2, ensure_ascii=False) + "\n" for path, content in texts.items()}


def bibtex() -> str:
    """Return the entries of the paper and of the software, to copy."""
    cited, year = read(), read_yaml(paths.CONFIG)["copyright"]
    paper = cited["preferred-citation"]
    entries = {
        "article{mignacco2022effective": {
            "author": " and ".join(authors(paper)),
            "title": f"{{{paper['title']}}}",
            "journal": paper["journal"],
            "volume": paper["volume"],
            "number": paper["issue"],
            "pages": paper["start"],
            "year": paper["year"],
            "doi": paper["doi"],
        },
        "misc{sgdnoise": {
            "author": " and ".join(f"{{{name}}}" for name in authors(cited)),
            "title": f"{{{cited['title']}}}",
            "note": f"Version {__version__}",
            "year": year,
        },
    }
    lines = []
    for head, content in entries.items():
        fields = (fill(f"  {name} = {{{value}}},", 80, subsequent_indent="    ") for name, value in content.items())
        lines += [f"@{head},", *fields, "}"]
    return "\n".join(lines)


def meta_tags(title: str) -> str:
    """Return the tags of a page for reference managers."""
    cited, config = read(), read_yaml(paths.CONFIG)
    paper = cited["preferred-citation"]
    about = f"citation_title={paper['title']}; citation_doi={paper['doi']}"
    tags = [("title", f"{title}, in: {config['title']}"), *(("author", name) for name in authors(cited))]
    tags += [("publication_date", config["copyright"]), ("language", "en"), ("reference", about)]
    return "\n".join(f'<meta name="citation_{name}" content="{escape(str(text))}">' for name, text in tags)


def footer(cite: str, page: str) -> str:
    """Return the footer of a page; ``cite`` is the address of the place that explains how to cite and to report.

    With ``repository-code`` in ``CITATION.cff`` the link for mistakes opens a new issue there, which names the page.
    """
    cited = read()
    address = cite
    if "repository-code" in cited:
        address = f"{cited['repository-code'].rstrip('/')}/issues/new?title=Mistake+on+the+page+{page}"
    links = {"How to cite": cite, "Report a mistake on this page": address}
    parts = [f"sgdnoise {__version__}", f"{cited['license']} licence"]
    parts += [f'<a href="{escape(to)}">{words}</a>' for words, to in links.items()]
    return f"<p>{' · '.join(parts)}</p>"


def add_to_page(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:  # noqa: ARG001
    """Have every page say how to cite it."""
    context["metatags"] = f"{context.get('metatags', '')}\n{meta_tags(context.get('title', ''))}\n"
    context["theme_extra_footer"] = footer(f"{context['pathto'](app.config.root_doc).rstrip('#')}#how-to-cite", page)


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx."""
    app.connect("html-page-context", add_to_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
