# ---
# jupyter:
#   expected_seconds:
#     paper: 150
#     smoke: 25
#     standard: 75
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Does it hold on real data?
#
# :::{admonition} What you will learn
# :class: learn
# What the temperature of SGD is on handwritten digits and on medical data, which findings of the paper hold there, and
# why a Gaussian mixture fitted to the data predicts a wrong number.
# :::
#
# The data of the paper are two Gaussian clouds. Here they are real: the 1,797 handwritten digits of scikit-learn
# {cite:p}`pedregosa2011scikit`, five or more against less, and its 569 cases of breast cancer, benign against
# malignant (both come with the package: `pip install scikit-learn`). All runs share the data and differ in their start
# and their batches; error bars are their spread.
#
# ```{glue:figure} real-fdt
# ---
# name: fig-real-fdt
# alt: >-
#   Three panels for digits, breast cancer and the model: half the squared displacement on a logarithmic scale against
#   the response, with points and lines for sampling with replacement, shuffled epochs and persistent batches.
# ---
# FDT plots on real data and, right, in the model with the $\alpha$ and $\Delta$ of the digits, $N=100$. The temperature
# is the ratio $B/\chi$ at long lag. Points: {glue:}`fdt-runs` runs with two standard errors. Lines: linear response, on
# real data from their own Hessian and gradient covariance. $b=dt=0.1$, $\tau=2$, $\lambda=\kappa=1$.
# ```
#
# The chord of linear response at the last lag, 6, is off from that of the runs by, in per cent,
#
# | | digits | breast cancer | model |
# |---|---|---|---|
# | replacement | {glue:text}`off-replacement-0` | {glue:text}`off-replacement-1` | {glue:text}`off-replacement-2` |
# | shuffling | {glue:text}`off-shuffling-0` | {glue:text}`off-shuffling-1` | {glue:text}`off-shuffling-2` |
# | persistence | {glue:text}`off-persistence-0` | {glue:text}`off-persistence-1` | {glue:text}`off-persistence-2` |
#
# Real data order the three algorithms as the model does.
#
# ## Batch size, persistence, learning rate
#
# The curves are bent, because every mode of the Hessian has a temperature of its own. We therefore quote the chord
# $T_\mathrm{int}$ of the whole plot ({doc}`/notebooks/temperature`).
#
# ```{glue:figure} real-temperatures
# ---
# name: fig-real-temperatures
# alt: >-
#   Three panels on logarithmic scales: temperature over learning rate against the batch fraction for the sum and for
#   the mean of the gradients, and temperature against the persistence time, each with points for digits and breast
#   cancer, solid lines of linear response and dotted lines of a fitted Gaussian mixture.
# ---
# $T_\mathrm{int}/dt$ of vanilla SGD against $b$, with the gradient summed (left, $dt=0.04$) or averaged (middle,
# $dt=0.02$) over the batch, and $T_\mathrm{int}$ of p-SGD at $b=0.1$, $dt=0.04$ against $\tau$ (right). Points:
# {glue:}`runs` runs with two standard errors. Solid: linear response of the data. It is off from the runs, over all
# points of a panel, by {glue:text}`off-sum` per cent on the left, {glue:text}`off-mean` in the middle and
# {glue:text}`off-tau` on the right. A solid line would have a gap where linear response has no stationary state, as
# it does for some draws of the samples at the smallest batch in the middle panel; the networks reach one all the same.
# Dotted: linear response of the model with the $\alpha$ and $\Delta$ of the data.
# ```
#
# The dotted lines are the model fitted to the data. Their error depends on the batch size:
#
# | true over fitted, from $b=0.1$ to 0.8 | sum | mean |
# |---|---|---|
# | digits | {glue:text}`mixture-sum-digits` | {glue:text}`mixture-mean-digits` |
# | breast cancer | {glue:text}`mixture-sum-breast` | {glue:text}`mixture-mean-breast` |
#
# The fit assumes many samples, Gaussian noise, and the same noise in every direction. Gaussian surrogates with as many
# samples as the real set, and its mean, tell which assumption fails. One has the variance $\Delta$ in every direction,
# the other the full covariance. For the sum at $b=0.1$:
#
# | true temperature over that of | fitted model | isotropic surrogate | surrogate with full covariance |
# |---|---|---|---|
# | digits | {glue:text}`mixture-digits` | {glue:text}`isotropic-digits` | {glue:text}`anisotropic-digits` |
# | breast cancer | {glue:text}`mixture-breast` | {glue:text}`isotropic-breast` | {glue:text}`anisotropic-breast` |
#
# On digits only the full covariance brings the ratio close to one: the noise is not the same in every direction. On
# breast cancer two errors compensate each other at this batch size: the finite number of samples alone changes the
# ratio (isotropic surrogate), and the full covariance does not restore it.
#
# ## A temperature for every mode
#
# A mode of stiffness $a$ on which the batches exert a force of variance $\sigma^2$ has the temperature
# $dt\,\sigma^2/(2-a\,dt)$ in linear response. We measure $a$ times the variance of the weights along the eigenvector.
#
# ```{glue:figure} real-modes
# ---
# name: fig-real-modes
# alt: >-
#   Left, measured against predicted temperature of every mode on logarithmic scales, with a diagonal, for three ways to
#   draw batches. Right, temperature over learning rate of every mode against its stiffness above the ridge, for digits
#   and breast cancer, with a line for the fitted mixture of each.
# ---
# Temperature of every mode of the Hessian. Left: measured against linear response, for digits (full symbols) and breast
# cancer (open). Measured over predicted, averaged over the modes, is for digits and breast cancer
# {glue:text}`modes-digits-replacement` and {glue:text}`modes-breast-replacement` with replacement,
# {glue:text}`modes-digits-shuffling` and {glue:text}`modes-breast-shuffling` with shuffling,
# {glue:text}`modes-digits-persistence` and {glue:text}`modes-breast-persistence` with persistence. Right: against the
# stiffness of the mode, with replacement; lines: linear response of the fitted model. $b=dt=0.1$, $\tau=2$;
# {glue:}`runs` runs, two standard errors.
# ```
#
# Linear response predicts temperatures that differ by orders of magnitude between the modes of one data set. Averaged
# over the modes of the digits, measured over predicted is
#
# | | $dt=0.1$, $\tau=2$ | $dt=0.05$, $\tau=1$ | force in the batch |
# |---|---|---|---|
# |replacement|{glue:text}`modes-digits-replacement`|{glue:text}`half-digits-replacement`|{glue:text}`own-replacement`|
# |shuffling|{glue:text}`modes-digits-shuffling`|{glue:text}`half-digits-shuffling`|{glue:text}`own-shuffling`|
# |persistence|{glue:text}`modes-digits-persistence`|{glue:text}`half-digits-persistence`|{glue:text}`own-persistence`|
#
# The deviations with shuffling and persistence have opposite signs, and a common cause explains at least part of both:
# the force of a sample depends on when it was last used, which linear response neglects. While a sample stays in a
# persistent batch, the weights fit it, and its force weakens. A shuffled sample is drawn after a pause, and its force
# is stronger. The last column measures that: the mean square of $\ell'$ in the batch over that of all samples. The
# effect is of relative order $dt$ and $b\tau$, and is smaller when both are halved.
#
# ## Separable data
#
# With enough random features the samples can be separated. We then train without a ridge until the paper's rule stops
# both replicas. Distance falls where the fraction of support vectors grows, as in the paper's Fig. 4, except on breast
# cancer at $b=0.5$, where a chance batch stops a replica early.
#
# ```{glue:figure} real-separable
# ---
# name: fig-real-separable
# alt: >-
#   Left, loss per sample against samples per feature on logarithmic scales. Right, distance of two replicas against the
#   fraction of support vectors for digits and breast cancer, one line for each of three batch fractions.
# ---
# Left: mean loss of 300 digits at the minimum with $\lambda=10^{-4}$, for different numbers of random features. Right:
# distance $d_0$ and fraction $c_0$ of support vectors where p-SGD stops on 100 samples with 200 features, $\lambda=0$,
# for digits (full symbols, solid) and breast cancer (open, dashed); $dt=0.2$; $\tau=1$, 3 and 8 along each line.
# {glue:}`stops` starts with two standard errors; {glue:}`stopped` per cent of the runs met the rule.
# ```
#
# ## The paper's findings on real data
#
# | finding of the paper | digits | breast cancer |
# |---|---|---|
# | the temperature grows with the learning rate | {glue:text}`rate-digits` | {glue:text}`rate-breast` |
# | with sums it is largest at an intermediate batch size | {glue:text}`peak-digits` | {glue:text}`peak-breast` |
# | it grows with the persistence | {glue:text}`persistence-digits` | {glue:text}`persistence-breast` |
# | the FDT plot of vanilla SGD is a straight line | {glue:text}`straight-digits` | {glue:text}`straight-breast` |
# | sums converge to the minimum with ridge $\lambda/b$ | {glue:text}`ridge-digits` | {glue:text}`ridge-breast` |
# | separable: distance grows with the persistence | {glue:text}`distance-digits` | {glue:text}`distance-breast` |
# | separable: persistence lowers the support vectors | {glue:text}`support-digits` | {glue:text}`support-breast` |
#
# In brackets is the least certain of the measured cases: ratios of temperatures (at twice the learning rate, at the
# maximum over either end, at twice the persistence), of slopes at lags 0.1 to 0.3 over 1 to 2.5, of the norm over the
# predicted one, and changes of $d_0$ and $c_0$ from $\tau=1$ to 8.
# A straight plot has no ratio of slopes above one; linear response predicts {glue:text}`bend-digits` for digits,
# {glue:text}`bend-breast` for breast cancer, and {glue:text}`bend-model` at the parameters of the paper's Fig. 1.
#
# ## What this means in practice
#
# `sn.linear_response` predicts the temperature of vanilla SGD on your data without a run, to a few per cent here. A
# mixture with two numbers does not, unless your features are white. A temperature measured with replacement says
# nothing about a data loader that shuffles. {doc}`/book/your_data` measures yours.
#
# :::{admonition} What was found
# :class: found
# - Temperatures at $b=0.1$, $dt=0.04$, in units of $10^{-3}$, on digits and on breast cancer:
#   {glue:text}`vanilla-digits` and {glue:text}`vanilla-breast` with replacement, {glue:text}`shuffled-digits` and
#   {glue:text}`shuffled-breast` shuffled, {glue:text}`persistent-digits` and {glue:text}`persistent-breast` persistent
#   with $\tau=2$.
# - Linear response with the empirical Hessian and noise predicts the temperature of every mode: on digits the mean of
#   measured over predicted is {glue:text}`modes-digits-replacement`.
# - The temperature of the digits is {glue:text}`mixture-digits` times that of the fitted mixture for the sum at
#   $b=0.1$, and less for larger batches.
# :::
#
# ## How it was made
#
# Random ReLU features {cite:p}`rahimi2007random` let us choose the number $N$ of features, and with it $\alpha=P/N$.
# We take the positive part of random Gaussian combinations of the measurements, standardise each feature, and divide
# by the length of the mean of $y_\mu x_\mu$. The clouds are then at the distance one from the origin, as in the model,
# and $dt$, $\lambda$ and temperatures have the units of the rest of the book. The variance of $y_\mu x_\mu$ around its
# mean, averaged over the features, is $\Delta$: {glue:text}`digits-delta` for {glue:text}`digits-samples` digits with
# {glue:text}`digits-features` features, {glue:text}`breast-delta` for {glue:text}`breast-samples` cases with
# {glue:text}`breast-features`. Both sets come with scikit-learn and have $\alpha=6$, as in the paper's Fig. 1. Try
# your own values, for example `make notebook NAME=real_data ARGS="-p persistences 0.5,5"`.

