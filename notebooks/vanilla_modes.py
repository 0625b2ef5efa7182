# ---
# jupyter:
#   expected_seconds:
#     paper: 20
#     smoke: 10
#     standard: 12
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Every mode has its own temperature
#
# :::{admonition} What you will learn
# :class: learn
# Why the FDT plot of vanilla SGD looks straight and is not, what a closed form says about its slope, and how far
# linear response can be trusted.
# :::
#
# The paper fits one line to the FDT plot of vanilla SGD ({doc}`/notebooks/fig01_vanilla`): $\alpha=6$,
# $\Delta=\lambda=1$, batch $b=0.1$, four learning rates. The runs here are those of that page. Is the plot straight?

# %% tags=["parameters"]
profile = "standard"
seed = 0
alpha = 6.0  # samples per feature
delta = 1.0  # variance of the data
ridge = 1.0
rates = [0.1, 0.2, 0.3, 0.4]  # learning rates
fixed_batch = 0.1  # batch fraction at which the learning rate changes
batches = [0.1, 0.2, 0.4, 0.8, 0.99]
fixed_rate = 0.1  # learning rate at which the batch fraction changes
spectrum_batches = [0.1, 0.5, 1.0]  # batch fractions of which the spectrum is drawn
window = [0.0, 2.5]  # lags of the line

# %% tags=["hide-input"]
# Set up.
import matplotlib.pyplot as plt
import numpy as np

import sgdnoise as sn
from sgdnoise import plotting
from sgdnoise.estimates import Estimate, finite_size, jackknife
from sgdnoise.report import glue, publish

plotting.use_style()
theory_size, network_size = {
    "smoke": ({"paths": 430, "realisations": 4}, {"features": 80, "realisations": 3}),
    "standard": (
        {"paths": 2000, "realisations": 12},
        {"features": 400, "realisations": 12},
    ),
    "paper": (
        {"paths": 10_000, "realisations": 12},
        {"features": 1000, "realisations": 24},
    ),
}[profile]
# The few paths of the smoke profile drift by chance.
steady = {"drift_tolerance": 1e3} if profile == "smoke" else {}


def solve(engine, batch, rate, **options):
    """A run of the page on Fig. 1, stored or computed now."""
    point = {"problem": problem, "algorithm": sn.SGD(batch=batch)}
    point |= {"learning_rate": rate, "duration": 12.0}
    return sn.sweep(engine, [point], [seed], fixed=options).squeeze(("point", "seed"))


def theory(batch, rate):
    """Mean-field theory, at waiting times by which it has forgotten its start."""
    every = np.arange(0.0, 12.0, 3 * rate).round(9).tolist()
    run = solve(sn.solve_dmft, batch, rate, waiting_times=every, **theory_size)
    return run.sel(waiting_time=slice(3.0, None))


def line(dataset, lags=window, **choices):
    """Line through the FDT curve, straight enough or not."""
    try:
        return sn.effective_temperature(dataset, "line", tuple(lags), **choices)
    except sn.NoPlateauError as refusal:
        return refusal.estimate


def predicted_line(batch, rate, lags=window):
    """The same fit, applied to linear response."""
    longest = rate * np.ceil(lags[1] / rate - 1e-9)
    return line(sn.linear_response(problem, sn.SGD(batch=batch), rate, longest), lags)


