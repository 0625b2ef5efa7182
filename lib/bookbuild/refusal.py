"""The one exception that the commands show as a sentence instead of a traceback."""


class Refusal(Exception):
    """Why something cannot be done, in one sentence for the user."""
