# ---
# jupyter:
#   expected_seconds:
#     paper: 163
#     smoke: 10
#     standard: 30
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # How far a finite network is from the limit
#
# :::{admonition} What you will learn
# :class: learn
# How far a finite network is from the limit of the theory, when the difference is visible, for which learning rates
# gradient descent converges, and what a run costs.
# :::
#
# The theory describes infinitely many weights; a simulation has $N$ of them. Can a simulation at $N = 750$ be compared
# with a curve for $N = \infty$? To find out, we train at several sizes and see how the difference shrinks. We assume
# that an average over data sets approaches its limit as $x_\infty + x_1/N$. The scatter between data sets should shrink
# as $1/\sqrt N$, and it is by far the larger of the two: with $n$ data sets the error of the mean is about
# $1/\sqrt{nN}$, while the correction is about $1/N$.

# %% tags=["parameters"]
profile = "standard"
seed = 0

# %% tags=["hide-input"]
# Set up.
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Markdown, display

import sgdnoise as sn
from sgdnoise import plotting
from sgdnoise.report import glue, publish

plotting.use_style()
sizes, data_sets = {
    "smoke": ([100, 150, 200], [12, 10, 8]),
    "standard": ([200, 400, 800, 1600], [96, 48, 24, 12]),
    "paper": ([250, 500, 1000, 2000], [800, 400, 200, 100]),
}[profile]

# %% [markdown]
# ## Four observables, two phases
#
# In the UNSAT phase ($\alpha = 6$, $\Delta = \lambda = 1$, vanilla SGD with $b = 0.3$ at $dt = 0.1$) two replicas run
# to their stationary state, and we average over $5 < t \le 10$. In the SAT phase ($\alpha = \Delta = 0.5$, $\lambda =
# 0$, p-SGD with $b = 0.3$, $\tau = 2$ at $dt = 0.2$) they run until the squared stochastic gradient over $bN$ falls to
# $10^{-10}$. For each data set we keep four numbers: the magnetisation $m$, the squared norm $q$, the distance $d$
# between the replicas, and the fraction $c$ of samples inside the margin.

# %%
NAMES = {"magnetization": "m", "norm": "q", "distance": "d", "unsatisfied": "c"}
unsat = sn.Problem(alpha=6, delta=1.0, ridge=1.0)
sat = sn.Problem(alpha=0.5, delta=0.5, ridge=0.0)


def stationary(features, realisations):
    """Averages of two replicas of SGD in the UNSAT phase, over half of a run."""
    options = {
        "features": features,
        "realisations": realisations,
        "replicas": 2,
        "seed": seed,
        "record_every": 5,
    }
    run = sn.simulate(unsat, sn.SGD(batch=0.3), 0.1, 10.0, **options)
    return run.sel(time=slice(5.1, None)).mean("time")


def landed(features, realisations):
    """State of two replicas of p-SGD where they come to rest in the SAT phase."""
    options = {
        "features": features,
        "realisations": realisations,
        "replicas": 2,
        "seed": seed,
        "record_every": 100,
    }
    run = sn.simulate(
        sat,
        sn.PersistentSGD(batch=0.3, persistence=2.0),
        0.2,
        2000.0,
        stop_gradient=1e-10,
        **options,
    )
    return run.isel(time=-1)


phases = {
    phase: [measure(N, count) for N, count in zip(sizes, data_sets, strict=True)]
    for phase, measure in (("UNSAT", stationary), ("SAT", landed))
}


# %% tags=["hide-input"]
# Draw the figure.
def straight_line(values, errors):
    """Weighted least squares of ``limit + slope / N``: both, their standard errors, and the chi-squared of the fit."""
    design = (
        np.stack([np.ones(len(sizes)), 1 / np.array(sizes)], axis=1) / errors[:, None]
    )
    covariance = np.linalg.inv(design.T @ design)
    fit = covariance @ design.T @ (values / errors)
    return (
        fit,
        np.sqrt(np.diag(covariance)),
        float(np.sum((values / errors - design @ fit) ** 2)),
    )


figure, panels = plt.subplots(2, 4, figsize=(plotting.WIDTH, 4.0))
table = []
for row, (phase, runs) in zip(panels, phases.items(), strict=True):
    for axes, (name, letter) in zip(row, NAMES.items(), strict=True):
        means, errors = np.array([plotting.mean_and_error(run[name]) for run in runs]).T
        fit, fit_errors, misfit = straight_line(means, errors)
        line = np.array([0, 1 / min(sizes)])
        look = {"fmt": "o", "color": plotting.COLORS["blue"], "name": "networks"}
        plotting.curve(axes, 1 / np.array(sizes), means, errors, **look)
        look = {"color": plotting.COLORS["red"], "linewidth": 1, "name": "fit"}
        plotting.curve(axes, line, fit[0] + fit[1] * line, fmt="-", **look)
        axes.set(
            title=f"{phase}: ${letter}$",
            xlabel="$1/N$",
            xlim=(-0.1 / min(sizes), 1.1 / min(sizes)),
        )
        axes.locator_params(nbins=3)
        table.append((phase, letter, *fit, *fit_errors, misfit))
publish("finite_size", figure)
glue("sizes", ", ".join(map(str, sizes)))

# %% [markdown]
# ```{glue:figure} finite_size
# ---
# name: fig-finite-size
# alt: >-
#   Eight panels of an observable against one over N, four for the UNSAT and four for the SAT phase: points with error
#   bars, one for each network size, and the straight line fitted to them.
# ---
# Magnetisation, squared norm, distance and unsatisfied fraction against $1/N$ for $N =$ {glue:text}`sizes`, with two
# standard errors, and the straight line $x_\infty + x_1/N$ that fits them best.
# ```

