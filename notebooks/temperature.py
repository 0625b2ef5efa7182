# ---
# jupyter:
#   expected_seconds:
#     paper: 500
#     smoke: 25
#     standard: 80
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What is the temperature of SGD?
#
# :::{admonition} What you will learn
# :class: learn
# What the *effective temperature* of a system out of equilibrium is, three ways to define it, why they disagree for
# SGD, where the one that the paper uses for p-SGD stops existing, and what to use in its place.
# :::
#
# In equilibrium there is one temperature, and it can be read off any pair of a fluctuation and the response that
# belongs to it. SGD is not in equilibrium. The paper takes the pair that is at hand, the correlation of the weights
# and their response to a small field {cite:p}`mignacco2022effective,cugliandolo2011effective`, and *defines* the
# temperature as the slope of one against the other, as is done for glasses {cite:p}`cugliandolo1993analytical` and
# for active matter {cite:p}`loi2008effective,berthier2013nonequilibrium`. This page asks what that number is: how
# straight the plot is, what a closed formula says about it, where it stops existing, and what can be used instead.
#
# ## Three definitions
#
# Let $C(t,t_w) = w(t)\cdot w(t_w)/N$ in the stationary state, and $\chi(t,t_w)$ the response summed from $t_w$ to
# $t$. The FDT curve is
#
# $$
# C(t_w,t_w) - C(t,t_w) \quad\text{against}\quad \chi(t,t_w),
# $$ (eq-fdt-curve)
#
# with the lag $t-t_w$ running along it. In equilibrium it is a straight line of slope $T$. Otherwise there are at
# least three slopes: that of a **line** fitted to the curve, that of its **tail** at long lag, and that of the
# **chord** from one end to the other,
#
# $$
# T_\mathrm{int} = \frac{C(t_w,t_w) - C(\infty)}{\chi(\infty)} = \frac{d^2/2}{\chi(\infty)},
# $$ (eq-chord)
#
# with $d$ the distance between two stationary replicas. `sn.effective_temperature` computes each with an error from
# independent populations of paths. It uses the waiting times at which a drift is excluded
# (the last section of this page), and refuses where the definition has no meaning: a line through a bent curve,
# a tail whose slope still changes, a chord that has not ended.
#
# The window of lags is part of the number, and every page of this book names it. A window that begins at zero contains
# the point at lag zero, on every page: for a mode on its own the origin lies on the line exactly, at any learning rate.

# %% tags=["parameters"]
profile = "standard"
seed = 0

# %% tags=["hide-input"]
# Set up.
import matplotlib.pyplot as plt
import numpy as np

import sgdnoise as sn
from sgdnoise import plotting
from sgdnoise.report import glue, publish

plotting.use_style()
size = {
    "smoke": {"paths": 450, "realisations": 3, "features": 80, "data_sets": 3},
    "standard": {"paths": 3000, "realisations": 6, "features": 400, "data_sets": 8},
    "paper": {"paths": 10_000, "realisations": 10, "features": 1000, "data_sets": 16},
}[profile]
# Persistent batches make runs noisy, above all the few paths of the smoke profile.
nearly = {"drift_tolerance": 1e3 if profile == "smoke" else 0.1}
colors = [plotting.COLORS[name] for name in ("blue", "red", "green", "pink", "orange")]


def solve(problem, algorithm, learning_rate, duration):
    """Mean-field theory at the size of this profile."""
    return sn.solve_dmft(
        problem,
        algorithm,
        learning_rate,
        duration,
        paths=size["paths"],
        realisations=size["realisations"],
        seed=seed,
    )


def measure(dataset, **choices):
    """Effective temperature, and whether it was accepted."""
    try:
        return sn.effective_temperature(dataset, **choices), True
    except sn.NoPlateauError as refusal:
        return refusal.estimate, False


def quote(value, error):
    """A number with its error, to be quoted in the text."""
    digits = max(0, 1 - int(np.floor(np.log10(error))))
    return f"{value:.{digits}f} ± {error:.{digits}f}"


# %% [markdown]
# ## Vanilla SGD: how straight is the plot?
#
# The paper's first figure: $\alpha=6$, $\Delta=\lambda=1$, batch $b=0.1$, four learning rates. The mean-field theory
# is solved once for each; at the smallest learning rate we also train real networks and measure their response with
# random probes, so that a whole plot comes from simulation alone.