# %%
problem = sn.Problem(alpha=alpha, delta=delta, ridge=ridge)
by_rate = {rate: theory(fixed_batch, rate) for rate in rates}
by_batch = {b: theory(b, fixed_rate) for b in batches}
line_by_rate = {rate: line(run, **steady) for rate, run in by_rate.items()}
line_by_batch = {b: line(run, **steady) for b, run in by_batch.items()}
shown = by_rate[rates[0]]
options = {"waiting_times": [4.8, 6.0, 7.2], "loss_every": 12}
network = solve(sn.simulate, fixed_batch, rates[0], **options, **network_size)
half = network_size | {"features": network_size["features"] // 2}
smaller = solve(sn.simulate, fixed_batch, rates[0], **options, **half)
linear = {
    rate: sn.linear_response(problem, sn.SGD(batch=fixed_batch), rate, duration=12.0)
    for rate in rates
}

# %% tags=["hide-input"]
# Draw the figure.
figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.2))
for rate, color in plotting.ordered(rates).items():
    name = f"$dt={rate:g}$"
    curve = sn.fdt_curve(by_rate[rate].sel(waiting_time=slice(4.8, 7.2)))
    curve = curve.sel(lag=slice(0, 4.81)).mean(("realisation", "waiting_time"))
    values = curve.normalised_correlation, curve.normalised_response
    look = {"fmt": "o", "color": color, "name": f"theory, {name}"}
    plotting.curve(left, *values, **look)
    exact = sn.fdt_curve(linear[rate], waiting_time=0.0).isel(realisation=0)
    values = exact.normalised_correlation, exact.normalised_response
    look = {"color": color, "linewidth": 1, "name": f"linear response, {name}"}
    drawn = plotting.curve(left, *values, fmt="-", **look)
    plotting.label(drawn, name, offset=(0, 10))
for run, seen in ((network, True), (smaller, False)):
    curve = sn.fdt_curve(run).mean(("realisation", "waiting_time"))
    curve = curve.isel(lag=slice(0, 49, 6))
    look = {"fmt": "ks", "fillstyle": "none", "markersize": 6, "visible": seen}
    values = curve.normalised_correlation, curve.normalised_response
    name = "networks" if seen else f"networks, $N={half['features']}$"
    plotting.curve(left, *values, **look, name=name)
left.set(xlabel=r"$C(t,t_w)/C(t_w,t_w)$", ylabel=r"$\chi(t,t_w)/C(t_w,t_w)$")
left.margins(x=0.2, y=0.12)
lags = np.arange(0.1, 2.51, 0.2)
allowed = {"drift_tolerance": 1e3}  # where the theory is stationary
for dataset, label, style, choices in (
    (shown, "mean-field theory", "o", steady),
    (network, "networks", "s", allowed),
):
    local = sn.local_temperature(dataset, lags=lags, window=2, **choices)
    good = (local.error < 0.3 * local.slope).values
    sure = np.logical_and.accumulate(good)  # up to the first that is not
    values = (x[sure] for x in (local.lag, local.slope, local.error))
    plotting.curve(right, *values, fmt=style, label=label)
local = sn.local_temperature(linear[rates[0]], lags=lags)
look = {"fmt": "k-", "linewidth": 1, "label": "linear response"}
plotting.curve(right, local.lag, local.slope, **look)
level = {"color": "0.5", "linewidth": 1, "zorder": 0, "label": "line over the window"}
fitted = line_by_rate[rates[0]].value
plotting.curve(right, None, fitted, fmt="--", **level)
plotting.quoted(right, None, 0.015, "paper: 0.015")
right.set(xlabel="lag $t-t_w$", ylabel="slope at this lag", ylim=(0, 2 * fitted))
right.legend(loc="lower left")
publish("fdt-vanilla", figure)

# %% [markdown]
# Close to the minimum each eigenmode of the mean Hessian, $\lambda$ plus $b$ times that of the data, is a discrete
# Ornstein-Uhlenbeck process. With stiffness $a$ its temperature is $dt\,\sigma^2/(2-a\,dt)$, where $\sigma^2$ is the
# variance of the sampling force on that mode. The force and the Hessian are sums over the same samples. With
# $u_\mu$ the component of sample $\mu$ along the mode, the mean Hessian has $a=\lambda+b\sum_\mu\ell''_\mu u_\mu^2$
# and the force $\sigma^2=b(1-b)\sum_\mu\ell'^2_\mu u_\mu^2$, because each sample is in the batch with the variance
# $b(1-b)$. Only samples within the margin contribute to either sum. Their slope $\ell'_\mu$ depends on one direction of
# the sample, that of the weights, and in high dimension $u_\mu$ is independent of it. The two sums are then
# proportional,
#
# $$
# \sigma^2(a) = (1-b)\,(a-\lambda)\,\frac{\langle\ell'^2\rangle}{\langle\ell''\rangle} ,
# $$ (eq-mode-force)
#
# so that soft modes are cold and stiff modes are hot. Short lags see them all: the initial slope is the mean over
# modes, $\tfrac12 dt\, b(1-b)\alpha\Delta\langle\ell'^2\rangle$ for small $dt$, a closed form through the static
# theory (with $\lambda/b$ for $\lambda$). Long lags see what relaxes last, the softest modes.

