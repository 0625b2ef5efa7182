# ---
# jupyter:
#   expected_seconds:
#     paper: 765
#     smoke: 10
#     standard: 42
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Which data can be fitted
#
# :::{admonition} What you will learn
# :class: learn
# Which data sets can be fitted without error, where the border is, and on which side of it the paper works.
# :::
#
# Everything in the paper depends on one question: is there a hyperplane that separates the two clouds? In the limit of
# many features the answer is sharp. Below a critical number of samples per feature, $\alpha_c(\Delta)$, the data are
# separable (SAT), above it they are not (UNSAT). The paper takes the two phases as known. Here we place every choice of
# its parameters on the map, and determine the border by theory and with a linear program.
#
# For weights of norm $\sqrt N$ with overlap $m$ with the signal, the constraints can be met up to a number of samples
# per feature that depends on $m$; the threshold is the largest,
#
# $$
# \alpha_c(\Delta) = \max_{0\le m\le 1}\;
# \frac{\Delta\,(1-m^2)}{\big\langle (m+\sqrt\Delta\,z)_-^2 \big\rangle}, \qquad z\sim\mathcal N(0,1),
# $$ (eq-critical)
#
# with $(x)_-=\min(x,0)$; it is 2 for pure noise, $\Delta\to\infty$, a classic result {cite:p}`cover1965geometrical`.
# The problem is one of many in which constraints can be met up to a sharp threshold {cite:p}`franz2017universality`;
# for this one see {cite:t}`mignacco2020role`.

# %% tags=["parameters"]
profile = "standard"
seed = 0

# %% tags=["hide-input"]
# Set up.
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from scipy.optimize import linprog

import sgdnoise as sn
from sgdnoise import plotting
from sgdnoise.estimates import Estimate
from sgdnoise.report import claim, glue, publish

plotting.use_style()
size = {
    "smoke": {"features": 30, "data_sets": 24},
    "standard": {"features": 80, "data_sets": 48},
    "paper": {"features": 160, "data_sets": 100},
}[profile]


# %% [markdown]
# ## Asking a linear program
#
# A data set is separable if some $w$ satisfies $y_\mu x_\mu\cdot w \ge 1$ for all $\mu$. A linear program decides this
# for each data set without any training. The border is where half of the data sets are separable.


# %%
def separable(alpha, delta, features, data_sets, seed):
    """Fraction of data sets that a hyperplane through the origin separates."""
    rng = np.random.default_rng([seed, round(1000 * alpha), round(1000 * delta)])
    samples = round(alpha * features)
    found = []
    for _ in range(data_sets):
        x = 1 / np.sqrt(features) + np.sqrt(delta) * rng.standard_normal(
            (samples, features)
        )
        answer = linprog(
            np.zeros(features), A_ub=-x, b_ub=-np.ones(samples), bounds=(None, None)
        )
        found.append(answer.status == 0)
    return xr.Dataset({"separable": ("data_set", np.array(found, dtype=float))})


deltas = [0.5, 1.0, 2.0, 4.0]
ratios = [0.7, 0.85, 1.0, 1.15, 1.3]
grid = [
    {"alpha": ratio * sn.critical_alpha(delta), "delta": delta}
    for delta in deltas
    for ratio in ratios
]
measured = sn.sweep(separable, grid, seeds=[seed], fixed=size).isel(seed=0)

# %% tags=["hide-input"]
# Draw the figure.
fraction = measured.separable.mean("data_set").values.reshape(len(deltas), len(ratios))
# The fraction falls from one to zero; its crossing of one half, by a straight line through the points nearest to it.
border, border_error = [], []
for delta, row in zip(deltas, fraction, strict=True):
    alphas = np.array(ratios) * sn.critical_alpha(delta)
    near = slice(max(0, int(np.sum(row > 0.5)) - 1), int(np.sum(row > 0.5)) + 1)
    (left, right), (high, low) = alphas[near], row[near]
    border.append(left + (high - 0.5) / (high - low) * (right - left))
    slope = (high - low) / (right - left)
    border_error.append(np.sqrt(0.25 / size["data_sets"]) / slope)
