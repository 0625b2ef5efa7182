# ---
# jupyter:
#   expected_seconds:
#     paper: 400
#     smoke: 30
#     standard: 45
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Sum or mean?
#
# :::{admonition} What you will learn
# :class: learn
# Why the noise of SGD is largest at intermediate batch sizes in the paper, and what happens to that maximum when the
# gradient is averaged over the batch.
# :::
#
# The paper finds that noise is highest for batches of intermediate size, in three measurements: the temperature of
# vanilla SGD, that of p-SGD, and the distance at which two replicas stop. Its gradient is the *sum* over the batch. In
# practice one takes the *mean*, and expects a temperature proportional to learning rate over batch size, which has no
# maximum {cite:p}`jastrzebski2017three,sclocchi2024regimes`. Does the maximum survive the change of convention, and
# does the gap between SGD and GD at a vanishing learning rate ({doc}`/notebooks/fig08_vanishing_step`)?
#
# As temperature we take the chord $T_\mathrm{int}$ of the whole FDT plot ({doc}`/notebooks/temperature`), which exists
# for p-SGD too.
#
# ```{glue:figure} sum-or-mean
# ---
# name: fig-sum-or-mean
# alt: >-
#   Three panels against the batch fraction, each with a family of curves for the sum and one for the mean: temperature
#   over learning rate of vanilla SGD, temperature of persistent SGD for two persistence times, both on a logarithmic
#   scale, and the distance of two stopped replicas. Dots and open circles of theory, crosses and squares of networks,
#   lines of linear response.
# ---
# Sum (blue) against mean (orange). Left: vanilla SGD, $dt=0.03$. Middle: p-SGD, $dt=0.05$, $\tau=0.5$ (full symbols,
# solid lines) and $\tau=2$ (open symbols, dotted lines). Both at $\alpha=6$, $\Delta=\lambda=\kappa=1$. Circles:
# mean-field theory; crosses: networks with $N=$ {glue:}`features`, {glue:}`data-sets` data sets; solid and dotted
# lines: linear response at this $dt$; dashed: Eq. {eq}`eq-mean-temperature`. Right: p-SGD with $\tau=2$ on separable
# data. Squares: networks that have stopped, $N=$ {glue:}`stop-features`, {glue:}`stop-data-sets` data sets. At $t=$
# {glue:}`until`, before the sum with small batches has settled: networks (open circles) and theory (horizontal dashes).
# Bars: two standard errors.
# ```
#
# Finite size: from networks with $N=$ {glue:}`half` to those of the figure $T_\mathrm{int}$ changes by
# {glue:text}`shift` per cent, and from $N=$ {glue:}`stop-half` to {glue:}`stop-features` the distance at $t=$
# {glue:}`until` by {glue:text}`shift-stop` per cent, in the mean weighted by accuracy; if the shift falls as $1/N$, as
# much is left.
#
# Linear response leaves out terms of relative order $dt$ and, with persistence, $b\tau\Delta$ for the sum and
# $\tau\Delta$ for the mean. It is off from the theory, from the lowest to the highest of the four batch fractions, in
# per cent, by:
#
# | | sum | mean |
# |---|---|---|
# | vanilla | {glue:text}`off-sum` | {glue:text}`off-mean` |
# | p-SGD, $\tau=0.5$ | {glue:text}`off-sum-0.5` | {glue:text}`off-mean-0.5` |
# | p-SGD, $\tau=2$ | {glue:text}`off-sum-2` | {glue:text}`off-mean-2` |
#
# ## Where the maximum comes from
#
# A step of SGD moves a mode of stiffness $a$ by $-dt\,(a\,x+\xi)$, where the force $\xi$ of the sampling noise has a
# variance $\sigma^2(a)$ and no memory. For a small learning rate its stationary variance is $dt\,\sigma^2/2a$, and its
# static response $1/a$. The force is built of the same vectors as the Hessian, so $\sigma^2(a)\propto a-\lambda$
# ({doc}`/notebooks/vanilla_modes`). Then $\langle(a-\lambda)/a\rangle/\langle1/a\rangle=1/\langle1/a\rangle-\lambda$,
# which the equation for the static response $V$ turns into a closed form:
#
# $$
# T_\mathrm{int} = \frac{\langle dt\,\sigma^2(a)/2a\rangle}{\langle 1/a\rangle}
# = \frac{dt}{2}\,\mathrm{var}(s)\,\frac{\alpha\Delta\langle\ell'^2\rangle}{1+\Delta V},\qquad
# \mathrm{var}(s) = \begin{cases} b(1-b) & \text{sum}\\ (1-b)/b & \text{mean.}\end{cases}
# $$ (eq-mean-temperature)
#
# Here $\mathrm{var}(s)$ is the variance of the weight of a sample in the gradient, which is 0 or 1 for the sum and 0
# or $1/b$ for the mean; $\langle\ell'^2\rangle$ and $V$ belong to the minimum at the ridge $\lambda/b$ for the sum and
# at $\lambda$ for the mean. With the mean only $\mathrm{var}(s)$ depends on $b$: the temperature decreases with $b$,
# and for small batches it is proportional to $dt/b$, learning rate over batch size. The maximum of the sum results
# from two competing effects: as $b$ falls, the relative fluctuation of the batch grows while the whole gradient
# becomes smaller.
#
# With persistence the batch has a memory $b\tau$. If that is longer than a step and shorter than the relaxation time
# of the weights, $2b\tau$ takes the place of $dt$ in Eq. {eq}`eq-mean-temperature`:
#
# $$
# T_\mathrm{int} \propto \tau\,b^2(1-b)\ \text{(sum)},\qquad T_\mathrm{int} \propto \tau\,(1-b)\ \text{(mean)}.
# $$ (eq-mean-persistent)
#
# Again the mean has no maximum, and a finite limit at small $b$: a sample pulls $1/b$ times as hard for a time $b$
# times as long.
#
# ```{glue:figure} persistent-map
# ---
# name: fig-persistent-map
# alt: >-
#   Two panels, for the sum and for the mean: temperature against persistence time on logarithmic scales, one colour for
#   each of four batch fractions, with circles of theory, crosses of networks and lines of linear response.
# ---
# Temperature of p-SGD against batch size and persistence, with the gradient summed (left) and averaged (right) over the
# batch. Circles: mean-field theory; crosses: networks; lines: linear response. Parameters and sizes as in the middle
# panel of {numref}`fig-sum-or-mean`. Bars: two standard errors.
# ```
#
# Of the four batch sizes of {numref}`fig-persistent-map` the sum is hottest at $b=$ {glue:text}`map-peaks-sum` and the
# mean at $b=$ {glue:text}`map-peaks-mean`. At $\tau=4$ the mean levels off at small $b$: its temperature at $b=0.1$ is
# {glue:text}`tie` times that at 0.2. Eq. {eq}`eq-mean-persistent`, an estimate for weak noise, makes the temperature
# proportional to $\tau$. In fact it grows from $\tau=0.5$ to 4 by the factors:
#
# | | sum | mean |
# |---|---|---|
# | $b=0.4$ | {glue:text}`grown-sum-0.4` | {glue:text}`grown-mean-0.4` |
# | $b=0.1$ | {glue:text}`grown-sum-0.1` | {glue:text}`grown-mean-0.1` |
#
# It grows more slowly where the memory $b\tau$ becomes longer than the relaxation time of the weights. With the mean at
# $b=0.1$ a sample has a weight of ten: it is fitted while it is in the batch and then exerts no further force. Linear
# response neglects this, and is too large by a factor {glue:text}`weak` at $b=0.1$ and $\tau=2$.
#
# With the mean, a single batch is stable only for $dt$ below $2b$ over the stiffness of the stiffest mode of its
# summed loss. Step by step, the mean at $(dt,\lambda)$ *is* the sum at $(dt/b,b\lambda)$.
#
# ## Without a ridge the gap closes
#
# We explain the different end points of SGD and GD as $dt\to0$ by the sum, which weakens the data relative to the
# ridge. Then the gap must vanish at $\lambda=0$, and for the mean.
# (The paper remarks that phase retrieval behaves otherwise {cite:p}`mignacco2021stochasticity`.) We test both at
# $\alpha=6$, $\Delta=1$, beyond $\alpha_c=$ {glue:text}`critical`, so that the minimum is unique without a ridge.
#
# ```{glue:figure} ridge-gap
# ---
# name: fig-ridge-gap
# alt: >-
#   Two panels against the learning rate: magnetisation and generalisation error of SGD less those of GD, for the sum
#   with a ridge, the mean with a ridge and the sum without one, with error bars and horizontal lines of exact limits.
# ---
# SGD with $b=0.3$ less GD on the same data, at the end of training: magnetisation (left) and generalisation error
# (right). Networks with $N=$ {glue:}`gap-features`, {glue:}`gap-data-sets` data sets, two standard errors. Horizontal
# lines: exact limits of $dt\to0$ by the static theory, zero (dotted) in two of the three cases.
# ```
#
# Extrapolated to $dt=0$ by a line through the two smallest rates, the gap in $m$ is {glue:text}`gap-sum` for the sum
# at $\lambda=1$ (exact: {glue:text}`predicted`), {glue:text}`gap-without` without a ridge and {glue:text}`gap-mean`
# for the mean. Within our errors the ridge explains all of the difference. The loss here is convex; in a rugged
# landscape noise may do more: {cite:t}`kamali2023stochastic` find a lower threshold for the recovery of a hidden
# signal with small-batch SGD than with GD.
#
# ## What this means in practice
#
# If your library averages over the batch, the paper's maximum at intermediate batch sizes does not apply to you. A
# smaller batch is noisier, down to the smallest that we tried. For batches that are a small part of the data the noise
# depends on learning rate over batch size, as {cite:t}`sclocchi2024regimes` find for a teacher-student perceptron and
# for deep networks, up to a batch size that grows with the number of samples. If your loss is a sum, two batch sizes
# with the same weight decay minimise different functions.
#
# :::{admonition} What was found
# :class: found
# - Of four batch sizes vanilla SGD is hottest at $b=$ {glue:text}`sum-peak` with the sum and at $b=$
#   {glue:text}`mean-peak` with the mean; $T_\mathrm{int}/dt$ at $b=0.1$ is {glue:text}`smallest-sum` and
#   {glue:text}`smallest-mean`.
# - With the mean, p-SGD is hottest at $b=$ {glue:text}`peak-0.5` ($\tau=0.5$) and $b=$ {glue:text}`peak-2` ($\tau=2$):
#   {glue:text}`persistent-0.5` and {glue:text}`persistent-2` at $b=0.1$.
# - On separable data, replicas trained with the sum stop farthest apart at $b=$ {glue:text}`sum-stop-peak`. At $b=0.15$
#   their distance is {glue:text}`stop-sum` with the sum and {glue:text}`stop-mean` with the mean.
# :::
#
# ## How it was made
#
# The only change is the argument `gradient="mean"`. Try your own values, for example `make notebook NAME=sum_or_mean
# ARGS="-p batches 0.05,0.3 -p persistences 1"`.

