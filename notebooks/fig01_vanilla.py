# ---
# jupyter:
#   expected_seconds:
#     paper: 326
#     smoke: 17
#     standard: 68
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The FDT plot of vanilla SGD
#
# :::{admonition} What you will learn
# :class: learn
# How to read the temperature of SGD with independent batches from fluctuation and response, how this temperature
# depends on the learning rate and the batch size, and what happens to it if the data are separable.
# :::
#
# *Figure 1 of the paper.* Train until the weights have forgotten their start, wait until $t_w$, and plot the integrated
# response $\chi(t,t_w)$ against the correlation $C(t,t_w)$, both divided by $C(t_w,t_w)$, as $t$ grows. In equilibrium
# the plot is a straight line of slope $-1/T$. (From here on *slope* means $T$ itself, the slope of the displacement
# $C(t_w,t_w)-C(t,t_w)$ against $\chi(t,t_w)$.) The paper finds such a line for vanilla SGD and calls its $T$ the
# effective temperature: it grows with the learning rate, is largest for batches of intermediate size, and vanishes
# where the data can be separated.

# %% tags=["parameters"]
profile = "standard"
seed = 0

# %% tags=["hide-input"]
# Set up.
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

import sgdnoise as sn
from sgdnoise import plotting
from sgdnoise.estimates import Estimate, jackknife
from sgdnoise.report import claim, glue, publish

plotting.use_style()
theory_size, network_size = {
    "smoke": ({"paths": 430, "realisations": 4}, {"features": 80, "realisations": 3}),
    "standard": (
        {"paths": 3000, "realisations": 8},
        {"features": 400, "realisations": 12},
    ),
    "paper": (
        {"paths": 10_000, "realisations": 12},
        {"features": 1000, "realisations": 24},
    ),
}[profile]

# %% [markdown]
# The unsatisfiable case is $\alpha=6$, $\Delta=\lambda=\kappa=1$, at the paper's four learning rates and two smaller
# ones, 0.04 and 0.08, with $b=0.1$ and at five batch sizes with $dt=0.1$; mean-field theory, and real networks whose
# response is measured with random probes. Twelve units of time are enough to become stationary, by the test of
# `sn.effective_temperature`.

# %%
problem = sn.Problem(alpha=6, delta=1.0, ridge=1.0)
rates, batches = (0.1, 0.2, 0.3, 0.4), (0.1, 0.2, 0.4, 0.8, 0.99)
smaller = (0.04, 0.08)  # not in the paper: towards zero


def both(batch, rate):
    """Theory and simulation at one point of the figure, stored or computed now."""
    spacing = 3 * rate if rate >= 0.1 else 0.48
    every = np.arange(0.0, 12.0, spacing).round(9).tolist()
    some = [4.8, 6.0, 7.2] if rate != 0.3 else [5.4, 6.3, 7.2]
    point = [
        {
            "algorithm": sn.SGD(batch=batch),
            "learning_rate": rate,
            "problem": problem,
            "duration": 12.0,
        }
    ]
    theory = sn.sweep(
        sn.solve_dmft, point, [seed], fixed=theory_size | {"waiting_times": every}
    )
    network = sn.sweep(
        sn.simulate,
        point,
        [seed],
        fixed=network_size | {"waiting_times": some, "loss_every": 12},
    )
    # Before that it has not forgotten its start.
    theory = theory.sel(waiting_time=slice(3.0, None))
    return theory.squeeze(("point", "seed")), network.squeeze(("point", "seed"))


by_rate = {rate: both(0.1, rate) for rate in (*smaller, *rates)}
by_batch = {
    batch: by_rate[0.1] if batch == 0.1 else both(batch, 0.1) for batch in batches
}

# %% [markdown]
# The separable case is $\alpha=2$, $b=0.5$, $\Delta=0.5$, $\lambda=0$. There the weights come to rest. We measure the
# displacement by $B(t,t_w)=|w(t)-w(t_w)|^2/2N$, which equals $C(t_w,t_w)-C(t,t_w)$ in a stationary state and does not
# mistake the slow drift of the norm for a fluctuation.