# %%
problem = sn.Problem(alpha=6, delta=1.0, ridge=1.0)
rates = (0.1, 0.2, 0.3, 0.4)
by_rate = {dt: solve(problem, sn.SGD(batch=0.1), dt, duration=12.0) for dt in rates}
run = sn.simulate(
    problem,
    sn.SGD(batch=0.1),
    learning_rate=0.1,
    duration=9.0,
    features=size["features"],
    realisations=size["data_sets"],
    waiting_times=(4.0, 4.5, 5.0, 5.5, 6.0),
    seed=seed,
)
linear = {
    dt: sn.linear_response(problem, sn.SGD(batch=0.1), dt, duration=12.0)
    for dt in rates
}
line_fit = {
    dt: measure(theory, method="line", lags=(0.0, 2.5))[0]
    for dt, theory in by_rate.items()
}

# %% tags=["hide-input"]
# Draw the figure.
figure, (left, right) = plt.subplots(1, 2)
for dt, color in zip(rates, colors, strict=False):
    curve = sn.fdt_curve(by_rate[dt], waiting_time=6.0).mean("realisation")
    exact = sn.fdt_curve(linear[dt], waiting_time=0.0).isel(realisation=0)
    plotting.curve(
        left,
        curve.normalised_correlation,
        curve.normalised_response,
        fmt="o",
        color=color,
        label=f"$dt={dt}$",
    )
    plotting.curve(
        left,
        exact.normalised_correlation,
        exact.normalised_response,
        fmt="-",
        color=color,
        linewidth=1,
        name=f"linear response, $dt={dt}$",
    )
curve = (
    sn.fdt_curve(run).mean(("realisation", "waiting_time")).isel(lag=slice(0, 25, 3))
)
plotting.curve(
    left,
    curve.normalised_correlation,
    curve.normalised_response,
    fmt="ks",
    fillstyle="none",
    label="simulation",
)
left.set(xlabel=r"$C(t,t_w)/C(t_w,t_w)$", ylabel=r"$\chi(t,t_w)/C(t_w,t_w)$")
left.legend()
lags = np.arange(0.1, 2.51, 0.2)
for dataset, label, style in (
    (by_rate[0.1], "mean-field theory", "o"),
    (run, "simulation", "s"),
):
    local = sn.local_temperature(dataset, lags=lags, window=2, **nearly)
    good = (local.error < 0.3 * local.slope).values
    known = np.logical_and.accumulate(good)  # up to the first that is not
    plotting.curve(
        right,
        local.lag[known],
        local.slope[known],
        local.error[known],
        fmt=style,
        label=label,
    )
local = sn.local_temperature(linear[0.1], lags=lags)
plotting.curve(
    right, local.lag, local.slope, fmt="k-", linewidth=1, label="linear response"
)
level = {"color": "0.6", "linewidth": 1, "zorder": 0, "name": "line"}
plotting.curve(right, None, line_fit[0.1].value, fmt="--", **level)
right.set(xlabel="lag $t-t_w$", ylabel="slope at this lag", ylim=(0, 0.03))
right.legend()
publish("fdt-vanilla", figure)
start, end = (
    float(linear[0.1].attrs[name])
    for name in ("initial_temperature", "plateau_temperature")
)
glue("t-vanilla", quote(line_fit[0.1].value, line_fit[0.1].error))
glue("t-vanilla-start", f"{start:.4f}")
glue("t-vanilla-end", f"{end:.4f}")
glue("t-vanilla-bend", f"{100 * line_fit[0.1].variation:.1f}")
glue("t-vanilla-waiting", f"{line_fit[0.1].waiting_times[0]:.1f}")
for name, upto in (("short", 1.0), ("middle", 2.5), ("long", 5.0)):
    other = measure(linear[0.1], lags=(0.0, upto))[0]
    glue(f"t-window-{name}", f"{other.value:.4f}")
for batch in (0.1, 0.4, 0.99):
    exact = sn.linear_response(problem, sn.SGD(batch=batch), 0.1, duration=2.5)
    whole, without = (
        measure(exact, lags=(first, 2.5), tolerance=1.0)[0].value
        for first in (0.0, 0.1)
    )
    glue(f"without-zero-{batch}", f"{100 * (1 - without / whole):.0f}")