# %% tags=["hide-input"]
# Draw spectrum and temperature of the modes.
figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 2.9))
for batch, color in plotting.ordered(spectrum_batches).items():
    spectrum = sn.hessian_spectrum(problem, sn.SGD(batch=batch))
    low, high = spectrum.edges
    # Closer towards the edges, where the density rises steeply.
    angle = np.linspace(0, np.pi, 100)
    a = (low + high) / 2 - (high - low) / 2 * np.cos(angle)
    static = spectrum.statics
    force = static.square_slope / static.curvature * (1 - batch) * (a - ridge)
    heat = fixed_rate * force / (2 - fixed_rate * a)
    look = {"color": color, "name": f"$b={batch:g}$"}
    density = spectrum.density(a)
    drawn = plotting.curve(left, a, density, fmt="-", **look)
    at = int(np.flatnonzero(density > 0.6 * density.max())[-1])
    plotting.label(drawn, f"$b={batch:g}$", at=at, offset=(5, 4))
    drawn = plotting.curve(right, a, heat, fmt="-", **look)
    plotting.label(drawn, f"$b={batch:g}$", offset=(-1, 6))
    look = {"color": color, "name": f"outliers, $b={batch:g}$", "markersize": 5}
    alone = spectrum.outliers
    plotting.curve(left, alone, [0.06] * len(alone), fmt="v", **look)
left.set(xlabel="stiffness $a$", ylabel="density of modes", ylim=(0, None))
right.set(
    xlabel="stiffness $a$", ylabel=f"temperature of the mode, $dt={fixed_rate:g}$"
)
right.margins(x=0.16)
publish("modes", figure)

# %% tags=["hide-input"]
# Draw closed form and measurement.
figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 2.9))
fine_rates = np.linspace(0.1, 1.1, 12) * max(rates)
fine_batches = np.linspace(0.02, 0.998, 24)
static = sn.solve_statics(problem, sn.SGD(batch=fixed_batch))
closed = {"fmt": "--", "color": "0.5", "label": "closed form"}
lines = {"fmt": "k-", "linewidth": 1, "label": "linear response"}
points = {"fmt": "o", "markersize": 4.5, "zorder": 3, "label": "mean-field theory"}
for axes, family in ((left, line_by_rate), (right, line_by_batch)):
    values = np.array([(fit.value, fit.error) for fit in family.values()]).T
    plotting.curve(axes, list(family), *values, **points)
predicted = [predicted_line(fixed_batch, rate).value for rate in fine_rates]
plotting.curve(left, fine_rates, predicted, **lines)
plotting.curve(left, fine_rates, static.temperature_slope * fine_rates, **closed)
left.set(xlabel="learning rate $dt$", ylabel="slope of the line", ylim=(0, None))
predicted = [predicted_line(b, fixed_rate).value for b in fine_batches]
plotting.curve(right, fine_batches, predicted, **lines)
each = [sn.solve_statics(problem, sn.SGD(batch=b)) for b in fine_batches]
each = np.array([found.temperature_slope for found in each])
plotting.curve(right, fine_batches, fixed_rate * each, **closed)
right.set(xlabel="batch fraction $b$", ylim=(0, None))
left.legend(loc="upper left")
publish("closed-form", figure)

# %% tags=["hide-input", "claims"]
# Quote numbers.
fit = line_by_rate[0.1]
glue("features", network_size["features"])
ends = []
for run in (network, smaller):
    end = sn.fdt_curve(run).mean("waiting_time").isel(lag=slice(6, 49, 6))
    chords = end.displacement / end.integrated_response
    ends.append(chords.transpose("lag", "realisation"))