# %% tags=["parameters"]
profile = "standard"
seed = 0
ridge = 1.0
rate = 0.1  # learning rate of the FDT plots and the modes
batch = 0.1  # of the FDT plots, the modes, and where the persistence varies
persistence = 2.0  # of the FDT plots and the modes
slow_rate = 0.04  # learning rate where T_int is measured; with the mean half of it
batches = [0.1, 0.2, 0.4, 0.8]
persistences = [0.25, 0.5, 1.0, 2.0, 4.0]
sat_rate = 0.2
sat_batches = [0.5, 0.7, 0.9]
sat_persistences = [1.0, 3.0, 8.0]

# %% tags=["hide-input"]
# Set up.
import warnings
from itertools import pairwise, product

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

import sgdnoise as sn
from sgdnoise import plotting
from sgdnoise.estimates import Estimate, Statement, jackknife, significance
from sgdnoise.report import claim, glue, publish

plotting.use_style()
runs, mode_time, stops, counts = {
    "smoke": (4, 40.0, 4, (50, 100, 200)),
    "standard": (20, 100.0, 16, (25, 50, 75, 100, 150, 200, 300)),
    "paper": (48, 1000.0, 60, (25, 50, 75, 100, 150, 200, 300, 400, 600)),
}[profile]
short = {"digits": "digits", "breast cancer": "breast"}  # in names of numbers
markers = {"replacement": "o", "shuffling": "s", "persistence": "D"}
colors = dict(zip(markers, plotting.SERIES, strict=False))
looks = {"digits": ("o", "full"), "breast cancer": ("s", "none")}
small = {"markersize": 3.5, "elinewidth": 0.7}


