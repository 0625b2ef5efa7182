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
#   try_your_own: batch 0.5
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
# the end of training approach plateaus as $dt\to0$, but GD and SGD have different plateaus, and it finds the difference
# for each of three sizes of the network. Here we repeat the experiment and add the exact values of the plateaus.
#
# A batch of fraction $b$ makes the average force of the data $b$ times weaker and leaves the ridge alone. SGD at
# $(\lambda, b)$ with $dt\to0$ therefore follows the gradient of $b\,[\sum_\mu \ell(h_\mu) + \frac{\lambda}{2b}|w|^2]$
# and converges to the minimum with ridge $\lambda/b$, which the static theory gives exactly (`sn.solve_statics`).

# %% tags=["parameters"]
profile = "standard"
seed = 0
alpha = 6.0  # samples per feature
delta = 1.0  # noise of the data
ridge = 1.0
batch = 0.3  # batch fraction of SGD
rates = [0.02, 0.05, 0.1, 0.2, 0.4]  # learning rates, of which 12 is a multiple

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
sizes, portions, portion = {
    "smoke": ([100, 200], 1, 8),
    "standard": ([325, 750, 1500], 6, 8),
    "paper": ([325, 750, 1500], 15, 10),
}[profile]
# Small steps are many steps; the largest network has few of them but in the paper profile.
enough = {"smoke": 0.05, "standard": 0.0, "paper": 0.0}[profile]
rates = [rate for rate in rates if rate >= enough] or rates
large = {"smoke": rates, "standard": [r for r in rates if r >= 0.1] or rates[-1:]}
data_sets = portions * portion

# %%
problem = sn.Problem(alpha=alpha, delta=delta, ridge=ridge)
algorithms = {"GD": sn.GD(), "SGD": sn.SGD(batch=batch)}


def end(pairs, features, realisations, seed):
    """Late observables of every algorithm and rate, on the same data sets."""
    options = {"realisations": realisations, "seed": seed, "loss_every": 5}
    trained = sn.simulate_paired(
        problem, pairs, 12.0, features=features, on_divergence="mark", **options
    )
    return xr.concat(
        [run.sel(time=slice(9.0, None)).mean("time") for run in trained], dim="run"
    )


runs = {}
for features in sizes:
    few = profile != "paper" and features == sizes[-1] and len(sizes) > 2
    used = large[profile] if few else rates
    pairs = [(algorithm, rate) for algorithm in algorithms.values() for rate in used]
    # In portions, each kept when it is done.
    seeds = [portions * seed + i for i in range(1 if few else portions)]
    points = [{"features": features}]
    options = {"pairs": pairs, "realisations": portion}
    ends = sn.sweep(end, points, seeds, fixed=options).squeeze("point")
    ends = ends.rename(realisation="part").stack(realisation=("seed", "part"))
    ends = ends.reset_index("realisation", drop=True)
    runs |= {(features, *pair): ends.isel(run=i) for i, pair in enumerate(pairs)}

# %% tags=["hide-input"]
# Draw the figure.
observables = {
    "loss": "loss per feature $L/N$",
    "error": "generalisation error",
    "magnetization": "magnetisation $m$",
    "norm": "squared norm $q$",
}
markers = {"GD": "s", "SGD": "x"}
levels = {"GD": r"GD: minimum at $\lambda$", "SGD": r"SGD: minimum at $\lambda/b$"}
colors = plotting.ordered(sizes)
figure, panels = plt.subplots(2, 2, figsize=(plotting.WIDTH, 4.8), sharex=True)
for axes, (name, label) in zip(panels.flat, observables.items(), strict=True):
    for title, algorithm in algorithms.items():
        exact = getattr(sn.solve_statics(problem, algorithm), name)
        look = {"color": "0.45", "linewidth": 1, "name": f"{title}, exact"}
        level = plotting.curve(axes, None, exact, fmt="--", **look)
        if name == "magnetization":
            plotting.label(level, levels[title], offset=(-2, -7))
        for place, features in enumerate(sizes):
            known = {
                rate: run[name]
                for (n, a, rate), run in runs.items()
                if (n, a) == (features, algorithm) and np.isfinite(run[name]).all()
            }
            values = [Estimate.mean(run) for run in known.values()]
            plotting.curve(
                axes,
                [1.07 ** (place - 1) * rate for rate in known],
                [value.value for value in values],
                [value.error for value in values],
                fmt=markers[title],
                fillstyle="none",
                markersize=6,
                color=colors[features],
                name=f"{title}, $N={features}$",
            )
    axes.set(ylabel=label, xscale="log")
    axes.margins(y=0.12)
for axes in panels[1]:
    axes.set_xlabel("learning rate $dt$")
    plotting.plain_ticks(axes.xaxis, rates)
    axes.set_xlim(0.8 * min(rates), 1.25 * max(rates))
