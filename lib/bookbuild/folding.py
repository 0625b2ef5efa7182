"""Which code a page shows at once: what is the point stays open, plumbing is folded under a line that names it.

A cell tagged ``hide-input`` is plumbing. Its first line is a comment, and becomes that line. Folded cells that follow
one another become one.
"""

from nbformat import NotebookNode

FOLDED, REMOVED, PARAMETERS = "hide-input", "remove-cell", "injected-parameters"


def fold(executed: NotebookNode) -> None:
    """Fold the plumbing of an executed notebook, the parameters of the run with it."""
    cells: list[NotebookNode] = []
    above: NotebookNode | None = None  # the folded cell that the next one would join
    for cell in executed.cells:
        tags = cell.metadata.get("tags", [])
        if PARAMETERS in tags:
            cell.metadata["tags"] = tags = [*tags, FOLDED]
        if REMOVED in tags:
            cells.append(cell)
            continue
        if cell.cell_type == "code" and FOLDED in tags:
            if above is not None:
                above.source += f"\n\n{cell.source}"
                above.outputs += cell.outputs
                above.metadata["titles"].append(title(cell))
                continue
            cell.metadata["titles"] = [title(cell)]
            above = cell
        else:
            above = None
        cells.append(cell)
    for cell in cells:
        if "titles" in cell.metadata:
            words = "; ".join(cell.metadata.pop("titles"))
            cell.metadata["mystnb"] = {"code_prompt_show": f"Code: {words}", "code_prompt_hide": f"Hide: {words}"}
    executed.cells = cells


def title(cell: NotebookNode) -> str:
    """Return what a folded cell says of itself in its first line.

    >>> from nbformat.v4 import new_code_cell
    >>> title(new_code_cell("# Draw the figure.\\nplot()"))
    'draw the figure'
    """
    line = cell.source.lstrip().partition("\n")[0]
    words = line.removeprefix("#").strip().rstrip(".") if line.startswith("#") else "source"
    return words[:1].lower() + words[1:]