# %% [markdown]
# ```{glue:figure} fdt-vanilla
# ---
# name: fig-fdt-vanilla
# alt: >-
#   Left: integrated response against correlation for four learning rates, points on lines. Right: slope of the curve
#   against lag at learning rate 0.1, points with error bars from mean-field theory and from simulation, the line of
#   linear response, and a dashed level.
# ---
# Left: FDT plot of vanilla SGD on the paper's axes, waiting time 6. Points: mean-field theory; open squares: networks
# at $dt=0.1$, mean over waiting times from 4 to 6. Lines: linear response, with no free parameter. Right: slope of
# displacement against response at each lag for $dt=0.1$, up to the first lag at which it is not known to 30 per cent
# (circles: mean-field theory; squares: networks; full line: linear response); bars are two standard errors, the
# dashed line is the slope of the fitted line.
# ```
#
# The line has slope {glue:text}`t-vanilla` (the paper: 0.015), and no point of the curve is farther from it than
# {glue:text}`t-vanilla-bend` per cent of the curve's height. Waiting times from {glue:text}`t-vanilla-waiting` on
# pass the test of stationarity. And yet the plot is *not* straight: the slope falls from
# {glue:text}`t-vanilla-start` at short lag towards {glue:text}`t-vanilla-end`. One does not see it because most of
# the curve is traced before the slope has changed much.
#
# A line over another window therefore has another slope. In linear response, where nothing is left to chance, it is
# {glue:text}`t-window-short` over lags up to 1, {glue:text}`t-window-middle` up to 2.5 and {glue:text}`t-window-long`
# up to 5. To leave out the point at lag zero is also a change of the window: it lowers the slope by
# {glue:text}`without-zero-0.1` per cent at $b=0.1$, by {glue:text}`without-zero-0.4` at $b=0.4$ and by
# {glue:text}`without-zero-0.99` at $b=0.99$, where the stiffest and hottest modes relax within the first step.
#
# ## Why it is not: every mode has its own temperature
#
# Close to the minimum each eigenmode of the mean Hessian, $\lambda$ plus $b$ times that of the data, is a discrete
# Ornstein-Uhlenbeck process. With stiffness $a$ its temperature is $dt\,\sigma^2/(2-a\,dt)$, where $\sigma^2$ is the
# variance of the sampling force on that mode. The force is a sum over the same samples as the Hessian, and in high
# dimension the two are proportional,
#
# $$
# \sigma^2(a) = (1-b)\,(a-\lambda)\,\frac{\langle\ell'^2\rangle}{\langle\ell''\rangle} ,
# $$ (eq-mode-force)
#
# so that soft modes are cold and stiff modes are hot. Short lags see them all: the initial slope is the mean over
# modes, $\tfrac12 dt\, b(1-b)\alpha\Delta\langle\ell'^2\rangle$ for small $dt$, a closed form through the static
# theory (with $\lambda/b$ for $\lambda$). Long lags see what relaxes last, the softest modes.

# %%
figure, (left, right) = plt.subplots(1, 2)
for batch, color in zip((0.1, 0.5, 1.0), colors, strict=False):
    spectrum = sn.hessian_spectrum(problem, sn.SGD(batch=batch))
    low, high = spectrum.edges
    # Closer towards the edges, where the density rises steeply.
    angle = np.linspace(0, np.pi, 300)
    a = (low + high) / 2 - (high - low) / 2 * np.cos(angle)
    force = (
        spectrum.statics.square_slope
        / spectrum.statics.curvature
        * (1 - batch)
        * (a - problem.ridge)
    )
    look, alone = {"color": color, "label": f"$b={batch}$"}, spectrum.outliers
    plotting.curve(left, a, spectrum.density(a), fmt="-", **look)
    plotting.curve(right, a, 0.1 * force / (2 - 0.1 * a), fmt="-", **look)
    look = {"color": color, "name": f"outliers, $b={batch}$"}
    plotting.curve(left, alone, [0.06] * len(alone), fmt="v", **look)
left.set(xlabel="stiffness $a$", ylabel="density of modes", ylim=(0, None))
left.legend()
right.set(xlabel="stiffness $a$", ylabel="temperature of the mode, $dt=0.1$")
publish("modes", figure)

# %% [markdown]
# ```{glue:figure} modes
# ---
# name: fig-modes
# alt: >-
#   Left: densities of Hessian eigenvalues for batch fractions 0.1, 0.5 and 1, wider and farther right for larger
#   batches. Right: the temperature of a mode grows from near zero at the soft edge nearly in proportion to stiffness;
#   it is highest for batch 0.5 and zero for the full batch.
# ---
# Left: spectrum of the mean Hessian, its data term times $b$, at the point where SGD with batch fraction $b$ settles,
# from the self-consistent resolvent; triangles are eigenvalues outside the bulk. Right: temperature of each mode at
# $dt=0.1$.
# ```
#
# ## Closed form against measurement

# %%
batches = (0.1, 0.2, 0.4, 0.8, 0.99)
by_batch = {
    b: by_rate[0.1] if b == 0.1 else solve(problem, sn.SGD(batch=b), 0.1, duration=8.0)
    for b in batches
}
line_by_batch = {
    b: measure(theory, method="line", lags=(0.0, 2.5))[0]
    for b, theory in by_batch.items()
}


