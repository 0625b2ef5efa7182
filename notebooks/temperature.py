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
# SGD has a temperature at each frequency, and a small oscillator coupled to the weights measures it. The temperatures
# of the paper are other averages of the same two functions. One of them, the slope at long lag, need not have a limit.
# :::
#
# In equilibrium there is one temperature, and it can be read off any pair of a fluctuation and the response that
# belongs to it. SGD is not in equilibrium. The paper takes the pair that is at hand, the correlation of the weights
# and their response to a small field {cite:p}`mignacco2022effective,cugliandolo2011effective`, and *defines* the
# temperature as the slope of one against the other, as is done for glasses {cite:p}`cugliandolo1993analytical` and
# for active matter {cite:p}`loi2008effective,berthier2013nonequilibrium`. This page begins with what a thermometer
# would read, and then asks how the paper's numbers relate to it.
#
# ## A temperature for each frequency
#
# Let $C_n$ be the correlation of the weights at a lag of $n$ steps in the stationary state, without its limit at long
# lag, and $R_n$ their response to a push $n$ steps ago. At the frequency $\omega$ the weights fluctuate with the power
# $S=dt\sum_n C_n\cos n\omega dt$, summed over lags of both signs, and dissipate with
# $\chi''=dt\sum_{n\ge1}R_n\sin n\omega dt$. The temperature of that frequency is
#
# $$
# T(\omega) = \frac{\sin\omega dt}{dt}\,\frac{S(\omega)}{2\,\chi''(\omega)},\qquad
# T(0) = \frac{C_0+2\sum_{n\ge1}C_n}{2\,dt\sum_{n\ge1}n\,R_n} .
# $$ (eq-frequency-temperature)
#
# The sine stands for $\omega$ because time goes in steps. For a single mode that is driven by a random force it makes
# $T(\omega)$ half the power of the force at $\omega$, at any step and any stiffness. White noise then has the same
# temperature at all frequencies, and a force that is remembered for a time $1/\gamma$ has
#
# $$
# T(\omega) = \frac{\sigma^2\gamma}{\gamma^2+\omega^2}
# $$ (eq-lorentzian)
#
# for small $dt$. Several modes share a weighted mean of their temperatures, with the weight $1/(a^2+\omega^2)$ for a
# mode of stiffness $a$. `sn.frequency_temperature` computes $T(\omega)$ from a run of either engine. It needs no
# window of lags and exists in every stationary state. Here we mostly take $C_n$ and $R_n$ from
# `sn.solve_stationary`, which solves the mean-field theory for the stationary state alone, where both depend on the
# lag only.

# %% tags=["parameters"]
profile = "standard"
seed = 0

# %% tags=["hide-input"]
# Set up.
import matplotlib.pyplot as plt
import numpy as np

import sgdnoise as sn
from sgdnoise import plotting
from sgdnoise.fdt import jackknife
from sgdnoise.report import glue, publish

plotting.use_style()
size = {
    "smoke": {"paths": 450, "realisations": 3, "features": 80, "data_sets": 3},
    "standard": {"paths": 3000, "realisations": 6, "features": 400, "data_sets": 8},
    "paper": {"paths": 10_000, "realisations": 10, "features": 1000, "data_sets": 16},
}[profile]
still_size = {
    "smoke": {"paths": 256, "realisations": 3},
    "standard": {"paths": 1200, "realisations": 6},
    "paper": {"paths": 12_000, "realisations": 10},
}[profile]
# The same runs as for the paper's second figure, which are then computed once.
theory_size, network_size, rate = {
    "smoke": (
        {"paths": 220, "realisations": 3},
        {"features": 60, "realisations": 3},
        0.1,
    ),
    "standard": (
        {"paths": 3000, "realisations": 12},
        {"features": 400, "realisations": 12},
        0.05,
    ),
    "paper": (
        {"paths": 8000, "realisations": 12},
        {"features": 1000, "realisations": 24},
        0.05,
    ),
}[profile]
# Persistent batches make runs noisy, above all the few paths of the smoke profile.
nearly = {"drift_tolerance": 1e3 if profile == "smoke" else 0.1}
colors = [plotting.COLORS[name] for name in ("blue", "red", "green", "pink", "orange")]


def settle(problem, algorithm, learning_rate):
    """Mean-field theory of the stationary state, at lags up to ten memories."""
    lags = max(12.0, 10 * getattr(algorithm, "persistence", 0.0) * algorithm.batch)
    point = {"problem": problem, "algorithm": algorithm, "learning_rate": learning_rate}
    fixed = still_size | {"duration": float(np.ceil(lags))}
    found = sn.sweep(sn.solve_stationary, [point], [seed], fixed=fixed)
    return found.squeeze(("point", "seed"))


def measure(dataset, **choices):
    """Effective temperature, and whether it was accepted."""
    try:
        return sn.effective_temperature(dataset, **choices), True
    except sn.NoPlateauError as refusal:
        return refusal.estimate, False


def quote(value, error):
    """A number with its error, to be quoted in the text."""
    if not np.isfinite(error):
        return "not known"
    digits = max(0, 1 - int(np.floor(np.log10(error))))
    return f"{value:.{digits}f} ± {error:.{digits}f}"


def temperatures(run, frequencies, waiting_times=None, longest=None):
    """Temperatures of frequencies; NaN where the noisy runs of smoke resolve none."""
    choices = {"waiting_times": waiting_times, "longest": longest} | nearly
    try:
        return sn.frequency_temperature(run, frequencies, **choices)
    except ValueError:
        if profile != "smoke":
            raise
    found = sn.frequency_temperature(run, **choices)
    return found.interp(frequency=frequencies)


def known(result, value, part=0.3):
    """What is known to 30 per cent."""
    return result.isel(
        {result[value].dims[0]: (result.error < part * result[value]).values}
    )


# %% [markdown]
# Here are all persistence times and all batch fractions of the paper's second figure, $\alpha=8$,
# $\Delta=\lambda=\kappa=1$, and vanilla SGD as in its first, $\alpha=6$, $b=0.1$, $dt=0.1$.