def ratio(first, second):
    """Ratio of two means over runs that may share random numbers."""
    return jackknife(lambda x, y: x / y, first, second)


def swept(function, points, **fixed):
    """Results at every point, stored or computed now."""
    found = sn.sweep(function, list(points.values()), [seed], fixed=fixed, workers=1)
    return {name: found.squeeze("seed").isel(point=i) for i, name in enumerate(points)}


# %%
def standardised(X):
    """Features of mean zero and variance one, without those that do not vary."""
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0)


def problem_of(name, samples, features, **options):
    """Some samples with random ReLU features, in units of the model; the others are the test set."""
    X, y = labelled[name]
    W = np.random.default_rng(seed).normal(size=(X.shape[1], features))
    X = standardised(np.maximum(X @ W, 0))
    X = X / np.linalg.norm(y @ X / len(y))
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:samples], order[samples:]
    return sn.Problem.from_data(X[train], y[train], test=(X[test], y[test]), **options)


digits, number = load_digits(return_X_y=True)
cells, benign = load_breast_cancer(return_X_y=True)
labelled = {
    "digits": (standardised(digits), np.where(number >= 5, 1, -1)),
    "breast cancer": (standardised(cells), 2 * benign - 1),
}
problems = {
    "digits": problem_of("digits", 600, 100, ridge=ridge),
    "breast cancer": problem_of("breast cancer", 300, 50, ridge=ridge),
}
fitted = {
    name: sn.Problem(alpha=problem.alpha, delta=problem.delta, ridge=ridge)
    for name, problem in problems.items()
}
algorithms = {
    "replacement": sn.SGD(batch),
    "shuffling": sn.ShuffledSGD(batch),
    "persistence": sn.PersistentSGD(batch, persistence),
}

