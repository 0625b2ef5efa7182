# ---
# jupyter:
#   expected_seconds:
#     paper: 220
#     smoke: 8
#     standard: 20
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Shuffled epochs
#
# :::{admonition} What you will learn
# :class: learn
# Why shuffling the data once per epoch removes the noise at frequency zero, how this affects the temperature, and how
# close together two runs then end on separable data.
# :::
#
# The paper draws every batch anew, with replacement: a sample may be used twice in a row, or not for a long time. In
# practice the data are shuffled once an epoch and every sample is used exactly once until the next shuffle.
# {cite:t}`kuehn2025anticorrelated` showed that this makes the noise of successive batches anti-correlated, and that
# weights fluctuate less along flat directions. Here we ask how shuffling affects the quantities of the paper: the FDT
# plot, the temperature, the distance of two replicas, and the point at which training stops. We compare it with
# persistent batches ({doc}`/notebooks/fig02_persistent`), whose noise is positively correlated instead.
#
# ```{glue:figure} shuffled-fdt
# ---
# name: fig-shuffled-fdt
# alt: >-
#   Left: displacement against integrated response for replacement, shuffling and persistence, points on lines. Right:
#   slope of these curves against the lag, points with error bars and lines of linear response, with a level at zero
#   and an upright dotted line at one epoch.
# ---
# Left: FDT plot of three ways to draw a batch of the same size, $b=0.1$, at the same $dt=0.1$ ($\alpha=6$,
# $\Delta=\lambda=1$; persistence $\tau=2$): half the squared displacement $B$ against the response, lags up to 3. The
# slope is the temperature. Right: that slope at each lag. Symbols: networks, $N=$ {glue:}`features`, {glue:}`data_sets`
# data sets, two standard errors; lines: mean-field theory (left) and linear response with the spectrum of Eq.
# {eq}`eq-shuffled` (right). Averages are over two whole epochs of waiting times.
# ```
#
# Linear response leaves out terms of relative order $dt$, and with persistence $b\tau\Delta=0.2$. Its slope and its
# chord are off from those of the networks by
#
# | | slope at lag 0.1 | slope at one epoch | chord up to lag 3 (%) |
# |---|---|---|---|
# | replacement | {glue:text}`first-replacement` | {glue:text}`later-replacement` | {glue:text}`chord-replacement` |
# | shuffling | {glue:text}`first-shuffling` | {glue:text}`later-shuffling` | {glue:text}`chord-shuffling` |
# | persistence | {glue:text}`first-persistence` | {glue:text}`later-persistence` | {glue:text}`chord-persistence` |
#
# Finite size: from networks with $N=$ {glue:}`half` to those of the figures the chord changes by {glue:text}`shift`
# per cent and the distance of two replicas by {glue:text}`shift-distance` per cent, in the mean over the three
# algorithms; if the shift falls as $1/N$, as much is left. (The data of {numref}`fig-shuffled-fdt` have both sizes.)
#
# After a single step all three have moved about equally far, because one step uses one batch. Then they separate. With
# replacement the slope at lag 0.1 is {glue:text}`early-replacement` and at one epoch {glue:text}`epoch-replacement`.
# With persistence it grows from {glue:text}`early-persistence` to {glue:text}`epoch-persistence`. With shuffling it
# falls from {glue:text}`early-shuffling` to {glue:text}`epoch-shuffling` and becomes *negative*. The FDT curve turns
# back. The displacement is largest at a lag of {glue:text}`turn`, before the epoch is over, and then shrinks, because
# the last batches of an epoch undo the effect of the first ones. A negative slope is not a negative temperature in a
# thermodynamic sense; it shows that no single temperature describes these fluctuations. The chord of the whole plot,
# $T_\mathrm{int}$, always exists: linear response gives {glue:text}`whole-shuffling` for shuffling,
# {glue:text}`whole-replacement` for replacement and {glue:text}`whole-persistence` for persistence. (With replacement
# these are the parameters of the paper's 0.015. The temperature that we quote there is the line over lags from 0 to
# 2.5; slopes at one lag and the chord are other functionals of the same curve, see {doc}`/notebooks/temperature`.)
#
# ## No noise at frequency zero
#
# Let $s_\mu(t)$ be one if sample $\mu$ is in the batch at step $t$, and let an epoch have $1/b$ steps. A sample is used
# once per epoch, so $s_\mu(t)\,s_\mu(t+n)=0$ for two different steps of the same epoch; in different epochs the two
# factors are independent. Averaged over the position of $t$ in its epoch, step $t+n$ lies in the same epoch with
# probability $(1-|n|b)_+$, and the autocovariance follows:
#
# $$
# \begin{aligned}
# \mathrm{cov}_n &= \langle s_\mu(t)\,s_\mu(t+n)\rangle - b^2 = b\,\delta_{n0} - b^2\,(1-|n|b)_+ , \\
# \sum_n \mathrm{cov}_n &= b - b^2\cdot\frac1b = 0 .
# \end{aligned}
# $$ (eq-shuffled)
#
# The second equation says that the noise has no weight at frequency zero, because the sum of $s_\mu$ over an epoch is
# always one. With replacement $\mathrm{cov}_n=b(1-b)\,\delta_{n0}$, and with persistence it is positive for a time
# $b\tau$.
#
# The state of the weights is not stationary but periodic with the epoch: the first batch of an epoch is free, and the
# last one consists of the remaining samples. All averages below therefore run over whole epochs, with waiting times at
# every step of two successive epochs and equal weight for each. Eq. {eq}`eq-shuffled` holds for this average.
#
# ## Two replicas, and where training stops
#
# Two replicas shuffle independently. On data that cannot be separated their distance becomes periodic with the epoch;
# averaged over an epoch, $d^2/2=T_\mathrm{int}\,\chi(\infty)$, and linear response predicts the ratio of the two
# distances. On separable data without ridge ($\alpha=\Delta=0.5$, as in {doc}`/notebooks/fig07_stopping`) most
# directions are flat. Along them the weights accumulate all the noise that they have received, so only its weight at
# frequency zero matters. With shuffling that weight is zero, except for the change of the forces within an epoch.
#
# ```{glue:figure} shuffled-stop
# ---
# name: fig-shuffled-stop
# alt: >-
#   Left: distance of two replicas against time for replacement, shuffling and persistence. Middle: final distance on
#   separable data against batch fraction, on a logarithmic scale, for replacement and shuffling. Right: fraction of
#   support vectors at the stop for the same runs.
# ---
# Left: distance of two replicas on data that cannot be separated (the networks of {numref}`fig-shuffled-fdt`). Middle
# and right: distance $d_0$ and fraction $c_0$ of samples within the margin when training on separable data stops
# (squared stochastic gradient at most $10^{-10}\,bN$), $\alpha=\Delta=0.5$, $\lambda=0$, $dt=0.2$, $N=$
# {glue:}`stopped_features`, {glue:}`stopped_sets` data sets. Bars and bands are two standard errors.
# ```
#
# Where the data cannot be separated, the distance with shuffling, averaged over whole epochs, is {glue:text}`ratio` of
# that with replacement (linear response: {glue:text}`predicted`). Where they can, the ratio at $b=1/4$ is only
# {glue:text}`stop-distance`: two networks that shuffle differently end at nearly the same point. The stopping time
# hardly changes; it is {glue:text}`stop-stopping_time` times that with replacement. The fraction of support vectors is
# {glue:text}`stop-unsatisfied` times as large, compared data set by data set. That fits the trend of
# {doc}`/notebooks/fig04_support_vectors`, where less noise goes with more support vectors.
#
# ## What this means in practice
#
# If your data loader shuffles once per epoch, the formula $T\propto dt/b$ and the temperatures of the paper describe
# your noise only on times much shorter than an epoch, or along directions so stiff that they relax within one. By Eq.
# {eq}`eq-shuffled` slow directions are colder. The spread of weights over seeds under replacement may be many times
# larger than that under shuffling, so do not take one for the other. Do not measure a noise scale at a fixed phase of
# the epoch either, such as at its end, where it is smallest ({numref}`fig-shuffled-stop`, left). If you want the noise
# of the paper, perhaps to explore flat directions, sample with replacement. If you want weights that depend little on
# the seed, shuffle. We have shown this for one layer and a convex loss.
#
# :::{admonition} What was found
# :class: found
# - Batches of shuffled epochs have no noise at frequency zero. At a lag of one epoch we find that the FDT plot has the
#   slope {glue:text}`epoch-shuffling` with shuffling, {glue:text}`epoch-replacement` with replacement and
#   {glue:text}`epoch-persistence` with persistence.
# - On data that cannot be separated, the distance of two replicas with shuffling is {glue:text}`ratio` times that with
#   replacement.
# - On separable data the distance at the stop is at most {glue:text}`worst` times that with replacement, for all batch
#   sizes that we tried.
# :::
#
# ## How it was made
#
# Try your own values, for example `make notebook NAME=shuffled_epochs ARGS="-p batch 0.25 -p persistence 1"`.