def predicted_line(algorithm, learning_rate):
    """The same fit, applied to linear response."""
    theory = sn.linear_response(
        problem, algorithm, learning_rate, learning_rate * np.ceil(2.5 / learning_rate)
    )
    return measure(theory, method="line", lags=(0.0, 2.5))[0].value


# %% tags=["hide-input"]
# Draw the figure.
figure, (left, right) = plt.subplots(1, 2)
fine_rates = np.linspace(0.01, 0.45, 15)
fine_batches = np.linspace(0.02, 0.998, 30)
slope = sn.solve_statics(problem, sn.SGD(batch=0.1)).temperature_slope
plotting.curve(
    left,
    rates,
    [t.value for t in line_fit.values()],
    [t.error for t in line_fit.values()],
    fmt="o",
    zorder=3,
    name="mean-field theory",
)
plotting.curve(
    left,
    fine_rates,
    [predicted_line(sn.SGD(batch=0.1), dt) for dt in fine_rates],
    fmt="k-",
    linewidth=1,
    name="linear response",
)
closed = {"fmt": "--", "color": "0.5", "label": "closed form"}
plotting.curve(left, fine_rates, slope * fine_rates, **closed)
left.set(xlabel="learning rate $dt$", ylabel=r"$T_\mathrm{eff}$ (line)")
fits = line_by_batch.values()
plotting.curve(
    right,
    batches,
    [t.value for t in fits],
    [t.error for t in fits],
    fmt="o",
    label="mean-field theory",
)
plotting.curve(
    right,
    fine_batches,
    [predicted_line(sn.SGD(batch=b), 0.1) for b in fine_batches],
    fmt="k-",
    linewidth=1,
    label="linear response",
)
slopes = [
    sn.solve_statics(problem, sn.SGD(batch=b)).temperature_slope for b in fine_batches
]
plotting.curve(right, fine_batches, 0.1 * np.array(slopes), **closed)
right.set(xlabel="batch fraction $b$")
right.legend()
publish("closed-form", figure)
excess = {
    dt: fit.value / predicted_line(sn.SGD(batch=0.1), dt) - 1
    for dt, fit in line_fit.items()
}
glue("closed-form-value", f"{0.1 * slope:.5f}")
glue("above-closed-form", f"{100 * (line_fit[0.4].value / (0.4 * slope) - 1):.0f}")
glue("excess-small", f"{100 * excess[0.1]:.1f}")
glue("excess-small-error", f"{100 * line_fit[0.1].error / line_fit[0.1].value:.1f}")
glue("excess-large", f"{100 * excess[0.4]:.1f}")
glue("excess-large-error", f"{100 * line_fit[0.4].error / line_fit[0.4].value:.1f}")

# %% [markdown]
# ```{glue:figure} closed-form
# ---
# name: fig-closed-form
# alt: >-
#   Effective temperature against learning rate on the left and batch fraction on the right: points of mean-field
#   theory with error bars, the full line of linear response, and the dashed line of the closed form.
# ---
# Slope of the line fitted to the FDT plot over lags up to 2.5. Points: mean-field theory, bars two standard errors.
# Full line: the same fit applied to linear response at this $dt$. Dashed: closed form
# $\tfrac12dt\,b(1-b)\alpha\Delta\langle\ell'^2\rangle$.
# ```
#
# The closed form gives {glue:text}`closed-form-value` at the paper's point. It is the initial slope at first order in
# $dt$, and a line fitted to the whole plot is neither. That the two agree to a few per cent at $dt=0.1$ is the
# near-cancellation of two corrections, the finite step (up) and the bend of the curve (down); at $dt=0.4$ the measured
# slope is {glue:text}`above-closed-form` per cent above the closed form. Linear response at finite $dt$ has both: the
# measured slope differs from it by {glue:text}`excess-small` per cent at $dt=0.1$ (standard error
# {glue:text}`excess-small-error`) and by {glue:text}`excess-large` per cent at $dt=0.4$ (standard error
# {glue:text}`excess-large-error`).
#
# ## Persistent SGD: where there is a plateau, and where there is none
#
# With p-SGD the force on a mode is remembered for a time $1/\gamma = b\tau$. Its slope at lag $t$ is, for small $dt$,
#
# $$
# T(t) = \sigma^2(a)\,\frac{\gamma}{\gamma^2-a^2}\,\big(1-e^{-(\gamma-a)t}\big) ,
# $$ (eq-plateau)
#
# zero at short lag, as in the paper. At long lag it settles only if $\gamma > a$. If the batch is remembered for
# longer than the mode takes to relax, the weights just follow the batch: they respond quickly and fluctuate slowly,
# and the ratio of the two grows as long as one looks. For the whole system what counts is the softest mode.

