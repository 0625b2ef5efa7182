"""Every link within the built book leads somewhere; links that leave it are listed, and proper."""

import os
import shutil

import pytest

from bookbuild import check as links
from bookbuild.refusal import Refusal

pytestmark = pytest.mark.endtoend


def test_every_link_within_the_book_leads_somewhere(html):
    pages = links.read_pages(html)
    within = [address for page in pages.values() for address in page.links if not links.is_outside(address)]
    assert sum("#" in address for address in within) > 100
    assert links.broken(pages) == []


def test_links_that_leave_the_book_are_listed_and_proper(html, project):
    outside = links.outside(links.read_pages(html))
    assert any("doi.org" in address for address in outside)
    assert [address for address in outside if links.malformed(address)] == []
    assert (project / "_build" / "outside_links.txt").read_text().splitlines() == outside


@pytest.mark.parametrize(
    ("link", "complaint"),
    [
        ('<a href="nowhere.html">', "nowhere.html leads to no file"),
        ('<a href="#nowhere">', "#nowhere leads to no place in api.html"),
        ('<a href="dmft.html#nowhere">', "dmft.html#nowhere leads to no place in dmft.html"),
        ('<a href="../downloads/nowhere.zip" download>', "nowhere.zip leads to no file"),
        ('<a href="javascript:alert(1)">', "leads to no file"),
        ('<a href="http://a.example/">', "http://a.example/ is no proper https address"),
    ],
)
def test_a_broken_link_stops_the_build(html, tmp_path, link, complaint):
    """Negative control."""
    copy = tmp_path / "html"
    shutil.copytree(html, copy, copy_function=os.link)  # as good as a copy: the one page that changes is written anew
    links.check_links(copy, tmp_path / "list.txt")
    page = copy / "book" / "api.html"
    text = page.read_text()
    page.unlink()
    page.write_text(text.replace("</article>", f"{link}here</a></article>"))
    with pytest.raises(Refusal, match="a link of the book is broken") as caught:
        links.check_links(copy, tmp_path / "list.txt")
    assert complaint in str(caught.value)
