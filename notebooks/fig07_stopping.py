# ---
# jupyter:
#   expected_seconds:
#     paper: 400
#     smoke: 9
#     standard: 75
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Counting support vectors while training
#
# :::{admonition} What you will learn
# :class: learn
# How support vectors are counted, what the stopping rule hides, and why it can stop a run too early.
# :::
#
# *Figure 7 of the paper.* The fraction $c(t)$ of samples within the margin falls while training on separable data goes
# on. The paper stops when the stochastic gradient is small and takes the value there for the fraction of support
# vectors $c_0$ of {doc}`/notebooks/fig04_support_vectors`. It finds theory and simulation in agreement, and energies of
# $10^{-9}$ to $10^{-10}$ at the stop.

# %% tags=["parameters"]
profile = "standard"
seed = 0
alpha = 0.5  # samples per feature
delta = 0.5  # variance of the data around their centres
margin = 1.0  # beyond which a sample has no loss
rate = 0.2  # learning rate
batch = 0.3  # fraction of the samples in the batch, where persistence varies
persistences = [0.5, 1.0, 2.0, 4.0, 8.0]  # mean times that a sample spends out of it
persistence = 2.0  # where the batch varies
batches = [0.1, 0.2, 0.4, 0.8, 0.99]

# %% tags=["hide-input"]
# Set up.
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Markdown, display

import sgdnoise as sn
from sgdnoise import plotting
from sgdnoise.estimates import Estimate
from sgdnoise.landing import COMPARED, SIZES, STOP, landings, limit, to_the_stop
from sgdnoise.report import claim, glue, publish

plotting.use_style()

# %% [markdown]
# These are the runs of {doc}`/notebooks/fig03_sat_distance`, taken from the store of results if that page was built
# before. The theory of one replica goes on until half of the networks have stopped.

# %%
problem = sn.Problem(alpha=alpha, delta=delta, ridge=0.0, margin=margin)
by_tau = {tau: sn.PersistentSGD(batch=batch, persistence=tau) for tau in persistences}
by_batch = {b: sn.PersistentSGD(batch=b, persistence=persistence) for b in batches}
algorithms = [*dict.fromkeys([*by_tau.values(), *by_batch.values()])]
runs = landings(problem, algorithms, rate, seed, profile)
late = to_the_stop(runs, problem, rate, seed, profile)

# %% tags=["hide-input"]
# Draw the figure.
figure, panels = plt.subplots(1, 2, figsize=(plotting.WIDTH, 4.0), sharey=True)
for axes, family, letter in ((panels[0], by_batch, "b"), (panels[1], by_tau, r"\tau")):
    for value, color in plotting.ordered(family).items():
        algorithm = family[value]
        label = f"${letter}={value:g}$"
        curve, theory = late[algorithm], {"color": color, "linewidth": 1.3, "fmt": "-"}
        mean, error = plotting.mean_and_error(curve.unsatisfied)
        name = f"theory, {label}"
        plotting.curve(axes, curve.moment, mean, error, band=True, name=name, **theory)
        run = runs.networks[algorithm]
        stop = float(np.nanmedian(run.stopping_time))
        points = run.unsatisfied.sel(time=np.geomspace(2.0, stop, 14), method="nearest")
        bars = {"color": color, "markersize": 4, "elinewidth": 0.8, "fmt": "o"}
        plotting.draw(axes, points, band=False, name=f"networks, {label}", **bars)
        end = {"color": color, "fmt": "s", "markersize": 8, "fillstyle": "none"}
        last = Estimate.mean(run.unsatisfied.isel(time=-1))
        name = f"stop, {label}"
        line = plotting.curve(axes, stop, last.value, last.error, name=name, **end)
        number = list(family).index(value)
        if letter == "b":
            # To the right, below, and left of squares that are close to each other.
            places = ((9, 0), (9, -9), (9, -9), (0, -9), (-9, -9))
            plotting.label(line, label, offset=places[min(number, 4)])
        else:
            up = 5.0 * ((len(family) - 1) / 2 - number)
            plotting.label(line, label, offset=(9, up))
    axes.set(xlabel="time $t$", xscale="log", xlim=(2, 1300), ylim=(0, None))
panels[0].set(ylabel="fraction within the margin $c(t)$")
publish("stopping", figure)

# %% tags=["claims", "hide-input"]
# Test the claims.
sizes = SIZES[profile]
glue("features", sizes.networks["features"])
glue("data_sets", sizes.networks["realisations"])
glue("compared", f"{COMPARED:g}")


def named(algorithm):
    """Write the parameters."""
    return rf"$b={algorithm.batch:g}$, $\tau={algorithm.persistence:g}$"


def fraction(family, algorithm):
    """Fraction within the margin at the time of comparison."""
    curve = family[algorithm].unsatisfied.sel(time=COMPARED, method="nearest")
    return Estimate.mean(curve)


