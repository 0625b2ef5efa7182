# ---
# jupyter:
#   expected_seconds:
#     paper: 260
#     smoke: 8
#     standard: 22
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A calibrated thermometer
#
# :::{admonition} What you will learn
# :class: learn
# How accurate the temperatures of this book are where the true value is known, how often their error bars contain it,
# and which estimators to trust.
# :::
#
# To read a temperature off an FDT plot this book uses four rules: line, tail, chord and local slope. Each comes with an
# error bar. SGD cannot be used to check them, because its temperature is not known beforehand. Langevin descent
# can: it has full batches and white noise of a temperature that we set. We repeat the same small experiment many times,
# apply every estimator as on the other pages, and ask two questions. Is the average right? Does the error bar contain
# the true value as often as it should? Other temperatures of the book, at a frequency or of a mode, and errors from
# populations of paths of the mean-field solver are not part of this test.
#
# ```{glue:figure} calibration
# ---
# name: fig-calibration
# alt: >-
#   Left: bias of six estimators of the temperature in per cent, points with error bars around an upright line at
#   zero. Right: fraction of the experiments whose error bar, and whose doubled error bar, contains the reference, with
#   upright dashed lines at what is expected of Student's distribution.
# ---
# Every estimator on {glue:}`experiments` experiments of {glue:}`networks` networks each, $N=$ {glue:}`features`,
# $\alpha=2$, $\Delta=\lambda=1$, square loss, $dt=0.1$, Langevin descent at $T=0.05$. Left: mean deviation from the
# reference. Right: fraction of the experiments in which the reference is within one (circles) and within two (squares)
# quoted errors; dashed, what Student's distribution gives for errors from {glue:}`networks` networks. Bars are two
# standard errors. The *fixed tail* is a line over lags from 0.4 to 1.3.
# ```
#
# ## What stands out
#
# Line and chord average over the whole curve. The line is biased by {glue:text}`bias-line` per cent and the chord by
# {glue:text}`bias-chord`. A larger bias would not be surprising, because the reference is that of an infinite network.
# The networks have $N=$ {glue:}`features` weights, so corrections of a few parts in {glue:}`features` are possible.
#
# The tail needs more care. Its scatter is {glue:text}`too-small` times its quoted error, and its bias is
# {glue:text}`bias-tail` per cent. The rule ends the window at the longest lag at which the slope is known to 10 per
# cent, and it determines that lag from the same data. It can therefore prefer windows in which the error is small or
# the slope large by chance. This concerns the paper's rule for p-SGD, as we implement it. With ten points that are
# fixed beforehand, the *fixed tail*, the bias is {glue:text}`bias-fixed` per cent, at a scatter of
# {glue:text}`sd-fixed` and a quoted error of {glue:text}`se-fixed` per cent.
#
# The local slope is a difference between neighbouring points and is therefore noisy. Its scatter grows quickly with the
# lag, from {glue:text}`sd-0.2` per cent at lag 0.2 to {glue:text}`sd-0.5` at lag 0.5.
#
# ## What is known exactly
#
# With the square loss every step is linear. A mode of stiffness $a$ then obeys
# $x\leftarrow(1-a\,dt)\,x+\sqrt{2T\,dt}\,\xi$, and it follows that its variance is $T/[a\,(1-a\,dt/2)]$ and its FDT
# plot a straight line of slope
#
# $$
# T_a = \frac{T}{1-a\,dt/2}
# $$ (eq-langevin-mode)
#
# at every lag. A network is a mixture of modes, with a spectrum that is known for $N\to\infty$ (`sn.hessian_spectrum`).
# Its FDT plot is a sum over them, `sn.linear_response`, which for this loss is exact. It is not quite straight, since
# short lags see stiff modes, which are hotter. The reference of an estimator is therefore *the value that the same
# estimator, over the same window of lags, gives for the exact curve*, and not $T$ itself.
#
# ## The numbers
#
# | estimator | reference | scatter (%) | quoted (%) | refused (%) |
# |---|---|---|---|---|
# | line, lags 0 to 2.5 | {glue:text}`ref-line` | {glue:text}`sd-line` | {glue:text}`se-line` | {glue:text}`no-line` |
# | tail, 10 points | {glue:text}`ref-tail` | {glue:text}`sd-tail` | {glue:text}`se-tail` | {glue:text}`no-tail` |
# | fixed tail | {glue:text}`ref-fixed` | {glue:text}`sd-fixed` | {glue:text}`se-fixed` | {glue:text}`no-fixed` |
# | chord | {glue:text}`ref-chord` | {glue:text}`sd-chord` | {glue:text}`se-chord` | {glue:text}`no-chord` |
# | local, lag 0.2 | {glue:text}`ref-0.2` | {glue:text}`sd-0.2` | {glue:text}`se-0.2` | {glue:text}`no-0.2` |
# | local, lag 0.5 | {glue:text}`ref-0.5` | {glue:text}`sd-0.5` | {glue:text}`se-0.5` | {glue:text}`no-0.5` |
#
# *Scatter* is the standard deviation of the estimate between experiments, *quoted* the error that the estimator gave,
# as a root mean square. An error bar from {glue:}`networks` networks is itself uncertain; it should contain the
# reference in {glue:text}`student-one` per cent of the experiments, and twice the bar in {glue:text}`student-two`. A
# *refused* estimate is one that the library does not return, because the run seems to drift or the curve violates an
# assumption of the method; the statistics are over the others.
#
# ## What this means in practice
#
# If you need one number, use the line or, for a curved plot such as that of p-SGD, the chord. State the window, because
# a line over other lags has another reference value even where the truth is known exactly. Use the local slope, at
# short lags where it is accurate, to see *whether* one number is enough. With few independent runs use Student's
# distribution and not the normal one: with {glue:}`networks` runs a bar of two standard errors contains the truth in
# {glue:text}`student-two` per cent of the cases, not in 95. Before you trust a thermometer of your own, test it in a
# bath of known temperature. For any training code that is a full-batch run with noise $\sqrt{2T\,dt}$ added to every
# weight.
#
# :::{admonition} What was found
# :class: found
# - The bias is {glue:text}`bias-line` per cent of the known temperature for the line and {glue:text}`bias-chord` for
#   the chord.
# - Twice the error bar contains the reference in {glue:text}`two-line` per cent of the experiments for the line and in
#   {glue:text}`two-chord` for the chord; Student's distribution predicts {glue:text}`student-two`.
# - The scatter of the tail is {glue:text}`too-small` times its quoted error.
# :::
#
# ## How it was made
#
# Try your own values, for example `make notebook NAME=calibration ARGS="-p temperature 0.2 -p rate 0.05"`.

