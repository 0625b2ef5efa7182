"""Where the browser is that prints the book, and that tests and benchmarks drive."""

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


def find() -> str | None:
    """Return the path of Chromium or of Google Chrome, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)
