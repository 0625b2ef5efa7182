"""What the commands say to the user: a sentence instead of a traceback, and lines of progress."""

import sys


class Refusal(Exception):
    """Why something cannot be done, in one sentence for the user."""


def say(sentence: str) -> None:
    """Print a line of progress at once."""
    print(sentence, file=sys.stderr, flush=True)