# %% tags=["hide-input"]
# Write the table.
lines = [
    "| phase | observable | limit $x_\\infty$ | correction $a$ | at $N=1000$, relative | misfit $\\chi^2$ |"
]
lines += ["|---|---|---|---|---|---|"]
for phase, letter, limit, slope, limit_error, slope_error, misfit in table:
    lines.append(
        f"| {phase} | ${letter}$ | {limit:.4f} ± {limit_error:.4f} | {slope:.2f} ± {slope_error:.2f} "
        f"| {slope / 1000 / limit:.2%} ± {slope_error / 1000 / limit:.2%} | {misfit:.1f} |"
    )
display(Markdown("\n".join(lines)))
WORDS = {
    "m": "the magnetisation",
    "q": "the norm",
    "d": "the distance",
    "c": "the unsatisfied fraction",
}
largest = max(table, key=lambda line: abs(line[3]) / line[5])
glue(
    "largest",
    f"{WORDS[largest[1]]} in the {largest[0]} phase, at {abs(largest[3]) / largest[5]:.1f} standard errors",
)
glue("freedom", len(sizes) - 2)
visible = []
for phase, letter, _, slope, *_ in table:
    if phase == "UNSAT":
        name = next(name for name, short in NAMES.items() if short == letter)
        spread = float(phases[phase][-1][name].std("realisation", ddof=1)) * np.sqrt(
            sizes[-1] / 750
        )
        visible.append(abs(slope) / 750 / (spread / np.sqrt(100)))
glue("visible", f"{max(visible):.1f}")
(settled,) = (
    limit for phase, letter, limit, *_ in table if (phase, letter) == ("SAT", "c")
)
glue("per_pull", f"{1 / (0.3 * settled * sat.alpha):.0f}")

# %% [markdown]
# If the straight line is right, the misfit is about {glue:}`freedom`, the number of sizes minus two. The most
# significant of the eight corrections is that of {glue:text}`largest`. Most of the others are compatible with zero: the
# law $1/N$ is assumed here, and not contradicted, rather than seen. In the UNSAT phase the largest correction at the
# paper's $N=750$ amounts to {glue:text}`visible` standard errors of a mean over its 100 data sets.
#
# The SAT phase has a further finite-size effect, which comes from the stopping rule. The rule uses the gradient of the
# *batch*. In a batch about $b\,c\,\alpha N$ samples still have a force. If that number is small, there will be a step
# at which no sample of the batch has one; the stochastic gradient is then exactly zero, and the run stops too early.
# With $c$ from the table, there is one such sample for every {glue:text}`per_pull` features. If the samples enter and
# leave the batch independently, the probability of a zero gradient falls exponentially with $N$, by a factor $e$ for
# every additional {glue:text}`per_pull` features or somewhat fewer. At short persistence accidental stops are therefore
# common for a hundred features and very rare for a thousand. A long persistence makes them more likely, because a
# batch without forces then stays in place for many steps; {doc}`/notebooks/fig07_stopping` measures how large a network
# has to be.
#
# ## The largest learning rate of gradient descent
#
# Gradient descent converges if $dt$ is below two over the largest eigenvalue of the Hessian, $\lambda + A^{\mathsf T}
# A$, where the rows of $A$ are $y_\mu x_\mu/\sqrt N$ of the samples inside the margin. Above that limit the minimum is
# unstable. The weights jump from side to side, fewer and fewer samples are inside the margin, the jumps stop growing,
# and a bounded oscillation remains. Its norm and its loss look like a plateau, but the run has not converged. The
# library calls such a run diverged. Close to the minimum every step below the limit lowers the loss, so the rule is
# that a full-batch run has diverged if its loss still rises in the second half. The rule is never applied to
# stochastic batches.

# %%
rates = [0.1, 0.15, 0.18, 0.2, 0.25, 0.4]
steps = {rate: round(30 / rate) for rate in rates}
runs = {
    rate: sn.simulate(
        unsat,
        sn.GD(),
        rate,
        rate * steps[rate],
        features=sizes[1],
        realisations=4,
        seed=seed,
        on_divergence="mark",
    )
    for rate in rates
}
lines = ["| $dt$ | norm $q$ at the end | |", "|---|---|---|"]
for rate, run in runs.items():
    verdict = "does not settle" if "diverged" in run.attrs else "settles"
    norm = "" if "diverged" in run.attrs else f"{float(run.norm[:, -1].mean()):.4f}"
    lines.append(f"| {rate:g} | {norm} | {verdict} |")
display(Markdown("\n".join(lines)))

# %% [markdown]
# ## What a run costs
#
# With more samples than features, a step reads the data once for all runs on a data set (algorithms, learning
# rates, replicas), in blocks that stay in the cache. With fewer samples than features, the program advances only the
# pre-activations $h = A w$, through the Gram matrix $A A^{\mathsf T}$; magnetisation, norm, distance and gradient are
# then sums over samples. Random numbers come from a counter-based generator: every batch is a function of seed, replica
# and step, so a run is the same to the last bit on any number of threads and alongside any other runs.
#
# {doc}`/book/scaling` compares the cost with a plain NumPy loop and with JAX.
#
# :::{admonition} What was found
# :class: found
# - Whether you notice a correction of order $1/N$ depends on how many data sets you average. In the UNSAT phase the
#   largest correction at $N=750$ is {glue:text}`visible` standard errors of a mean over 100 data sets.
# - In the SAT phase small networks can stop by accident, when no sample of the batch has a force. At short persistence
#   that is unlikely for a thousand features.
# - Gradient descent converges only below a largest learning rate. Above it an oscillation remains that looks like a
#   plateau; the library reports it.
# :::
