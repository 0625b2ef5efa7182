"""Files that come with the theme and with MathJax and that no page can ever load: most of an otherwise small site."""

import re
from pathlib import Path

MATHJAX = re.compile(r"_static/mathjax/([\w-]+\.js)")
SPARE = (
    "_static/**/*.map",  # for debugging the scripts of the theme
    "_static/locales/**/*",  # translations, used while rendering
    "_static/vendor/fontawesome/webfonts/*.ttf",  # for browsers older than WOFF 2, which do not run the scripts either
    "_static/mathjax/input/asciimath*",  # other ways to write formulas than TeX
    "_static/mathjax/input/mml/**/*",
    "_static/mathjax/input/mml.js",
    "_static/mathjax/input/tex-*.js",  # other bundles of what tex-chtml.js holds
    "_static/mathjax/output/svg*",  # other ways to draw them than with fonts
    "_static/mathjax/output/svg/**/*",
    "_static/mathjax/sre/mathmaps/*",  # formulas read aloud, in languages other than that of the book
)
KEPT = ("_static/mathjax/sre/mathmaps/base.json", "_static/mathjax/sre/mathmaps/en.json")


def drop_spare(html: Path) -> None:
    """Remove from a rendered book what no page can load."""
    used = {name for page in html.rglob("*.html") for name in MATHJAX.findall(page.read_text(encoding="utf-8"))}
    bundles = set((html / "_static" / "mathjax").glob("*.js")) if used else set()  # none used: leave it to the checks
    spare = {path for pattern in SPARE for path in html.glob(pattern)} - {html / name for name in KEPT}
    for path in spare | {bundle for bundle in bundles if bundle.name not in used}:
        if path.is_file():
            path.unlink()