glue("half", half["features"])
glue("shift", f"{100 * finite_size(*ends):+.1f}")
glue("t-vanilla", f"{Estimate.of(fit):.5f}")
glue("t-vanilla-bend", f"{100 * fit.variation:.1f}")
for name, key in (("start", "initial"), ("end", "plateau")):
    glue(f"t-vanilla-{name}", f"{linear[0.1].attrs[f'{key}_temperature']:.4f}")
lag = fit.curve.lag.values
early, late = lag < 0.5 + 1e-9, lag > 1.0 - 1e-9
fall = jackknife(
    lambda x, y: (
        1
        - sn.fdt.line(x[:, late], y[:, late])[0]
        / sn.fdt.line(x[:, early], y[:, early])[0]
    ),
    fit.curve.integrated_response,
    fit.curve.displacement,
)
glue("fall", f"{100 * fall:.0f}")
last = sn.local_temperature(linear[0.1], lags=(2.5,)).slope.item()
glue("t-vanilla-last", f"{last:.4f}")
for name, upto in (("short", 1.0), ("middle", 2.5), ("long", 5.0)):
    glue(f"t-window-{name}", f"{predicted_line(0.1, 0.1, (0.0, upto)).value:.4f}")
for batch in (0.1, 0.4, 0.99):
    exact = sn.linear_response(problem, sn.SGD(batch=batch), 0.1, duration=2.5)
    ends = (0.0, 0.1)
    whole, without = (line(exact, (first, 2.5), tolerance=1.0).value for first in ends)
    glue(f"without-zero-{batch}", f"{100 * (1 - without / whole):.0f}")
off = {
    rate: 100
    * (Estimate(predicted_line(0.1, rate).value, 0.0) / Estimate.of(found) - 1.0)
    for rate, found in line_by_rate.items()
}
glue("off-small", f"{off[0.1]:+.1f}")
glue("off-large", f"{off[0.4]:+.1f}")
by_b = [
    100 * (predicted_line(b, 0.1).value / found.value - 1)
    for b, found in line_by_batch.items()
]
glue("off-batches", f"{min(by_b):+.1f} to {max(by_b):+.1f}")
local = [
    sn.local_temperature(run, lags=(1.0,), window=2, **steady).slope.item()
    for run in (linear[0.1], shown)
]
glue("off-slope", f"{100 * (local[0] / local[1] - 1):+.1f}")
slope = static.temperature_slope
glue("closed-form-value", f"{0.1 * slope:.5f}")
glue("above-closed-form", f"{100 * (line_by_rate[0.4].value / (0.4 * slope) - 1):.0f}")