# %% tags=["parameters"]
profile = "standard"
seed = 0
alpha = 6.0
delta = 1.0
ridge = 1.0
rate = 0.1
batch = 0.1  # one over a whole number
persistence = 2.0
sat_alpha = 0.5
sat_delta = 0.5
sat_rate = 0.2
sat_batches = [0.2, 0.25, 0.5]  # one over whole numbers

# %% tags=["hide-input"]
# Set up.
import matplotlib.pyplot as plt
import numpy as np

import sgdnoise as sn
from sgdnoise import plotting
from sgdnoise.estimates import Estimate, finite_size, jackknife
from sgdnoise.report import claim, glue, publish

plotting.use_style()
network_size, theory_size, stopped_size = {
    "smoke": (
        {"features": 80, "realisations": 4},
        {"paths": 300, "realisations": 3},
        {"features": 200, "realisations": 6},
    ),
    "standard": (
        {"features": 400, "realisations": 16},
        {"paths": 1500, "realisations": 3},
        {"features": 400, "realisations": 48},
    ),
    "paper": (
        {"features": 1000, "realisations": 24},
        {"paths": 5000, "realisations": 8},
        {"features": 1000, "realisations": 100},
    ),
}[profile]
# The few small networks of the smoke profile cannot exclude a drift.
nearly = {"drift_tolerance": 1e3 if profile == "smoke" else 0.1}
names = {"replacement": "blue", "shuffling": "red", "persistence": "green"}
markers = dict(zip(names, "osD", strict=True))


