# ---
# jupyter:
#   expected_seconds:
#     paper: 914
#     smoke: 11
#     standard: 22
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   try_your_own: ridge 0.5
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
alpha = 6.0  # samples per feature
delta = 1.0  # noise of the data
ridge = 1.0
batches = [0.1, 0.2, 0.4, 0.7]  # batch fractions

# %% tags=["hide-input"]
# Set up.
import matplotlib.pyplot as plt
import numpy as np

import sgdnoise as sn
from sgdnoise import plotting
from sgdnoise.estimates import Estimate
from sgdnoise.report import glue, publish

plotting.use_style()
size, rate = {
    "smoke": ({"features": 100, "realisations": 8}, 0.05),
    "standard": ({"features": 500, "realisations": 12}, 0.02),
    "paper": ({"features": 1000, "realisations": 50}, 0.01),
}[profile]

# %%
problem = sn.Problem(alpha=alpha, delta=delta, ridge=ridge)


def end(ridge, algorithm, learning_rate, seed, **size):
    """Observables of each data set, averaged over the last fifth of training."""
    trained = sn.simulate(
        sn.Problem(alpha=alpha, delta=delta, ridge=ridge),
        algorithm,
        learning_rate,
        duration=15.0,
        seed=seed,
        record_every=5,
        **size,
    )
    return trained.sel(time=slice(12.0, None)).mean("time")


# The minimum that GD finds does not depend on its learning rate.
quick = 0.05 if max(ridge / b for b in batches) < 20 else rate
points = [
    {"ridge": ridge, "algorithm": sn.SGD(batch=b), "learning_rate": rate}
    for b in batches
]
points += [
    {"ridge": ridge / b, "algorithm": sn.GD(), "learning_rate": quick}
    for b in (*batches, 1.0)
]
runs = sn.sweep(end, points, [seed], fixed=size).squeeze("seed")
sgd = {b: runs.isel(point=i) for i, b in enumerate(batches)}
gd = {b: runs.isel(point=len(batches) + i) for i, b in enumerate(batches)}
full = runs.isel(point=-1)  # GD at the ridge itself

# %% tags=["hide-input"]
# Draw the figure.
observables = {
    "magnetization": "magnetisation",
    "norm": "squared norm",
    "error": "generalisation error",
    "unsatisfied": "unsatisfied fraction",
}
figure, (large, below) = plt.subplots(
    2, 1, figsize=(6.4, 4.6), height_ratios=(1.7, 1), sharex=True
)
many = np.geomspace(0.8 * batches[0], 1.0, 40)
exact = [sn.solve_statics(problem, sn.SGD(batch=b)).magnetization for b in many]
drawn = plotting.curve(
    large, many, exact, fmt="k-", name=r"static theory at $\lambda/b$"
)
plotting.label(drawn, r"static theory at $\lambda/b$", at=22, offset=(8, -6))
level = sn.solve_statics(problem, sn.GD()).magnetization
look = {"color": "0.5", "linestyle": ":", "name": r"static theory at $\lambda$"}
drawn = plotting.curve(large, None, level, **look)
plotting.label(drawn, r"GD at the ridge $\lambda$ itself", at=0, offset=(6, 7))
for runs, name, look in (
    (
        gd,
        r"GD$(\lambda/b)$",
        {"fmt": "s", "color": plotting.COLORS["blue"], "markersize": 10},
    ),
    (
        sgd,
        r"SGD$(b,\lambda)$",
        {"fmt": "o", "color": plotting.COLORS["red"], "markersize": 5},
    ),
):
    values = [Estimate.mean(run["magnetization"]) for run in runs.values()]
    plotting.curve(
        large,
        batches,
        [value.value for value in values],
        [value.error for value in values],
        fillstyle="none" if runs is gd else "full",
        label=name,
        **look,
    )
large.set(xscale="log", ylabel="magnetisation $m$")
large.legend(loc="lower right")


def left_over(name, b):
    """How far SGD ends from GD at the ridge over b, in per cent of the way from GD at the ridge itself."""
    gap = Estimate.mean(sgd[b][name] - gd[b][name])
    way = float((gd[b][name] - full[name]).mean())
    return 100 / way * gap


colors = [plotting.COLORS[name] for name in ("black", "pink", "green", "sky")]
for (name, words), color, marker in zip(
    observables.items(), colors, "D^vP", strict=True
):
    rests = [left_over(name, b) for b in batches]
    plotting.curve(
        below,
        batches,
        [rest.value for rest in rests],
        [rest.error for rest in rests],
        fmt=f"{marker}-",
        color=color,
        linewidth=0.8,
        label=words,
    )
