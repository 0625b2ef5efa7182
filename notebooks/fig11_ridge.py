# ---
# jupyter:
#   expected_seconds:
#     paper: 914
#     smoke: 11
#     standard: 46
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A batch size is also a ridge
#
# :::{admonition} What you will learn
# :class: learn
# Why a batch size acts like a ridge, for every batch size and every observable, and how to compare batch sizes such
# that only the noise changes.
# :::
#
# *Not in the paper.* {doc}`/notebooks/fig08_vanishing_step` finds that SGD with a vanishing learning rate converges to
# the minimum of gradient descent with ridge $\lambda/b$. If that is the full explanation, it must hold for every batch
# size and every observable, with no free parameter. Here we compare SGD$(b,\lambda)$ at a small learning rate,
# GD$(\lambda/b)$ on the same data sets, and the static theory of the minimum.

# %% tags=["parameters"]
profile = "standard"
seed = 0

# %% tags=["hide-input"]
# Set up.
import matplotlib.pyplot as plt
import numpy as np

import sgdnoise as sn
from sgdnoise import plotting
from sgdnoise.report import glue, publish

plotting.use_style()
size = {
    "smoke": {"features": 100, "realisations": 8, "learning_rate": 0.05},
    "standard": {"features": 500, "realisations": 24, "learning_rate": 0.02},
    "paper": {"features": 1000, "realisations": 50, "learning_rate": 0.01},
}[profile]

# %%
batches = [0.1, 0.2, 0.4, 0.7]
problem = sn.Problem(alpha=6, delta=1.0, ridge=1.0)
observables = {
    "magnetization": "magnetisation $m$",
    "norm": "squared norm $q$",
    "error": "generalisation error",
    "unsatisfied": "unsatisfied fraction $c$",
}


def end(ridge, algorithm, seed, **size):
    """Observables of each data set, averaged over the last fifth of training."""
    run = sn.simulate(
        sn.Problem(alpha=6, delta=1.0, ridge=ridge),
        algorithm,
        duration=15.0,
        seed=seed,
        **size,
    )
    return run.sel(time=slice(12.0, None)).mean("time")


points = [{"ridge": 1.0, "algorithm": sn.SGD(batch=b)} for b in batches]
points += [{"ridge": 1.0 / b, "algorithm": sn.GD()} for b in batches]
runs = sn.sweep(end, points, [seed], fixed=size).squeeze("seed")
sgd = {b: runs.isel(point=i) for i, b in enumerate(batches)}
gd = {b: runs.isel(point=i + len(batches)) for i, b in enumerate(batches)}

# %% tags=["hide-input"]
# Draw the figure.
figure, panels = plt.subplots(1, 4, figsize=(9.0, 2.8))
line = np.geomspace(0.08, 1.0, 40)
for axes, (name, label) in zip(panels, observables.items(), strict=True):
    exact = [getattr(sn.solve_statics(problem, sn.SGD(batch=b)), name) for b in line]
    plotting.curve(axes, line, exact, fmt="k-", label=r"static theory at $\lambda/b$")
    level = getattr(sn.solve_statics(problem, sn.GD()), name)
    plotting.curve(
        axes, None, level, color="0.6", linestyle=":", label=r"GD at $\lambda$"
    )
    for runs, marker, color, title, shift in (
        (sgd, "o", "red", r"SGD$(b,\lambda)$", 1.0),
        (gd, "s", "blue", r"GD$(\lambda/b)$", 1.06),
    ):
        values = [plotting.mean_and_error(run[name]) for run in runs.values()]
        plotting.curve(
            axes,
            shift * np.array(batches),
            [float(mean) for mean, _ in values],
            [float(error) for _, error in values],
            fmt=marker,
            color=plotting.COLORS[color],
            label=title,
        )
    axes.set(xscale="log", xlabel="batch fraction $b$", ylabel=label)
    plotting.plain_ticks(axes.xaxis, [0.1, 0.2, 0.4, 1])
figure.legend(
    *panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4
)
publish("ridge", figure)
glue("features", size["features"])
glue("data_sets", size["realisations"])
glue("rate", size["learning_rate"])
gaps = {
    b: plotting.mean_and_error(sgd[b]["magnetization"] - gd[b]["magnetization"])
    for b in batches
}
worst = max(batches, key=lambda b: abs(float(gaps[b][0])))
glue(
    "gap",
    f"{float(gaps[worst][0]):+.4f} ± {float(gaps[worst][1]):.4f} (at b = {worst:g})",
)
spread = sn.solve_statics(problem, sn.SGD(batch=0.1)).magnetization
glue("spread", f"{spread - sn.solve_statics(problem, sn.GD()).magnetization:+.3f}")

# %% [markdown]
# ```{glue:figure} ridge
# ---
# name: fig-ridge
# alt: >-
#   Four panels, magnetisation, squared norm, generalisation error and unsatisfied fraction against the batch
#   fraction: circles for SGD, squares for GD with the ridge divided by the batch fraction, a line for the static
#   theory and a dotted level for GD with the given ridge.
# ---
# The end of training against the batch fraction, $\alpha=6$, $\Delta=\lambda=\kappa=1$: SGD at ridge $\lambda$ with
# $dt=$ {glue:}`rate` (circles), GD on the same data at ridge $\lambda/b$ (squares, slightly shifted), and the exact
# minimum at $\lambda/b$ (line). Means over {glue:}`data_sets` data sets with $N=$ {glue:}`features`, with two standard
# errors. Dotted: GD at the ridge $\lambda$ itself.
# ```
#
# Paired data set by data set, the magnetisations of SGD and of GD at $\lambda/b$ differ by at most {glue:text}`gap`;
# those of SGD at $b=0.1$ and of GD at $\lambda$ differ by {glue:text}`spread`. The remaining difference, which is
# largest in the norm and the error, is due to the noise of a finite step.
#
# It follows that a comparison of batch sizes at a fixed ridge, as in Figs. 1, 2, 8 and 9 of the paper, changes two
# things at once: the noise, and the function that is minimised. To keep the function, divide the data term by $b$,
# which is what averaging the gradient over the batch does in practice, or multiply the ridge by $b$, which also makes
# training slower by that factor.
#
# :::{admonition} What was found
# :class: found
# - SGD at a small learning rate converges to the minimum of GD with ridge $\lambda/b$: paired by data set, their
#   magnetisations differ by at most {glue:text}`gap`, compared with {glue:text}`spread` between SGD at $b=0.1$ and GD
#   at $\lambda$.
# - A comparison of batch sizes at fixed ridge changes the noise and the minimised function. With a gradient that is
#   averaged over the batch, only the noise changes.
# :::