border, border_error = np.array(border), np.array(border_error)
theory = np.array([sn.critical_alpha(delta) for delta in deltas])

choices = {  # alpha, Delta, where in the paper, phase that the paper says
    "Fig. 1, 5, 8": (6.0, 1.0, "UNSAT"),
    "Fig. 2, 5, 6, 9": (8.0, 1.0, "UNSAT"),
    "Fig. 1, inset": (2.0, 0.5, "SAT"),
    "Fig. 3, 4, 7": (0.5, 0.5, "SAT"),
}
figure, axes = plt.subplots(figsize=(6.4, 3.2))
line = np.geomspace(0.2, 8, 80)
exact = [sn.critical_alpha(delta) for delta in line]
plotting.curve(axes, line, exact, fmt="k-", name=r"$\alpha_c$")
look = {"color": plotting.COLORS["blue"], "label": "linear programs"}
plotting.curve(axes, deltas, border, border_error, fmt="o", **look)
for (name, (alpha, delta, phase)), marker in zip(choices.items(), "sD^v", strict=True):
    color = plotting.COLORS["red" if phase == "UNSAT" else "green"]
    look = {"color": color, "markersize": 6, "label": f"{name} ({phase})"}
    plotting.curve(axes, delta, alpha, fmt=marker, **look)
axes.set(
    xscale="log",
    yscale="log",
    xlabel=r"data noise $\Delta$",
    ylabel=r"samples per feature $\alpha$",
    ylim=(0.3, 40),
)
axes.set_xticks([0.2, 0.5, 1, 2, 4, 8], labels=["0.2", "0.5", "1", "2", "4", "8"])
axes.set_xticks([], minor=True)
axes.text(2.0, 0.7, "SAT: separable")
axes.text(3.0, 18, "UNSAT")
axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=7)
publish("phases", figure)
glue("features", size["features"])
glue("data_sets", size["data_sets"])
glue("at_one", f"{sn.critical_alpha(1.0):.3f}")
glue("at_half", f"{sn.critical_alpha(0.5):.3f}")
excess = border / theory - 1
glue(
    "excess",
    f"{100 * excess.mean():+.0f} ± {100 * np.sqrt(np.sum((border_error / theory) ** 2)) / 4:.0f}",
)

# The border is known to ten digits, so that a choice is in its phase or not.
inside = {
    name: Estimate(
        (1 if phase == "UNSAT" else -1) * np.log(a / sn.critical_alpha(d)), 0.0
    )
    for name, (a, d, phase) in choices.items()
}
nearest = np.exp(min(e.value for e in inside.values()))
claim(
    "phases",
    f"all {len(choices)} choices, the nearest by a factor {nearest:.2f}",
    inside,
)

# %% [markdown]
# ```{glue:figure} phases
# ---
# name: fig-phases
# alt: >-
#   Samples per feature against data noise, both logarithmic: a falling line for the critical number of samples,
#   points with error bars measured by linear programs, and the four parameter choices of the paper, two above the
#   line and two below.
# ---
# The border between separable and inseparable data, {eq}`eq-critical` (line), and the place where half of
# {glue:}`data_sets` sampled data sets with {glue:}`features` features are separable (points, with two standard errors).
# Symbols: every choice of parameters in the paper, with the phase that the paper gives it.
# ```
#
# With so few features, the measured border deviates from the limit by {glue:text}`excess` per cent.
#
# :::{admonition} What was found
# :class: found
# - The threshold is $\alpha_c =$ {glue:text}`at_one` at $\Delta=1$ and {glue:text}`at_half` at $\Delta=1/2$.
# - No choice of the paper is near the border.
# :::
