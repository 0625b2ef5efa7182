# ---
# jupyter:
#   expected_seconds:
#     paper: 150
#     smoke: 14
#     standard: 35
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Wider, and more robust?
#
# :::{admonition} What you will learn
# :class: learn
# Whether noisier training ends in wider parts of the space of solutions, and which kind of robustness it gains.
# :::
#
# The paper counts support vectors and infers a width: a solution that touches few constraints has "a wide lake of
# solutions just in front of it", and is therefore "more robust" {cite:p}`xu2009robustness`. The count is the
# only evidence it gives. Here we measure the width itself: how likely a small random change of the weights keeps every
# constraint. We do so when training stops, and again at equal loss and after equal time, because noisier algorithms
# also train longer.

# %% tags=["parameters"]
profile = "standard"
seed = 0
alpha = 0.5  # samples per feature
delta = 0.5  # variance of the data around their centres
batch = 0.3  # fraction of the samples in the batch
persistences = [
    0.5,
    1.0,
    2.0,
    4.0,
    8.0,
]  # mean times that a sample spends out of the batch
rate = 0.2  # learning rate
time = 200.0  # at which runs are compared that do not stop

# %% tags=["hide-input"]
# Set up.
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from scipy import special

import sgdnoise as sn
from sgdnoise import plotting
from sgdnoise.estimates import Estimate, jackknife
from sgdnoise.orthant import allowed_steps
from sgdnoise.report import claim, glue, publish

plotting.use_style()
features, sets, draws = {
    "smoke": (80, 4, 100),
    "standard": (400, 16, 300),
    "paper": (800, 40, 300),
}[profile]
samples = round(alpha * features)
margin = 1.0
target = 1e-8  # loss per feature at which runs are compared
rules = ("at the stop", "at equal loss", "at equal time")
sizes = (0.0003, 0.003, 0.03, 0.3)  # of a change, relative to the weights

# %% [markdown]
# Each data set is trained on by all algorithms, from the same start. What we keep are the final weights.


# %%
def train(rows, algorithms, seed):
    """Weights by rule and algorithm, distance of two replicas, and support vectors."""
    problem = sn.Problem.from_data(rows, np.ones(len(rows)), ridge=0, margin=margin)
    runs = [(algorithm, rate) for algorithm in algorithms]
    common = {"seed": seed, "realisations": 1, "precision": "double"}
    whole = common | {"directions": np.eye(features)}  # projections: all weights
    rule = {"stop_gradient": 1e-10, "record_every": 10**6}
    replicas = sn.simulate_paired(problem, runs, 1000.0, replicas=2, **rule, **common)
    stopped = sn.simulate_paired(problem, runs, 1000.0, **rule, **whole)
    free = sn.simulate_paired(problem, runs, 1.25 * time, record_every=10, **whole)
    late = [run.isel(time=int(np.argmax(run.loss[0].values <= target))) for run in free]
    same = [run.sel(time=time, method="nearest") for run in free]
    ends = [run.isel(time=-1) for run in stopped]
    weights = np.array(
        [[run.projection.values[0] for run in family] for family in (ends, late, same)]
    )
    reached = [float(run.loss[0]) <= target for run in late]
    distance = [float(run.distance[0, -1]) for run in replicas]
    return weights, np.array(distance), reached


def width(rows, weights, size, rng):
    """Log of the chance that all constraints survive; distance to the next one."""
    slack = np.maximum(
        rows @ weights - margin, 0.0
    )  # those within the margin are tight
    steps = allowed_steps(rows, slack, size or 1e-9, rng, draws=draws)
    away = np.where(steps.changes < 0, slack[:, None] / -steps.changes, np.inf).min(0)
    order = np.argsort(away)
    median = np.searchsorted(np.cumsum(steps.weights[order]), 0.5)
    return steps.log_probability / len(rows), away[order[median]]


# %% tags=["hide-input"]
# Measure all of it on one data set.
NAMES = ("chance", "room", "support", "error", "boundary", "flip")