# %% tags=["parameters"]
profile = "standard"
seed = 0
alpha = 6.0
delta = 1.0
ridge = 1.0
vanilla_rate = 0.03
persistent_rate = 0.05
batches = [0.1, 0.2, 0.4, 0.8]
persistences = [0.5, 2.0]  # of the first figure
map_persistences = [0.5, 1.0, 2.0, 4.0]
sat_alpha = 0.5
sat_delta = 0.5
sat_rate = 0.2
sat_persistence = 2.0
sat_batches = [0.15, 0.3, 0.5, 0.7, 0.95]
gap_batch = 0.3  # SGD less GD, with and without a ridge
gap_rates = [0.025, 0.05, 0.1]

# %% tags=["hide-input"]
# Set up.
from itertools import pairwise, product

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import sgdnoise as sn
from sgdnoise import interactive, plotting
from sgdnoise.estimates import Estimate, finite_size, jackknife
from sgdnoise.report import claim, glue, publish

plotting.use_style()
size = {
    "smoke": {
        "theory": {"paths": 280, "realisations": 2},
        "networks": {"features": 48, "realisations": 3},
        "separable theory": {"paths": 110, "realisations": 3},
        "separable": {"features": 160, "realisations": 4},
        "gap": {"features": 100, "realisations": 3},
    },
    "standard": {
        "theory": {"paths": 280, "realisations": 10},
        "networks": {"features": 128, "realisations": 8},
        "separable theory": {"paths": 250, "realisations": 4},
        "separable": {"features": 500, "realisations": 24},
        "gap": {"features": 200, "realisations": 20},
    },
    "paper": {
        "theory": {"paths": 5000, "realisations": 8},
        "networks": {"features": 500, "realisations": 16},
        "separable theory": {"paths": 3000, "realisations": 8},
        "separable": {"features": 1000, "realisations": 100},
        "gap": {"features": 400, "realisations": 60},
    },
}[profile]
# Every sweep has one worker: short runs use all cores themselves.
colors = {"sum": plotting.COLORS["blue"], "mean": plotting.COLORS["red"]}