def by_name(function, **options):
    """The same run with each of the three ways to draw batches."""
    points = [{"algorithm": algorithm} for algorithm in algorithms.values()]
    whole = sn.sweep(function, points, [seed], fixed=options).squeeze("seed")
    return {name: whole.isel(point=i) for i, name in enumerate(algorithms)}


# %%
problem = sn.Problem(alpha=alpha, delta=delta, ridge=ridge)
algorithms = {
    "replacement": sn.SGD(batch),
    "shuffling": sn.ShuffledSGD(batch),
    "persistence": sn.PersistentSGD(batch, persistence),
}
settled, epoch, span = round(6 / rate), round(1 / batch), round(3 / rate)  # steps
waits = [round(rate * (settled + step), 9) for step in range(2 * epoch)]
whole = settled + 2 * epoch - 1 + span
common = {"problem": problem, "learning_rate": rate, "waiting_times": waits}
half = network_size | {"features": network_size["features"] // 2}
network, smaller = (
    by_name(
        sn.simulate,
        **common,
        duration=rate * max(settled + 6 * epoch, whole),
        replicas=2,
        **size,
    )
    for size in (network_size, half)
)
theory = by_name(sn.solve_dmft, **common, duration=rate * whole, **theory_size)
linear = {
    name: sn.linear_response(problem, algorithm, rate, duration=rate * span)
    for name, algorithm in algorithms.items()
}
lags = [rate * step for step in (1, *range(2, 2 * epoch + 1, 2))]
local = {
    name: sn.local_temperature(run, lags=lags, waiting_times=waits, **nearly)
    for name, run in network.items()
}

# %% tags=["hide-input"]
# Draw the FDT plot and its slope.


def displacement(dataset):
    """Squared displacement B and response against lag, averaged over whole epochs of waiting times."""
    curve = sn.fdt_curve(dataset, waiting_time=waits).mean("waiting_time")
    curve["displacement"] = 1e3 * (curve.displacement + 0.5 * curve.drift)
    return curve.sel(lag=slice(0, rate * (span + 0.5)))


figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.3))
for name, color in names.items():
    look = {"color": plotting.COLORS[color], "label": name}
    mean = displacement(theory[name]).mean("realisation")
    line = {"color": look["color"], "linewidth": 1, "name": f"{name}, mean-field"}
    drawn = plotting.curve(
        left, mean.integrated_response, mean.displacement, fmt="-", **line
    )
    place = {"at": span // 2, "offset": (4, -8) if name == "shuffling" else (-5, 4)}
    plotting.label(drawn, name, **place)
    bars = look | {"fmt": markers[name], "markersize": 3, "elinewidth": 0.7}
    for run, seen in ((network, True), (smaller, False)):
        points = displacement(run[name]).isel(lag=slice(0, None, 2))
        x, _ = plotting.mean_and_error(points.integrated_response)
        values = plotting.mean_and_error(points.displacement)
        called = name if seen else f"{name}, $N={half['features']}$"
        plotting.curve(left, x, *values, **bars | {"label": called}, visible=seen)
    slope = local[name]
    plotting.curve(right, slope.lag, slope.slope, slope.error, **bars)
    exact = linear[name].isel(realisation=0, waiting_time=0)
    steps = exact.time.values[: 2 * epoch] + 0.5 * rate
    slopes = -np.diff(exact.correlation) / np.diff(exact.integrated_response)
    line = line | {"name": f"{name}, linear response"}
    plotting.curve(right, steps, slopes[: 2 * epoch], fmt="-", **line)
left.set(
    xlabel=r"integrated response $\chi$",
    ylabel=r"displacement $B$ ($10^{-3}$)",
    xlim=(0, None),
    ylim=(0, None),
)
thin = {"color": "0.7", "linewidth": 0.8, "zorder": 0}
plotting.curve(right, None, 0.0, **thin, name="zero")
plotting.curve(right, epoch * rate, None, fmt=":", **thin, name="one epoch")
right.set(
    xlabel="lag $t-t_w$", ylabel="slope at this lag", xlim=(0, rate * (2 * epoch + 1))
)
top = {"transform": right.get_xaxis_transform(), "va": "top"}
right.text(epoch * rate + 0.03, 1.0, "one epoch", color="0.35", **top)
publish("shuffled-fdt", figure)
past = linear["shuffling"].correlation.isel(realisation=0, waiting_time=0)
glue("turn", f"{rate * int(past.argmin('time')):.1f}")
glue("features", network_size["features"])
glue("data_sets", network_size["realisations"])
for name in names:
    glue(f"whole-{name}", f"{linear[name].integrated_temperature:.4f}")

# %% tags=["hide-input", "claims"]
# Quote numbers and test the first claim.
one_epoch, early = (
    {n: s.sel(lag=lag, method="nearest") for n, s in local.items()}
    for lag in (rate * epoch, rate)
)
freedom = network_size["realisations"] - 1
first, later = (
    {n: Estimate(float(s.slope), float(s.error), freedom) for n, s in at.items()}
    for at in (early, one_epoch)
)
# How far off linear response is: its slopes, and its chord up to the end of the plot.
for name in names:
    slope = sn.local_temperature(linear[name], lags=(rate, rate * epoch)).slope.values
    for word, lag, found in zip(("first", "later"), slope, (first, later), strict=True):
        over = -1.0 * (found[name] - float(lag))
        glue(f"{word}-{name}", f"{over:+.4f}")
    end = sn.fdt_curve(linear[name], waiting_time=0.0).isel(realisation=0, lag=span)
    chord = float(end.displacement / end.integrated_response)
    end = displacement(network[name]).isel(lag=span)
    over = jackknife(lambda x, y: x / y, end.integrated_response, end.displacement)
    over = 1e3 * chord * over  # the displacement is in units of a thousandth
    glue(f"chord-{name}", f"{100 * (over - 1.0):+.1f}")
# Finite size: the chord up to the end of the plot, and the distance.
ends, apart = [], []
for run in (network, smaller):
    end = [displacement(run[name]).isel(lag=span) for name in names]
    ends.append([plot.displacement / plot.integrated_response for plot in end])
    six = slice(settled, settled + 6 * epoch)
    apart.append([run[name].distance.isel(time=six).mean("time") for name in names])
glue("half", half["features"])
glue("shift", f"{100 * finite_size(*ends):+.1f}")
glue("shift-distance", f"{100 * finite_size(*apart):+.1f}")
change = {name: later[name] - first[name] for name in names}
for name in names:
    glue(f"early-{name}", f"{first[name]:.4f}")
    glue(f"epoch-{name}", f"{later[name]:.4f}")
claim(
    "shuffling-cools-with-the-lag",
    f"from lag 0.1 to one epoch the slope goes from {first['shuffling']:.4f} to {later['shuffling']:.4f} with "
    f"shuffling; it changes by {change['replacement']:.4f} with replacement and by {change['persistence']:.4f} with "
    "persistence",
    later["shuffling"],
    later["replacement"] / first["replacement"],
    later["persistence"] / first["persistence"],
)

# %%
separable = sn.Problem(alpha=sat_alpha, delta=sat_delta, ridge=0.0)
kinds = {"replacement": sn.SGD, "shuffling": sn.ShuffledSGD}
stopped = sn.sweep(
    sn.simulate,
    [{"algorithm": kind(b)} for kind in kinds.values() for b in sat_batches],
    [seed],
    fixed={
        "problem": separable,
        "learning_rate": sat_rate,
        "duration": 3000 * sat_rate,
        "replicas": 2,
        "stop_gradient": 1e-10,
        "record_every": 100,
        **stopped_size,
    },
).squeeze("seed")
final = {
    (name, b): stopped.isel(point=i * len(sat_batches) + j, time=-1)
    for i, name in enumerate(kinds)
    for j, b in enumerate(sat_batches)
}

# %% tags=["hide-input"]
# Draw distances and stops.
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(7.4, 3.2))
for name, color in names.items():
    look = {"color": plotting.COLORS[color], "linestyle": "-", "linewidth": 1}
    line = plotting.draw(left, network[name].distance, **look, name=f"{name}, networks")
    plotting.label(line, name, offset=(-1, -16 if name == "shuffling" else 10))
