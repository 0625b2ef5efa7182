# ---
# jupyter:
#   expected_seconds:
#     paper: 1303
#     smoke: 28
#     standard: 31
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Where training ends as the learning rate vanishes
#
# :::{admonition} What you will learn
# :class: learn
# What SGD becomes when its learning rate vanishes, and why that is not gradient descent on the same loss.
# :::
#
# *Figure 8 of the paper.* One expects SGD to become gradient descent as the learning rate vanishes, because the noise
# of a step is proportional to $dt$. The paper finds otherwise. Loss, generalisation error, magnetisation and norm at
# the end of training approach plateaus as $dt\to0$, but GD and SGD have different plateaus, and the difference does not
# shrink with the size of the network. Here we repeat the experiment and add the exact values of the plateaus.
#
# A batch of fraction $b$ makes the average force of the data $b$ times weaker and leaves the ridge alone. SGD at
# $(\lambda, b)$ with $dt\to0$ therefore follows the gradient of $b\,[\sum_\mu \ell(h_\mu) + \frac{\lambda}{2b}|w|^2]$
# and converges to the minimum with ridge $\lambda/b$, which the static theory gives exactly (`sn.solve_statics`).

# %% tags=["parameters"]
profile = "standard"
seed = 0

# %% tags=["hide-input"]
# Set up.
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import sgdnoise as sn
from sgdnoise import plotting
from sgdnoise.estimates import Estimate
from sgdnoise.report import claim, glue, publish

plotting.use_style()
sizes, portions, portion, rates = {
    "smoke": ([100, 200], 1, 8, [0.2, 0.1, 0.05]),
    "standard": ([325, 750], 3, 8, [0.4, 0.2, 0.1, 0.05, 0.02]),
    "paper": ([325, 750, 1500], 15, 10, [0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01]),
}[profile]
data_sets = portions * portion

# %%
problem = sn.Problem(alpha=6, delta=1.0, ridge=1.0)
algorithms = {"GD": sn.GD(), "SGD, $b=0.3$": sn.SGD(batch=0.3)}
pairs = [(algorithm, rate) for algorithm in algorithms.values() for rate in rates]


def end(features, realisations, seed):
    """Late observables of every algorithm and rate, on the same data sets."""
    options = {
        "features": features,
        "realisations": realisations,
        "seed": seed,
        "loss_every": 5,
    }
    trained = sn.simulate_paired(problem, pairs, 12.0, on_divergence="mark", **options)
    return xr.concat(
        [run.sel(time=slice(9.0, None)).mean("time") for run in trained], dim="run"
    )


# In portions, each kept when it is done.
seeds = [portions * seed + i for i in range(portions)]
ends = sn.sweep(end, {"features": sizes}, seeds, fixed={"realisations": portion})
ends = (
    ends.rename(realisation="part")
    .stack(realisation=("seed", "part"))
    .reset_index("realisation", drop=True)
)
runs = {
    (features, *pair): ends.sel(features=features).isel(run=i)
    for features in sizes
    for i, pair in enumerate(pairs)
}

# %% tags=["hide-input"]
# Draw the figure.
observables = {
    "loss": "loss per feature $L/N$",
    "error": "generalisation error",
    "magnetization": "magnetisation $m$",
    "norm": "squared norm $q$",
}
markers = dict(zip(sizes, "os^", strict=False))
figure, panels = plt.subplots(2, 2, figsize=(7.0, 4.6), sharex=True)
for axes, (name, label) in zip(panels.flat, observables.items(), strict=True):
    for (title, algorithm), color in zip(
        algorithms.items(), ("blue", "red"), strict=True
    ):
        exact = getattr(sn.solve_statics(problem, algorithm), name)
        level = {"color": plotting.COLORS[color], "linewidth": 1}
        plotting.curve(axes, None, exact, fmt="--", name=f"{title}, exact", **level)
        for i, features in enumerate(sizes):
            settled = [
                rate
                for rate in rates
                if np.isfinite(runs[features, algorithm, rate][name]).all()
            ]
            values = [
                plotting.mean_and_error(runs[features, algorithm, rate][name])
                for rate in settled
            ]
            plotting.curve(
                axes,
                settled,
                [float(mean) for mean, _ in values],
                [float(error) for _, error in values],
                fmt=markers[features],
                fillstyle="none",
                markersize=3 + 2 * i,
                color=plotting.COLORS[color],
                label=f"{title}, $N={features}$",
            )
    axes.set(ylabel=label, xscale="log")