# %%
harder = sn.Problem(alpha=8, delta=1.0, ridge=1.0)
by_tau = {
    tau: sn.PersistentSGD(batch=0.3, persistence=tau)
    for tau in (0.5, 1.0, 2.0, 4.0, 8.0)
}
by_part = {
    batch: sn.PersistentSGD(batch=batch, persistence=2.0)
    for batch in (0.1, 0.2, 0.4, 0.8, 0.99)
}


def memory(algorithm):
    """How long the batch is remembered."""
    return algorithm.batch * algorithm.persistence


theory, still, network, linear_of = {}, {}, {}, {}
for algorithm in [*by_tau.values(), *by_part.values()]:
    point = [{"algorithm": algorithm, "problem": harder, "learning_rate": rate}]
    duration = 8 + float(np.ceil(5 * memory(algorithm)))
    options = theory_size | {
        "duration": duration,
        "waiting_times": np.arange(4.0, duration, 0.5).tolist(),
    }
    theory[algorithm] = sn.sweep(sn.solve_dmft, point, [seed], fixed=options).squeeze(
        ("point", "seed")
    )
    options = network_size | {
        "duration": 11.0,
        "waiting_times": [5.0, 6.0, 7.0],
        "loss_every": 20,
    }
    network[algorithm] = sn.sweep(sn.simulate, point, [seed], fixed=options).squeeze(
        ("point", "seed")
    )
    still[algorithm] = settle(harder, algorithm, rate)
    linear_of[algorithm] = sn.linear_response(harder, algorithm, rate, duration=60.0)

problem = sn.Problem(alpha=6, delta=1.0, ridge=1.0)
vanilla = sn.solve_dmft(
    problem,
    sn.SGD(batch=0.1),
    learning_rate=0.1,
    duration=12.0,
    paths=size["paths"],
    realisations=size["realisations"],
    seed=seed,
)
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
vanilla_still = settle(problem, sn.SGD(batch=0.1), 0.1)
vanilla_exact = sn.linear_response(problem, sn.SGD(batch=0.1), 0.1, duration=60.0)

# %%
frequencies = np.geomspace(0.3, 30, 11)
longest = {a: 3.5 + float(np.ceil(5 * memory(a))) for a in theory}
early = [4.0, 4.5]
spectral = {a: temperatures(run, [0.0, *frequencies]) for a, run in still.items()}
networks = {  # one period within the lags that all waiting times have
    a: temperatures(run, np.geomspace(1.6, 12, 5), [5.0, 6.0, 7.0], 4.0)
    for a, run in network.items()
}

# %% [markdown]
# ## A thermometer reads it
#
# What does the number mean? {cite:t}`cugliandolo1997energy` couple a small oscillator to a system out of equilibrium.
# If the coupling is weak, the mean energy of the oscillator approaches $T(\omega_0)$ for any system. We do this to
# networks in training: oscillators $y_i$ of several frequencies are attached to weights of their own,
#
# $$
# \ddot y_i = -\omega_i^2 y_i + k_i(w_i-\bar w_i) ,\qquad \mathcal L \to \mathcal L - \sum_i k_i\,y_i w_i ,
# $$ (eq-thermometer)
#
# and moved by leapfrog steps of length $dt$; $\bar w_i$ is the mean of the weight before. (The axes of the weights are
# random directions for the data, whose noise is isotropic.) With the mean of the velocities before and after a step,
# the weak-coupling limit of $\langle\dot y^2\rangle$ is {eq}`eq-frequency-temperature` exactly, sine included. At
# finite coupling an oscillator samples a band of frequencies. As far as the weights respond linearly to it, its reading
# is
#
# $$
# \langle\dot y^2\rangle = \int_{-\pi}^{\pi}\frac{d\theta}{2\pi}\,\frac{\sin^2\theta}{dt^2}\,
# \frac{k^2\,\hat C(\theta)}{|\omega^2-(2-2\cos\theta)/dt^2-k^2\hat\chi(\theta)|^2} ,
# $$ (eq-reading)
#
# with the sums $\hat C$ of $C_n\cos n\theta$ over all lags and $\hat\chi$ of $dt\,R_ne^{in\theta}$. The theory provides
# both, so we can compare at any coupling and correct for it. The coupling $k_i$ sets how fast an oscillator adjusts; we
# use two, at which it loses {glue:text}`thermometer-weak` and {glue:text}`thermometer-strong` per cent of its amplitude
# in a unit of phase, with $\omega_i$ shifted so that it oscillates at the frequency that we ask for.

# %% tags=["hide-input"]
# Train networks with oscillators attached to their weights.
dials = np.array([0.5, 1.0, 2.0, 4.0])
dial_size = {
    "smoke": {"features": 60, "each": 3, "copies": 2, "sets": 2, "duration": 40.0},
    "standard": {"features": 200, "each": 6, "copies": 4, "sets": 6, "duration": 120.0},
    "paper": {"features": 600, "each": 20, "copies": 4, "sets": 12, "duration": 240.0},
}[profile]
widths = {"weak": 0.04, "strong": 0.08}


def oscillators(run, dt, width):
    """Couplings and squared frequencies of oscillators with this damping."""
    R = run.response.values[:, 0].mean(axis=0)
    chi = dt * np.exp(1j * dt * np.outer(dials, np.arange(R.size))) @ R
    k = np.sqrt(2 * width * dials * np.sin(dials * dt) / dt / chi.imag)
    return k, (2 - 2 * np.cos(dials * dt)) / dt**2 + k**2 * chi.real


def reading(run, dt, k, square, grid=2**16):
    """What the oscillators read at this coupling, by theory."""
    C, R = (run[name].values[:, 0].mean(axis=0) for name in ("correlation", "response"))
    C = C - C[-1]
    theta = 2 * np.pi * np.arange(grid) / grid
    power, chi = 2 * np.fft.fft(C, grid).real - C[0], dt * np.fft.fft(R, grid).conj()
    force = np.sin(theta) ** 2 / dt**2 * np.maximum(power, 0)
    spring = (2 - 2 * np.cos(theta)) / dt**2
    return np.array(
        [
            (a**2 * force / np.abs(b - spring - a**2 * chi) ** 2).mean()
            for a, b in zip(k, square, strict=True)
        ]
    )