# Before any stop, with networks of two sizes, so that neither is in the way.
ratios, shifts = {}, {}
for a in algorithms:
    many = limit(fraction(runs.large, a), fraction(runs.small, a))
    ratios[named(a)] = many / fraction(runs.theory, a)
    shifts[named(a)] = fraction(runs.large, a) / many - 1.0
worst = max(ratios, key=lambda name: abs(ratios[name].value - 1))
found = f"{100 * (ratios[worst] - 1.0):+.1f} per cent ({worst})"
glue("misfit", found)
worst = max(shifts, key=lambda name: abs(shifts[name].value))
glue("shift", f"{100 * shifts[worst]:+.1f} per cent ({worst})")
glue("large", sizes.large["features"])
claim(
    "theory-on-support-vectors",
    f"ten fractions at $t={COMPARED:g}$, extrapolated to many features; the largest deviation is {found}",
    ratios,
)
final = {
    named(a): Estimate.mean(runs.networks[a].unsatisfied.isel(time=-1))
    for a in algorithms
}
at_stop = {
    named(a): final[named(a)] / Estimate.mean(late[a].unsatisfied.isel(place=-1))
    for a in algorithms
}
worst = max(at_stop, key=lambda name: abs(at_stop[name].value - 1))
glue("stopped", f"{100 * (at_stop[worst] - 1.0):+.0f} per cent ({worst})")
fall = {
    named(a): Estimate.mean(
        runs.networks[a].unsatisfied.sel(time=10.0, method="nearest")
        - runs.networks[a].unsatisfied.isel(time=-1)
    )
    for a in algorithms
}
least_fall = min(fall.values(), key=lambda e: e.value)
lowest = min(final, key=lambda name: final[name].value)
never = int(sum(np.isnan(runs.networks[a].stopping_time).sum() for a in algorithms))
glue("never", never)

# %% [markdown]
# ```{glue:figure} stopping
# ---
# name: fig-stopping
# alt: >-
#   Fraction of samples within the margin against time on a logarithmic scale, for five batch fractions on the left
#   and five persistence times on the right: falling lines of the theory with simulated points, and a square at the
#   median stopping time.
# ---
# Fraction of samples within the margin, $\alpha=\Delta=0.5$, $\lambda=0$, $\kappa=1$, $dt=0.2$. Left: batch sizes at
# $\tau=2$. Right: persistence times at $b=0.3$. Lines: theory, with bands of two standard errors, until the median
# stopping time; circles: networks with $N=$ {glue:}`features`, mean of {glue:}`data_sets` data sets with two standard
# errors; squares: where they have stopped. Of the runs {glue:}`never` did not stop in time.
# ```
#
# The theory stays close to the networks until they stop. There the fraction of networks differs from that of the theory
# by at most {glue:text}`stopped`, with their size and the scatter of their stopping times included. The theory itself
# does not stop, and its fraction goes on falling; networks that are not stopped also keep losing samples from the
# margin ({doc}`/notebooks/choices`). Close to a solution every force is proportional to the remaining distance to the
# margin, so samples continue to cross it however small that distance is. What the paper calls $c_0$, the fraction of
# support vectors, is $c(t)$ at a threshold.
#
# Does the count have a limit? With all samples in the batch (GD, double precision) we can follow it far below the
# paper's threshold.

# %%
tight = {
    "smoke": {"features": 60, "realisations": 6},
    "standard": {"features": 400, "realisations": 40},
    "paper": {"features": 600, "realisations": 100},
}[profile]
thresholds = (1e-10, 1e-14, 1e-18, 1e-22)


def counted(threshold, seed, **size):
    """Fraction within the margin when a descent with all samples in the batch meets the rule."""
    options = {"stop_gradient": threshold, "record_every": 5000, "precision": "double"}
    run = sn.simulate(problem, sn.GD(), rate, 4000.0, seed=seed, **options, **size)
    return run[["unsatisfied"]].isel(time=-1, drop=True)


counts = sn.sweep(counted, {"threshold": list(thresholds)}, [seed], fixed=tight)
counts = counts.squeeze("seed").unsatisfied

# %% tags=["claims", "hide-input"]
# Test the claim.
lost = [
    Estimate.mean(counts.sel(threshold=a) - counts.sel(threshold=b))
    for a, b in pairwise(thresholds)
]
left = Estimate.mean(counts.sel(threshold=thresholds[-1]))
glue("lost", ", ".join(f"{e:.4f}" for e in lost))
glue("left", left)
glue("tight", tight["features"])
claim(
    "support-settles",
    f"least fall from $t=10$ to the stop: {least_fall:.3f}; lowest end, at {lowest}: {final[lowest]:.3f}; GD loses "
    f"{lost[0]:.4f} from the threshold $10^{{-10}}$ to $10^{{-14}}$ and {lost[-1]:.4f} from $10^{{-18}}$ to "
    f"$10^{{-22}}$; {left} is left",
    fall,
    final,
    lost[-1] / left,
)