# %%
harder = sn.Problem(alpha=8, delta=1.0, ridge=1.0)
persistences = (0.5, 1.0, 2.0, 4.0, 8.0)
memory = {tau: 0.3 * tau for tau in persistences}  # how long the batch is remembered
slow = {tau: sn.PersistentSGD(batch=0.3, persistence=tau) for tau in persistences}
by_tau = {
    tau: solve(harder, slow[tau], 0.05, duration=10 + 5 * memory[tau])
    for tau in persistences
}
linear_by_tau = {
    tau: sn.linear_response(harder, slow[tau], 0.05, duration=30.0)
    for tau in persistences
}
tails = {
    tau: measure(by_tau[tau], method="tail", points=10, lags=(0.0, 4.0), **nearly)
    for tau in persistences
}

# %% tags=["hide-input"]
# Draw the figure.
figure, (left, right) = plt.subplots(1, 2)
lags = np.arange(0.1, 3.01, 0.2)
for tau, color in zip(persistences, colors, strict=True):
    local = sn.local_temperature(by_tau[tau], lags=lags, window=2, **nearly)
    good = (local.error < 0.3 * local.slope).values
    known = np.logical_and.accumulate(good)  # up to the first that is not
    plotting.curve(
        left,
        local.lag[known],
        local.slope[known],
        local.error[known],
        fmt="o",
        color=color,
        label=rf"$\tau={tau:g}$",
    )
    exact = sn.local_temperature(linear_by_tau[tau], lags=lags)
    look = {"linewidth": 1, "name": rf"linear response, $\tau={tau:g}$"}
    plotting.curve(left, exact.lag, exact.slope, fmt="-", color=color, **look)
left.set(
    xlabel="lag $t-t_w$", ylabel="slope at this lag", yscale="log", ylim=(0.005, 20)
)
left.legend(ncols=2)
fine = np.linspace(0.02, 0.99, 60)
softest = np.array([sn.hessian_spectrum(harder, sn.SGD(batch=b)).softest for b in fine])
look = {"fmt": "k-", "linewidth": 1, "name": "border"}
plotting.curve(right, fine, 1 / (fine * softest), **look)
right.fill_between(fine, 0, 1 / (fine * softest), color="0.9")
for tau, (_, accepted) in tails.items():
    fill, name = ("full", "plateau") if accepted else ("none", "no plateau")
    look = {"fmt": "o", "color": colors[0], "fillstyle": fill, "name": name}
    plotting.curve(right, 0.3, tau, **look)
right.text(0.03, 1.2, "plateau")
right.text(0.6, 5, "no plateau")
right.set(xlabel="batch fraction $b$", ylabel=r"persistence $\tau$", ylim=(0, 9))
publish("persistent", figure)
settled = [tau for tau, (_, accepted) in tails.items() if accepted]
expected = [
    tau for tau in persistences if np.isfinite(linear_by_tau[tau].plateau_temperature)
]
glue("settled", ", ".join(f"{tau:g}" for tau in settled) or "none")
glue("settled-expected", ", ".join(f"{tau:g}" for tau in expected))
glue("softest", f"{linear_by_tau[2.0].softest_stiffness:.2f}")
glue("tau-limit", f"{1 / (0.3 * linear_by_tau[2.0].softest_stiffness):.2f}")

# %% [markdown]
# ```{glue:figure} persistent
# ---
# name: fig-persistent
# alt: >-
#   Left: slope against lag for five persistence times on a logarithmic scale, points of mean-field theory on lines of
#   linear response. Right: plane of batch fraction and persistence with a grey region of plateaus below a falling
#   curve, and five points at batch fraction 0.3, filled or open.
# ---
# Left: slope of the FDT curve at each lag for p-SGD with $\alpha=8$, $b=0.3$, $dt=0.05$, the paper's second figure.
# Points: mean-field theory with two standard errors, up to the first lag at which the slope is not known to 30 per
# cent. Lines: linear response, which is for small noise: at large $\tau$ the noise is not small, and the points lie
# below. Right: where linear response has a
# plateau (grey), $1/(b\tau)$ larger than the softest stiffness. Symbols: runs whose tail settled (full) or not
# (open).
# ```
#
# At $b=0.3$ the softest stiffness is {glue:text}`softest`, so that there should be a plateau for $\tau$ below
# {glue:text}`tau-limit`, of the paper's five values for $\tau=$ {glue:text}`settled-expected`. The
# estimator, which knows nothing of this, accepts the tail for $\tau=$ {glue:text}`settled`. For the others the slope
# of the last points depends on where the run ends, and the paper's temperatures there are properties of the window.
#
# The paper's own reading takes the last $n$ points before the end of the run, for each waiting time, and looks for a
# range of waiting times where $n=5$, 10 and 15 agree:

