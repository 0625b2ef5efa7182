"""The live page: its scripts, in the order in which they use each other, and what they read.

All are plain scripts, and the curves of the theory are inside the page: from disk a browser loads no modules and
fetches no files.
"""

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