# %% [markdown]
# From $10^{-10}$ to $10^{-14}$, $10^{-18}$ and $10^{-22}$ it loses {glue:text}`lost` ($N=$ {glue:}`tight`), and
# {glue:text}`left` is left. The losses become smaller from step to step. That is consistent with a finite limit and
# does not prove one: a logarithmically slow decay would look the same.
#
# ## The energy at the stop
#
# The paper says that the average energy has reached $10^{-9}$ to $10^{-10}$ for all parameters. We take the median over
# data sets, because the rule can be met by accident. It looks at the gradient of the current batch. If the batch is
# small or stays the same for long, that gradient can vanish while samples outside the batch are still within the
# margin. A batch of $bP$ samples of which each is within the margin with probability $c$ is satisfied by accident with
# probability $(1-c)^{bP}$, which falls exponentially with $N$. How large must the networks be?

# %% tags=["hide-input"]
# Stop networks of several sizes.
crowd = {
    "smoke": {100: 4, 200: 3},
    "standard": {500: 48, 1000: 24, 3000: 6},
    "paper": {500: 96, 1000: 96, 3000: 48},
}[profile]
extremes = [by_batch[min(by_batch)], by_tau[max(by_tau)]]


def stopped(algorithm, features, realisations, seed):
    """Median stopping time, and the logarithm of the loss at the stop: median, its error, largest."""
    options = {"stop_gradient": STOP, "record_every": 5000, "replicas": 2}
    options |= {"features": features, "realisations": realisations, "seed": seed}
    return summary(sn.simulate(problem, algorithm, rate, 1000.0, **options))


def summary(run):
    """The same of a run."""
    loss = np.log10(run.loss.isel(time=-1).values)
    median = Estimate.median(loss)
    stop = float(np.nanmedian(run.stopping_time))
    return np.array([stop, median.value, median.error, loss.max()])


points = [
    {"algorithm": algorithm, "features": n, "realisations": count}
    for algorithm in extremes
    for n, count in crowd.items()
]
by_size = sn.sweep(stopped, points, [seed]).squeeze("seed").value.values

# %% tags=["hide-input"]
# Write the table.
rows = [
    r"| $b$ | $\tau$ | $N$ | median stopping time | median loss, decimal logarithm | largest |",
    "|---|---|---|---|---|---|",
]
usual = SIZES[profile].networks["features"]
for a in extremes:
    found_by_size = {
        point["features"]: row
        for point, row in zip(points, by_size, strict=True)
        if point["algorithm"] == a
    } | {usual: summary(runs.networks[a])}
    for n, (stop, loss, error, largest) in sorted(found_by_size.items()):
        cells = f"{stop:.0f}", f"{loss:.2f} ± {error:.2f}", f"{largest:.1f}"
        rows.append(f"| {a.batch:g} | {a.persistence:g} | {n} | {' | '.join(cells)} |")
display(Markdown("\n".join(rows)))
below = [n for n, row in sorted(found_by_size.items()) if row[1] < -9]
glue("enough", below[0] if below else f"more than {max(found_by_size)}")

# %% tags=["claims", "hide-input"]
# Test the claim.
energy = {
    named(a): Estimate.median(np.log10(runs.networks[a].loss.isel(time=-1)))
    for a in algorithms
}
inside = sum(-10 <= e.value <= -9 for e in energy.values())
glue("inside", f"{inside} of {len(algorithms)}")
high, low = (pick(energy, key=lambda name: energy[name].value) for pick in (max, min))
for name, case in (("highest", high), ("lowest", low)):
    glue(name, f"{10 ** energy[case].value:.1e} ({case})")
claim(
    "energy-at-stop",
    f"medians from {10 ** energy[low].value:.1e} ({low}) to {10 ** energy[high].value:.1e} ({high}) with networks of "
    rf"{usual} features; {inside} of {len(algorithms)} are between $10^{{-10}}$ and $10^{{-9}}$",
    energy,
)

# %% [markdown]
# In both cases the median falls as networks grow, over all sizes of the table, and the large losses of accidents
# disappear. With the longest persistence the smallest network of the table whose median is below $10^{-9}$ has
# {glue:text}`enough` features. The paper does not give the size of the networks of this figure, and does not say
# whether its energy is that of a feature, of a sample or of all; we take the loss per feature, the smallest.
#
# :::{admonition} What was found
# :class: found
# - Networks, extrapolated to many features, deviate from the theory at $t=$ {glue:}`compared` by at most
#   {glue:text}`misfit`. Without the extrapolation networks with $N=$ {glue:}`large` differ from their limit by at most
#   {glue:text}`shift`.
# - At their stop networks with $N=$ {glue:}`features` deviate from the theory by at most {glue:text}`stopped`.
# - $c_0$ is the count at a threshold. In the theory, which does not stop, the count continues to fall.
# - The median energy at the stop is between $10^{-10}$ and $10^{-9}$ in {glue:text}`inside` cases, from
#   {glue:text}`lowest` to {glue:text}`highest`.
# :::
