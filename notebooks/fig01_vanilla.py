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
#   try_your_own: batches 0.05,0.3,0.6
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
# $B=C(t_w,t_w)-C(t,t_w)$ against $\chi(t,t_w)$.) The paper finds such a line for vanilla SGD and calls its $T$ the
# effective temperature: it grows with the learning rate, is largest for batches of intermediate size, and vanishes
# where the data can be separated.

# %% tags=["parameters"]
profile = "standard"
seed = 0
alpha = 6.0  # samples per feature
delta = 1.0  # noise of the data
ridge = 1.0
rates = [0.1, 0.2, 0.3, 0.4]  # learning rates, at the first batch fraction
small_rates = [0.04, 0.08]  # not in the paper: towards zero
batches = [0.1, 0.2, 0.4, 0.8, 0.99]  # batch fractions, at the first learning rate
window = [0.0, 2.5]  # lags of the line whose slope is T
sat_alpha = 2.0  # the separable case, without a ridge
sat_delta = 0.5
sat_batch = 0.5

# %% tags=["hide-input"]
# Set up.
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

import sgdnoise as sn
from sgdnoise import plotting
from sgdnoise.estimates import Estimate, finite_size, jackknife
from sgdnoise.report import claim, glue, publish

plotting.use_style()
theory_size, rest_size, network_size = {
    "smoke": (
        {"paths": 430, "realisations": 4},
        {"paths": 430, "realisations": 4},
        {"features": 80, "realisations": 3},
    ),
    "standard": (
        {"paths": 2000, "realisations": 12},
        {"paths": 800, "realisations": 8},
        {"features": 400, "realisations": 12},
    ),
    "paper": (
        {"paths": 10_000, "realisations": 12},
        {"paths": 4000, "realisations": 12},
        {"features": 1000, "realisations": 24},
    ),
}[profile]


def on_grid(times, rate):
    """The multiples of a learning rate that are nearest to some times, each once."""
    return list(dict.fromkeys(round(rate * max(1, round(t / rate)), 9) for t in times))


# %% [markdown]
# Each point of the figure is computed twice: by mean-field theory, and on real networks whose response is measured with
# random probes. Twelve units of time are enough to become stationary, by the test of `sn.effective_temperature`.

# %%
problem = sn.Problem(alpha=alpha, delta=delta, ridge=ridge)


def run(engine, point, **options):
    """One result, stored or computed now."""
    return sn.sweep(engine, [point], [seed], fixed=options).squeeze(("point", "seed"))