# %%
separable = sn.Problem(alpha=2, delta=0.5, ridge=0.0)
late = [6.0, 12.0, 24.0, 36.0] if profile == "smoke" else [12.0, 24.0, 48.0, 72.0]
options = {
    "problem": separable,
    "algorithm": sn.SGD(batch=0.5),
    "duration": late[-1] + 6.0,
    "waiting_times": late,
}
resting = {
    rate: sn.sweep(
        sn.solve_dmft, [{"learning_rate": rate}], [seed], fixed=options | theory_size
    ).squeeze(("point", "seed"))
    for rate in rates
}

# %% tags=["hide-input"]
# Draw the figure.
# The few paths of the smoke profile drift by chance; elsewhere the usual test of
# stationarity decides.
steady = {"drift_tolerance": 1e3} if profile == "smoke" else {}
lags = (0.0, 2.5)


def line(dataset, networks=False):
    """Slope of the line through the FDT plot, straight enough or not."""
    # Networks are looked at where the theory is stationary; three waiting times cannot show it again.
    allowed = {"drift_tolerance": 1e3} if networks else steady
    try:
        return sn.effective_temperature(dataset, method="line", lags=lags, **allowed)
    except sn.NoPlateauError as refusal:
        return refusal.estimate


def plot_curves(axes, cases, names):
    """FDT plots: lines for the theory, points with two standard errors for networks."""
    for (theory, network), name, color, marker in zip(
        cases, names, plotting.SERIES, "osD^v", strict=False
    ):
        curve = sn.fdt_curve(theory.sel(waiting_time=slice(4.8, 7.2)))
        curve = curve.sel(lag=slice(0, 4.81))
        plotting.draw_fdt(
            axes, curve, linestyle="-", color=color, name=f"theory, {name}"
        )
        lags, points = (0.4, 0.8, 1.2, 2.0, 3.2), sn.fdt_curve(network)
        plotting.draw_fdt(axes, points, lags, fmt=marker, color=color, label=name)


def plot_temperature(axes, values, cases, label):
    """Temperature of theory and networks, with two standard errors."""
    styles = {
        "theory": {"fmt": "o", "color": "k"},
        "networks": {"fmt": "s", "color": "0.5", "fillstyle": "none"},
    }
    for which, (name, style) in enumerate(styles.items()):
        fits = [line(case[which], networks=which == 1) for case in cases]
        size = {"markersize": 2.5 + 3 * which, "label": name}
        plotting.curve(
            axes,
            list(values),
            [fit.value for fit in fits],
            [fit.error for fit in fits],
            **style,
            **size,
        )
    axes.set(xlabel=label, ylabel=r"$T_\mathrm{eff}$", ylim=(0, None), xlim=(0, None))


figure, panels = plt.subplot_mosaic(
    [
        ["rates", "by rate"],
        ["rates", "rest"],
        ["batches", "by batch"],
        ["batches", "by batch"],
    ],
    figsize=(7.2, 6.6),
    width_ratios=(1.7, 1),
)
plot_curves(
    panels["rates"],
    [by_rate[rate] for rate in rates],
    [f"$dt={rate}$" for rate in rates],
)
plot_curves(panels["batches"], by_batch.values(), [f"$b={batch}$" for batch in batches])
plot_temperature(panels["by rate"], by_rate, by_rate.values(), "learning rate $dt$")
plot_temperature(panels["by batch"], batches, by_batch.values(), "batch fraction $b$")
for (rate, theory), style in zip(
    resting.items(), (("-", 4), ("-", 2.6), ("--", 2), (":", 1.4)), strict=True
):
    curve = sn.fdt_curve(theory, waiting_time=late[-1]).mean("realisation")
    norm = float(theory.norm.sel(time=late[-1], method="nearest").mean())
    square = (curve.displacement + 0.5 * curve.drift) / norm
    plotting.curve(
        panels["rest"],
        1 - square,
        curve.normalised_response,
        fmt=style[0],
        linewidth=style[1],
        label=f"$dt={rate}$",
    )