for axes in panels[1]:
    axes.set_xlabel("learning rate $dt$")
    plotting.plain_ticks(axes.xaxis, [0.01, 0.02, 0.05, 0.1, 0.2, 0.4])
    axes.set_xlim(0.9 * min(rates), 1.3 * max(rates))
panels[0, 0].legend(fontsize=7)
publish("plateaus", figure)

smallest = min(rates)
missing = sorted(
    {
        rate
        for (_, a, rate), run in runs.items()
        if isinstance(a, sn.GD) and bool(np.isnan(run.norm).any())
    }
)
glue("missing", ", ".join(f"{rate:g}" for rate in missing) or "none")
glue("data_sets", data_sets)


gd, sgd = algorithms.values()
second, first = sorted(rates)[1], smallest


def at(features, algorithm, name):
    """An observable at zero learning rate, on the line through the two smallest rates; one value a data set."""
    one, two = (runs[features, algorithm, rate][name] for rate in (first, second))
    return (second * one - first * two) / (second - first)


gaps, explained = {}, {}
for name in observables:
    gap = at(sizes[-1], sgd, name) - at(sizes[-1], gd, name)
    minima = (getattr(sn.solve_statics(problem, a), name) for a in (sgd, gd))
    gaps[name], explained[name] = Estimate.mean(gap), next(minima) - next(minima)
for name, word in (("loss", "loss"), ("magnetization", "m")):
    glue(f"gap_{word}", gaps[name])
    glue(f"explained_{word}", f"{explained[name]:.4f}")
words = ", ".join(
    f"{gaps[n]} in the {n.replace('z', 's')}, predicted {explained[n]:.4f}"
    for n in ("loss", "magnetization")
)
claim(
    "plateaus-differ",
    f"SGD less GD at $dt\\to0$: {words}",
    {name.replace("z", "s"): gaps[name] / explained[name] for name in observables},
)
drifts = {}
for title, algorithm in (("GD", gd), ("SGD", sgd)):
    ends_of_size = (
        Estimate.mean(runs[features, algorithm, smallest]["magnetization"])
        for features in (sizes[-1], sizes[0])
    )
    drifts[title] = next(ends_of_size) - next(ends_of_size)
words = " and ".join(f"that of {title} by {e:+.4f}" for title, e in drifts.items())
claim(
    "plateaus-independent-of-size",
    f"from $N={sizes[0]}$ to $N={sizes[-1]}$ the magnetisation changes, {words}",
    {title: drift / explained["magnetization"] for title, drift in drifts.items()},
)

# %% [markdown]
# ```{glue:figure} plateaus
# ---
# name: fig-plateaus
# alt: >-
#   Four panels, loss, generalisation error, magnetisation and squared norm at the end of training against the
#   learning rate, for GD and SGD and several network sizes, with a dashed line for the exact limit of each algorithm.
# ---
# The end of training (average over $9\le t\le12$) against the learning rate, $\alpha=6$, $\Delta=\lambda=\kappa=1$,
# for GD (blue) and SGD with $b=0.3$ (orange) and several numbers of features (symbols, one around the other); means
# over {glue:}`data_sets` data sets with two standard errors. Dashed: exact limits of $dt\to0$ and $N\to\infty$, GD
# at ridge $\lambda$ and SGD at $\lambda/b$. Learning rates at which GD does not settle ({glue:text}`missing`)
# are left out.
# ```
#
# So the limit is gradient descent, but with ridge $\lambda/b$. The paper's figure shows two algorithms that minimise
# different functions.
#
# :::{admonition} What was found
# :class: found
# - The plateaus differ, because SGD at ridge $\lambda$ converges to the minimum with ridge $\lambda/b$; the paper gives
#   no reason. The losses of SGD and GD should then differ by {glue:text}`explained_loss` as the learning rate vanishes,
#   the magnetisations by {glue:text}`explained_m`. Extrapolated from the two smallest rates on the same data they
#   differ by {glue:text}`gap_loss` and {glue:text}`gap_m`.
# :::