# %%
tables = {tau: sn.tail_slopes(by_tau[tau], points=(5, 10, 15)) for tau in (1.0, 4.0)}

# %% tags=["hide-input"]
# Draw the figure.
figure, panels = plt.subplots(1, 2)
for axes, (tau, table) in zip(panels, tables.items(), strict=True):
    for points, color in zip(table.points.values, colors, strict=False):
        row = table.sel(points=points)
        row = row.isel(waiting_time=(row.error < 0.3 * row.slope).values).isel(
            waiting_time=slice(None, None, 4)
        )
        lag = float(by_tau[tau].time[-1]) - row.waiting_time
        plotting.curve(
            axes,
            lag,
            row.slope,
            row.error,
            fmt="o",
            color=color,
            label=f"last {points} points",
        )
    exact = sn.local_temperature(linear_by_tau[tau], lags=np.arange(0.1, 4.01, 0.1))
    look = {"fmt": "k-", "linewidth": 1, "name": "linear response"}
    plotting.curve(axes, exact.lag, exact.slope, **look)
    axes.set(xlabel=r"$t_\mathrm{final}-t_w$", title=rf"$\tau={tau:g}$", xlim=(0, 4))
panels[0].set(ylabel="slope of the last points", ylim=(0, 0.5))
panels[1].set(yscale="log", ylim=(0.005, 20))
panels[0].legend()
publish("tail-rule", figure)

# %% [markdown]
# ```{glue:figure} tail-rule
# ---
# name: fig-tail-rule
# alt: >-
#   Slope of the last 5, 10 and 15 points against the time between waiting time and end of the run, with the line of
#   linear response, for persistence 1 on the left and, on a logarithmic scale, persistence 4 on the right.
# ---
# The paper's rule for p-SGD where linear response settles, though only at lags longer than those shown ($\tau=1$,
# left), and where it does not ($\tau=4$, right, logarithmic). Bars: two standard errors; only slopes known to 30 per
# cent are drawn. Lines: slope at this lag in linear response.
# ```
#
# Where the lag is short, slopes of 5, 10 and 15 points differ, because each is the slope at another lag; where it is
# long, they agree within errors that are as large as their differences. That happens with a plateau and without one.
# What tells the two cases apart is the change with the lag, and that is what the estimator tests.
#
# ## The chord exists in every stationary state

# %%
late = {tau: run.waiting_time.values for tau, run in by_tau.items()}
chords = {
    tau: measure(
        by_tau[tau],
        method="chord",
        lags=(0.0, 4 + 5 * memory[tau]),
        waiting_times=late[tau][late[tau] >= 4.0],
        **nearly,
    )
    for tau in persistences
}

# %% tags=["hide-input"]
# Draw the figure.
figure, (left, right) = plt.subplots(1, 2)
fine = np.geomspace(0.2, 10, 25)
for axes, name in ((left, "integrated_temperature"), (right, "initial_temperature")):
    predictions = [
        sn.linear_response(
            harder, sn.PersistentSGD(batch=0.3, persistence=tau), 0.05, 0.05
        ).attrs[name]
        for tau in fine
    ]
    plotting.curve(
        axes, fine, predictions, fmt="k-", linewidth=1, label="linear response"
    )
for tau, (chord, accepted) in chords.items():
    look = {"fmt": "o", "color": colors[0], "name": "mean-field theory"}
    fill = {"fillstyle": "full" if accepted else "none"}
    plotting.curve(left, tau, chord.value, chord.error, **look, **fill)
    first = sn.local_temperature(by_tau[tau], lags=(0.025,), **nearly)
    plotting.curve(right, [tau], first.slope, first.error, **look)
left.set(
    xlabel=r"persistence $\tau$",
    ylabel=r"$T_\mathrm{int}$",
    xscale="log",
    ylim=(0, None),
)
right.set(
    xlabel=r"persistence $\tau$", ylabel="initial slope", xscale="log", ylim=(0, None)
)
left.legend()
publish("chord", figure)
ratio = {
    tau: chord.value / linear_by_tau[tau].integrated_temperature - 1
    for tau, (chord, _) in chords.items()
}
ratio_error = {
    tau: chord.error / linear_by_tau[tau].integrated_temperature
    for tau, (chord, _) in chords.items()
}
for name, tau in (("short", 0.5), ("long", 8.0)):
    glue(f"chord-{name}", quote(chords[tau][0].value, chords[tau][0].error))
    excess, error = 100 * ratio[tau], 100 * ratio_error[tau]
    glue(f"chord-{name}-excess", f"{excess:.1f} ± {error:.1f}")