panels["rest"].set(
    xlabel=r"$1-B/C(t_w,t_w)$",
    ylabel=r"$\chi/C(t_w,t_w)$",
    xlim=(0.86, 1.01),
)
for name in ("rates", "batches", "by rate"):
    panels[name].legend(fontsize=7)
panels["rest"].legend(fontsize=7, title="SAT phase", title_fontsize=7)
publish("fdt", figure)

# %% tags=["hide-input"]
# Test the claims.
fits = {rate: line(case[0]) for rate, case in by_rate.items()}
glue("features", network_size["features"])
glue("data_sets", network_size["realisations"])
glue("late", f"{late[-1]:g}")


hot = {rate: Estimate.of(fit) for rate, fit in fits.items()}
table = ", ".join(f"{hot[rate]:.4f}" for rate in rates)
steps = {f"$dt={a}$ to {b}": hot[b] - hot[a] for a, b in pairwise(rates)}
claim("temperature-grows-with-rate", f"{table} at $dt = 0.1$ to 0.4", steps)

# A line through the two smallest rates, at zero.
zero = 2.0 * hot[smaller[0]] - hot[smaller[1]]
glue("zero", f"{zero:+.5f}")
claim(
    "temperature-vanishes-with-rate",
    f"a line through $dt = {smaller[0]}$ and {smaller[1]} meets $dt=0$ at {zero:+.5f}, against {hot[0.1]:.4f} at 0.1",
    zero / hot[0.1],
)

sizes = {batch: Estimate.of(line(case[0])) for batch, case in by_batch.items()}
middle, ends = 0.4, (batches[0], batches[-1])  # the middle one of the paper's five
glue("middle", f"{max(sizes, key=lambda batch: sizes[batch].value):g}")
table = ", ".join(f"{hot_one.value:.4f}" for hot_one in sizes.values())
claim(
    "temperature-peaks-in-batch",
    f"{table} at $b = 0.1$ to 0.99",
    {f"$b={middle}$ less $b={end}$": sizes[middle] - sizes[end] for end in ends},
)
part = sizes[0.99] / sizes[middle]
claim(
    "no-noise-at-full-batch",
    f"at $b=0.99$ the temperature is {100 * part:.1f} per cent of that at $b={middle}$",
    part,
)

# How straight? Compared with a plot that the paper calls curved, read in the same way.
slow = sn.linear_response(sn.Problem(alpha=8), sn.PersistentSGD(0.2, 2.0), 0.05, 10.0)
curved = line(slow).variation
straight = Estimate.of(fits[0.1])
bent = Estimate(fits[0.1].variation, fits[0.1].variation_error, straight.freedom)
glue("bent", f"{100 * bent:.1f}")
glue("curved", f"{100 * curved:.0f}")
claim(
    "vanilla-straight",
    f"at $dt=0.1$ no point is farther from the line than {100 * bent:.1f} per cent of the height, which is "
    f"{bent / curved:.2f} of what the plot of p-SGD has",
    bent / curved,
)
pooled = fits[0.1].curve


def later_over_earlier(x, y):
    """Slope over lags from 1 to 2.5 over that up to 0.5."""
    lag = pooled.lag.values
    early, late = lag < 0.5 + 1e-9, lag > 1.0 - 1e-9
    return (
        sn.fdt.line(x[:, late], y[:, late])[0]
        / sn.fdt.line(x[:, early], y[:, early])[0]
    )


fall = (
    -1.0
    * jackknife(later_over_earlier, pooled.integrated_response, pooled.displacement)
    + 1.0
)
glue("fall", f"{100 * fall:.0f}")
claim(
    "vanilla-constant-at-all-lags",
    f"over lags 1 to 2.5 the slope is lower by {100 * fall:.1f} per cent than up to 0.5",
    fall,
)


