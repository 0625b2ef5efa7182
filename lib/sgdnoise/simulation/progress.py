"""A line on the screen that says how far a long run has come."""

import sys
import threading
import time

QUIET_SECONDS = 3.0  # short runs say nothing
REFRESH_SECONDS = 0.5


class Progress:
    """Counts finished work, from any thread, and shows it on standard error.

    Parameters
    ----------
    total
        Amount of work, in any unit.
    show
        Whether to show anything; ``None`` shows a run of more than a few seconds on a terminal.
    """

    def __init__(self, total: int, show: bool | None) -> None:
        self.total, self.done = max(total, 1), 0
        self.active = sys.stderr.isatty() if show is None else show
        self.began = self.shown = time.monotonic()
        self.lock = threading.Lock()

    def add(self, amount: int) -> None:
        """Count ``amount`` more as done."""
        with self.lock:
            self.done += amount
            now = time.monotonic()
            if self.active and now - self.began > QUIET_SECONDS and now - self.shown > REFRESH_SECONDS:
                self.shown = now
                left = (now - self.began) * (self.total / max(self.done, 1) - 1)
                print(
                    f"\rsimulating: {100 * self.done / self.total:3.0f} %, {left:.0f} s left ", end="", file=sys.stderr
                )

    def close(self) -> None:
        """End the line, if there is one."""
        if self.active and self.shown > self.began:
            print(file=sys.stderr)