# %% [markdown]
# ```{glue:figure} chord
# ---
# name: fig-chord
# alt: >-
#   Two panels against persistence: on the left the chord temperature, on the right the initial slope, each with
#   points of mean-field theory with error bars and the line of linear response.
# ---
# Left: $T_\mathrm{int}$ of {eq}`eq-chord` for p-SGD with $b=0.3$. Right: slope at the shortest lag, which falls with
# $\tau$ because a frozen batch does not fluctuate. Points: mean-field theory with two standard errors; lines: linear
# response.
# ```
#
# $T_\mathrm{int}$ needs no plateau and no window beyond "long enough". Linear response leaves out that a
# batch which stays is partly fitted by the weights; the measured values differ from it by
# {glue:text}`chord-short-excess` per cent at $\tau=0.5$ and {glue:text}`chord-long-excess` per cent at $\tau=8$.
#
# ## From which waiting time on?
#
# A temperature that is read off too early is wrong, and its error bar does not say so: realisations drift alike. A test
# that asks whether a drift is *visible* accepts any waiting time if the data are noisy enough. The estimator asks for
# the contrary: a drift that would move the temperature by more than half its error has to be *excluded*. What is left
# of the start adds to the squared displacement and fades within the relaxation time, which the curve itself shows; the
# estimator fits such a term to displacement and response, in each realisation, and begins at the first waiting time
# from which on the bias plus its standard error is small enough.
#
# How well does it do that? Here is a case with slow modes, $\alpha=4$, $\Delta=0.7$, $\lambda=0.3$, $b=0.25$, $dt=0.1$.
# Every run has {glue:text}`study-realisations` realisations, few enough to make it hard.

# %%
slow_problem = sn.Problem(alpha=4, delta=0.7, ridge=0.3)
ends = (5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 12.5)  # where the run is cut off


def study(size, seed):
    """Temperatures of a run cut off at several times, and without any test."""
    options = {
        "duration": 12.5,
        "waiting_times": np.arange(0.0, 10.1).tolist(),
        "realisations": 4,
        "seed": seed,
    }
    if size == "theory":
        run = sn.solve_dmft(slow_problem, sn.SGD(0.25), 0.1, paths=130, **options)
    else:
        options |= {"features": size, "probes": 4, "loss_every": 125}
        run = sn.simulate(slow_problem, sn.SGD(0.25), 0.1, **options)
    found = np.full((3, len(ends)), np.nan)
    for i, end in enumerate(ends):
        early = run.sel(
            time=slice(None, end + 0.01), waiting_time=slice(None, end - 2.49)
        )
        try:
            fit = sn.effective_temperature(early, lags=(0.0, 2.5), tolerance=9.0)
            found[:, i] = fit.value, fit.error, fit.waiting_times[0]
        except sn.NotStationaryError:
            pass
    waits = run.waiting_time.values[2:9]
    untested = [
        sn.effective_temperature(
            run,
            waiting_times=np.arange(first, 10.1),
            tolerance=9.0,
            drift_tolerance=1e3,
        ).value
        for first in waits
    ]
    return {
        "value": ("end", found[0]),
        "error": ("end", found[1]),
        "first": ("end", found[2]),
        "untested": ("wait", np.array(untested)),
    }


sizes, seeds = {
    "smoke": (["theory", 60], 4),
    "standard": (["theory", 100, 200], 40),
    "paper": (["theory", 100, 200, 400, 800], 200),
}[profile]
by_size = {
    size: sn.sweep(study, [{"size": size}], seeds).squeeze("point") for size in sizes
}