def measure(number, seed, persistences, features):
    """Width, robustness and test error of every solution on one data set."""
    rng = np.random.default_rng((seed, number))
    centred = np.sqrt(delta) * rng.normal(size=(samples, features))
    rows = 1 / np.sqrt(features) + centred
    algorithms = [
        sn.PersistentSGD(batch=batch, persistence=tau) for tau in persistences
    ]
    weights, distance, reached = train(rows, algorithms, seed * 1000 + number)
    rows = rows / np.sqrt(features)
    pushes = rows @ rng.normal(size=(features, 200))  # the same for all solutions
    found = np.full((len(NAMES), len(rules), len(persistences)), np.nan)
    survival = np.full((len(sizes), len(persistences)), np.nan)
    for j in range(len(persistences)):
        for i in range(len(rules)):
            w = weights[i, j]
            fields, norm = rows @ w, np.sqrt(w @ w / features)
            chance, room = width(rows, w, 0.0, rng)
            towards = np.where(pushes < 0, fields[:, None] / -pushes, np.inf).min(0)
            found[:, i, j] = (
                chance,
                room / norm,
                np.mean(fields < margin),
                special.ndtr(-w.mean() / (np.sqrt(delta) * norm)),
                fields.min() / norm,
                np.median(towards) / norm,
            )
            if rules[i] == "at equal loss" and not reached[j]:
                found[:, i, j] = np.nan
        w = weights[0, j]
        norm = np.sqrt(w @ w / features)
        survival[:, j] = [width(rows, w, size * norm, rng)[0] for size in sizes]
    table = {name: (("rule", "tau"), found[k]) for k, name in enumerate(NAMES)}
    table |= {"distance": ("tau", distance), "survival": (("size", "tau"), survival)}
    return xr.Dataset(table)


points = [{"number": number} for number in range(sets)]
fixed = {"persistences": persistences, "features": features}
found = sn.sweep(measure, points, [seed], fixed=fixed).squeeze("seed")
found = found.rename(point="realisation").drop_vars("number", errors="ignore")