# %% tags=["parameters"]
profile = "standard"
seed = 0
alpha = 2.0
delta = 1.0
ridge = 1.0
rate = 0.1
temperature = 0.05
local_lags = [0.2, 0.5]

# %% tags=["hide-input"]
# Set up.
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from scipy import stats

import sgdnoise as sn
from sgdnoise import plotting
from sgdnoise.estimates import Estimate
from sgdnoise.report import claim, glue, publish

plotting.use_style()
features, portions, portion = {
    "smoke": (30, 2, 6),
    "standard": (40, 16, 10),
    "paper": (100, 40, 20),
}[profile]
networks = 8  # in one experiment
methods = {
    "line": {"method": "line"},
    "tail": {"method": "tail"},
    "fixed tail": {"method": "line", "lags": (0.4, 1.3)},
    "chord": {"method": "chord"},
}
names = [*methods, *(f"local, lag {lag:g}" for lag in local_lags)]

# %%
problem = sn.Problem(alpha=alpha, delta=delta, ridge=ridge, loss=sn.square)
algorithm = sn.Langevin(temperature)
waits = [round(rate * round((4 + 0.5 * i) / rate), 9) for i in range(9)]
exact = sn.linear_response(problem, algorithm, rate, rate * round(8 / rate))


def read(dataset, method, lags=None):
    """One temperature: value, error, longest lag, and whether it was refused."""
    try:
        found, refused = sn.effective_temperature(dataset, method, lags), False
    except sn.TemperatureError as refusal:
        found, refused = refusal.estimate, True
    return found.value, found.error, found.lags[1], refused