# %% [markdown]
# The FDT plots, averaged over waiting times at every step of two epochs:

# %%
settled, span, epoch = round(8 / rate), round(6 / rate), round(1 / batch)  # steps
everything = {**problems, "model": fitted["digits"]}


def displacement(dataset):
    """Squared displacement and response against lag, averaged over the waiting times."""
    curve = sn.fdt_curve(dataset).mean("waiting_time")
    curve["displacement"] = curve.displacement + 0.5 * curve.drift
    return curve[["displacement", "integrated_response"]]


def plot(problem, algorithm, rate, steps, span, seed, **options):
    """FDT plot of each run from these steps on, and its norm in the stationary state."""
    options |= {"waiting_times": [round(rate * step, 9) for step in steps]}
    end = rate * (steps[-1] + span)
    run = sn.simulate(
        problem, algorithm, rate, end, loss_every=10_000, seed=seed, **options
    )
    late = run.norm.isel(time=slice(steps[0], None)).mean("time")
    return displacement(run).isel(lag=slice(0, span + 1)).assign(norm=late)


network = swept(
    plot,
    {
        (name, kind): {"problem": problem, "algorithm": algorithm, "features": size}
        for (name, problem), size in zip(
            everything.items(), (None, None, 100), strict=True
        )
        for kind, algorithm in algorithms.items()
    },
    rate=rate,
    steps=[settled + step for step in range(2 * epoch)],
    span=span,
    realisations=2 * runs,
)
# For the late part of the plot, which is noisy: more runs, and waiting times farther apart.
longer_plot = swept(
    plot,
    {
        name: {"problem": problem, "algorithm": algorithms["replacement"]}
        for name, problem in problems.items()
    },
    rate=rate,
    steps=[settled + epoch * step for step in range(21)],
    span=span,
    realisations=16 * runs,
    probes=2,
)
linear = {
    (name, kind): sn.linear_response(problem, algorithm, rate, rate * span)
    for name, problem in everything.items()
    for kind, algorithm in algorithms.items()
}