half = network_size | {"features": network_size["features"] // 2}


def both(batch, rate):
    """Theory, networks, and networks half as large, at one batch fraction and learning rate."""
    point = {"algorithm": sn.SGD(batch=batch), "learning_rate": rate}
    (end,) = on_grid([12.0], rate)
    common = {"problem": problem, "duration": end}
    (spacing,) = on_grid([max(0.3, 3 * rate)], rate)
    every = np.arange(0.0, end, spacing).round(9).tolist()
    theory = run(sn.solve_dmft, point, waiting_times=every, **common, **theory_size)
    some = {"waiting_times": on_grid([4.8, 6.0, 7.2], rate), "loss_every": 12}
    sizes = network_size, half
    networks = [run(sn.simulate, point, **some, **common, **size) for size in sizes]
    # Before that it has not forgotten its start.
    return theory.sel(waiting_time=slice(3.0, None)), *networks


by_rate = {rate: both(batches[0], rate) for rate in (*small_rates, *rates)}
by_batch = {batch: both(batch, rates[0]) for batch in batches}

# %% [markdown]
# In the separable case the weights come to rest. So that the slow drift of the norm is not taken for a fluctuation,
# displacement is measured by $B(t,t_w)=|w(t)-w(t_w)|^2/2N$, which in a stationary state is $C(t_w,t_w)-C(t,t_w)$, and
# the temperature by the chord $B/\chi$ at lag 6.

# %%
separable = sn.Problem(alpha=sat_alpha, delta=sat_delta, ridge=0.0)
late = [3.0, 6.0, 12.0, 24.0, 36.0] + ([] if profile == "smoke" else [48.0, 72.0])
lag = 6.0


def resting(engine, rate, times, size):
    """The separable case at one learning rate."""
    point = {"algorithm": sn.SGD(batch=sat_batch), "learning_rate": rate}
    times = on_grid(times, rate)
    (end,) = on_grid([times[-1] + lag + rate], rate)
    return run(
        engine, point, problem=separable, duration=end, waiting_times=times, **size
    )


def chord(dataset, waiting_time):
    """Squared displacement over response, a while after a waiting time."""
    curve = sn.fdt_curve(dataset, waiting_time=waiting_time)
    curve = curve.sel(lag=lag, method="nearest")
    square = curve.displacement + 0.5 * curve.drift
    return Estimate.mean(square / curve.integrated_response)


few = network_size | {"realisations": max(3, network_size["realisations"] // 3)}
rest = {
    rate: (
        resting(sn.solve_dmft, rate, late, rest_size),
        resting(sn.simulate, rate, late[:4], few | {"loss_every": 50}),
    )
    for rate in rates
}

# %% tags=["hide-input"]
# Draw the figure.
# The few paths of the smoke profile drift by chance; elsewhere the usual test of
# stationarity decides.
steady = {"drift_tolerance": 1e3} if profile == "smoke" else {}


def line(dataset, networks=False):
    """Slope of the line through the FDT plot, straight enough or not."""
    # Networks are looked at where the theory is stationary; three waiting times cannot show it again.
    allowed = {"drift_tolerance": 1e3} if networks else steady
    try:
        return sn.effective_temperature(
            dataset, method="line", lags=tuple(window), **allowed
        )
    except sn.NoPlateauError as refusal:
        return refusal.estimate


def plot_curves(axes, cases, colors, symbol):
    """FDT plots: lines for the theory, points with two standard errors for networks."""
    lines, few = [], half["features"]
    for value, color in colors.items():
        theory, network, small = cases[value]
        name = f"${symbol}={value:g}$"
        curve = sn.fdt_curve(theory.sel(waiting_time=slice(4.7, 7.3)))
        curve = curve.sel(lag=slice(0, 4.81))
        look = {"color": color, "linestyle": "-", "name": f"theory, {name}"}
        lines.append((plotting.draw_fdt(axes, curve, **look), name))
        look = {"color": color, "fmt": "o"}
        for run, words in ((network, "networks"), (small, f"networks, $N={few}$")):
            look |= {"name": f"{words}, {name}", "visible": run is network}
            points = sn.fdt_curve(run)
            plotting.draw_fdt(axes, points, (0.4, 0.8, 1.2, 2.0, 3.2), **look)
    axes.set(
        xlabel=r"$C(t,t_w)\,/\,C(t_w,t_w)$", ylabel=r"$\chi(t,t_w)\,/\,C(t_w,t_w)$"
    )
    axes.set_ylim(0, 1.12 * axes.get_ylim()[1])
    return lines


def plot_temperature(axes, cases, colors, label):
    """Temperature of theory and networks, with two standard errors."""
    for value, case in cases.items():
        for which, (name, style) in enumerate(
            {
                "theory": {"fmt": "_", "markersize": 11},
                "networks": {"fmt": "o"},
            }.items()
        ):
            fit = line(case[which], networks=which == 1)
            look = {"color": colors[value], "name": f"{name}, {value:g}"} | style
            plotting.curve(axes, [value], [fit.value], [fit.error], **look)
    axes.set(xlabel=label, ylabel=r"$T_\mathrm{eff}$", ylim=(0, None), xlim=(0, None))


def linear(batch, rate):
    """The same slope in linear response; NaN where that is unstable."""
    (end,) = on_grid([window[1] + 2 * rate], rate)
    try:
        return line(sn.linear_response(problem, sn.SGD(batch=batch), rate, end)).value
    except ValueError:
        return np.nan


rate_colors = plotting.ordered(by_rate)
batch_colors = plotting.ordered(by_batch)
figure, panels = plt.subplot_mosaic(
    [["rates", "by rate", "rest"], ["batches", "by batch", "rest"]],
    figsize=(plotting.WIDTH, 4.7),
    width_ratios=(1.35, 1, 1),
)
shown = {rate: rate_colors[rate] for rate in rates}
for drawn, words in plot_curves(panels["rates"], by_rate, shown, "dt"):
    plotting.label(drawn, words, offset=(0, 3))
lines = plot_curves(panels["batches"], by_batch, batch_colors, "b")
widths = [1 - np.min(drawn.get_xdata()) for drawn, _ in lines]
narrow = [width < 0.25 * max(widths) for width in widths]
for (drawn, words), width, small in zip(lines, widths, narrow, strict=True):
    if not small:  # beside its end, where no other line is; the first has no room there
        offset = (0, 3) if width == max(widths) else (-6, 0)
        plotting.label(drawn, words, offset=offset)
if any(narrow):  # enlarged: these would be one upright line
    inset = panels["batches"].inset_axes((0.6, 0.5, 0.4, 0.42))
    for (drawn, words), small in zip(lines, narrow, strict=True):
        if small:
            look = {"color": drawn.get_color(), "name": f"theory, {words}, enlarged"}
            look |= {"linestyle": "-"}
            plotting.curve(inset, drawn.get_xdata(), drawn.get_ydata(), **look)
            plotting.label(inset.lines[-1], words, offset=(0, 3))
    inset.set(ylim=(0, 1.5 * inset.get_ylim()[1]))
    inset.locator_params(nbins=2)
    inset.tick_params(labelsize=8)

many = np.round(np.linspace(0.01, 1.02 * max(by_rate), 30), 4)
grid = {"rate": (many, [linear(batches[0], rate) for rate in many])}
many = np.round(np.linspace(0.02, 1.0, 40), 4)
grid["batch"] = (many, [linear(batch, rates[0]) for batch in many])
for name, cases, colors, label in (
    ("rate", by_rate, rate_colors, "learning rate $dt$"),
    ("batch", by_batch, batch_colors, "batch fraction $b$"),
):
    axes = panels[f"by {name}"]
    look = {"color": "0.5", "linewidth": 1, "name": "linear response"}
    plotting.curve(axes, *grid[name], fmt="-", **look)
    plot_temperature(axes, cases, colors, label)
    axes.set_title(f"$b={batches[0]:g}$" if name == "rate" else f"$dt={rates[0]:g}$")
    if (alpha, delta, ridge, batches[0], rates[0]) == (6.0, 1.0, 1.0, 0.1, 0.1):
        plotting.quoted(axes, [0.1], [0.015], "paper: 0.015")
    if name == "rate" and axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper left", handletextpad=0.2)

for place, (rate, pair) in enumerate(rest.items()):
    for kind, dataset in zip(("theory", "networks"), pair, strict=True):
        chords = {t: chord(dataset, t) for t in dataset.waiting_time.values}
        chords = {
            t: e for t, e in chords.items() if e.value > 0
        }  # the axis is logarithmic
        look = {"fmt": "-", "label": f"$dt={rate:g}$"}
        if kind == "networks":
            look = {"fmt": "o", "name": f"networks, $dt={rate:g}$"}
            look |= {"error": [e.error for e in chords.values()]}
        plotting.curve(
            panels["rest"],
            [t * (1.0 if kind == "theory" else 1.05**place) for t in chords],
            [e.value for e in chords.values()],
            color=rate_colors[rate],
            **look,
        )
cold = line(by_rate[rates[0]][0]).value
look = {"color": "0.5", "linewidth": 1, "name": "T of the case on the left"}
level = plotting.curve(panels["rest"], None, cold, fmt="--", **look)
words = rf"not separable, $dt={rates[0]:g}$"
plotting.label(level, words, offset=(-2, 6), fontsize=8.5)
panels["rest"].legend(loc="lower left")
panels["rest"].set(
    xscale="log",
    yscale="log",
    xlabel="waiting time $t_w$",
    ylabel=r"$B/\chi$ at lag 6",
    title="separable data",
)
plotting.plain_ticks(panels["rest"].xaxis, [3, 6, 12, 24, 48])
publish("fdt", figure)

# %% tags=["hide-input", "claims"]
# Test the claims.
fits = {rate: line(case[0]) for rate, case in by_rate.items()}


def plain_chord(network):
    """Displacement over response at the end of the window, one value a data set."""
    curve = sn.fdt_curve(network).mean("waiting_time")
    curve = curve.sel(lag=window[1], method="nearest")
    return curve.displacement / curve.integrated_response


cases = *by_rate.values(), *by_batch.values()
ends = [[plain_chord(case[size]) for case in cases] for size in (1, 2)]
glue("half", half["features"])
glue("shift", f"{100 * finite_size(*ends):+.1f}")
glue("features", network_size["features"])
glue("data_sets", network_size["realisations"])
glue("few", few["realisations"])
glue("late", f"{late[-1]:g}")

hot = {rate: Estimate.of(fit) for rate, fit in fits.items()}
for name, rate in (("small", 0.1), ("large", 0.4)):
    off = 100 * (Estimate(linear(0.1, rate), 0.0) / hot[rate] - 1.0)
    glue(f"linear-{name}", f"{off:+.1f}")
table = ", ".join(f"{hot[rate]:.4f}" for rate in rates)
steps = {f"$dt={a}$ to {b}": hot[b] - hot[a] for a, b in pairwise(rates)}
claim("temperature-grows-with-rate", f"{table} at $dt = 0.1$ to 0.4", steps)

# A line through the two smallest rates, at zero.
zero = 2.0 * hot[small_rates[0]] - hot[small_rates[1]]
glue("zero", f"{zero:+.5f}")
per_rate = [str(hot[rate] / rate) for rate in (*small_rates, 0.1)]
glue("per_rate", ", ".join(per_rate))
claim(
    "temperature-vanishes-with-rate",
    f"a line through $dt = {small_rates[0]}$ and {small_rates[1]} meets $dt=0$ at {zero:+.5f}, "
    f"against {hot[0.1]:.4f} at 0.1",
    zero / hot[0.1],
)

sizes = {batch: Estimate.of(line(case[0])) for batch, case in by_batch.items()}
middle, ends = 0.4, (batches[0], batches[-1])  # the middle one of the paper's five
glue("middle", f"{max(sizes, key=lambda batch: sizes[batch].value):g}")
offs = [100 * (linear(b, 0.1) / found.value - 1) for b, found in sizes.items()]
glue("linear-batches", f"{min(offs):+.1f} to {max(offs):+.1f}")
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


rest_now = {
    rate: [chord(theory, time) for time in theory.waiting_time.values]
    for rate, (theory, _) in rest.items()
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
#   Left, integrated response against correlation, above for four learning rates and below for five batch fractions:
#   lines of the theory and symbols of networks, from the lower right to the upper left, and an enlargement of the two
#   steepest. Middle, the temperature against learning rate and batch fraction, with a line for linear response and a
#   star for the value of the paper. Right, the ratio of squared displacement to response of separable data against
#   the waiting time, for four learning rates.
# ---
# Left: FDT plots of vanilla SGD at $\alpha=6$, $\Delta=\lambda=\kappa=1$, mean over waiting times from 4.8 to 7.2, for
# four learning rates at $b=0.1$ and five batch fractions at $dt=0.1$ (enlarged: $b=0.8$ and 0.99). Middle: the slope
# $T_\mathrm{eff}$ over lags from 0 to 2.5, with that of linear response (grey line). Linear response has no adjustable
# parameter; it is off from the theory by {glue:text}`linear-small` per cent at $dt=0.1$ and {glue:text}`linear-large`
# at 0.4, and by {glue:text}`linear-batches` per cent for the five batch fractions. Right: separable data, $\alpha=2$,
# $\Delta=b=0.5$, $\lambda=0$; the temperature falls as training ends. Coloured lines and dashes: mean-field theory.
# Dots: networks with $N=$ {glue:}`features` features, mean of {glue:}`data_sets` data sets ({glue:}`few` on the right).
# Bars are two standard errors, here and in all figures.
# ```
#
# The theory is for many features. From networks with $N=$ {glue:}`half` to those of the figure the chord up to lag 2.5
# changes by {glue:text}`shift` per cent, in the mean over all points weighted by their accuracy; if the shift falls as
# $1/N$, as much is left from there to infinite $N$. (The data of the figure have both sizes.)
#
# **The temperature vanishes with the learning rate**, as the paper says; it has no rates below 0.1. A line through our
# two smallest rates meets $dt=0$ at {glue:text}`zero`, small compared with the temperature at $dt=0.1$ but not zero:
# $T$ grows faster than linearly, so that the line is a chord and not a tangent. The ratio $T/dt$, which must have a
# limit, is {glue:text}`per_rate` at these rates and at $dt=0.1$.
#
# **The maximum in the batch size** has two reasons. Near the full batch nothing is left to fluctuate, and a small batch
# pulls weakly. {doc}`/notebooks/sum_or_mean` shows that the maximum belongs to the summed gradient.
#
# **Where the data can be separated, SGD anneals itself.** The weights come to rest, in networks as in the theory: at
# $dt=$ {glue:}`rest_rate` the ratio $B/\chi$ at lag 6 falls from {glue:text}`rest_then` at the first waiting time to
# {glue:text}`rest_now` at the last.
#
# **The plot looks straight, but it is not.** No point is farther from it than {glue:text}`bent` per cent
# of the height; the plot of p-SGD at $\alpha=8$, $b=0.2$, $\tau=2$, which the paper calls curved, deviates by
# {glue:text}`curved` per cent over the same lags. But over lags from 1 to 2.5 the slope is lower by {glue:text}`fall`
# per cent than up to 0.5. {doc}`/notebooks/vanilla_modes` explains why: stiff modes are hotter than soft ones. A
# temperature quoted to a third of a per cent must state its window.
#
# :::{admonition} What was found
# :class: found
# - Of the paper's batch sizes $b=$ {glue:text}`middle` is the hottest. Where the data can be separated,
#   $B/\chi$ after $t=$ {glue:}`late` is {glue:text}`rest` per cent of the temperature of the UNSAT case at the same
#   learning rate.
# - The slope falls with the lag, by {glue:text}`fall` per cent. A temperature must therefore state its window.
# :::