# %% tags=["hide-input"]
# Draw the figure.
shades = list(plotting.ordered(persistences).values())
markers = dict(zip(rules, "osD", strict=True))
figure, panels = plt.subplots(3, 2, figsize=(plotting.WIDTH, 8.0))
axes = panels[0, 0]
for j in sorted({0, len(persistences) // 2, len(persistences) - 1}):
    label = rf"$\tau={persistences[j]:g}$"
    value, error = plotting.mean_and_error(found.survival.isel(tau=j))
    look = {"color": shades[j], "fmt": "o-", "linewidth": 1, "label": label}
    line = plotting.curve(axes, sizes, value, error, **look)
    plotting.label(line, label)
    limit = float(found.chance.isel(rule=0, tau=j).mean())
    look = {"color": shades[j], "linewidth": 0.8, "name": f"{label}, limit"}
    plotting.curve(axes, None, limit, fmt="--", **look)
axes.set(xlabel=r"size of the change over $|w|$", xscale="log", xlim=(None, 1.2))
axes.set(ylabel=r"$\ln\,\mathrm{Prob(all\ kept)}\,/\,P$", title="size of the change")
axes = panels[0, 1]
for i, rule in enumerate(rules):
    c, c_error = plotting.mean_and_error(found.support.isel(rule=i))
    value, error = plotting.mean_and_error(found.chance.isel(rule=i))
    look = {"fmt": markers[rule], "color": plotting.SERIES[i], "label": rule}
    plotting.curve(axes, c, value, error, c_error, **look)
ends = np.array([float(found.support.min()), float(found.support.max())])
independent = {"color": "0.5", "fmt": ":", "name": "orthogonal support vectors"}
plotting.curve(axes, ends, -np.log(2) * ends, **independent)
axes.set(xlabel="support vectors $c$", title="small changes, by the count")
axes.set(ylabel=r"$\ln\,\mathrm{Prob}\,/\,P$, small changes")
axes.legend(loc="lower left")


def change(values, tau):
    """Change from the shortest persistence to another, on the same data sets."""
    return plotting.mean_and_error(values.isel(tau=tau) - values.isel(tau=0))


axes = panels[1, 0]
for i, rule in enumerate(rules):
    value, error = change(found.chance.isel(rule=i), slice(1, None))
    look = {"fmt": markers[rule] + "-", "linewidth": 0.8, "color": plotting.SERIES[i]}
    plotting.curve(axes, persistences[1:], value, error, name=rule, **look)
axes.set(xlabel=rf"persistence $\tau$, at $b={batch:g}$", xscale="log")
axes.set(
    ylabel=r"change of $\ln\,\mathrm{Prob}\,/\,P$", title="by the time of comparison"
)
plotting.plain_ticks(axes.xaxis, persistences[1:])
d, d_error = plotting.mean_and_error(found.distance)
for axes, name, label, title in (
    (panels[1, 1], "error", "change of the test error", "test error"),
    (
        panels[2, 0],
        "boundary",
        r"change of $\min_\mu h_\mu\,/\,\sqrt{q}$",
        "nearest sample",
    ),
    (
        panels[2, 1],
        "flip",
        "change of the distance to a flip",
        "random directions",
    ),
):
    for j, tau in enumerate(persistences):
        value, error = change(found[name].isel(rule=1), j)
        bars = {"fmt": "o", "color": shades[j], "label": rf"$\tau={tau:g}$"}
        at = (float(d[j]), float(value), float(error), float(d_error[j]))
        line = plotting.curve(axes, *at, **bars)
        plotting.label(line, f"{tau:g}", offset=(4, 6))
    level = {"color": "0.5", "linewidth": 0.8, "name": "no change"}
    plotting.curve(axes, None, 0.0, fmt=":", **level)
    axes.set(xlabel="distance of two replicas $d_0$", ylabel=label, title=title)
publish("width", figure)

# %% tags=["claims", "hide-input"]
# Test the claims.
glue("features", features)
glue("sets", sets)


def gained(name, rule):
    """Change from the shortest to the longest persistence, on the same data."""
    values = found[name].isel(rule=rule)
    change = (values.isel(tau=-1) - values.isel(tau=0)).values
    return Estimate.mean(change[np.isfinite(change)])


def listed(name, form):
    """The same by each rule."""
    return {rule: gained(name, i) for i, rule in enumerate(rules)}, ", ".join(
        f"{gained(name, i):{form}} {rule}" for i, rule in enumerate(rules)
    )


family, words = listed("chance", "+.3f")
glue("chance", words)
claim(
    "noise-widens",
    f"change of the logarithm of that probability over $P$: {words}",
    family,
)
family, words = listed("boundary", "+.4f")
glue("boundary", words)
flips, directions = listed("flip", "+.4f")
glue("flip", directions)
claim(
    "noisier-is-more-robust",
    f"change of the distance of the nearest sample from the decision boundary: {words}; of the median distance along "
    f"random directions: {directions}",
    family,
    flips,
)
family, words = listed("error", "+.4f")
glue("error", words)
claim("noise-lowers-test-error", f"change of the generalisation error: {words}", family)
room = jackknife(
    lambda long, short: long / short,
    found.room.isel(rule=1, tau=-1),
    found.room.isel(rule=1, tau=0),
)
glue("room", f"{room:.2f}")
for name, form in (("chance", "+.3f"), ("boundary", "+.4f"), ("error", "+.4f")):
    glue(f"{name}_loss", f"{gained(name, 1):{form}}")
far = found.survival.isel(size=-1)
far = Estimate.mean(far.isel(tau=-1) - far.isel(tau=0))
glue("far", f"{far:+.3f}")
glue("size", f"{sizes[-1]:g}")
rule_support = found.support.isel(rule=0)
share = jackknife(
    lambda chance, support: (chance / (-np.log(2) * support)).mean(-1),
    found.chance.isel(rule=0),
    rule_support,
)
glue("share", f"{share:.2f}")
glue("first", f"{float(found.error.isel(rule=1, tau=0).mean()):.4f}")
glue("last", f"{float(found.error.isel(rule=1, tau=-1).mean()):.4f}")

# %% [markdown]
# ```{glue:figure} width
# ---
# name: fig-width
# alt: >-
#   Six panels. The logarithm of the probability that a random change keeps all constraints: against the size of
#   the change for three persistence times, against the fraction of support vectors, and its change with persistence for
#   three ways to choose when to look. Against the distance of two replicas, the changes of test error, of the
#   distance of the nearest sample from the decision boundary, and of the distance along random directions.
# ---
# The space of solutions around the end of training; p-SGD with $b=0.3$, $\alpha=\Delta=0.5$, $\lambda=0$, $\kappa=1$,
# $dt=0.2$, $N=$ {glue:}`features`, mean of {glue:}`sets` data sets with two standard errors. Top: probability, for $P$
# samples, that a Gaussian change of the weights leaves every sample beyond the margin, at the stop (left; dashed: the
# exact limit of small changes), and that limit against the support vectors (right; dotted: orthogonal ones). Middle
# left: its change from $\tau=0.5$ on the same data, in the colours of the panel above: when training stops by the
# paper's rule, at a loss per feature of $10^{-8}$, and at $t=200$ without a stop. The others: changes from $\tau=0.5$
# on the same data, at equal loss, against the distance of two replicas; numbers at the points are $\tau$.
# ```
#
# **How the width is computed.** A change $\varepsilon\xi$ with normal $\xi$ changes the slack $h_\mu-\kappa$ of each
# sample by a Gaussian amount, correlated between samples through the Gram matrix of the data. For $\varepsilon\to0$
# only the support vectors matter. The probability is then that of a Gaussian vector with their Gram matrix to have only
# positive components, an orthant probability. For orthogonal support vectors it would be $2^{-c_0P}$. Correlations make
# its logarithm {glue:text}`share` times as large. Counting cannot find so small a number; `sgdnoise.orthant` draws one
# component after the other, each given that its constraint is kept.
#
# **Wider for small changes, with nearer walls.** From $\tau=0.5$ to $\tau=8$ the logarithm of this probability, per
# sample, changes by {glue:text}`chance`. Longer training also lowers the count ({doc}`/notebooks/fig07_stopping`), and
# noisier runs stop later, some of them by accident. The comparisons at equal loss and equal time, which do not use the
# stop, show that this does not explain the difference. The next constraints, however, are closer: along the random
# directions that small changes allow, the median distance to the next constraint at $\tau=8$ is {glue:text}`room` of
# that at $\tau=0.5$. The gain is therefore one of small changes; for changes of {glue:text}`size` times the weights it
# is {glue:text}`far`. In the picture of the paper, noisier training ends at a less sharp corner of the shore, with a
# smaller lake in front of it.
#
# **More robust: it depends on what is disturbed.** Small changes of the weights keep the margin with a higher
# probability; that is the width. The paper cites {cite:t}`xu2009robustness`, who disturb the *inputs*. There the
# distance $h_\mu/\sqrt q$ of a sample from the decision boundary counts. All solutions have the same
# margin $\kappa$, and noisier ones have a larger norm $q$. Their nearest sample is therefore closer to the boundary:
# the distance changes by {glue:text}`boundary`. This is a statement about the nearest sample, and it follows from the
# norm. If the weights move along a random direction until the first sample changes sides, the median distance relative
# to $|w|$ changes by {glue:text}`flip`.
#
# **Test error.** On the same data it changes by {glue:text}`error`. At equal loss it is {glue:text}`first` for
# $\tau=0.5$ and {glue:text}`last` for $\tau=8$.
#
# :::{admonition} What was found
# :class: found
# From $\tau=0.5$ to $\tau=8$, at equal loss and on the same data:
# - the logarithm of the probability that a small change keeps all constraints changes by {glue:text}`chance_loss` per
#   sample; the median distance to the next constraint is multiplied by {glue:text}`room`;
# - the distance of the nearest training sample from the decision boundary changes by {glue:text}`boundary_loss`;
# - the test error changes by {glue:text}`error_loss`.
# :::