# %% tags=["hide-input"]
# Draw the FDT plots.
figure, panels = plt.subplots(1, 3, figsize=(7.4, 3.2))
some = np.unique(np.geomspace(1, span, 8).round().astype(int))
for axes, name in zip(panels, everything, strict=True):
    for kind, color in colors.items():
        points = network[name, kind].isel(lag=some)
        x, _ = plotting.mean_and_error(points.integrated_response)
        y = plotting.mean_and_error(1e3 * points.displacement)
        mark = {"fmt": markers[kind], "color": color, **small}
        plotting.curve(axes, x, *y, name=f"{name}, {kind}", **mark)
        weak = displacement(linear[name, kind]).isel(realisation=0, lag=slice(1, None))
        line = plotting.curve(
            axes,
            weak.integrated_response,
            1e3 * weak.displacement,
            fmt="-",
            color=color,
            linewidth=1,
            name=f"{name}, {kind}, linear response",
        )
        if axes is panels[0]:
            up = 8 if kind == "persistence" else -8
            plotting.label(line, kind, at=span // 3, offset=(0, up))
    axes.set(title=name, xlabel=r"response $\chi$", yscale="log")
low, high = zip(*(axes.get_ylim() for axes in panels), strict=True)
for axes in panels:
    axes.set_ylim(min(low), max(high))
panels[0].set(ylabel=r"half the squared displacement, $B$ ($10^{-3}$)")
publish("real-fdt", figure)
for name, problem in problems.items():
    glue(f"{short[name]}-delta", f"{problem.delta:.2f}")
    glue(f"{short[name]}-samples", problem.data.samples)
    glue(f"{short[name]}-features", problem.data.features)
glue("runs", runs)
glue("fdt-runs", 2 * runs)

# %% [markdown]
# The temperatures $T_\mathrm{int}$, from two replicas of each run:


# %%
def chord(problem, algorithm, learning_rate, seed, realisations):
    """T_int of each run: half the squared distance over the whole response."""
    run = sn.simulate(
        problem,
        algorithm,
        learning_rate,
        12.0,
        replicas=2,
        waiting_times=[6.0],
        seed=seed,
        realisations=realisations,
        probes=4,
        loss_every=10_000,
    )
    response = run.integrated_response.isel(waiting_time=0)
    width = response.sel(time=slice(11.0, None)).mean("time")
    return 0.5 * (run.distance.sel(time=slice(7.0, None)) ** 2).mean("time") / width


persistent = {x: sn.PersistentSGD(batch, x, "exact") for x in persistences}
families = {  # algorithm by batch size or persistence, and learning rate
    "sum": ({x: sn.SGD(x) for x in batches}, slow_rate),
    "mean": ({x: sn.SGD(x, gradient="mean") for x in batches}, slow_rate / 2),
    "tau": (persistent, slow_rate),
}
cases = {
    (kind, x): {"algorithm": algorithm, "learning_rate": step}
    for kind, (members, step) in families.items()
    for x, algorithm in members.items()
}
for kind, algorithm in (*algorithms.items(), ("faster", sn.SGD(batch))):
    step = 2 * slow_rate if kind == "faster" else slow_rate
    cases[kind, batch] = {"algorithm": algorithm, "learning_rate": step}
hot = swept(
    chord,
    {
        (name, *case): {"problem": problem, **options}
        for name, problem in problems.items()
        for case, options in cases.items()
    },
    realisations=runs,
)
hot = {key: found.value for key, found in hot.items()}


def weak(problem, case):
    """T_int by linear response, or NaN where its noise feeds itself without limit."""
    algorithm, step = cases[case].values()
    try:
        found = sn.linear_response(problem, algorithm, step, step)
    except ValueError as error:
        if "feeds itself" not in str(error):
            raise
        return np.nan
    return found.integrated_temperature


# %% tags=["hide-input"]
# Draw the temperatures.
figure, panels = plt.subplots(1, 3, figsize=(7.4, 3.2))
for axes, (kind, (members, step)) in zip(panels, families.items(), strict=True):
    unit, xs = 1.0 if kind == "tau" else step, list(members)
    for (name, (marker, _)), color in zip(
        looks.items(), plotting.SERIES[3:], strict=False
    ):
        found = [plotting.mean_and_error(hot[name, kind, x] / unit) for x in xs]
        found = np.array(found, dtype=float).T
        mark = {"fmt": marker, "color": color, "name": f"{name}, {kind}", **small}
        plotting.curve(axes, xs, *found, **mark)
        for problem, style, words in (
            (problems[name], "-", "linear response"),
            (fitted[name], ":", "mixture"),
        ):
            values = [weak(problem, (kind, x)) / unit for x in xs]
            look = {"fmt": style, "color": color, "linewidth": 1.2}
            line = plotting.curve(
                axes, xs, values, name=f"{name}, {kind}, {words}", **look
            )
            if axes is panels[2] and style == "-":
                above = name == "digits"
                plotting.label(
                    line, name, at=len(xs) // 2, offset=(0, 8 if above else -8)
                )
    axes.set(yscale="log", xlabel="batch fraction $b$")
panels[0].set(title=r"sum: $T_\mathrm{int}/dt$")
panels[1].set(title=r"mean: $T_\mathrm{int}/dt$")
for axes in panels[:2]:
    axes.set_xlim(0, None)
panels[2].set(title=r"persistent: $T_\mathrm{int}$", xscale="log")
panels[2].set_xlabel(r"persistence $\tau$")
plotting.plain_ticks(panels[2].xaxis, persistences)
publish("real-temperatures", figure)

# %% [markdown]
# Surrogate data, which tell why the fitted model fails:


# %%
def surrogate(problem, isotropic, source):
    """Gaussian data with the mean of the data, and their variance or their covariance."""
    A = np.vstack(list(problem.data.blocks())) * np.sqrt(problem.data.features)
    spread = problem.delta * np.eye(A.shape[1]) if isotropic else np.cov(A.T)
    draw = np.random.default_rng([seed, source]).multivariate_normal
    X = draw(A.mean(axis=0), spread, size=len(A))
    return sn.Problem.from_data(X, np.ones(len(A)), ridge=ridge)


for name, problem in problems.items():
    true = weak(problem, ("replacement", batch))
    fit = true / weak(fitted[name], ("replacement", batch))
    glue(f"mixture-{short[name]}", f"{fit:.2f}")
    for kind in ("sum", "mean"):
        ends = [(kind, b) for b in (batches[0], batches[-1])]
        factors = [weak(problem, end) / weak(fitted[name], end) for end in ends]
        words = " to ".join(f"{factor:.2f}" for factor in factors)
        glue(f"mixture-{kind}-{short[name]}", words)
    for words, isotropic in (("isotropic", True), ("anisotropic", False)):
        values = [
            true / weak(surrogate(problem, isotropic, i), ("replacement", batch))
            for i in range(5)
        ]
        glue(f"{words}-{short[name]}", Estimate.mean(values))

# %% [markdown]
# The variance of the weights along the eigenvectors of the Hessian:


# %%
def variances(problem, algorithm, rate, directions, duration, seed, realisations):
    """Variance of the weights along each direction, over time, for each run."""
    run = sn.simulate(
        problem,
        algorithm,
        rate,
        duration,
        directions=directions,
        realisations=realisations,
        seed=seed,
        loss_every=10_000,
    )
    late = run.projection.sel(time=slice(10.0, None))
    return ((late - late.mean(["time", "realisation"])) ** 2).mean("time")


spectra = {
    name: sn.hessian_spectrum(problem, sn.SGD(batch))
    for name, problem in problems.items()
}
half = algorithms | {"persistence": sn.PersistentSGD(batch, persistence / 2)}
mode_points = {
    (name, kind, step): {
        "problem": problems[name],
        "algorithm": algorithm,
        "rate": step,
        "directions": spectra[name].vectors,
    }
    for name, members, step in (
        *((name, algorithms, rate) for name in problems),
        ("digits", half, rate / 2),
    )
    for kind, algorithm in members.items()
}
measured, predicted = {}, {}
for key, point in mode_points.items():
    found = swept(variances, {key: point}, duration=mode_time, realisations=runs)
    a = spectra[key[0]].eigenvalues
    measured[key] = a * found[key].projection
    problem, algorithm, step, _ = point.values()
    weak_modes = sn.linear_response(problem, algorithm, step, step)
    predicted[key] = weak_modes.mode_temperature.values
felt = {key: np.flatnonzero(1e-3 * T.max() < T) for key, T in predicted.items()}

# %% tags=["hide-input"]
# Draw the temperatures of the modes.
figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.5))
for (name, kind, step), T in predicted.items():
    if step != rate:
        continue
    some = felt[name, kind, step]
    mean, error = plotting.mean_and_error(measured[name, kind, step][:, some])
    mark = {"color": colors[kind], "elinewidth": 0.5, "markersize": 3}
    mark |= {"fmt": markers[kind], "fillstyle": looks[name][1]}
    plotting.curve(left, T[some], mean, error, name=f"{name}, {kind}", **mark)
    if kind == "replacement":
        color = plotting.SERIES[3 + list(problems).index(name)]
        mark |= {"fmt": looks[name][0], "color": color}
        above = spectra[name].eigenvalues[some] - ridge
        plotting.curve(right, above, mean / step, error / step, name=name, **mark)
        theory = sn.linear_response(fitted[name], algorithms[kind], step, step)
        order = np.argsort(theory.mode_stiffness.values)[1:]
        order = order[:: max(1, order.size // 100)]  # a smooth line
        plotting.curve(
            right,
            theory.mode_stiffness.values[order] - ridge,
            theory.mode_temperature.values[order] / step,
            fmt="-",
            color=color,
            name=f"{name}, fitted mixture",
        )
ends = np.array(left.get_xlim())
plotting.curve(left, ends, ends, fmt="--", color="0.5", name="equal", zorder=0)
left.set(xscale="log", yscale="log", xlabel="predicted $T$", ylabel="measured $T$")
right.set(xscale="log", yscale="log", ylabel="$T/dt$, replacement")
right.set(xlabel=r"stiffness above the ridge, $a-\lambda$")
for i, kind in enumerate(markers):
    place = {"transform": left.transAxes, "color": plotting.darker(colors[kind])}
    left.text(0.04, 0.93 - 0.08 * i, kind, **place)
for i, name in enumerate(problems):
    place = {"transform": right.transAxes}
    place["color"] = plotting.darker(plotting.SERIES[3 + i])
    right.text(0.04, 0.93 - 0.08 * i, name, **place)
publish("real-modes", figure)

# %% [markdown]
# The force of a sample while it is in the batch, by a plain loop:


# %%
def in_the_batch(algorithm, seed, steps=1500, many=4):
    """Mean square of the force of a sample in the batch, over that of all samples."""
    random, A = np.random.default_rng(seed), next(problems["digits"].data.blocks())
    sampling, every = algorithm.sampling(rate), np.arange(len(A))
    w = np.repeat(spectra["digits"].minimum[:, None], many, axis=1)
    inside = random.random((len(A), many)) < batch
    drawn = everywhere = 0.0
    for step in range(steps):
        if isinstance(algorithm, sn.ShuffledSGD):
            if step % epoch == 0:
                turn = random.permuted(np.tile(every, (many, 1)), axis=1).T % epoch
            inside = turn == step % epoch
        else:
            u = random.random(inside.shape)
            inside = np.where(inside, u >= sampling.leave, u < sampling.enter)
        slope = np.minimum(A @ w - 1, 0)
        if step > steps // 10:
            drawn, everywhere = (
                drawn + (inside * slope**2).sum(axis=0),
                everywhere + (slope**2).sum(axis=0),
            )
        w = w - rate * (A.T @ (inside * slope) + ridge * w)
    return drawn / everywhere / batch


for kind, algorithm in algorithms.items():
    glue(f"own-{kind}", Estimate.mean(in_the_batch(algorithm, seed)))

# %% [markdown]
# Data that can be separated. We look for the border with hardly any ridge, and train without one:

# %%
unlearned = {}
for count in counts:
    problem = problem_of("digits", 300, count, ridge=1e-4)
    w = sn.hessian_spectrum(problem).minimum
    h = np.concatenate([A @ w for A in problem.data.blocks()])
    unlearned[problem.alpha] = np.mean(problem.loss.value(h, problem.margin))


def stopped(problem, batch, persistence, rate, seed, realisations):
    """Distance and support vectors of two replicas when the stopping rule is met."""
    algorithm = sn.PersistentSGD(batch, persistence)
    rule = {"stop_gradient": 1e-10, "record_every": 10_000}
    many = {"replicas": 2, "realisations": realisations, "seed": seed}
    with warnings.catch_warnings():  # the caption says how many do not stop
        warnings.filterwarnings("ignore", message=".* did not reach stop_gradient")
        run = sn.simulate(problem, algorithm, rate, 60_000 * rate, **rule, **many)
    last = run[["distance", "unsatisfied"]].isel(time=-1, drop=True)
    return last.assign(stopped=run.stopping_time.notnull().mean("replica"))


separable = {name: problem_of(name, 100, 200, ridge=0.0) for name in problems}
ended = swept(
    stopped,
    {
        (name, b, tau): {"problem": separable[name], "batch": b, "persistence": tau}
        for name, b, tau in product(separable, sat_batches, sat_persistences)
    },
    rate=sat_rate,
    realisations=stops,
)

# %% tags=["hide-input"]
# Draw the phases, and distance against support vectors.
figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.3))
plotting.curve(left, list(unlearned), list(unlearned.values()), fmt="o-", name="digits")
left.set(xscale="log", yscale="log", xlabel=r"samples per feature $\alpha$")
left.set(ylabel="loss per sample at the minimum")
plotting.plain_ticks(left.xaxis, [1, 2, 3, 6, 12])
shades = plotting.ordered(sat_batches)
for name, b in product(separable, sat_batches):
    c, d = (
        np.array(
            [
                plotting.mean_and_error(ended[name, b, tau][variable])
                for tau in sat_persistences
            ],
            dtype=float,
        ).T
        for variable in ("unsatisfied", "distance")
    )
    marker, fill = looks[name]
    mark = {"color": shades[b], "fillstyle": fill, "linewidth": 1, **small}
    mark["fmt"] = marker + ("-" if name == "digits" else "--")
    if name == "digits":
        mark["label"] = f"$b={b:g}$"
    plotting.curve(right, c[0], d[0], d[1], c[1], name=f"{name}, $b={b:g}$", **mark)