left.set(xlabel="time $t$", ylabel=f"distance $d(t)$, $b={batch:g}$", ylim=(0, None))
for name in kinds:
    look = {"color": plotting.COLORS[names[name]], "fmt": f"{markers[name]}-"}
    for axes, variable in ((middle, "distance"), (right, "unsatisfied")):
        values = [
            plotting.mean_and_error(final[name, b][variable]) for b in sat_batches
        ]
        mean, error = np.array([[float(v) for v in pair] for pair in values]).T
        # Side by side, so that bars do not hide each other.
        shifted = np.array(sat_batches) + (0.006 if name == "shuffling" else -0.006)
        line = plotting.curve(
            axes, shifted, mean, error, name=f"{name}, {variable}", linewidth=1, **look
        )
        if axes is middle:
            plotting.label(line, name, offset=(-6, 12))
middle.set(xlabel="batch fraction $b$", ylabel="$d_0$ at the stop", yscale="log")
right.set(xlabel="batch fraction $b$", ylabel="$c_0$ at the stop")
plotting.plain_ticks(middle.yaxis, [0.002, 0.005, 0.01, 0.02, 0.05, 0.1])
publish("shuffled-stop", figure)
glue("stopped_features", stopped_size["features"])
glue("stopped_sets", stopped_size["realisations"])