def read_local(dataset):
    """The same for the local temperature at each of the lags."""
    try:
        local, refused = sn.local_temperature(dataset, lags=local_lags), False
    except sn.TemperatureError as refusal:
        local, refused = refusal.local.sel(lag=local_lags, method="nearest"), True
    columns = zip(local.slope.values, local.error.values, local_lags, strict=True)
    return [(*row, refused) for row in columns]


def experiments(problem, algorithm, rate, seed, features, count):
    """Repeat the experiment with new networks: every estimator of every experiment."""
    size = {"features": features, "realisations": networks * count, "seed": seed}
    run = sn.simulate(
        problem,
        algorithm,
        rate,
        rate * round(14 / rate),
        waiting_times=waits,
        loss_every=10_000,
        **size,
    )
    rows = []
    for first in range(0, networks * count, networks):
        one = run.isel(realisation=slice(first, first + networks))
        whole = [read(one, **options) for options in methods.values()]
        rows.append([*whole, *read_local(one)])
    value, error, last, refused = np.moveaxis(np.array(rows, dtype=float), 2, 0)
    columns = {"value": value, "error": error, "last": last, "refused": refused}
    return xr.Dataset({k: (("experiment", "estimator"), v) for k, v in columns.items()})


seeds = [portions * seed + i for i in range(portions)]
fixed = {"problem": problem, "algorithm": algorithm, "rate": rate, "count": portion}
found = sn.sweep(experiments, {"features": [features]}, seeds, fixed=fixed)
found = found.squeeze("features").stack(realisation=("seed", "experiment"))

# %% tags=["hide-input"]
# Find the reference of every estimate.
known = {}


def reference(name, last):
    """What this estimator makes of the exact curve, over the same window of lags."""
    key = name, round(float(last), 6)
    if key not in known and name in methods:
        window = {"lags": (0.0, key[1])} | methods[name]
        known[key] = read(exact, **window)[0]
    elif key not in known:
        known[key] = read_local(exact)[local_lags.index(key[1])][0]
    return known[key]


def judge(i, name):
    """How far accepted estimates are from their references, and what they quoted."""
    mine = found.isel(estimator=i)
    mine = mine.isel(realisation=mine["refused"].values == 0)
    truth = np.array([reference(name, last) for last in mine["last"].values])
    return truth.mean(), mine["value"].values / truth - 1, mine["error"].values / truth


judged = {name: judge(i, name) for i, name in enumerate(names)}

# %% tags=["hide-input"]
# Draw the figure and fill the table.
student = stats.t(networks - 1)
expected = {width: 2 * student.cdf(width) - 1 for width in (1, 2)}


def left_out(values):
    """The mean without each of the experiments."""
    return (values.sum() - values) / (values.size - 1)


def summary(deviation, quoted):
    """Bias, scatter, quoted error, the ratio of these two, errors of all, coverage."""
    count = deviation.size
    scatter, quote = deviation.std(ddof=1), np.sqrt((quoted**2).mean())
    spread = left_out(deviation**2) - left_out(deviation) ** 2
    jackknife = np.log(left_out(quoted**2) / spread) / 2
    shares = [(np.abs(deviation) < width * quoted).mean() for width in (1, 2)]
    return {
        "bias": deviation.mean(),
        "bias_error": scatter / np.sqrt(count),
        "scatter": scatter,
        "quoted": quote,
        "honesty": quote / scatter,
        "honesty_error": np.sqrt((count - 1) * jackknife.var()),  # of its logarithm
        "one": shares[0],
        "two": shares[1],
        "count": count,
    }


