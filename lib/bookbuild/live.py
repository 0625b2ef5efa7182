"""The live page: its scripts, in the order in which they use each other, and what they read.

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


def shipped(content: Mapping[str, Any]) -> str:
    """Return what the scripts read: phases, values of the sliders, and the curves of the theory.

    >>> shipped({"a": [1, 2.5]})
    '<script type="application/json" id="live-content">{"a":[1,2.5]}</script>'
    """
    text = json.dumps(content, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="live-content">{text}</script>'