# %% tags=["hide-input", "claims"]
# Quote numbers and test the other claims.
settled = {
    # Six whole epochs.
    name: run.distance.isel(time=slice(settled, settled + 6 * epoch)).mean("time")
    for name, run in network.items()
}
ratio = Estimate.mean(settled["shuffling"] / settled["replacement"])
predicted = float(
    np.sqrt(
        linear["shuffling"].integrated_temperature
        / linear["replacement"].integrated_temperature
    )
)
glue("ratio", f"{ratio:.3f}")
glue("predicted", f"{predicted:.3f}")
claim(
    "shuffling-draws-replicas-together",
    f"distance with shuffling over that with replacement: {ratio:.3f}, where linear response predicts "
    f"{predicted:.3f}",
    ratio / predicted,
)


def compared(variable, b):
    """Shuffling over replacement when training stops, on the same data sets."""
    runs = (final[name, b][variable] for name in ("shuffling", "replacement"))
    over, under = (
        run.mean("replica") if "replica" in run.dims else run for run in runs
    )
    return jackknife(lambda x, y: x / y, over, under)


for variable in ("distance", "unsatisfied", "stopping_time"):
    glue(f"stop-{variable}", f"{compared(variable, 1 / 4):.3f}")
parts = {f"$b={b:.3g}$": compared("distance", b) for b in sat_batches}
worst = max(parts.values(), key=lambda part: part.value)
glue("worst", f"{worst:.3f}")
claim(
    "shuffling-removes-the-sat-distance",
    f"$d_0$ with shuffling over that with replacement, largest of the batch sizes: {worst:.3f}",
    parts,
)