def thermometer(problem, algorithm, dt, begin, k, square, number):
    """Mean squared velocity of oscillators of each frequency in one network."""
    rng = np.random.default_rng([seed, number])
    features, each, copies, _, duration = dial_size.values()
    k, square, begin, own = (
        np.repeat(values, each)[:, None] for values in (k, square, begin, dials)
    )
    samples, chain = round(problem.alpha * features), algorithm.sampling(dt)
    data = rng.standard_normal((samples, features)) + 1 / np.sqrt(features)
    data = (data / np.sqrt(features)).astype(np.float32)
    batch = rng.random((samples, copies)) < chain.batch
    w = rng.standard_normal((features, copies)).astype(np.float32)
    # They begin at the temperature of linear response, from where it is not far.
    velocity, y = np.sqrt(begin) * rng.standard_normal((2, k.size, copies))
    y /= own
    rest, energy = np.zeros_like(y), np.zeros_like(y)
    warm, steps, start = (round(t / dt) for t in (20, duration, 0.25 * duration))
    for step in range(-warm, steps):
        slope = batch * np.minimum(data @ w - np.float32(problem.margin), 0)
        gradient = data.T @ slope.astype(np.float32) + np.float32(problem.ridge) * w
        if step < 0:
            # The mean of the weights, from which the oscillators feel deviations.
            rest += w[: k.size] * (step >= -warm // 2) / (warm - warm // 2)
        else:
            gradient[: k.size] -= k * y
            later = velocity + dt * (k * (w[: k.size] - rest) - square * y)
            y = y + dt * later
            energy += ((velocity + later) / 2) ** 2 * (step >= start) / (steps - start)
            velocity = later
        w -= np.float32(dt) * gradient
        stay = np.where(batch, np.float32(1 - chain.leave), np.float32(chain.enter))
        batch = rng.random(batch.shape, dtype=np.float32) < stay
    return energy.reshape(dials.size, -1).mean(axis=1)


def read_off(problem, algorithm, dt, run, linear, width):
    """Readings with errors, and what theory has at this coupling."""
    k, square = oscillators(run, dt, width)
    begin = sn.frequency_temperature(linear, dials).temperature.values
    found = [
        thermometer(problem, algorithm, dt, begin, k, square, number)
        for number in range(dial_size["sets"])
    ]
    error = np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
    return np.mean(found, axis=0), error, reading(run, dt, k, square)


slow_case = (harder, by_tau[2.0], rate, still[by_tau[2.0]], linear_of[by_tau[2.0]])
vanilla_case = (problem, sn.SGD(batch=0.1), 0.1, vanilla_still, vanilla_exact)
read = {
    "slow-weak": read_off(*slow_case, widths["weak"]),
    "slow-strong": read_off(*slow_case, widths["strong"]),
    "vanilla-strong": read_off(*vanilla_case, widths["strong"]),
}

# %% tags=["hide-input"]
# Draw the figure.
figure, panels = plt.subplots(1, 3, figsize=(7.6, 3.1), width_ratios=(1, 1, 0.8))
ZERO = 0.12  # where frequency zero stands on the axis


def spectrum(axes, found, linear, color, label):
    """Theory with errors, and the line of linear response."""
    place = np.where(found.frequency > 0, found.frequency, ZERO)
    good = (found.error < 0.3 * found.temperature).values
    style = {"fmt": "o", "color": color, "label": label, "elinewidth": 0.8}
    values = found.temperature.values[good], found.error.values[good]
    plotting.curve(axes, place[good], *values, **style)
    fine = np.geomspace(0.25, 0.9 * np.pi / linear.learning_rate, 60)
    line = sn.frequency_temperature(linear, fine)
    style = {"color": color, "linewidth": 0.9, "name": f"linear response, {label}"}
    plotting.curve(axes, fine, line.temperature, fmt="-", **style)


def squares(axes, found, color, label):
    """Networks."""
    found = known(found, "temperature")
    style = {"fmt": "s", "fillstyle": "none", "color": color, "markersize": 5}
    values = found.temperature, found.error
    style |= {"name": f"networks, {label}", "elinewidth": 0.8}
    plotting.curve(axes, found.frequency, *values, **style)


for axes, family, letter in ((panels[0], by_tau, r"\tau"), (panels[1], by_part, "b")):
    for (value, algorithm), color in zip(family.items(), colors, strict=True):
        label = f"${letter}={value:g}$"
        spectrum(axes, spectral[algorithm], linear_of[algorithm], color, label)
        squares(axes, networks[algorithm], color, label)
    axes.set(ylim=(8e-4, 2.0), title="$b=0.3$" if family is by_tau else r"$\tau=2$")
vanilla_spectral = temperatures(vanilla_still, [0.0, *frequencies])
spectrum(panels[2], vanilla_spectral, vanilla_exact, colors[0], "theory")
waits = run.waiting_time.values
reached = temperatures(run, np.geomspace(2.1, 12, 4), waits, 3.0)
squares(panels[2], reached, colors[0], "vanilla")
expected = {
    "slow": temperatures(still[by_tau[2.0]], dials).temperature.values,
    "vanilla": temperatures(vanilla_still, dials).temperature.values,
}
for axes, name in ((panels[0], "slow"), (panels[2], "vanilla")):
    style = {"fmt": "k*", "markersize": 7, "elinewidth": 0.8, "zorder": 5}
    value, error, at_coupling = read[f"{name}-strong"]
    values = (x * expected[name] / at_coupling for x in (value, error))
    plotting.curve(axes, dials, *values, **style, label="thermometer")
# The paper's values, at one over the lags from which each can be read.
style = {"color": "0.35", "linewidth": 5, "alpha": 0.45, "zorder": 0, "fmt": "-"}
style |= {"solid_capstyle": "butt"}
for axes, value, ends in (
    (panels[0], 0.05, (1 / 0.3, 1 / 0.1)),
    (panels[1], 0.2, (0.5, 1.0)),
    (panels[2], 0.015, (0.4, 31.0)),
):
    plotting.curve(axes, ends, [value] * 2, **style, name=f"paper, {value:g}")
for axes in panels:
    axes.set(xlabel=r"frequency $\omega$", xscale="log", yscale="log", xlim=(0.09, 45))
    axes.set_xticks([ZERO, 0.3, 1, 3, 10, 30], ["0", "0.3", "1", "3", "10", "30"])
    axes.minorticks_off()
    axes.legend(fontsize=7, loc="lower left", handletextpad=0.3)
panels[0].set(ylabel=r"temperature $T(\omega)$")
panels[2].set(ylim=(0.005, 0.04), title=r"vanilla, $\alpha=6$, $b=0.1$")
plotting.plain_ticks(panels[2].yaxis, [0.005, 0.01, 0.02, 0.04])
publish("frequencies", figure)
compared = [0.0, 0.3, 1.0, 3.0]
apart = []
for algorithm, two_time in theory.items():
    one = temperatures(still[algorithm], compared)
    other = temperatures(two_time, compared, early, longest[algorithm])
    error = np.hypot(one.error, other.error)
    apart.append(((one.temperature - other.temperature) / error).values)
glue("solvers-apart", f"{np.nanmax(np.abs(apart)):.1f}")
glue("solvers-count", np.size(apart))
for name, tau in (("short", 0.5), ("middle", 2.0), ("long", 8.0)):
    zero = spectral[by_tau[tau]].isel(frequency=0)
    glue(f"zero-{name}", quote(float(zero.temperature), float(zero.error)))
    excess = (
        zero.temperature / sn.frequency_temperature(linear_of[by_tau[tau]], [0.0]) - 1
    )
    excess = float(excess.temperature[0])
    glue(f"zero-{name}-excess", f"{100 * excess:+.0f}")
peak = spectral[by_part[0.2]]
peak = peak.isel(frequency=int(peak.temperature.argmax("frequency")))
glue("peak", quote(float(peak.temperature), float(peak.error)))
for name, i in (("low", 0), ("high", 6)):
    hottest = max(by_part, key=lambda b: float(spectral[by_part[b]].temperature[i]))
    glue(f"hottest-{name}", f"{hottest:g}")
glue("high-frequency", f"{frequencies[5]:.1f}")
for name, width in widths.items():
    glue(f"thermometer-{name}", f"{100 * width:.0f}")
glue("thermometer-features", dial_size["features"])
glue("thermometer-sets", dial_size["sets"])
count = dial_size["each"] * dial_size["copies"] * dial_size["sets"]
glue("thermometer-count", count)
deviations, shifts = [], []
for name, (value, error, at_coupling) in read.items():
    ratio, part = value / at_coupling, error / at_coupling
    deviations.append((ratio - 1) / part)
    shifts.append(at_coupling / expected[name.split("-")[0]] - 1)
    listed = [quote(*pair) for pair in zip(ratio, part, strict=True)]
    glue(f"thermometer-{name}", ", ".join(listed))
glue("thermometer-worst", f"{np.abs(deviations).max():.1f}")
glue("thermometer-readings", np.size(deviations))
glue("thermometer-degrees", dial_size["sets"] - 1)
glue("thermometer-shift", f"{100 * np.abs(shifts).max():.0f}")

# %% [markdown]
# ```{glue:figure} frequencies
# ---
# name: fig-frequencies
# alt: >-
#   Three panels, temperature against frequency on logarithmic scales: five persistence times on the left, five batch
#   fractions in the middle, vanilla SGD on the right. Points with error bars on lines, open squares, stars, and a grey
#   bar in each panel.
# ---
# Temperature of each frequency, zero included. Left and middle: p-SGD with $\alpha=8$, all persistence times and batch
# fractions of the paper's second figure. Right: vanilla SGD. Circles: mean-field theory of the stationary state;
# squares: networks ($N=$ {glue:}`network-features` on the left and in the middle, {glue:}`vanilla-features` on the
# right), at frequencies of which a period fits into their lags; stars: mean energy of {glue:}`thermometer-count`
# oscillators of each frequency (left: at $\tau=2$), in {glue:}`thermometer-sets` networks with $N=$
# {glue:}`thermometer-features`, corrected for the coupling. Bars are two standard errors; what is not known to 30 per
# cent is left out. Lines: linear response, which leaves out terms of relative order $b\tau\Delta$ for p-SGD and $dt$
# for vanilla SGD; the text has its measured error.
# Grey: the paper's temperatures, drawn from one over the longest to one over the shortest lag that gives each: 0.05
# ($b=0.3$, $\tau=2$, left) at lags from 0.1 to 0.3 (in linear response), 0.2 ($b=0.2$, $\tau=2$, middle) at lags from 1
# to 2, and 0.015 (right) at lags from 0 to 2.5.
# ```
#
# p-SGD is hot at low frequencies and cold at high ones, and the border is where the batch is forgotten, at
# $\omega\approx1/(b\tau)$. At frequency zero the temperature grows with the persistence time, from
# {glue:text}`zero-short` at $\tau=0.5$ to {glue:text}`zero-long` at $\tau=8$; at high frequency the order is reversed.
# There is a maximum in $b$ too, of the five fractions at $b=$ {glue:text}`hottest-low` for frequency zero and at $b=$
# {glue:text}`hottest-high` for $\omega=$ {glue:text}`high-frequency`. Vanilla SGD has nearly one temperature at all
# frequencies. The theory differs from linear response by {glue:text}`zero-short-excess` per cent at $\tau=0.5$,
# {glue:text}`zero-middle-excess` at $\tau=2$ and {glue:text}`zero-long-excess` at $\tau=8$, at frequency zero. The
# theory from its start, in two times, has the same temperatures where it reaches: over all ten choices and
# $\omega=0$, 0.3, 1 and 3 the largest of {glue:}`solvers-count` differences is {glue:text}`solvers-apart` standard
# errors.
#
# The reading of the thermometer over that of {eq}`eq-reading`, at $\omega_0=0.5$, 1, 2 and 4, is for p-SGD at
# $\tau=2$ {glue:text}`thermometer-slow-weak` at the weaker coupling and {glue:text}`thermometer-slow-strong` at the
# stronger one, and for vanilla SGD {glue:text}`thermometer-vanilla-strong`. The largest of
# {glue:}`thermometer-readings` deviations is {glue:text}`thermometer-worst` standard errors, which come from the
# scatter of the networks ({glue:}`thermometer-degrees` degrees of freedom). The couplings themselves move
# {eq}`eq-reading` by at most {glue:text}`thermometer-shift` per cent from $T(\omega_0)$. We take it over networks
# because one of this size has a $T(\omega)$ of its own.
#
# The paper's three numbers look different on this figure. The value 0.015 is close to $T(\omega)$ at all frequencies.
# The value 0.05 is $T(\omega)$ at one high frequency only, because it is a slope at short lags. And 0.2 is above
# $T(\omega)$ at every frequency, of which the highest value in the figure is {glue:text}`peak` for these parameters: a
# slope at one lag is no mean of temperatures.
#
# ## Slopes and chords: other functionals of the same two functions
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
# with $d$ the distance between two stationary replicas. $T_\mathrm{int}$ is a mean of $T(\omega)$ over all frequencies,
# because $C_0$ and $\chi(\infty)$ are integrals of $S$ and of $\chi''/\omega$. The **slope at one lag** is a quotient
# of derivatives at that lag, and no mean of $T(\omega)$: correlation and response may decay at different rates, and
# their quotient then has no limit. `sn.effective_temperature` computes each with an error from
# independent populations of paths. It uses the waiting times at which a drift is excluded
# (the last section of this page), and refuses where the definition has no meaning: a line through a bent curve,
# a tail whose slope still changes, a chord that has not ended.
#
# The window of lags is part of the number, and every page of this book names it. A window that begins at zero contains
# the point at lag zero, on every page: for a mode on its own the origin lies on the line exactly, at any learning rate.
#
# ## Vanilla SGD: how straight is the plot?
#
# The paper's first figure: $\alpha=6$, $\Delta=\lambda=1$, batch $b=0.1$, four learning rates. The mean-field theory
# is solved once for each, from the start of training at the smallest learning rate and in the stationary state at the
# others; at the smallest the networks from above, whose response is measured with
# random probes, give a whole plot from simulation alone.

# %%
rates = (0.1, 0.2, 0.3, 0.4)
by_rate = {
    dt: vanilla if dt == 0.1 else settle(problem, sn.SGD(batch=0.1), dt) for dt in rates
}
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
    wait = 6.0 if dt == 0.1 else 0.0  # the others are solved in the stationary state
    curve = sn.fdt_curve(by_rate[dt], waiting_time=wait).mean("realisation")
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
    sure = np.logical_and.accumulate(good)  # up to the first that is not
    plotting.curve(
        right,
        local.lag[sure],
        local.slope[sure],
        local.error[sure],
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
# Left: FDT plot of vanilla SGD on the paper's axes, in the stationary state. Points: mean-field theory; open squares:
# networks at $dt=0.1$, mean over waiting times from 4 to 6. Lines: linear response, with no free parameter, which
# leaves out terms of relative order $dt$. Right: slope of displacement against response at each lag for $dt=0.1$, up to
# the first lag at which it is not known to 30 per cent (circles: mean-field theory; squares: networks; full line:
# linear response); bars are two standard errors, the dashed line is the slope of the fitted line.
# ```
#
# The line has slope {glue:text}`t-vanilla` (the paper: 0.015), and no point of the curve is farther from it than
# {glue:text}`t-vanilla-bend` per cent of the curve's height. Waiting times from {glue:text}`t-vanilla-waiting` on
# pass the test of stationarity. And yet the plot is *not* straight: the slope falls from
# {glue:text}`t-vanilla-start` at short lag towards {glue:text}`t-vanilla-end`. One does not see it because most of
# the curve is traced before the slope has changed much.
#
# A line over another window therefore has another slope. In linear response, which has no sampling error, it is
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
    b: vanilla if b == 0.1 else settle(problem, sn.SGD(batch=b), 0.1) for b in batches
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
# Full line: the same fit applied to linear response at this $dt$, which leaves out that samples enter and leave the
# margin, an effect of relative order $dt$. Dashed: closed form
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
# ## Persistent SGD: where the slope settles
#
# With p-SGD the force on a mode is remembered for a time $1/\gamma = b\tau$. In linear response its slope at lag $t$
# is, for small $dt$,
#
# $$
# T(t) = \sigma^2(a)\,\frac{\gamma}{\gamma^2-a^2}\,\big(1-e^{-(\gamma-a)t}\big) ,
# $$ (eq-plateau)
#
# zero at short lag, as in the paper. It settles only if $\gamma > a$. If the batch is remembered for
# longer than the mode takes to relax, the weights just follow the batch: they respond quickly and fluctuate slowly,
# and the quotient of the two grows as long as one looks. For the whole system what counts is what decays last, and
# linear response, which leaves out terms of relative order $b\tau\Delta$, has the wrong rate for it. We measure the
# rate in the two-time theory. A spectrum with a soft edge makes the response decay as
#
# $$
# R(t) \simeq A\,(t+t_0)^{-3/2}\,e^{-a t} ,
# $$ (eq-decay)
#
# which fits it over many decades; $a$ is the rate that a plateau has to wait for. The batch itself forgets at the
# rate $\gamma=-\ln(1-dt/b\tau)/dt$ exactly. The correlation decays with the slower of the two in the end; we read its
# rate off lags from two to four times the longer of $b\tau$ and $1/a$, beyond which noise hides it.


# %%
def decay(run, start=2.0):
    """Rate at which the response decays from a lag on, with its jackknife error."""
    lag, response = run.time.values, run.response.values[:, 0]
    used = (lag > start - 1e-9) & (response.mean(axis=0) > 1e-9)
    lag, response = lag[used], np.maximum(response[:, used], 1e-14)
    delays = np.linspace(0.0, 4.0, 81)
    power = 1.5 * np.log(lag + delays[:, None])
    line = np.vander(lag, 2)
    solver = np.linalg.pinv(line)

    def fit(response):
        target = np.log(response)[:, None] + power
        rest = ((target - target @ solver.T @ line.T) ** 2).sum(axis=2)
        best = rest.argmin(axis=1)
        return -(target @ solver.T)[np.arange(len(best)), best, :1]

    value, error = jackknife(fit, response)
    return float(value[0]), float(error[0])


def forget(algorithm):
    """Rate at which the batch is forgotten."""
    return -np.log(1 - rate / memory(algorithm)) / rate


def fade(run, algorithm, a):
    """Decay rate of the correlation, its error, and that of a mode of stiffness a."""
    C, gamma = run.correlation.values[:, 0], forget(algorithm)
    lags = max(memory(algorithm), 1 / a) * np.array([2.0, 4.0])
    near = [int(np.abs(run.time.values - lag).argmin()) for lag in lags]
    lags = run.time.values[near]
    value, error = jackknife(
        lambda left: np.log(np.abs(left[:, :1] / left[:, 1:])) / np.diff(lags),
        C[:, near] - C[:, -1:],
    )
    alone = np.log(np.abs(a * np.exp(-gamma * lags) - gamma * np.exp(-a * lags)))
    return (
        float(value[0]),
        float(error[0]),
        float(-np.diff(alone)[0] / np.diff(lags)[0]),
    )


# Points close to the border, one for each batch fraction.
near = {0.1: 8.0, 0.2: 3.5, 0.3: 2.0, 0.5: 1.0, 0.8: 0.5}
border_run = {
    b: still[by_tau[tau]]
    if b == 0.3
    else settle(harder, sn.PersistentSGD(batch=b, persistence=tau), rate)
    for b, tau in near.items()
}
decays = {a: decay(run) for a, run in still.items()}
fades = {a: fade(run, a, decays[a][0]) for a, run in still.items()}
linear_rate = {
    b: -np.log(1 - rate * sn.hessian_spectrum(harder, sn.SGD(batch=b)).softest) / rate
    for b in near
}

# %% [markdown]
# The border is where $a=\gamma$. Since $a$ changes little with $\tau$, one solution of the theory close to the border
# is enough for each $b$; the change, $da/d\ln\tau$, we take from $b=0.3$, between $\tau=2$ and 4.

# %%
change = (decays[by_tau[4.0]][0] - decays[by_tau[2.0]][0]) / np.log(2)
border, border_error = {}, {}
for b, run_here in border_run.items():
    a, error = decay(run_here)
    later = decay(run_here, start=3.0)[0]
    error = np.hypot(error, later - a)  # with what another window of the fit gives
    tau = near[b]
    for _ in range(30):
        a_here = a + change * np.log(tau / near[b])
        tau = rate / b / (1 - np.exp(-rate * a_here))
    border[b], border_error[b] = tau, tau * error / (a_here + change)
    border_error[b] = np.hypot(
        border_error[b], 0.5 * tau * abs(np.log(tau / near[b]) * change / a_here)
    )
tails = {
    a: measure(run, method="tail", points=10, lags=(0.0, 4.0), **nearly)
    for a, run in theory.items()
}

# %% tags=["hide-input"]
# Draw the figure.
figure, ((left, upper), (lower, right)) = plt.subplots(2, 2, figsize=(7.6, 5.8))
lags = np.arange(0.1, 3.01, 0.2)
for (tau, algorithm), color in zip(by_tau.items(), colors, strict=True):
    local = sn.local_temperature(theory[algorithm], lags=lags, window=2, **nearly)
    good = (local.error < 0.3 * local.slope).values
    sure = np.logical_and.accumulate(good)  # up to the first that is not
    plotting.curve(
        left,
        local.lag[sure],
        local.slope[sure],
        local.error[sure],
        fmt="o",
        color=color,
        label=rf"$\tau={tau:g}$",
    )
    line = sn.local_temperature(linear_of[algorithm], lags=lags)
    look = {"linewidth": 1, "name": rf"linear response, $\tau={tau:g}$"}
    plotting.curve(left, line.lag, line.slope, fmt="-", color=color, **look)
left.set(
    xlabel="lag $t-t_w$", ylabel="slope at this lag", yscale="log", ylim=(0.005, 20)
)
left.legend(ncols=2, fontsize=7, columnspacing=0.8, handletextpad=0.2)
for axes, family, fine in (
    (upper, by_tau, np.geomspace(0.4, 9, 40)),
    (lower, by_part, np.geomspace(0.08, 1.0, 20)),
):
    part, persistence = (0.3, fine) if family is by_tau else (fine, 2.0)
    batch_rate = -np.log(1 - rate / (part * persistence)) / rate
    soft = np.array(
        [
            sn.hessian_spectrum(harder, sn.SGD(batch=b)).softest
            for b in np.atleast_1d(part)
        ]
    )
    linear_decay = np.broadcast_to(-np.log(1 - rate * soft) / rate, fine.shape)
    look = {"linewidth": 1, "fmt": "k-", "label": r"batch, $\gamma$"}
    plotting.curve(axes, fine, batch_rate, **look)
    look = {"linewidth": 1, "fmt": "k:", "label": "response, linear"}
    plotting.curve(axes, fine, linear_decay, **look)
    values = np.array([decays[a] for a in family.values()])
    look = {"fmt": "o", "color": colors[0], "label": "response, $a$"}
    plotting.curve(axes, list(family), *values.T, **look)
    values = np.array([fades[a] for a in family.values()])
    sure = values[:, 1] < 0.3 * values[:, 0]
    look = {"fmt": "s", "color": colors[1], "fillstyle": "none"}
    look |= {"label": "correlation"}
    plotting.curve(axes, np.array(list(family))[sure], *values[sure, :2].T, **look)
    axes.set(ylabel="rate", xscale="log", ylim=(0, 3.5))
    plotting.plain_ticks(axes.xaxis, list(family)[: 4 if family is by_part else 5])
upper.set(xlabel=r"persistence $\tau$, $b=0.3$")
lower.set(xlabel=r"batch fraction $b$, $\tau=2$")
upper.legend(fontsize=7)
fine = np.linspace(0.05, 0.99, 60)
softest = np.array([sn.hessian_spectrum(harder, sn.SGD(batch=b)).softest for b in fine])
look = {"fmt": "k:", "linewidth": 1, "name": "border in linear response"}
plotting.curve(right, fine, 1 / (fine * softest), **look)
plotting.curve(
    right,
    list(border),
    list(border.values()),
    list(border_error.values()),
    fmt="D-",
    color=colors[1],
    linewidth=1,
    name="border",
)
bound = 1 / (fine * harder.ridge)
look = {"fmt": "k--", "linewidth": 1, "name": r"$b\tau=1/\lambda$"}
plotting.curve(right, fine, bound, **look)
right.fill_between(list(border), 0.1, list(border.values()), color="0.9")
for algorithm, (_, accepted) in tails.items():
    fill, name = ("full", "tail accepted") if accepted else ("none", "tail refused")
    look = {"fmt": "o", "color": colors[0], "fillstyle": fill, "name": name}
    plotting.curve(right, algorithm.batch, algorithm.persistence, **look)
right.text(0.13, 0.45, "limit", fontsize=8)
right.text(0.62, 5, "no limit", fontsize=8)
right.text(0.13, 11, r"$b\tau=1/\lambda$", fontsize=7)
right.set(xlabel="batch fraction $b$", ylabel=r"persistence $\tau$")
right.set(yscale="log", ylim=(0.3, 20), xlim=(0, 1.02))
plotting.plain_ticks(right.yaxis, [0.5, 1, 2, 4, 8, 16])
publish("persistent", figure)
for name, family in (("settled", by_tau), ("settled-batch", by_part)):
    settled = [value for value, a in family.items() if tails[a][1]]
    glue(name, ", ".join(f"{value:g}" for value in settled) or "none")
softest = sn.hessian_spectrum(harder, sn.SGD(batch=0.3)).softest
glue("softest", f"{softest:.2f}")
glue("tau-limit", f"{1 / (0.3 * softest):.2f}")
glue("tau-border", quote(border[0.3], border_error[0.3]))
glue("rate-linear", f"{linear_rate[0.3]:.2f}")
for name, tau in (("short", 0.5), ("middle", 2.0), ("long", 8.0)):
    glue(f"rate-{name}", quote(*decays[by_tau[tau]]))
for name, first in (("early", 1.0), ("later", 3.0)):
    glue(f"rate-{name}", quote(*decay(still[by_tau[2.0]], start=first)))
moves = [
    (decay(run_here, start=3.0)[0] - decays[a][0]) / decays[a][1]
    for a, run_here in still.items()
]
glue("rate-moves", f"{np.abs(moves).max():.1f}")
glue("rate-batch", f"{forget(by_tau[2.0]):.3f}")
gap = forget(by_tau[2.0]) - decays[by_tau[2.0]][0]
glue("rate-gap", quote(gap, decays[by_tau[2.0]][1]))
shift = [border[b] * b * sn.hessian_spectrum(harder, sn.SGD(b)).softest for b in border]
glue("border-shift", f"{100 * (min(shift) - 1):.0f} to {100 * (max(shift) - 1):.0f}")


for name, tau in (("four", 4.0), ("eight", 8.0)):
    glue(f"fade-{name}", quote(*fades[by_tau[tau]][:2]))
    glue(f"fade-{name}-mode", f"{fades[by_tau[tau]][2]:.2f}")
    glue(f"forget-{name}", f"{forget(by_tau[tau]):.2f}")
scores = [(value - alone) / error for value, error, alone in fades.values()]
glue("fade-worst", f"{np.abs(scores).max():.1f}")
glue("fade-typical", f"{np.sqrt(np.mean(np.square(scores))):.1f}")

# %% [markdown]
# ```{glue:figure} persistent
# ---
# name: fig-persistent
# alt: >-
#   Upper left: slope against lag for five persistence times on a logarithmic scale, points of mean-field theory on
#   lines of linear response. Upper right and lower left: rates against persistence and batch fraction, a falling curve
#   of the batch, a dotted curve, circles that fall slowly and squares. Lower right: plane of batch fraction and
#   persistence with a grey region below a falling border, a dotted and a dashed curve, and circles.
# ---
# p-SGD with $\alpha=8$, $dt=$ {glue:}`rate`. Upper left: slope of the FDT curve at each lag, $b=0.3$. Points:
# mean-field theory with two standard errors, up to the first lag at which the slope is not known to 30 per cent. Lines:
# linear response, which leaves out terms of relative order $b\tau\Delta$ (0.15 to 2.4 here): the points lie below.
# Upper right and lower left: rates at which the response decays, fitted by {eq}`eq-decay` from lag 2 to where it is
# $10^{-9}$, and the correlation, with two standard errors; the rate at which the batch forgets (full line); the softest
# stiffness, which is $a$ in linear response (dotted). Lower right: where $a=\gamma$ in mean-field theory (diamonds with
# two standard errors; grey: the slope formally has a limit) and in linear response (dotted). Above the dashed line
# $b\tau=1/\lambda$ it can have none if the correlation keeps a part that decays with the batch. Circles: the choices of
# the paper's second figure, full where the estimator accepts the tail.
# ```
#
# **Formally.** At $b=0.3$ and $\tau=2$ the response decays at the rate {glue:text}`rate-middle` if the fit begins at
# lag 2, {glue:text}`rate-early` if at lag 1 and {glue:text}`rate-later` if at lag 3. (Over all
# ten choices a start at lag 3 moves it by at most {glue:text}`rate-moves` standard errors.) Linear response has
# {glue:text}`rate-linear`; the batch forgets at {glue:text}`rate-batch`. The border, which linear response puts at
# $\tau=$ {glue:text}`tau-limit`, is at $\tau=$ {glue:text}`tau-border`, where the error includes what the window of the
# fit changes. The paper's $\tau=2$ thus lies at the border: as far as we can tell the rates differ by
# {glue:text}`rate-gap`. Over all batch fractions the border lies {glue:text}`border-shift` per cent above that of
# linear response. Far above it there is an argument that needs no fit. Every batch has a Hessian of at least $\lambda$,
# so that $R(n\,dt+dt)\le(1-\lambda dt)^n$. A correlation that keeps a part which decays with the batch, as $e^{-\gamma
# t}$, then makes the slope grow without limit if $b\tau>1/\lambda$, at $b=0.3$ for $\tau=4$ and 8. We see such a part
# as far as our lags reach: the correlation decays at the rate {glue:text}`fade-four` at $\tau=4$ and
# {glue:text}`fade-eight` at $\tau=8$. The batch forgets at {glue:text}`forget-four` and {glue:text}`forget-eight`, and
# a single mode that relaxes at the rate $a$ would have {glue:text}`fade-four-mode` and {glue:text}`fade-eight-mode`
# between these lags. Over all ten choices the measured rates differ from those of such a mode by
# {glue:text}`fade-typical` standard errors (root mean square), and at most by {glue:text}`fade-worst`.
#
# **In practice**, at lags that a run can reach, the border is blurred. Near it the slope comes near its limit, if there
# is one, only at lags of the order of one over the difference of the two rates, by when nothing is left to measure. The
# estimator, which knows nothing of rates, looks at lags up to 4 and accepts the tail for $\tau=$ {glue:text}`settled`
# at $b=0.3$ and for $b=$ {glue:text}`settled-batch` at $\tau=2$. For the others the slope of the last points depends on
# where the run ends, and the paper's temperatures there are properties of the window.
#
# The paper's own reading takes the last $n$ points before the end of the run, for each waiting time, and looks for a
# range of waiting times where $n=5$, 10 and 15 agree:

# %%
tables = {
    tau: sn.tail_slopes(theory[by_tau[tau]], points=(5, 10, 15)) for tau in (1.0, 4.0)
}

# %% tags=["hide-input"]
# Draw the figure.
figure, panels = plt.subplots(1, 2)
for axes, (tau, table) in zip(panels, tables.items(), strict=True):
    for points, color in zip(table.points.values, colors, strict=False):
        row = table.sel(points=points)
        row = row.isel(waiting_time=(row.error < 0.3 * row.slope).values)
        lag = float(theory[by_tau[tau]].time[-1]) - row.waiting_time
        plotting.curve(
            axes,
            lag,
            row.slope,
            row.error,
            fmt="o",
            color=color,
            label=f"last {points} points",
        )
    line = sn.local_temperature(linear_of[by_tau[tau]], lags=np.arange(0.1, 4.01, 0.1))
    look = {"fmt": "k-", "linewidth": 1, "name": "linear response"}
    plotting.curve(axes, line.lag, line.slope, **look)
    axes.set(xlabel=r"$t_\mathrm{final}-t_w$", title=rf"$\tau={tau:g}$", xlim=(0, 4.1))
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
# The paper's rule for p-SGD where the slope has a limit, though at lags longer than those shown ($\tau=1$,
# left), and where it has none ($\tau=4$, right, logarithmic). Bars: two standard errors; only slopes known to 30 per
# cent are drawn. Lines: slope at this lag in linear response, which leaves out terms of relative order $b\tau\Delta$.
# ```
#
# Where the lag is short, slopes of 5, 10 and 15 points differ, because each is the slope at another lag; where it is
# long, they agree within errors that are as large as their differences. Agreement between different $n$ does not
# demonstrate a plateau. What tells the two cases apart is the change with the lag, and that is what the estimator
# tests.
#
# ## The chord exists in every stationary state

# %%
chords = {
    tau: measure(
        theory[algorithm],
        method="chord",
        lags=(0.0, longest[algorithm]),
        waiting_times=early,
        **nearly,
    )
    for tau, algorithm in by_tau.items()
}

# %% tags=["hide-input"]
# Draw the figure.
figure, (left, right) = plt.subplots(1, 2)
fine = np.geomspace(0.25, 10, 25)
for axes, name in ((left, "integrated_temperature"), (right, "initial_temperature")):
    predictions = [
        sn.linear_response(
            harder, sn.PersistentSGD(batch=0.3, persistence=tau), rate, rate
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
    first = sn.local_temperature(theory[by_tau[tau]], lags=(rate / 2,), **nearly)
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
    tau: chord.value / linear_of[by_tau[tau]].integrated_temperature - 1
    for tau, (chord, _) in chords.items()
}
ratio_error = {
    tau: chord.error / linear_of[by_tau[tau]].integrated_temperature
    for tau, (chord, _) in chords.items()
}
for name, tau in (("short", 0.5), ("long", 8.0)):
    glue(f"chord-{name}", quote(chords[tau][0].value, chords[tau][0].error))
    excess, error = 100 * ratio[tau], 100 * ratio_error[tau]
    glue(f"chord-{name}-excess", f"{excess:.1f} ± {error:.1f}")
glue("rate", rate)
glue("network-features", network_size["features"])
glue("vanilla-features", size["features"])

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
# response, which leaves out terms of relative order $b\tau\Delta$.
# ```
#
# $T_\mathrm{int}$ needs no plateau and no window beyond "long enough". Linear response leaves out that a
# batch which stays is partly fitted by the weights; the measured values differ from it by
# {glue:text}`chord-short-excess` per cent at $\tau=0.5$ and {glue:text}`chord-long-excess` per cent at $\tau=8$.
#
# ## From which waiting time on?
#
# A temperature that is measured too early is wrong, and its error bar does not show it, because all realisations drift
# in the same way. A test that asks whether a drift is *visible* accepts any waiting time if the data are noisy enough.
# The estimator demands the converse: the data must *exclude* a drift that would shift the temperature by more than half
# its error. What is left of the start adds to the squared displacement and fades within the relaxation time, which the
# curve itself shows; the estimator fits such a term to displacement and response, in each realisation, and begins at
# the first waiting time from which on the bias plus its standard error is small enough.
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
    "standard": (["theory", 100], 40),
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
# - SGD has a temperature at each frequency, which theory and networks share and which a weakly coupled oscillator
#   reads. For p-SGD at $b=0.3$ it goes at frequency zero from {glue:text}`zero-short` at $\tau=0.5$ to
#   {glue:text}`zero-long` at $\tau=8$.
# - The FDT plot of vanilla SGD looks straight and is not: in linear response its slope falls from
#   {glue:text}`t-vanilla-start` at short lag to {glue:text}`t-vanilla-end`, because stiff modes are hotter than soft
#   ones. A line fitted as in the paper has the slope {glue:text}`t-vanilla`.
# - For p-SGD the slope at long lag formally has a limit if the batch is forgotten before the response has decayed, at
#   $b=0.3$ for $\tau$ below {glue:text}`tau-border`; linear response puts that border at {glue:text}`tau-limit`. In
#   practice, at lags up to 4, it settles for $\tau=$ {glue:text}`settled` only, and at the other persistence times the
#   paper's temperature is a property of the window.
# - The chord $T_\mathrm{int}$ exists in every stationary state. At $b=0.3$ it goes from {glue:text}`chord-short` at
#   $\tau=0.5$ to {glue:text}`chord-long` at $\tau=8$: the paper's statement that the temperature grows with $\tau$
#   holds for a quantity that exists.
# - The estimator begins where a drift is excluded. In {glue:text}`study-seeds` runs of each size the bias is at most
#   {glue:text}`study-bias` of the quoted error.
# :::
