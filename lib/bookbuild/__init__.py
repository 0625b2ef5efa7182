"""From notebook text to a finished book: set-up, execution, rendering and the checks on the result."""
