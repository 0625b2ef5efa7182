r"""The response to a field: waiting times are marked, tangent vectors kicked, their overlap with the probes integrated.

A field :math:`H` at :math:`t_w` enters the gradient of that step as :math:`-H`, so that :math:`R(t_w+dt, t_w) = 1`. The
integral :math:`\chi(t,t_w) = dt\sum_{t_w < t' \le t} R(t',t_w)` is estimated as the mean of :math:`\xi\cdot\delta w/N`
over random signs :math:`\xi`, for which the first value is exact.
"""

from sgdnoise._jit import jit
from sgdnoise.simulation.record import Log
from sgdnoise.simulation.state import Tangents, Vectors, copy_row, kick, response
from sgdnoise.simulation.stopping import GROWN, Columns, Verdicts


@jit(nogil=True)
def respond(k: int, vectors: Vectors, tangents: Tangents, columns: Columns, verdicts: Verdicts, log: Log) -> None:
    """Mark waiting times, apply kicks and integrate the response up to step ``k``."""
    replicas, waits = log.table.shape[2], log.waits.shape[1]
    for c in range(columns.steps.size):
        if verdicts.state[c] >= GROWN or k > columns.steps[c]:
            continue
        for i in range(waits):
            wait = log.waits[c // replicas, i]
            if k == wait:
                copy_row(vectors.y, c, tangents.marks, c * waits + i)
            elif k == wait + 1:
                kick(c, i, columns.rates[c], tangents)
            if k > wait:
                log.response[c, i] += columns.rates[c] * response(c, i, log.probes, tangents) / columns.features