named = [
    plt.Line2D([], [], color=colors[n], marker="o", linestyle="", label=f"$N={n}$")
    for n in sizes
]
kinds = {"GD": "GD", "SGD": f"SGD, $b={batch:g}$"}
named += [
    plt.Line2D(
        [],
        [],
        color="k",
        marker=markers[t],
        fillstyle="none",
        linestyle="",
        label=kinds[t],
    )
    for t in algorithms
]
figure.legend(handles=named, loc="outside upper center", ncols=3)
publish("plateaus", figure)

# %% tags=["hide-input", "claims"]
# Test the claims.
gd, sgd = algorithms.values()
first, second = rates[:2]
missing = sorted(
    {
        rate
        for (_, a, rate), run in runs.items()
        if a == gd and bool(np.isnan(run.norm).any())
    }
)
glue("missing", ", ".join(f"{rate:g}" for rate in missing) or "none")
glue("data_sets", data_sets)
glue("few", portion if large.get(profile, rates) != rates else data_sets)
complete = [n for n in sizes if (n, sgd, first) in runs]  # with the smallest rates


def at(features, algorithm, name):
    """An observable at zero learning rate, on the line through the two smallest rates; one value a data set."""
    one, two = (runs[features, algorithm, rate][name] for rate in (first, second))
    return (second * one - first * two) / (second - first)


gaps, explained = {}, {}
for name in observables:
    gap = at(complete[-1], sgd, name) - at(complete[-1], gd, name)
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
        Estimate.mean(runs[features, algorithm, first]["magnetization"])
        for features in (complete[-1], complete[0])
    )
    drifts[title] = next(ends_of_size) - next(ends_of_size)
words = " and ".join(f"that of {title} by {e:+.4f}" for title, e in drifts.items())
claim(
    "plateaus-independent-of-size",
    f"from $N={complete[0]}$ to $N={complete[-1]}$ the magnetisation changes, {words}",
    {title: drift / explained["magnetization"] for title, drift in drifts.items()},
)

# %% [markdown]
# ```{glue:figure} plateaus
# ---
# name: fig-plateaus
# alt: >-
#   Four panels, loss, generalisation error, magnetisation and squared norm at the end of training against the
#   learning rate: crosses for SGD, squares for GD, a colour for each of several network sizes, and a dashed line for
#   the exact limit of each algorithm.
# ---
# The end of training (average over $9\le t\le12$) against the learning rate, $\alpha=6$, $\Delta=\lambda=\kappa=1$,
# for GD (squares) and SGD with $b=0.3$ (crosses); sizes side by side, means over {glue:}`data_sets` data
# sets ({glue:}`few` for the largest size, whose smallest rates are left out). Dashed: exact limits of $dt\to0$ and
# $N\to\infty$, GD at ridge $\lambda$ and SGD at $\lambda/b$. Learning rates at which GD does not settle
# ({glue:text}`missing`) are left out.
# ```
#
# The plateau of SGD is that of gradient descent with the ridge $\lambda/b$. The two algorithms of the paper's figure
# minimise different functions, and so they end at different points. {doc}`/notebooks/fig11_ridge` shows the same for
# every batch size. The larger ridge generalises better here: in the limit the generalisation error of SGD is below that
# of GD. At $dt=0.1$ the noise of the finite step has nearly used up this gain.
#
# The extrapolation is a line through two rates, and the networks are finite; within the errors this leaves small
# differences from the exact limits, a few per cent of the gap. In the standard profile the largest networks have no
# small rates, so that the plateaus themselves are seen for the two smaller sizes.
#
# ## What to take from it
#
# A step of SGD adds a noise of order $dt$ to the weights. In a unit of time there are $1/dt$ such steps with
# independent batches, so the variance that they add is of order $dt$ and vanishes with it. The mean of the force does
# not: a sample pulls during a fraction $b$ of the steps, whatever their length. Only the second effect is left on the
# plateau.
#
# An experiment that compares SGD and GD at the same ridge therefore compares two loss functions. The difference of
# their test errors at a small learning rate is no sign of a benefit of noise: gradient descent with ridge $\lambda/b$
# has the same error in that limit. To see the effect of the noise alone, compare SGD with that.
#
# :::{admonition} What was found
# :class: found
# - The plateaus differ, and we can say why: SGD at ridge $\lambda$ ends in the minimum for the ridge $\lambda/b$. The
#   losses of SGD and GD should then differ by {glue:text}`explained_loss` as the learning rate vanishes, the
#   magnetisations by {glue:text}`explained_m`. Extrapolated from the two smallest rates on the same data they differ
#   by {glue:text}`gap_loss` and {glue:text}`gap_m`.
# :::