def rattle(theory, waiting_time):
    """Squared displacement over response, six units of time after a waiting time."""
    curve = sn.fdt_curve(theory, waiting_time=waiting_time).sel(
        lag=6.0, method="nearest"
    )
    return Estimate.mean(
        (curve.displacement + 0.5 * curve.drift) / curve.integrated_response
    )


rest_now = {
    rate: [rattle(theory, time) for time in late] for rate, theory in resting.items()
}
parts = {rate: values[-1] / hot[rate] for rate, values in rest_now.items()}
worst = max(parts, key=lambda rate: parts[rate].value)
glue("rest", f"{100 * parts[worst]:.2f}")
glue("rest_rate", worst)
glue("rest_then", f"{rest_now[worst][0].value:.4f}")
glue("rest_now", f"{rest_now[worst][-1].value:.5f}")
claim(
    "no-temperature-in-sat",
    f"after $t={late[-1]:g}$ the ratio is at most {100 * parts[worst]:.2f} per cent of the temperature of the UNSAT "
    f"case at the same learning rate ($dt={worst}$)",
    {f"$dt={rate}$": part for rate, part in parts.items()},
)

# %% [markdown]
# ```{glue:figure} fdt
# ---
# name: fig-fdt
# alt: >-
#   Integrated response against correlation, above for four learning rates and below for five batch fractions: lines
#   of the theory and symbols of networks, from the lower right to the upper left. Beside them the temperature against
#   the learning rate, the curves of separable data for four learning rates, and the temperature against the batch
#   fraction.
# ---
# FDT plots of vanilla SGD, $\alpha=6$, $\Delta=\lambda=\kappa=1$, mean over waiting times from 4.8 to 7.2. Above:
# learning rates at $b=0.1$. Below: batch sizes at $dt=0.1$. Lines: mean-field theory; symbols: networks with $N=$
# {glue:}`features` features, mean of {glue:}`data_sets` data sets with two standard errors. On the right the
# temperature, read off a line over lags from 0 to 2.5, for theory (dots) and networks (open squares), also at two
# learning rates that are not on the left; and, between the two, the FDT plot of the separable case $\alpha=2$,
# $b=0.5$, $\Delta=0.5$, $\lambda=0$ at $t_w=$ {glue:}`late` for the four learning rates, with $1-B/C(t_w,t_w)$ in
# the place of the correlation.
# ```
#
# Does the temperature vanish with the learning rate? The paper has no rates below 0.1. A line through our two smallest
# rates meets $dt=0$ at {glue:text}`zero`. The intercept is negative even without noise, because $T$ grows faster than
# linearly. The maximum in the batch size has two reasons: a nearly full batch hardly fluctuates, and a small batch
# exerts a weak force.
#
# In the separable case the weights come to rest: at $dt=$ {glue:}`rest_rate` the ratio $B/\chi$ at lag 6
# is {glue:text}`rest_then` at the first waiting time and {glue:text}`rest_now` at the last.
#
# The paper takes the line to be straight, with one temperature at all lags. To the eye it is straight: no point
# deviates from it by more than {glue:text}`bent` per cent of the height. For comparison, the plot of p-SGD at
# $\alpha=8$, $b=0.2$, $\tau=2$, which the paper calls curved, deviates by {glue:text}`curved` per cent over the same
# lags. But over lags from 1 to 2.5 the slope is {glue:text}`fall` per cent lower than up to lag 0.5.
# {doc}`/notebooks/temperature` explains why: stiff modes are hotter than soft ones. A temperature quoted to a third of
# a per cent must state its window.
#
# :::{admonition} What was found
# :class: found
# - Of the paper's batch sizes $b=$ {glue:text}`middle` is the hottest. Where the data can be separated,
#   $B/\chi$ after $t=$ {glue:}`late` is {glue:text}`rest` per cent of the temperature of the UNSAT case at the same
#   learning rate.
# - The slope falls with the lag, by {glue:text}`fall` per cent. A temperature must therefore state its window.
# :::