right.legend()
right.set(xlabel="fraction of support vectors $c_0$")
right.set(ylabel="distance of two replicas $d_0$")
publish("real-separable", figure)
met = np.mean([found.stopped.mean() for found in ended.values()])
glue("stopped", f"{100 * met:.0f}")
glue("stops", stops)

# %% tags=["hide-input", "claims"]
# Test the claims.


def each(kind, xs):
    """T_int over that of the case before, for each data set."""
    return {
        f"{name}, {y:g} over {x:g}": ratio(hot[name, kind, y], hot[name, kind, x])
        for name in problems
        for x, y in pairwise(xs)
    }


def change(variable, name, b):
    """Change from the shortest to the longest persistence, from the same starts."""
    first, last = (ended[name, b, sat_persistences[i]][variable] for i in (0, -1))
    return Estimate.mean(last - first)


# How far off linear response is: at the end of the FDT plots, and in each panel of T_int.
for kind, (i, name) in product(algorithms, enumerate(everything)):
    end = displacement(linear[name, kind]).isel(realisation=0, lag=-1)
    over = float(end.displacement / end.integrated_response)
    end = network[name, kind].isel(lag=-1)
    over = over * ratio(end.integrated_response, end.displacement)
    glue(f"off-{kind}-{i}", f"{100 * (over - 1.0):+.1f}")
