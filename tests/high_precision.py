"""The static equations in 60-digit arithmetic, solved by Newton's method: slow, obvious, and independent of scipy.

Unknowns are the three order parameters themselves, not the reduced threshold that the library searches for.
"""

from decimal import Decimal, getcontext

getcontext().prec = 60
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")


def density(x):
    return (-x * x / 2).exp() / (2 * PI).sqrt()


def below(x):
    """Normal distribution function, from a series whose terms all have one sign."""
    if abs(x) > 17:
        return Decimal(int(x > 0))
    term = total = x
    n = 1
    while abs(term) > abs(total) * Decimal(10) ** -58:
        n += 2
        term *= x * x / n
        total += term
    return Decimal("0.5") + density(x) * total


def residuals(order, alpha, delta, ridge, margin):
    """Static equations of the squared hinge: zero for the right (m, q, V)."""
    m, q, V = order
    sigma = (delta * q).sqrt()
    x = (margin - m) / sigma
    P, p = below(x), density(x)
    shortfall = sigma * (x * P + p)  # E[(margin-u)_+]
    square = sigma**2 * ((1 + x * x) * P + x * p)  # E[(margin-u)_+^2]
    k = 1 + delta * V
    return (
        m - alpha * V / k * shortfall,
        q - m * m - alpha * delta * V**2 / k**2 * square,
        V * (ridge + alpha * delta * P / k) - 1,
    ), (P, square / k**2)


def solve(start, *parameters):
    """Newton's method from a nearby point; returns (m, q, V) and (P, <l'^2>) to more than 20 digits."""
    parameters = [Decimal(value) for value in parameters]
    order = [Decimal(value) for value in start]
    for _ in range(8):
        f, _ = residuals(order, *parameters)
        columns = []
        for j in range(3):
            step = abs(order[j]) * Decimal(10) ** -25
            moved = [value + step * (i == j) for i, value in enumerate(order)]
            g, _ = residuals(moved, *parameters)
            columns.append([(b - a) / step for a, b in zip(f, g, strict=True)])
        change = cramer(columns, f)
        order = [value - c for value, c in zip(order, change, strict=True)]
        if all(abs(c) <= abs(value) * Decimal(10) ** -22 for c, value in zip(change, order, strict=True)):
            return order, residuals(order, *parameters)[1]
    raise ArithmeticError("Newton's method did not converge")


def cramer(columns, right):
    whole = determinant(*columns)
    return [determinant(*(right if i == j else columns[i] for i in range(3))) / whole for j in range(3)]


def determinant(a, b, c):
    return a[0] * (b[1] * c[2] - b[2] * c[1]) - b[0] * (a[1] * c[2] - a[2] * c[1]) + c[0] * (a[1] * b[2] - a[2] * b[1])
