"""The live page: its scripts, in the order in which they use each other, and the element that they fill.

All are plain scripts, and the curves of the theory are inside the page: from disk a browser loads no modules and
fetches no files.
"""

import json
from collections.abc import Mapping
from typing import Any

PAGE = "notebooks/live"
SCRIPTS = (
    "threefry.js",
    "seed.js",
    "normals.js",
    "batches.js",
    "simulate.js",
    "theory.js",
    "pace.js",
    "plot.js",
    "words.js",
    "controls.js",
    "view.js",
    "live.js",
)
STYLE = "live.css"


def element(content: Mapping[str, Any]) -> str:
    """Return an empty element, hidden where no scripts run, and the content from which they fill it.

    >>> element({"a": [1, 2.5]})
    '<section id="live" class="live" aria-label="Live simulation" hidden></section><script ...>{"a":[1,2.5]}</script>'
    """
    text = json.dumps(content, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    place = '<section id="live" class="live" aria-label="Live simulation" hidden></section>'
    return f'{place}<script type="application/json" id="live-content">{text}</script>'