for kind, (members, _) in families.items():
    off = [
        100
        * (
            Estimate(weak(problem, (kind, x)), 0.0) / Estimate.mean(hot[name, kind, x])
            - 1.0
        )
        for (name, problem), x in product(problems.items(), members)
    ]
    off = [each for each in off if np.isfinite(each.value)]
    ends = [pick(off, key=lambda e: e.value) for pick in (min, max)]
    glue(f"off-{kind}", " to ".join(f"{end:+.1f}" for end in ends))
colder, hotter = (
    {name: ratio(hot[name, over, batch], hot[name, under, batch]) for name in problems}
    for over, under in (("replacement", "shuffling"), ("persistence", "replacement"))
)
for kind, words in (
    ("replacement", "vanilla"),
    ("shuffling", "shuffled"),
    ("persistence", "persistent"),
):
    for name in problems:
        glue(f"{words}-{short[name]}", Estimate.mean(1e3 * hot[name, kind, batch]))
texts = (
    f"{name}: shuffled {colder[name]} times colder, persistent {hotter[name]} times hotter"
    for name in problems
)
claim("real-data-order", "; ".join(texts), colder, hotter)
falls, rises = each("mean", batches[::-1]), each("tau", persistences)
peaks = {
    name: max(batches, key=lambda b, name=name: float(hot[name, "sum", b].mean()))
    for name in problems
}
claim(
    "real-data-batch-size",
    f"with the mean the smallest ratio is {min(falls.values(), key=lambda e: e.value)}; "
    "with the sum the temperature is largest at "
    + " and ".join(f"$b={peak:g}$ ({name})" for name, peak in peaks.items()),
    falls,
)
longer = {
    variable: {
        f"{name}, b={b:g}": change(variable, name, b)
        for name, b in product(separable, sat_batches)
    }
    for variable in ("distance", "unsatisfied")
}
# Where a batch can be satisfied by chance, replicas stop too early.
undisturbed = {
    key: value
    for key, value in longer["distance"].items()
    if key != "breast cancer, b=0.5"
}
claim(
    "real-data-persistence",
    r"smallest ratio of $T_\mathrm{int}$ at twice the persistence: "
    f"{min(rises.values(), key=lambda e: e.value)}; smallest change of $d_0$: "
    f"{min(undisturbed.values(), key=lambda e: e.value)}",
    rises,
    undisturbed,
)
mode_ratio = {
    key: Estimate.mean((measured[key] / T)[:, felt[key]].mean("direction"))
    for key, T in predicted.items()
}
for (name, kind, step), value in mode_ratio.items():
    word = "modes" if step == rate else "half"
    glue(f"{word}-{short[name]}-{kind}", value)
