# ---
# jupyter:
#   expected_seconds:
#     paper: 350
#     smoke: 10
#     standard: 65
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The start does not matter
#
# :::{admonition} What you will learn
# :class: learn
# Whether the temperature depends on where training started, and where the paper's value 0.05 can be found.
# :::
#
# *Figure 6 of the paper.* With a ridge the loss has one minimum, and SGD must forget its start. The paper checks that
# the FDT plot of p-SGD is the same for weights that start with variance $R_0=1$, 0.1 and 0.01, which it calls R, and
# quotes $T_\mathrm{eff}\sim0.05$ for all three.

# %% tags=["parameters"]
profile = "standard"
seed = 0

# %% tags=["hide-input"]
# Set up.
import matplotlib.pyplot as plt
import numpy as np

import sgdnoise as sn
from sgdnoise import plotting
from sgdnoise.estimates import Estimate
from sgdnoise.report import claim, glue, publish

plotting.use_style()
theory_size, network_size, rate = {
    "smoke": (
        {"paths": 500, "realisations": 4},
        {"features": 80, "realisations": 4},
        0.05,
    ),
    "standard": (
        {"paths": 1000, "realisations": 10},
        {"features": 300, "realisations": 8},
        0.01,
    ),
    "paper": (
        {"paths": 4000, "realisations": 8},
        {"features": 1000, "realisations": 24},
        0.01,
    ),
}[profile]

# %%
algorithm = sn.PersistentSGD(batch=0.3, persistence=2.0)
variances, duration = (1.0, 0.1, 0.01), 7.0
common = {"algorithm": algorithm, "learning_rate": rate, "duration": duration}
theory, network = {}, {}
for variance in variances:
    point = [
        {"problem": sn.Problem(alpha=8, delta=1.0, ridge=1.0, init_variance=variance)}
    ]
    options = (
        common | theory_size | {"waiting_times": np.arange(0.0, duration, 0.5).tolist()}
    )
    theory[variance] = sn.sweep(sn.solve_dmft, point, [seed], fixed=options).squeeze(
        ("point", "seed")
    )
    options = (
        common
        | network_size
        | {"waiting_times": [3.0, 4.0], "record_every": 5, "loss_every": 700}
    )
    network[variance] = sn.sweep(sn.simulate, point, [seed], fixed=options).squeeze(
        ("point", "seed")
    )

# %% tags=["hide-input"]
# Draw the figure.
lags = np.array([0.1, 0.2, 0.4, 0.6, 0.9, 1.2, 1.6, 2.0])
# The few paths of the smoke profile drift by chance; elsewhere the usual test of
# stationarity decides.
choices = {
    "window": max(1, round(0.05 / rate)),
    "drift_tolerance": 1e3 if profile == "smoke" else 0.05,
}
late = np.arange(3.0, 4.6, 0.5)
local = {
    R: sn.local_temperature(run, lags=lags, waiting_times=late, **choices)
    for R, run in theory.items()
}
figure, (left, right) = plt.subplots(1, 2)
for variance, color, marker, style in zip(
    variances, plotting.SERIES, "osD", ("-", "--", ":"), strict=False
):
    name = f"$R_0={variance:g}$"
    curve = sn.fdt_curve(theory[variance], waiting_time=[3.0, 3.5, 4.0])
    curve = curve.sel(lag=slice(0, 3.001))
    plotting.draw_fdt(left, curve, color=color, linestyle=style, name=f"theory, {name}")
    points = sn.fdt_curve(network[variance])
    at = (0.2, 0.5, 1.0, 2.0)
    plotting.draw_fdt(left, points, at, fmt=marker, color=color, label=name)
    slope = local[variance]
    nested = {"fillstyle": "none", "markersize": 3 + 2 * variances.index(variance)}
    look = {"fmt": marker, "color": color, "label": name} | nested
    plotting.curve(right, slope.lag, slope.slope, slope.error, **look)