# %% tags=["hide-input"]
# Draw the figure.
figure, (left, right) = plt.subplots(1, 2)
waits, summary = np.arange(2.0, 9.0), {}
for (size, result), color, marker in zip(
    by_size.items(), plotting.SERIES, "osD^v", strict=False
):
    name = "theory" if size == "theory" else f"$N={size}$"
    # What all runs together say late, from t_w = 8 on.
    truth = float(result.untested[:, -1].mean())
    error = float(np.sqrt((result.error[:, -1] ** 2).mean()))
    shift = (result.untested.mean("seed") - truth) / error
    style = {"fmt": f"{marker}-", "color": color, "label": name}
    plotting.curve(left, waits[:-1], shift[:-1], **style)
    accepted = np.isfinite(result.value).mean("seed")
    plotting.curve(right, ends, accepted, **style)
    score = ((result.value - truth) / result.error)[:, -1].dropna("seed")
    bias = (result.value[:, -1].dropna("seed") - truth) / error
    summary[size] = {
        "bias": (float(bias.mean()), float(bias.std(ddof=1)) / np.sqrt(bias.size)),
        "within": float((np.abs(score) < 1).mean()),
        "refused": 1 - float(accepted[-1]),
        "missed": float(accepted[list(ends).index(6.5)]),
        "first": float(result["first"][:, -1].median()),
        "untested": float(shift[0]),
    }
left.axhspan(-1 / 3, 1 / 3, color="0.9", zorder=0)
left.set(
    xlabel="first waiting time, untested",
    ylabel="bias over the error of one run",
    yscale="symlog",
)
right.set(
    xlabel="end of the run", ylabel="accepted part of the runs", ylim=(-0.05, 1.05)
)
left.legend()
publish("study", figure)
biases, refused, missed = (
    [entry[key] for entry in summary.values()] for key in ("bias", "refused", "missed")
)
worst = max(biases, key=lambda pair: abs(pair[0]))
within = [100 * entry["within"] for entry in summary.values()]
glue("study-realisations", 4)
glue("study-seeds", seeds)
glue("study-sizes", ", ".join(str(size) for size in sizes[1:]))
glue("study-bias", f"{worst[0]:+.2f} ± {worst[1]:.2f}")
glue("study-within", f"{min(within):.0f} to {max(within):.0f}")
glue("study-refused", f"{100 * max(refused):.1f}")
glue("study-missed", f"{100 * max(missed):.1f}")
firsts = [entry["first"] for entry in summary.values()]
untested = [entry["untested"] for entry in summary.values()]
glue("study-untested", f"{min(untested):.0f} to {max(untested):.0f}")
glue("study-first", f"{min(firsts):g} to {max(firsts):g}")

# %% [markdown]
# ```{glue:figure} study
# ---
# name: fig-study
# alt: >-
#   Left: bias of the temperature in units of its error against the first waiting time, falling from large values to
#   near zero, for theory and for networks of several sizes, with a grey band. Right: accepted part of the runs against
#   the end of the run, rising from zero to one.
# ---
# {glue:}`study-seeds` runs of each size, each of {glue:}`study-realisations` realisations: mean-field theory with 130
# paths, and networks with $N=$ {glue:text}`study-sizes`. Left: how far the line over lags up to 2.5 is off, on average,
# if all waiting times from one on are used without a test, in units of the error that one run quotes; grey: a third of
# that error. Right: part of the runs for which the estimator finds stationary waiting times, if the run is cut off
# early.
# ```
#
# Without a test a run that is read from $t_w=2$ on is off by {glue:text}`study-untested` of its errors. With it, in
# runs of length 12.5, the median run begins at $t_w=$ {glue:text}`study-first`. The largest bias of any size is
# {glue:text}`study-bias` of the quoted error, and {glue:text}`study-within` per cent of the runs are within one error
# of the truth (Student's law for {glue:}`study-realisations` realisations: 61). At most {glue:text}`study-refused` per
# cent of these runs are refused, the false alarms. Of the runs that end at 6.5, before the start is forgotten, at most
# {glue:text}`study-missed` per cent are accepted, the misses.
#
# :::{admonition} What was found
# :class: found
# - The FDT plot of vanilla SGD looks straight and is not: in linear response its slope falls from
#   {glue:text}`t-vanilla-start` at short lag to {glue:text}`t-vanilla-end`, because stiff modes are hotter than soft
#   ones. A line fitted as in the paper has the slope {glue:text}`t-vanilla`.
# - For p-SGD the slope reaches a plateau only if the batch is forgotten before the softest mode relaxes, at $b=0.3$ for
#   $\tau$ below {glue:text}`tau-limit`. Beyond that the paper's temperature is a property of the window.
# - The chord $T_\mathrm{int}$ exists in every stationary state. At $b=0.3$ it goes from {glue:text}`chord-short` at
#   $\tau=0.5$ to {glue:text}`chord-long` at $\tau=8$: the paper's statement that the temperature grows with $\tau$
#   holds for a quantity that exists.
# - The estimator begins where a drift is excluded. In {glue:text}`study-seeds` runs of each size the bias is at most
#   {glue:text}`study-bias` of the quoted error.
# :::
