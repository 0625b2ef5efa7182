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
#   try_your_own: deltas 0.3,0.7,1.5
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
deltas = [0.5, 1.0, 2.0, 4.0]  # noise of the data, where linear programs are asked

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


ratios = [0.85, 1.0, 1.15]  # samples, over the critical number
ratios += [1.3] if profile == "smoke" else []  # for the small networks of that profile
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
    after = min(max(int(np.sum(row > 0.5)), 1), len(ratios) - 1)
    near = slice(after - 1, after + 1)
    (left, right), (high, low) = alphas[near], row[near]
    border.append(left + (high - 0.5) / (high - low) * (right - left))
    slope = (high - low) / (right - left)
    border_error.append(np.sqrt(0.25 / size["data_sets"]) / slope)
border, border_error = np.array(border), np.array(border_error)
theory = np.array([sn.critical_alpha(delta) for delta in deltas])

choices = {  # alpha, Delta and phase, by where they are in the paper
    "Figs. 1, 5, 8": (6.0, 1.0, "UNSAT"),
    "Figs. 2, 5, 6, 9": (8.0, 1.0, "UNSAT"),
    "Fig. 1, inset": (2.0, 0.5, "SAT"),
    "Figs. 3, 4, 7": (0.5, 0.5, "SAT"),
}
colors = {"SAT": plotting.COLORS["green"], "UNSAT": plotting.COLORS["red"]}
figure, axes = plt.subplots(figsize=(6.2, 4.0))
many = np.geomspace(min(0.2, *deltas), max(8.0, *deltas), 80)
exact = np.array([sn.critical_alpha(delta) for delta in many])
axes.fill_between(many, 0.3, exact, color=colors["SAT"], alpha=0.12, linewidth=0)
axes.fill_between(many, exact, 40, color=colors["UNSAT"], alpha=0.12, linewidth=0)
drawn = plotting.curve(axes, many, exact, fmt="k-", name=r"$\alpha_c$")
look = {"color": "k", "fillstyle": "none", "markersize": 7, "name": "linear programs"}
asked = plotting.curve(axes, deltas, border, border_error, fmt="o", **look)
plotting.label(drawn, r"$\alpha_c(\Delta)$", at=10, offset=(6, 4))
plotting.label(asked, "linear programs", at=1, offset=(8, 6))
for name, (alpha, delta, phase) in choices.items():
    look = {"color": colors[phase], "markersize": 9, "name": f"{name} ({phase})"}
    point = plotting.curve(axes, [delta], [alpha], fmt="*", **look)
    plotting.label(point, name, offset=(8, 0))
axes.set(
    xscale="log",
    yscale="log",
    xlabel=r"data noise $\Delta$",
    ylabel=r"samples per feature $\alpha$",
    xlim=(many[0], many[-1]),
    ylim=(0.3, 40),
)
plotting.plain_ticks(axes.xaxis, [0.2, 0.5, 1, 2, 4, 8])
plotting.plain_ticks(axes.yaxis, [0.5, 1, 2, 5, 10, 20])
look = {"ha": "right", "fontsize": 11, "transform": axes.transAxes}
for phase, words, height in (
    ("SAT", "SAT: separable", 0.06),
    ("UNSAT", "UNSAT: not separable", 0.92),
):
    axes.text(0.97, height, words, color=plotting.darker(colors[phase]), **look)
publish("phases", figure)

# %% tags=["hide-input", "claims"]
# Test the claim.
glue("features", size["features"])
glue("data_sets", size["data_sets"])
glue("at_one", f"{sn.critical_alpha(1.0):.3f}")
glue("at_half", f"{sn.critical_alpha(0.5):.3f}")
excess = border / theory - 1
glue(
    "excess",
    f"{100 * excess.mean():+.0f} ± {100 * np.sqrt(np.sum((border_error / theory) ** 2)) / len(deltas):.0f}",
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
#   Samples per feature against data noise, both logarithmic: a falling line for the critical number of samples
#   between two shaded phases, points with error bars measured by linear programs, and the four parameter choices of
#   the paper, two above the line and two below.
# ---
# The border between separable and inseparable data, {eq}`eq-critical` (line), and the number of samples at which half
# of {glue:}`data_sets` data sets with {glue:}`features` features are separable (circles, with two standard errors).
# Stars: every choice of parameters in the paper, in the colour of the phase that the paper gives it.
# ```
#
# Measured with so few features, the border differs from the limit of many by {glue:text}`excess` per cent.
#
# ## How to read the threshold
#
# The quotient in Eq. {eq}`eq-critical` compares a supply with a demand. Weights of overlap $m$ that ignore the single
# samples give each of them the pre-activation $m+\sqrt\Delta\,z$. A sample for which it is negative is on the wrong
# side, and its pre-activation has to be raised to zero. The denominator is the mean square of what is missing, per
# sample. The numerator is what the rest of the weights can supply, per feature: the square of their norm, $1-m^2$,
# times the variance of the data. A larger overlap lowers the demand and leaves less of the norm for the supply, so the
# best overlap is a compromise. Less noise lowers both, the demand by more, and the border rises.
#
# The margin does not appear. Without a ridge, weights that separate the data can be multiplied until every sample
# clears any margin. With a ridge that is no longer free: the loss at its minimum is positive in both phases, and
# training stays noisy. The SAT phase in the sense of this book therefore needs both, separable data and no ridge. The
# paper's choices with a ridge lie above the border.
#
# The border is sharp only for infinitely many features. With a finite number, some data sets close to it can be
# separated and others with the same $\alpha$ and $\Delta$ cannot.
#
# ## What depends on the phase
#
# Below the border the stochastic gradient vanishes in the end. Training stops, there is no stationary state, and the
# noise of SGD is measured by the distance between two solutions ({doc}`/notebooks/fig03_sat_distance`). Above the
# border some samples are always within the margin. Their forces depend on the batch, the weights of SGD never come to
# rest, and the noise has a temperature ({doc}`/notebooks/fig01_vanilla`). Before you apply either measure to your own
# data, find out on which side you are: a linear program answers for the data and features at hand.
#
# :::{admonition} What was found
# :class: found
# - The threshold is $\alpha_c =$ {glue:text}`at_one` at $\Delta=1$ and {glue:text}`at_half` at $\Delta=1/2$.
# - No choice of the paper is near the border.
# :::