modes_of = {name: mode_ratio[name, "replacement", rate] for name in problems}
off = {
    kind: {step: mode_ratio["digits", kind, step] - 1.0 for step in (rate, rate / 2)}
    for kind in ("shuffling", "persistence")
}
claim(
    "real-data-modes",
    "measured over predicted, mean over the modes: "
    + ", ".join(f"{value} ({name})" for name, value in modes_of.items()),
    modes_of,
    {kind: found[rate / 2] / found[rate] for kind, found in off.items()},
)

# %% tags=["hide-input", "claims"]
# Judge each finding of the paper.


def bend(plot):
    """Slope of an FDT plot between lags 0.1 and 0.3 over that between 1 and 2.5."""
    parts = []
    for lags in ([0.1, 0.3], [1.0, 2.5]):
        ends = plot.sel(lag=lags, method="nearest").diff("lag").squeeze("lag")
        parts.append(ends.displacement / ends.integrated_response)
    return parts


def verdict(statement, *found):
    """What the measurements say of a statement, and the least certain of them."""
    chances = [statement.by_chance(estimate) for estimate in found]
    sigma = significance(chances)
    word = "holds" if sigma >= 3 else "fails" if sigma <= -3 else "open"
    by = (0, np.argmax) if sigma > 0 else (1, np.argmin)
    return f"{word} ({found[int(by[1]([pair[by[0]] for pair in chances]))]})"


def of(name, family):
    """Those estimates of a family that are about one data set."""
    return [value for key, value in family.items() if key.startswith(name)]


at_minimum = {}
for name in problems:
    minimum = float(linear[name, "replacement"].norm[0, 0])
    faster = ratio(hot[name, "faster", batch], hot[name, "replacement", batch])
    others = [b for b in (batches[0], batches[-1]) if b != peaks[name]]
    inside = [ratio(hot[name, "sum", peaks[name]], hot[name, "sum", b]) for b in others]
    if len(others) == 1:  # the largest at one end of the range
        inside.append(Estimate(1.0, 0.0))
    at_minimum[name] = Estimate.mean(network[name, "replacement"].norm / minimum)
    glue(f"ridge-{short[name]}", at_minimum[name])
    judged = {
        "rate": (Statement(above=1.0), faster),
        "peak": (Statement(above=1.0), *inside),
        "persistence": (Statement(above=1.0), *of(name, rises)),
        "straight": (Statement(below=1.0), ratio(*bend(longer_plot[name]))),
        "distance": (Statement(above=0.0), *of(name, longer["distance"])),
        "support": (Statement(below=0.0), *of(name, longer["unsatisfied"])),
    }
    for what, found in judged.items():
        glue(f"{what}-{short[name]}", verdict(*found))
claim(
    "real-data-ridge",
    "norm over that at the minimum: "
    + " and ".join(f"{value} ({name})" for name, value in at_minimum.items()),
    at_minimum,
)
fig01 = sn.linear_response(sn.Problem(alpha=6), sn.SGD(0.1), rate, rate * span)
for word, weak_plot in (
    ("digits", linear["digits", "replacement"]),
    ("breast", linear["breast cancer", "replacement"]),
    ("model", fig01),
):
    early, late = bend(displacement(weak_plot).isel(realisation=0))
    glue(f"bend-{word}", f"{float(early / late):.2f}")