# %% [markdown]
# ```{glue:figure} fdt-vanilla
# ---
# name: fig-fdt-vanilla
# alt: >-
#   Left: integrated response against correlation for four learning rates, points on lines. Right: slope of the curve
#   against lag at learning rate 0.1, points with error bars from mean-field theory and from networks, the line of
#   linear response, and two levels.
# ---
# Left: FDT plot of vanilla SGD, $b=0.1$, mean over waiting times from 4.8 to 7.2. Points: mean-field theory; open
# squares: networks at $dt=0.1$ with $N=$ {glue:}`features`. Lines: linear response, with no free parameter. Right:
# slope of displacement against response at each lag for $dt=0.1$, up to the first lag at which it is not known to 30
# per cent; bars are two standard errors. Linear response leaves out terms of relative order $dt$; at $dt=0.1$ its line
# over lags up to 2.5 is off by {glue:text}`off-small` per cent, at $dt=0.4$ by {glue:text}`off-large`, and its slope at
# lag 1 and $dt=0.1$ by {glue:text}`off-slope`.
# ```
#
# Finite size: from networks with $N=$ {glue:}`half` to those of the figure the chords from lag zero to the squares
# change by {glue:text}`shift` per cent, in the mean weighted by their accuracy; if the shift falls as $1/N$, as much
# is left. (The data of the figure have both sizes.)
#
# The line over lags from 0 to 2.5 has slope {glue:text}`t-vanilla` (the paper: 0.015), and no point of the curve is
# farther from it than {glue:text}`t-vanilla-bend` per cent of the curve's height. And yet the plot is *not* straight.
# In linear response the slope falls from {glue:text}`t-vanilla-start` at the shortest lag to
# {glue:text}`t-vanilla-last` at lag 2.5, and towards {glue:text}`t-vanilla-end` at infinite lag, which no run measures.
# A single point of {numref}`fig-fdt-vanilla` is not accurate enough to show the fall. The slope over lags from 1 to 2.5
# is: in mean-field theory it lies {glue:text}`fall` per cent below that up to 0.5. One
# does not see it in the plot because most of the curve is traced before the slope has changed much.
#
# A line over another window therefore has another slope. In linear response, which has no sampling error, it is
# {glue:text}`t-window-short` over lags up to 1, {glue:text}`t-window-middle` up to 2.5 and {glue:text}`t-window-long`
# up to 5. To leave out the point at lag zero is also a change of the window: it lowers the slope by
# {glue:text}`without-zero-0.1` per cent at $b=0.1$, by {glue:text}`without-zero-0.4` at $b=0.4$ and by
# {glue:text}`without-zero-0.99` at $b=0.99$, where the stiffest and hottest modes relax within the first step.
#
# ## Stiff modes are hot
#
# ```{glue:figure} modes
# ---
# name: fig-modes
# alt: >-
#   Left: densities of Hessian eigenvalues for batch fractions 0.1, 0.5 and 1, wider and farther right for larger
#   batches. Right: the temperature of a mode grows from near zero at the soft edge nearly in proportion to stiffness;
#   it is highest for batch 0.5 and zero for the full batch.
# ---
# Left: spectrum of the mean Hessian, its data term times $b$, at the point where SGD with batch fraction $b$ settles,
# from the self-consistent resolvent; triangles are eigenvalues outside the bulk. Right: temperature of each mode in
# linear response at $dt=0.1$; what that leaves out is measured in {numref}`fig-closed-form`.
# ```
#
# The slope at short lag is the mean over the modes on the right, the slope at long lag that of their soft edge.
#
# ## Closed form against measurement
#
# ```{glue:figure} closed-form
# ---
# name: fig-closed-form
# alt: >-
#   Effective temperature against learning rate on the left and batch fraction on the right: points of mean-field
#   theory with error bars, the full line of linear response, and the dashed line of the closed form.
# ---
# Slope of the line fitted to the FDT plot over lags up to 2.5. Points: mean-field theory, bars two standard errors.
# Full line: the same fit applied to linear response at this $dt$. It leaves out that samples enter and leave the
# margin, an effect of relative order $dt$, and is off by {glue:text}`off-small` per cent at $dt=0.1$ and
# {glue:text}`off-large` at $dt=0.4$ (left), and by {glue:text}`off-batches` per cent on the right. Dashed: closed form
# $\tfrac12dt\,b(1-b)\alpha\Delta\langle\ell'^2\rangle$.
# ```
#
# The closed form gives {glue:text}`closed-form-value` at the paper's point. It is the initial slope at first order in
# $dt$, and a line fitted to the whole plot is neither. The two agree to a few per cent at $dt=0.1$ because two
# corrections nearly cancel, the finite step (up) and the bend of the curve (down); at $dt=0.4$ the measured slope is
# {glue:text}`above-closed-form` per cent above the closed form. Linear response at finite $dt$ has both.
#
# :::{admonition} What was found
# :class: found
# - The FDT plot of vanilla SGD looks straight and is not: in linear response its slope falls from
#   {glue:text}`t-vanilla-start` at short lag to {glue:text}`t-vanilla-last` at lag 2.5 and {glue:text}`t-vanilla-end`
#   at infinite lag, because stiff modes are hotter than soft ones. A line over lags from 0 to 2.5 has the slope
#   {glue:text}`t-vanilla`.
# - The closed form $\tfrac12dt\,b(1-b)\alpha\Delta\langle\ell'^2\rangle$ is the initial slope at first order in $dt$;
#   linear response at finite $dt$ is off by {glue:text}`off-small` per cent at $dt=0.1$.
# :::