def quote(value, error):
    """A number with its error, to be quoted in the text."""
    digits = max(0, 1 - int(np.floor(np.log10(error))))
    return f"{value:.{digits}f} ± {error:.{digits}f}"


# %%
problem = sn.Problem(alpha=alpha, delta=delta, ridge=ridge)
taus = (None, *persistences)  # None: vanilla SGD
every_tau = (None, *sorted({*persistences, *map_persistences}))


def rate_of(persistence):
    """Learning rate of vanilla and of persistent SGD."""
    return vanilla_rate if persistence is None else persistent_rate


def half(size):
    """Networks with half the features."""
    return size | {"features": size["features"] // 2}


def algorithm(persistence, batch, gradient):
    """Vanilla or persistent SGD."""
    if persistence is None:
        return sn.SGD(batch, gradient=gradient)
    return sn.PersistentSGD(batch, persistence, "exact", gradient=gradient)


def chord(engine, problem, persistence, batch, gradient, rate, seed, **options):
    """T_int of each realisation: half the squared distance over the whole response."""
    memory = persistence or 0.0
    waiting = rate * round((2.25 + 0.625 * memory) / rate)
    end = rate * round((6.3 + 1.85 * memory) / rate)
    run = engine(
        problem,
        algorithm(persistence, batch, gradient),
        rate,
        end,
        replicas=2,
        waiting_times=[waiting],
        seed=seed,
        **options,
    )
    distance = run.distance.sel(time=slice(4.5 + memory, None))
    response = run.integrated_response.isel(waiting_time=0)
    response = response.sel(time=slice(end - 0.5, None))
    return 0.5 * (distance**2).mean("time") / response.mean("time")


def chords(engine, memories=every_tau, **options):
    """T_int by theory or by simulation at every point, stored or computed now."""
    points = [
        {
            "persistence": tau,
            "batch": batch,
            "gradient": gradient,
            "rate": rate_of(tau),
        }
        for tau in memories
        for batch in batches
        for gradient in colors
    ]
    fixed = {"engine": engine, "problem": problem} | options
    found = (
        sn.sweep(chord, points, [seed], fixed=fixed, workers=1).squeeze("seed").value
    )
    return {
        tuple(point.values())[:3]: found.isel(point=i) for i, point in enumerate(points)
    }


theory = chords(sn.solve_dmft, **size["theory"])
options = {"probes": 4, "loss_every": 1000}
networks = chords(sn.simulate, **options, **size["networks"])
smaller = chords(sn.simulate, taus, **options, **half(size["networks"]))

# %%
separable = sn.Problem(alpha=sat_alpha, delta=sat_delta, ridge=0.0)
until = sat_rate * round(20.0 / sat_rate)


def stopped(engine, gradient, **options):
    """Two replicas for every batch size, until the rule stops them or for a while."""
    points = [
        {"algorithm": sn.PersistentSGD(batch, sat_persistence, gradient=gradient)}
        for batch in sat_batches
    ]
    fixed = {"problem": separable, "learning_rate": sat_rate, "replicas": 2} | options
    return (
        sn.sweep(engine, points, [seed], fixed=fixed, workers=1)
        .squeeze("seed")
        .distance
    )


rule = {"duration": 7500 * sat_rate, "stop_gradient": 1e-10, "record_every": 100}
brief = {"duration": until, "waiting_times": [0.0]}
stops = {
    gradient: stopped(sn.simulate, gradient, **rule, **size["separable"])
    for gradient in colors
}
stops_half = {
    gradient: stopped(
        sn.simulate, gradient, duration=until, **half(size["separable"])
    ).isel(time=-1)
    for gradient in colors
}
paths = {
    gradient: stopped(sn.solve_dmft, gradient, **brief, **size["separable theory"])
    for gradient in colors
}

# %% tags=["hide-input"]
# Draw the figure.
fine = np.append(np.linspace(0.1, 0.95, 18), (0.975, 0.99))


def along(values, tau, gradient):
    """Mean and error of T_int for all batch sizes."""
    pairs = [plotting.mean_and_error(values[tau, b, gradient]) for b in batches]
    return np.array([[float(mean), float(error)] for mean, error in pairs]).T


figure, (left, middle, right) = plt.subplots(1, 3, figsize=(7.4, 3.3))
for gradient, color in colors.items():
    look = {"color": color, "linewidth": 1}
    limit = []
    for b in fine:
        static = sn.solve_statics(problem, sn.SGD(b, gradient=gradient))
        limit.append(static.temperature_slope / (1 + static.susceptibility))
    plotting.curve(left, fine, limit, fmt="--", name=f"{gradient}, $dt\\to0$", **look)
    for tau in taus:
        axes, style = left if tau is None else middle, ":" if tau in taus[2:] else "-"
        rate = rate_of(tau)
        unit = rate if tau is None else 1.0
        name = gradient if tau is None else rf"{gradient}, $\tau={tau:g}$"
        weak = [
            sn.linear_response(
                problem, algorithm(tau, b, gradient), rate, rate
            ).integrated_temperature
            for b in fine
        ]
        weak = np.array(weak) / unit
        look["linewidth"] = 1.6 if style == ":" else 1
        line = plotting.curve(
            axes, fine, weak, fmt=style, name=f"{name}, linear response", **look
        )
        if style == "-":
            place = {"at": 8, "offset": (0, -8)}
            if gradient == "mean":
                place = {"at": 6 if tau is None else 12, "offset": (0, 8)}
            plotting.label(line, gradient, **place)
        else:
            plotting.label(line, rf"$\tau={tau:g}$", at=1, offset=(6, 6))
        fill = {"fillstyle": "none" if style == ":" else "full"}
        for found, fmt, which in (
            (theory, "o", "theory"),
            (networks, "x", "networks"),
            (smaller, "x", f"networks, $N={half(size['networks'])['features']}$"),
        ):
            values, errors = along(found, tau, gradient) / unit
            mark = {"fmt": fmt, "color": color, "name": f"{name}, {which}"}
            mark["visible"] = found is not smaller
            grow = {"markersize": 4.5 if fmt == "o" else 5}
            plotting.curve(axes, batches, values, errors, **mark, **grow, **fill)
    for time, fmt, fill in ((None, "s-", "full"), (until, "o", "none")):
        shown = stops[gradient]
        shown = shown.sel(time=time, method="nearest") if time else shown.isel(time=-1)
        values, errors = plotting.mean_and_error(shown)
        mark = {"color": color, "fillstyle": fill, "linewidth": 0.8, "elinewidth": 0.7}
        name = (
            f"{gradient}, networks, {'stopped' if fill == 'full' else f'$t={until:g}$'}"
        )
        line = plotting.curve(
            right, sat_batches, values, errors, fmt=fmt, name=name, **mark
        )
        if time is None:
            up = 7 if gradient == "mean" else -14
            plotting.label(line, gradient, at=len(sat_batches) // 2, offset=(0, up))
    values, errors = plotting.mean_and_error(stops_half[gradient])
    few = f"$N={half(size['separable'])['features']}$"
    name = f"{gradient}, networks, {few}, $t={until:g}$"
    plotting.curve(right, sat_batches, values, errors, name=name, visible=False)
    values, errors = plotting.mean_and_error(paths[gradient].isel(time=-1))
    mark = {"color": color, "name": f"{gradient}, theory, $t={until:g}$"}
    plotting.curve(
        right,
        sat_batches,
        values,
        errors,
        fmt="_",
        markersize=11,
        elinewidth=0.7,
        **mark,
    )
for axes, title in (
    (left, r"vanilla: $T_\mathrm{int}/dt$"),
    (middle, r"persistent: $T_\mathrm{int}$"),
    (right, "separable: distance $d_0$"),
):
    axes.set(xlabel="batch fraction $b$", title=title, xlim=(0, 1))
for axes in (left, middle):
    axes.set_yscale("log")
right.set_ylim(0, None)
publish("sum-or-mean", figure)

figure, panels = plt.subplots(1, 2, figsize=(7.4, 3.3))
shades = plotting.ordered(batches)
dense = np.geomspace(map_persistences[0], map_persistences[-1], 12)
for axes, gradient in zip(panels, colors, strict=True):
    for b, color in shades.items():
        weak = [
            sn.linear_response(
                problem, algorithm(tau, b, gradient), persistent_rate, persistent_rate
            ).integrated_temperature
            for tau in dense
        ]
        look = {"color": color, "name": f"{gradient}, $b={b:g}$, linear response"}
        plotting.curve(axes, dense, weak, fmt="-", linewidth=0.8, **look)
        for found, fmt, which in ((theory, "o", "theory"), (networks, "x", "networks")):
            pairs = [
                plotting.mean_and_error(found[tau, b, gradient])
                for tau in map_persistences
            ]
            values, errors = np.array(pairs, dtype=float).T
            mark = {
                "fmt": fmt,
                "color": color,
                "name": f"{gradient}, $b={b:g}$, {which}",
            }
            if fmt == "o":
                mark["label"] = f"$b={b:g}$"
            plotting.curve(
                axes, map_persistences, values, errors, markersize=4.5, **mark
            )
    axes.set(xscale="log", yscale="log", title=gradient)
    axes.set_xlabel(r"persistence $\tau$")
    plotting.plain_ticks(axes.xaxis, map_persistences)
low, high = zip(*(axes.get_ylim() for axes in panels), strict=True)
for axes in panels:  # each has its numbers: on a phone one stands below the other
    axes.set(ylim=(min(low), max(high)), ylabel=r"$T_\mathrm{int}$")
panels[1].legend(loc="lower right", ncols=2)
publish("persistent-map", figure)
glue("features", size["networks"]["features"])
glue("data-sets", size["networks"]["realisations"])
glue("stop-features", size["separable"]["features"])
glue("stop-data-sets", size["separable"]["realisations"])
glue("until", f"{until:g}")
# Finite size: all temperatures, and the distances before the stop.
ends = [[found[point] for point in smaller] for found in (networks, smaller)]
glue("half", half(size["networks"])["features"])
glue("shift", f"{100 * finite_size(*ends):+.1f}")
before = [
    np.concatenate([each.transpose("point", "realisation") for each in found])
    for found in (
        [stops[g].sel(time=until, method="nearest") for g in colors],
        stops_half.values(),
    )
]
glue("stop-half", half(size["separable"])["features"])
glue("shift-stop", f"{100 * finite_size(*before):+.1f}")


# %% tags=["hide-input"]
# Let the reader choose gradient, learning rate and momentum.
settings = [
    {"gradient": gradient, "learning_rate": rate, "momentum": beta, "batch": b}
    for gradient in colors
    for rate, beta in ((0.03, 0.0), (0.01, 0.0), (0.01, 0.5))
    for b in (0.1, 0.2, 0.4, 0.8)
]
fixed = {"problem": problem} | size["networks"]
heats = sn.sweep(interactive.chord, settings, [seed], fixed=fixed, workers=1)
heats = [Estimate.mean(heats.value.isel(point=i)) for i in range(len(settings))]
offered = interactive.batch(
    problem,
    (0.005, 0.01, 0.02, 0.03),
    (0.0, 0.5, 0.8),
    [(*where.values(), heat) for where, heat in zip(settings, heats, strict=True)],
)
interactive.offer("sum-or-mean", "batch", offered)


# %% tags=["hide-input", "claims"]
# Test the claims about the maximum.
def falls(values, which):
    """By how much T_int of vanilla SGD falls from each batch size to the next."""
    hot = {b: Estimate.mean(values[None, b, "mean"]) for b in batches}
    return {
        f"{which}, $b={a:g}$ to {b:g}": hot[a] - hot[b] for a, b in pairwise(batches)
    }


hot = {tau: along(theory, tau, "mean") for tau in taus}
rate = vanilla_rate
table = ", ".join(quote(*pair) for pair in hot[None].T / rate)
claim(
    "mean-temperature-has-no-maximum",
    rf"$T_\mathrm{{int}}/dt$ of vanilla SGD is {table} at $b =$ "
    + ", ".join(f"{b:g}" for b in batches),
    falls(theory, "theory") | falls(networks, "networks"),
)
middle_batch = batches[int(np.argmax(along(theory, None, "sum")[0]))]
glue("sum-peak", f"{middle_batch:g}")
glue("mean-peak", f"{batches[int(np.argmax(hot[None][0]))]:g}")
for gradient in colors:
    hottest = along(theory, None, gradient)[0, 0]
    glue(f"smallest-{gradient}", f"{hottest / rate:.3g}")
for tau in persistences:
    glue(f"persistent-{tau:g}", quote(*hot[tau][:, 0]))
    glue(f"peak-{tau:g}", f"{batches[int(np.argmax(hot[tau][0]))]:g}")
for tau, gradient in product(taus, colors):
    off = []
    for b in batches:
        step = rate_of(tau)
        line = sn.linear_response(problem, algorithm(tau, b, gradient), step, step)
        line = Estimate(line.integrated_temperature, 0.0)
        off.append(100 * (line / Estimate.mean(theory[tau, b, gradient]) - 1.0))
    ends = [pick(off, key=lambda e: e.value) for pick in (min, max)]
    name = f"off-{gradient}" + ("" if tau is None else f"-{tau:g}")
    glue(name, " to ".join(f"{end:+.1f}" for end in ends))
for gradient, b in product(colors, (batches[0], batches[2])):
    ends = (theory[map_persistences[i], b, gradient] for i in (-1, 0))
    grown = jackknife(lambda x, y: x / y, *ends)
    glue(f"grown-{gradient}-{b:g}", f"{grown:.2f}")
ends = (theory[map_persistences[-1], b, "mean"] for b in batches[:2])
glue("tie", f"{jackknife(lambda x, y: x / y, *ends):.2f}")
for gradient in colors:
    peaks = {
        batches[int(np.argmax(along(theory, tau, gradient)[0]))]
        for tau in map_persistences
    }
    glue(f"map-peaks-{gradient}", " and ".join(f"{b:g}" for b in sorted(peaks)))
weak = sn.linear_response(problem, algorithm(2.0, 0.1, "mean"), rate_of(2.0), 0.05)
glue("weak", f"{weak.integrated_temperature / hot[2.0][0, 0]:.1f}")
ends = stops["mean"].isel(time=-1)
steps = {
    f"$b={sat_batches[i]:g}$ to {sat_batches[j]:g}": Estimate.mean(
        ends.isel(point=i) - ends.isel(point=j)
    )
    for i, j in pairwise(range(len(sat_batches)))
}
mean, error = plotting.mean_and_error(ends)
table = ", ".join(f"{float(value):.3f}" for value in mean)
claim(
    "mean-distance-has-no-maximum",
    f"{table} (± {float(error.max()):.3f}) at $b =$ "
    + ", ".join(f"{b:g}" for b in sat_batches),
    steps,
)
total = plotting.mean_and_error(stops["sum"].isel(time=-1))[0]
glue("sum-stop-peak", f"{sat_batches[int(np.argmax(total.values))]:g}")
glue("stop-mean", f"{float(mean[0]):.3f}")
glue("stop-sum", f"{float(total[0]):.3f}")

# %%
trials = {
    f"sum, $\\lambda={ridge:g}$": (ridge, sn.SGD(gap_batch), 12.0),
    f"mean, $\\lambda={ridge:g}$": (ridge, sn.SGD(gap_batch, gradient="mean"), 12.0),
    "sum, $\\lambda=0$": (0.0, sn.SGD(gap_batch), 90.0),
}


def gap(problem, algorithm, duration, rates, seed, **options):
    """SGD less GD on the same data sets, averaged over the last third of the run."""
    runs = [(sn.GD(), rates[-1]), *((algorithm, rate) for rate in rates)]
    ends = sn.simulate_paired(problem, runs, duration, seed=seed, **options)
    late = [
        run[["magnetization", "error"]].sel(time=slice(2 * duration / 3, None))
        for run in ends
    ]
    gd, *sgd = (run.mean("time") for run in late)
    return xr.concat([run - gd for run in sgd], dim="rate").assign_coords(rate=[*rates])


points = [
    {
        "problem": sn.Problem(alpha=alpha, delta=delta, ridge=strength),
        "algorithm": sgd,
        "duration": gap_rates[-1] * round(duration / gap_rates[-1]),
    }
    for strength, sgd, duration in trials.values()
]
fixed = size["gap"] | {"loss_every": 1000, "rates": gap_rates}
gaps = sn.sweep(gap, points, [seed], fixed=fixed, workers=1).squeeze("seed")

# %% tags=["hide-input"]
# Draw the second figure.
figure, panels = plt.subplots(1, 2, figsize=(7.4, 3.0))
exact = {}
for i, (name, (strength, sgd, _)) in enumerate(trials.items()):
    at = sn.Problem(alpha=alpha, delta=delta, ridge=strength)
    for axes, variable in zip(panels, ("magnetization", "error"), strict=True):
        ends = [getattr(sn.solve_statics(at, how), variable) for how in (sgd, sn.GD())]
        exact[name, variable] = ends[0] - ends[1]
        look = {"color": plotting.SERIES[i]}
        plotting.curve(
            axes,
            None,
            exact[name, variable],
            fmt="--" if i == 0 else ":",
            linewidth=1,
            name=f"{name}, exact at $dt\\to0$",
            **look,
        )
        mean, error = plotting.mean_and_error(gaps[variable].isel(point=i))
        mark = {"fmt": "osD"[i] + "-", "linewidth": 0.8, "label": name}
        plotting.curve(axes, gap_rates, mean, error, **mark, **look)
for axes, label in zip(
    panels, ("magnetisation $m$", "generalisation error"), strict=True
):
    axes.set(
        xlabel="learning rate $dt$", ylabel=f"{label}, SGD less GD", xlim=(0, None)
    )
panels[1].legend()
publish("ridge-gap", figure)
glue("critical", f"{sn.critical_alpha(delta):.2f}")
glue("gap-features", size["gap"]["features"])
glue("gap-data-sets", size["gap"]["realisations"])

# %% tags=["hide-input", "claims"]
# Test the claim about the gap.
at_zero = {}
for i, name in enumerate(trials):
    gap_of = gaps.magnetization.isel(point=i)
    line = 2 * gap_of.sel(rate=gap_rates[0]) - gap_of.sel(rate=gap_rates[1])
    at_zero[name] = Estimate.mean(line)
with_ridge, mean_ridge, without = at_zero.values()
predicted = abs(next(iter(exact.values())))
glue("predicted", f"{-predicted:.4f}")
for name, value in zip(("sum", "mean", "without"), at_zero.values(), strict=True):
    glue(f"gap-{name}", value)
claim(
    "no-gap-without-ridge",
    rf"a line through the two smallest rates meets $dt=0$ at {without} without a ridge and at "
    rf"{mean_ridge} for the mean, where the sum at $\lambda=1$ has {with_ridge}",
    {"no ridge": without / predicted, "mean": mean_ridge / predicted},
)