plotting.curve(below, None, 0.0, fmt="-", color="0.5", linewidth=0.8, name="none")
below.set(
    xlabel="batch fraction $b$",
    ylabel="SGD minus GD$(\\lambda/b)$,\nper cent of the effect",
)
below.legend(
    ncols=2, loc=(0.02, 0.36), handlelength=1, handletextpad=0.4, columnspacing=1
)
plotting.plain_ticks(below.xaxis, [*batches, 1])
publish("ridge", figure)

# %% tags=["hide-input", "claims"]
# Give numbers to the text.
glue("features", size["features"])
glue("data_sets", size["realisations"])
glue("rate", rate)
gaps = {b: Estimate.mean(sgd[b].magnetization - gd[b].magnetization) for b in batches}
worst = max(batches, key=lambda b: abs(gaps[b].value))
glue("gap", f"{gaps[worst]:+.4f} (at $b={worst:g}$)")
lowest = sn.solve_statics(problem, sn.SGD(batch=batches[0])).magnetization
glue("spread", f"{lowest - level:+.3f}")
every = {(name, b): left_over(name, b) for name in observables for b in batches}
most = max(every, key=lambda place: abs(every[place].value))
glue("most", f"{abs(every[most].value):.0f}")
glue("most_of", observables[most[0]])

# %% [markdown]
# ```{glue:figure} ridge
# ---
# name: fig-ridge
# alt: >-
#   Above, the magnetisation against the batch fraction: dots for SGD inside squares for GD with the ridge divided by
#   the batch fraction, on the line of the static theory, and a dotted level for GD with the given ridge. Below, the
#   difference of dots and squares for four observables, in per cent of the distance to GD with the given ridge.
# ---
# Above: magnetisation at the end of training against the batch fraction, $\alpha=6$, $\Delta=\lambda=\kappa=1$. SGD at
# ridge $\lambda$ with $dt=$ {glue:}`rate` (dots), GD on the same data at ridge $\lambda/b$ (squares), and the exact
# minimum at $\lambda/b$ (line). Below: what is left, for four observables: SGD minus GD at $\lambda/b$, paired by
# data set, in per cent of the effect, which is GD at $\lambda/b$ minus GD at $\lambda$. Means over {glue:}`data_sets`
# data sets with $N=$ {glue:}`features`, with two standard errors.
# ```
#
# Dots and squares nearly agree with each other and with the line, without any fit. The magnetisations of SGD and of GD
# at $\lambda/b$ differ at most by {glue:text}`gap`, while $b=0.1$ and GD at $\lambda$ are {glue:text}`spread` apart.
# What is left is the noise of a small but finite step. It is largest in the {glue:text}`most_of`, {glue:text}`most` per
# cent of the effect at this $dt$. In {doc}`/notebooks/fig08_vanishing_step`, where two rates are extrapolated to zero,
# the prediction is tested for all four observables.
#
# Comparing batch sizes at a fixed ridge, as in Figs. 1, 2, 8 and 9 of the paper, therefore changes two things at once:
# the noise, and the function that is minimised. To keep the function, divide the data term by $b$, as averaging the
# gradient over the batch does in practice. Multiplying the ridge by $b$ does the same, and slows training down by that
# factor.
#
# ## How far the argument goes
#
# The argument uses two facts about summed gradients: the mean weight of a sample in the gradient is $b$, and the noise
# of a step vanishes with $dt$. The first holds for every sampling. The second holds if batches are forgotten after a
# number of steps. At a fixed persistence $\tau$ the batch is remembered for a fixed time, however small the steps, and
# its noise stays: p-SGD with a vanishing learning rate does not become gradient descent at any ridge. Momentum changes
# the path to the minimum and not the minimum. Without a ridge there is nothing to shift, and a batch then only slows
# training down by the factor $b$ ({doc}`/notebooks/sum_or_mean` tests this).
#
# One observable or one batch size whose difference in the lower panel stayed finite as $dt$ vanished would contradict
# the argument. {doc}`/notebooks/fig08_vanishing_step` takes two rates to zero at one batch size, and what is left
# there is a few per cent of the gap.
#
# :::{admonition} What was found
# :class: found
# - SGD at a small learning rate converges to the minimum of GD with ridge $\lambda/b$: paired by data set, their
#   magnetisations differ by at most {glue:text}`gap`, compared with {glue:text}`spread` between SGD at $b=0.1$ and GD
#   at $\lambda$. The noise of the finite step is most visible in the {glue:text}`most_of`, where {glue:text}`most` per
#   cent of the effect is missing.
# - A comparison of batch sizes at fixed ridge changes the noise and the minimised function. With a gradient that is
#   averaged over the batch, only the noise changes.
# :::