left.legend()
plotting.curve(right, None, 0.05, fmt="--", color="0.5", linewidth=1, name="paper")
memory = algorithm.batch * algorithm.persistence
faint = {"color": "0.8", "linewidth": 1, "zorder": 0}
plotting.curve(right, memory, None, fmt="-", name=r"$b\tau$", **faint)
right.set(xlabel="lag $t-t_w$", ylabel="slope at this lag", xscale="log", yscale="log")
plotting.plain_ticks(right.xaxis, [0.1, 0.2, 0.5, 1, 2])
plotting.plain_ticks(right.yaxis, [0.02, 0.05, 0.1, 0.2, 0.5, 1])
publish("initial", figure)

# %% tags=["hide-input"]
# Test the claims.
glue("features", network_size["features"])
glue("data_sets", network_size["realisations"])
glue("rate", rate)


def span(dataset):
    """Displacement over response at lag one, one value a population; the three starts share their random numbers."""
    curve = (
        sn.fdt_curve(dataset, waiting_time=[3.0, 3.5, 4.0])
        .mean("waiting_time")
        .sel(lag=1.0, method="nearest")
    )
    return curve.displacement / curve.integrated_response


changes = {
    f"$R_0={variance:g}$": Estimate.mean(span(theory[variance]) / span(theory[1.0]) - 1)
    for variance in variances[1:]
}
worst = max(changes, key=lambda name: abs(changes[name].value))
found = f"{100 * changes[worst]:+.1f}"
glue("change", found)
claim(
    "independent-of-start",
    f"from $R_0=1$ to {worst} the chord of the FDT plot up to lag 1 changes by {found} per cent",
    changes,
)
beyond = local[1.0].sel(lag=[0.6, 1.2], method="nearest")
values = [
    f"{float(v):.3f} ± {float(e):.3f}"
    for v, e in zip(beyond.slope, beyond.error, strict=True)
]
glue("beyond", values[0])
glue("farther", values[1])
crossing = float(np.interp(0.05, local[1.0].slope[:4], local[1.0].lag[:4]))
glue("crossing", f"{crossing:.2f}")
glue("part", f"{100 * crossing / (algorithm.batch * algorithm.persistence):.0f}")


def slope(run, first, last):
    """Slope of the line over a window of lags, straight or not."""
    waits = run.waiting_time.values
    waits = waits[(waits >= 3.0) & (waits <= float(run.time[-1]) - last + 1e-9)]
    try:
        found = sn.effective_temperature(
            run, "line", (first, last), waits, drift_tolerance=1e3
        )
    except sn.NoPlateauError as refusal:
        found = refusal.estimate
    return Estimate.of(found)


# The rule of Fig. 5, lags from 2.5 to 5 memories.
rule = slope(theory[1.0], 2.5 * memory, 5 * memory)
glue("rule", f"{rule:.2f}")
claim(
    "persistent-temperature-0.05",
    rf"over lags from 1.5 to 3 the slope is {rule:.2f}, at the lag $b\tau=0.6$ it is {values[0]}; it passes 0.05 at "
    f"{crossing:.2f}",
    rule / 0.05,
)

# %% tags=["hide-input"]
# Draw the slope against the window, for Figs. 5 and 6.
size = {
    "smoke": {"paths": 450, "realisations": 3},
    "standard": {"paths": 3000, "realisations": 12},
    "paper": {"paths": 8000, "realisations": 12},
}[profile]
point = [
    {
        "problem": sn.Problem(alpha=8, delta=1.0, ridge=1.0),
        "algorithm": sn.PersistentSGD(batch=0.2, persistence=2.0),
    }
]
options = {
    "learning_rate": 0.05,
    "duration": 10.0,
    "waiting_times": np.arange(4.0, 10.0, 0.1).round(9).tolist(),
}
other = sn.sweep(sn.solve_dmft, point, [seed], fixed=options | size).squeeze(
    ("point", "seed")
)
windows = np.array([0.5, 0.75, 1.0, 1.5, 2.0, 2.5])
figure, axes = plt.subplots(figsize=(5.2, 3.2))
for run, batch, paper, color, marker in (
    (other, 0.2, 0.2, "blue", "o"),
    (theory[1.0], 0.3, 0.05, "red", "s"),
):
    short = 2.0 * batch
    read = [slope(run, k * short, 2 * k * short) for k in windows]
    values, errors = np.array([[e.value, e.error] for e in read]).T
    look = {"color": plotting.COLORS[color], "fmt": marker + "-", "linewidth": 0.8}
    name = f"$b={batch}$, paper {paper}"
    plotting.curve(axes, windows, values / paper, errors / paper, label=name, **look)
