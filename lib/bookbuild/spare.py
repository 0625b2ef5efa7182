"""Files that come with the theme and with MathJax and that no page can ever load: most of an otherwise small site."""

from pathlib import Path

SPARE = (
    "_static/**/*.map",  # for debugging the scripts of the theme
    "_static/locales/**/*",  # translations, used while rendering
    "_static/scripts/fontawesome.js*",  # every icon there is as a drawing; the few of the theme come from a font
    "_static/vendor/fontawesome/webfonts/*.ttf",  # for browsers older than WOFF 2, which do not run the scripts either
    "_static/vendor/fontawesome/webfonts/fa-brands-*",  # icons that no page has
    "_static/vendor/fontawesome/webfonts/fa-regular-*",
    "_static/mathjax/*.js",  # bundles of what formulas.js loads in parts
    "_static/mathjax/adaptors/*",  # for programs other than browsers
    "_static/mathjax/a11y/*",  # formulas read aloud, which a browser does not load from disk; MathML is there
    "_static/mathjax/sre/**/*",
    "_static/mathjax/ui/*",  # the menu
    "_static/mathjax/input/asciimath*",  # other ways to write formulas than TeX
    "_static/mathjax/input/mml/**/*",
    "_static/mathjax/input/mml.js",
    "_static/mathjax/input/tex-*.js",  # other bundles of what tex.js holds
    "_static/mathjax/input/tex/extensions/all-packages.js",
    "_static/mathjax/output/svg*",  # other ways to draw them than with fonts
    "_static/mathjax/output/svg/**/*",
)
KEPT = tuple(f"_static/mathjax/{name}.js" for name in ("startup", "core", "a11y/assistive-mml"))


def drop_spare(html: Path) -> None:
    """Remove from a rendered book what no page can load."""
    for path in {path for pattern in SPARE for path in html.glob(pattern)} - {html / name for name in KEPT}:
        if path.is_file():
            path.unlink()