summaries = [summary(*judged[name][1:]) for name in names]
table = {key: np.array([row[key] for row in summaries]) for key in summaries[0]}
bias, bias_error = table["bias"], table["bias_error"]
honesty, honesty_error = table["honesty"], table["honesty_error"]
tail = names.index("tail")
surplus = 1 / float(honesty[tail]), float(honesty_error[tail] / honesty[tail])
figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.2))
rows = np.arange(len(names))
plotting.curve(
    left, 100 * bias, rows, x_error=100 * bias_error, fmt="o", name="bias, per cent"
)
thin = {"color": "0.7", "linewidth": 0.8, "zorder": 0}
plotting.curve(left, 0.0, None, **thin, name="no bias")
left.set(xlabel="bias (per cent of the reference)")
for width, color, marker in ((1, "blue", "o"), (2, "red", "s")):
    share = table["one" if width == 1 else "two"]
    error = np.sqrt(share * (1 - share) / table["count"])
    look = {"color": plotting.COLORS[color], "fmt": marker}
    label = f"within {width} error{'s' if width > 1 else ''}"
    plotting.curve(right, share, rows, x_error=error, label=label, **look)
    line = {"color": look["color"], "linewidth": 0.8, "zorder": 0}
    name = f"Student, {width}"
    plotting.curve(right, expected[width], None, fmt="--", **line, name=name)
    top = {"transform": right.get_xaxis_transform(), "ha": "center", "va": "bottom"}
    right.text(expected[width], 1.0, label, color=look["color"], **top)
right.set(xlabel="part of the experiments", xlim=(0.4, 1.0))
for axes in (left, right):  # each has its names: on a phone one stands below the other
    axes.set(yticks=rows, yticklabels=names, ylim=(len(rows) - 0.5, -0.5))
publish("calibration", figure)

# %% tags=["hide-input", "claims"]
# Fill the table and test the claims.
for i, name in enumerate(names):
    short = name.removeprefix("local, lag ").removesuffix(" tail")
    glue(f"bias-{short}", f"{100 * bias[i]:+.1f} ± {100 * bias_error[i]:.1f}")
    glue(f"sd-{short}", f"{100 * table['scatter'][i]:.1f}")
    glue(f"se-{short}", f"{100 * table['quoted'][i]:.1f}")
    glue(f"two-{short}", f"{100 * table['two'][i]:.0f}")
    glue(f"no-{short}", f"{100 * found['refused'].isel(estimator=i).mean():.0f}")
    glue(f"ref-{short}", f"{judged[name][0]:.4f}")
for width, word in ((1, "one"), (2, "two")):
    glue(f"student-{word}", f"{100 * expected[width]:.0f}")
glue("experiments", found.sizes["realisation"])
glue("networks", networks)
glue("features", features)
glue("too-small", f"{surplus[0]:.2f} ± {surplus[1]:.2f}")


def estimates(values, errors, *wanted):
    """Numbers of some of the estimators, with the freedom of their accepted experiments."""
    rows = {name: names.index(name) for name in wanted}
    columns = values, errors, table["count"] - 1
    return {name: Estimate(*(float(v[i]) for v in columns)) for name, i in rows.items()}


biases = estimates(bias, bias_error, "line", "chord")
words = " and ".join(f"{100 * e:+.1f} per cent ({name})" for name, e in biases.items())
claim("thermometer-reads-true", f"bias {words}", biases)
logs = estimates(
    np.log2(honesty), honesty_error / np.log(2), "line", "chord", "local, lag 0.2"
)
words = ", ".join(f"{2**e.value:.2f} ({name})" for name, e in logs.items())
words += f"; not tested: {float(honesty[tail]):.2f} (tail)"
claim("error-bars-are-honest", f"quoted error over scatter {words}", logs)