plotting.curve(axes, None, 1.0, fmt="--", color="0.5", linewidth=1, name="paper")
axes.set(
    xlabel=r"beginning of the window, in units of $b\tau$ (it is as long)",
    ylabel="slope over the paper's value",
    yscale="log",
)
plotting.plain_ticks(axes.yaxis, [0.2, 0.5, 1, 2, 5, 10, 20])
axes.legend()
publish("windows", figure)

# %% [markdown]
# ```{glue:figure} initial
# ---
# name: fig-initial
# alt: >-
#   Left: FDT plots for three initial variances, lines of the theory and symbols of networks. Right: the slope at each
#   lag for the three, on logarithmic scales, with a dashed level at 0.05 and a vertical line at the memory of the
#   batch.
# ---
# p-SGD with $b=0.3$, $\tau=2$, $dt=$ {glue:}`rate`, $\alpha=8$, $\Delta=\lambda=\kappa=1$, started with three
# variances $R_0$; the three lie on top of each other. Left: FDT plot, mean over waiting times from 3 to 4; lines are
# theory, symbols networks with $N=$ {glue:}`features`, {glue:}`data_sets` data sets, two standard errors. Right: slope
# of the theory's plot at each lag, with two standard errors; dashed, the paper's value; grey, the memory $b\tau$ of the
# batch.
# ```
#
# ```{glue:figure} windows
# ---
# name: fig-windows
# alt: >-
#   Slope of the FDT plot over the paper's value against the beginning of the window of lags in units of the memory of
#   the batch, for two choices of parameters: two rising curves and a dashed level at one.
# ---
# Slope of the FDT plot over a window of lags from $k\,b\tau$ to $2k\,b\tau$, against $k$, over the paper's value, for
# the two temperatures of p-SGD that the paper quotes: 0.2 at $b=0.2$, $dt=0.05$ (Fig. 5) and 0.05 at $b=0.3$,
# $dt=$ {glue:}`rate` (Fig. 6), both at $\alpha=8$, $\tau=2$. Dashed: the paper. Theory, with two standard errors.
# ```
#
# No single rule gives both numbers of the paper. {numref}`fig-windows` shows the slope over windows of lags that begin
# at different multiples of $b\tau$. The windows that give 0.2 in the first case give many times 0.05 in the second.
#
# The three starts share their random numbers. The value 0.05 is found only at the lag {glue:text}`crossing`,
# {glue:text}`part` per cent of the time for which the batch is remembered. At $b\tau$, from where on the paper reads
# the temperature, the slope is {glue:text}`beyond` and rising, {glue:text}`farther` at twice that lag; it does not
# settle at lags that a run can reach. Whether it has a limit in principle is hard to decide: at $dt=0.05$ these
# parameters lie at the border ({doc}`/notebooks/temperature`). The slope of the last points of a run that ends at the
# lag {glue:text}`crossing` would be 0.05.
#
# :::{admonition} What was found
# :class: found
# - From one start to another the chord of the plot up to lag 1 changes most by {glue:text}`change` per cent.
# - The paper's 0.05 is the slope at the lag {glue:text}`crossing`. At $b\tau$, from where on the paper reads
#   temperatures, it is {glue:text}`beyond` and rising; by the rule that gives the 0.2 of Fig. 5 it
#   is {glue:text}`rule`.
# :::
