"""Where the browser is that prints the book, and that tests and benchmarks drive."""

import os
import shutil

NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
# The sandbox of Chromium does not start for root, as which containers run.
FLAGS = ("--no-sandbox", "--disable-background-networking")
# Names another browser; empty, none.
VARIABLE = "SGDNOISE_BROWSER"
MISSING = "a PDF needs Chromium or Google Chrome, and none is here; install one (on Debian: apt-get install chromium)"


def find() -> str | None:
    """Return the path of Chromium or of Google Chrome, or None."""
    names = (os.environ[VARIABLE],) if VARIABLE in os.environ else NAMES
    return next(filter(None, map(shutil.which, names)), None)
