# ---
# jupyter:
#   expected_seconds:
#     paper: 400
#     smoke: 15
#     standard: 45
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
# Which temperatures this book uses and when each exists. SGD has a temperature at each frequency, and a small
# oscillator coupled to the weights measures it.
# :::
#
# Push the weights a little and see how far they move: that is the response $\chi$. Watch how far they move by
# themselves: half the squared displacement per weight is $B$, equal to $C(t_w,t_w)-C(t,t_w)$ in a stationary state. In
# equilibrium the ratio of any fluctuation to its conjugate response gives the same temperature. SGD is not in
# equilibrium. The paper defines its temperature as the slope of the correlation of the weights against their response
# to a small field {cite:p}`cugliandolo2011effective,mignacco2022effective`, as is done for glasses
# {cite:p}`cugliandolo1993analytical` and for active matter {cite:p}`berthier2013nonequilibrium,loi2008effective`. Out
# of equilibrium there are many temperatures:
#
# ```{list-table}
# :header-rows: 1
# :widths: 22 30 23 25
#
# * - temperature
#   - definition
#   - when it exists
#   - where it is used
# * - slope at one lag, *local temperature*
#   - derivative of $B$ with respect to $\chi$ at the lag $t-t_w$
#   - at every lag, and different at each
#   - {doc}`/notebooks/vanilla_modes`, {doc}`/notebooks/plateau`, {doc}`/notebooks/fig06_initial_variance`
# * - *line*, the paper's $T_\mathrm{eff}$ of vanilla SGD
#   - slope of a line fitted to $B$ against $\chi$ over a window of lags
#   - where the plot is nearly straight; it belongs to its window
#   - {doc}`/notebooks/theory_check`, {doc}`/notebooks/fig01_vanilla`, {doc}`/notebooks/fig05_reading_temperature`
# * - *tail*, the paper's $T_\mathrm{eff}$ of p-SGD
#   - slope of the last points of the plot
#   - where the slope no longer changes with the lag
#   - {doc}`/notebooks/fig02_persistent`, {doc}`/notebooks/fig05_reading_temperature`, {doc}`/notebooks/plateau`
# * - *chord*, $T_\mathrm{int}$
#   - $B/\chi$ at infinite lag
#   - in every stationary state, read from a run long enough for the plot to end
#   - {doc}`/notebooks/fig02_persistent`, {doc}`/notebooks/fig09_unsat_distance`, {doc}`/notebooks/sum_or_mean`,
#     {doc}`/notebooks/momentum`
# * - chord up to a lag
#   - $B/\chi$ at that lag
#   - always, also before a stationary state
#   - {doc}`/notebooks/fig01_vanilla` (separable data), {doc}`/notebooks/live`
# * - $T(\omega)$ and its limit $T(0)$
#   - power of the fluctuations over dissipation at one frequency
#   - in a stationary state, if the lags are long enough
#   - this page, {doc}`/notebooks/fig02_persistent`
# * - $T_a$
#   - temperature of one mode of stiffness $a$
#   - near a minimum
#   - {doc}`/notebooks/vanilla_modes`, {doc}`/notebooks/is_it_gaussian`, {doc}`/notebooks/real_data`
# * - $T$ of Langevin dynamics
#   - strength of the white noise that is put in
#   - given
#   - {doc}`/notebooks/is_it_gaussian`, {doc}`/notebooks/calibration`
# ```
#
# If you need one number, take the chord: it needs no window.
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
# The sine replaces $\omega$ because time is discrete. With it, $T(\omega)$ of a single mode driven by a random force is
# half the power of that force at $\omega$, for any step and any stiffness. White noise has the same temperature at all
# frequencies, and a force that is remembered for a time $1/\gamma$ has
#
# $$
# T(\omega) = \frac{\sigma^2\gamma}{\gamma^2+\omega^2}
# $$ (eq-lorentzian)
#
# for small $dt$. For several modes $T(\omega)$ is the weighted mean of their temperatures, with the weight
# $1/(a^2+\omega^2)$ for a mode of stiffness $a$. It exists in every stationary state and needs only lags so long that
# the correlation has reached its limit and the response has decayed. `sn.frequency_temperature` computes it from a run
# of either engine. Here $C_n$ and $R_n$ come from `sn.solve_stationary`, the mean-field theory of the stationary state
# alone.

# %% tags=["parameters"]
profile = "standard"
seed = 0
alpha = 8.0  # samples per feature for p-SGD
delta = 1.0  # variance of the data
ridge = 1.0
persistences = [0.5, 1.0, 2.0, 4.0, 8.0]
fixed_batch = 0.3  # batch fraction at which the persistence changes
batches = [0.1, 0.2, 0.4, 0.8, 0.99]
fixed_persistence = 2.0  # persistence at which the batch fraction changes
vanilla_alpha = 6.0  # samples per feature for vanilla SGD
vanilla_batch = 0.1
vanilla_rate = 0.1

# %% tags=["hide-input"]
# Set up.
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Markdown, display
from scipy.special import stdtr

import sgdnoise as sn
from sgdnoise import plotting
from sgdnoise.estimates import Estimate, finite_size, jackknife
from sgdnoise.report import glue, publish
from sgdnoise.thermometer import Size, expected_reading, oscillators, read_temperature

plotting.use_style()
# Runs of the pages on Figs. 1 and 2, which are computed once.
theory_size, network_size, rate = {
    "smoke": (
        {"paths": 256, "realisations": 3},
        {"features": 60, "realisations": 3},
        0.1,
    ),
    "standard": (
        {"paths": 800, "realisations": 12},
        {"features": 400, "realisations": 12},
        0.05,
    ),
    "paper": (
        {"paths": 12_000, "realisations": 12},
        {"features": 1000, "realisations": 24},
        0.05,
    ),
}[profile]
vanilla_size = {
    "smoke": {"features": 80, "realisations": 3},
    "standard": {"features": 400, "realisations": 12},
    "paper": {"features": 1000, "realisations": 24},
}[profile]
waited_size = {
    "smoke": {"paths": 430, "realisations": 4},
    "standard": {"paths": 2000, "realisations": 12},
    "paper": {"paths": 10_000, "realisations": 12},
}[profile]
dial_size = {
    "smoke": Size(features=60, each=3, copies=2, networks=2, duration=40.0),
    "standard": Size(features=200, each=6, copies=4, networks=6, duration=120.0),
    "paper": Size(features=600, each=20, copies=4, networks=12, duration=240.0),
}[profile]
freedom = theory_size["realisations"] - 1


def solve(engine, problem, algorithm, dt, **options):
    """One run, stored or computed now."""
    point = [{"problem": problem, "algorithm": algorithm, "learning_rate": dt}]
    return sn.sweep(engine, point, [seed], fixed=options).squeeze(("point", "seed"))


def half(size):
    """Networks with half the features."""
    return size | {"features": size["features"] // 2}


def temperatures(run, frequencies, **choices):
    """Temperatures of frequencies; of those that the few data of smoke resolve."""
    choices |= {"drift_tolerance": 1e3 if profile == "smoke" else 0.1}
    try:
        return sn.frequency_temperature(run, frequencies, **choices)
    except ValueError:
        if profile != "smoke":
            raise
    return sn.frequency_temperature(run, **choices).interp(frequency=frequencies)


# %%
harder = sn.Problem(alpha=alpha, delta=delta, ridge=ridge)
by_tau = {
    tau: sn.PersistentSGD(batch=fixed_batch, persistence=tau) for tau in persistences
}
by_batch = {
    b: sn.PersistentSGD(batch=b, persistence=fixed_persistence) for b in batches
}
theory, network, smaller, linear = {}, {}, {}, {}
for algorithm in [*by_tau.values(), *by_batch.values()]:
    longest = float(np.ceil(max(12.0, 12 * algorithm.batch * algorithm.persistence)))
    case = harder, algorithm, rate
    options = {"duration": longest, "memories": 12.0} | theory_size
    theory[algorithm] = solve(sn.solve_stationary, *case, **options)
    options = {"duration": 11.0, "waiting_times": [5.0, 6.0, 7.0], "loss_every": 20}
    network[algorithm] = solve(sn.simulate, *case, **options, **network_size)
    if algorithm in by_tau.values():
        smaller[algorithm] = solve(sn.simulate, *case, **options, **half(network_size))
    linear[algorithm] = sn.linear_response(*case, duration=60.0)

problem = sn.Problem(alpha=vanilla_alpha, delta=delta, ridge=ridge)
vanilla = sn.SGD(batch=vanilla_batch)
case = problem, vanilla, vanilla_rate
theory[vanilla] = solve(sn.solve_stationary, *case, duration=12.0, **theory_size)
options = {"duration": 12.0, "waiting_times": [4.8, 6.0, 7.2], "loss_every": 12}
network[vanilla] = solve(sn.simulate, *case, **options, **vanilla_size)
smaller[vanilla] = solve(sn.simulate, *case, **options, **half(vanilla_size))
linear[vanilla] = sn.linear_response(*case, duration=60.0)
# The run of Figs. 1 and 5, from which all pages take the slope of the line.
waits = np.arange(0.0, 12.0, 3 * vanilla_rate).round(9).tolist()
waited = solve(sn.solve_dmft, *case, duration=12.0, waiting_times=waits, **waited_size)
waited = waited.sel(waiting_time=slice(3.0, None))

# %%
frequencies = np.geomspace(0.3, 30, 11)
spectral = {a: temperatures(run, [0.0, *frequencies]) for a, run in theory.items()}


def seen(run):
    """Temperatures of networks: one period within the lags that all waiting times have."""
    waits = run.waiting_time.values
    return temperatures(run, np.geomspace(1.6, 12, 5), waiting_times=waits, longest=4)


networks = {a: seen(run) for a, run in network.items()}
networks_half = {a: seen(run) for a, run in smaller.items()}

# %% [markdown]
# ## A thermometer reads it
#
# {cite:t}`cugliandolo1997energy` couple a small oscillator to a system out of equilibrium. If the coupling is weak,
# the mean energy of the oscillator approaches $T(\omega_0)$, whatever the system. We couple networks in training to
# many oscillators $y_i$ of several frequencies at once, each attached to a weight of its own (the noise of the data is
# isotropic),
#
# $$
# \ddot y_i = -\omega_i^2 y_i + k_i(w_i-\bar w_i) ,\qquad \mathcal L \to \mathcal L - \sum_i k_i\,y_i w_i ,
# $$ (eq-thermometer)
#
# and move them by leapfrog steps of length $dt$; $\bar w_i$ is the mean of the weight before. With the mean of the
# velocities before and after a step, the weak-coupling limit of $\langle\dot y^2\rangle$, twice the mean kinetic
# energy, is {eq}`eq-frequency-temperature` exactly, sine included. At finite coupling an oscillator reads
#
# $$
# \langle\dot y^2\rangle = \int_{-\pi}^{\pi}\frac{d\theta}{2\pi}\,\frac{\sin^2\theta}{dt^2}\,
# \frac{k^2\,\hat C(\theta)}{|\omega^2-(2-2\cos\theta)/dt^2-k^2\hat\chi(\theta)|^2} ,
# $$ (eq-reading)
#
# with the sums $\hat C$ of $C_n\cos n\theta$ over all lags and $\hat\chi$ of $dt\,R_ne^{in\theta}$. The theory
# provides both, so we can correct for the coupling. We use two couplings, at which an oscillator loses
# {glue:text}`thermometer-weak` and {glue:text}`thermometer-strong` per cent of its amplitude in a unit of phase.

# %%
dials = np.array([0.5, 1.0, 2.0, 4.0])
damping = {"weak": 0.04, "strong": 0.08}
middle = by_tau[persistences[len(persistences) // 2]]
readings = {}
for name, algorithm, part in (
    ("slow-weak", middle, damping["weak"]),
    ("slow-strong", middle, damping["strong"]),
    ("vanilla-strong", vanilla, damping["strong"]),
):
    case = (problem, vanilla, vanilla_rate)
    if algorithm is middle:
        case = (harder, middle, rate)
    attached = oscillators(theory[algorithm], dials, part)
    begin = sn.frequency_temperature(linear[algorithm], dials).temperature.values
    found = read_temperature(*case, attached, begin, dial_size, seed)
    # In units of what the theory has at this coupling.
    ratio = found / expected_reading(theory[algorithm], attached)
    readings[name] = [Estimate.mean(column) for column in ratio.T]

# %% tags=["hide-input"]
# Draw the figure.
figure, panels = plt.subplots(1, 3, figsize=(7.2, 4.8), width_ratios=(1, 1, 0.75))
ZERO = 0.12  # where frequency zero stands on the axis
fine = np.geomspace(0.25, 0.9 * np.pi / vanilla_rate, 60)


def spectrum(axes, algorithm, color, label, name=None):
    """Theory, networks and linear response, with a name so many points too high."""
    found = spectral[algorithm]
    good = (found.error < 0.3 * found.temperature).values
    place = np.where(found.frequency > 0, found.frequency, ZERO)[good]
    values = found.temperature.values[good], found.error.values[good]
    look = {"color": color, "elinewidth": 0.8, "markersize": 3}
    dots = plotting.curve(
        axes, place, *values, fmt="o", name=f"theory, {label}", **look
    )
    if name is not None:
        plotting.label(dots, label, at=0, offset=(-5, name), fontsize=9)
    line = sn.frequency_temperature(linear[algorithm], fine).temperature
    thin = {"color": color, "linewidth": 0.9, "name": f"linear response, {label}"}
    plotting.curve(axes, fine, line, fmt="-", **thin)
    found = networks[algorithm]
    found = found.isel(frequency=(found.error < 0.3 * found.temperature).values)
    look |= {"fmt": "s", "fillstyle": "none", "markersize": 4.5}
    values = found.frequency, found.temperature, found.error
    plotting.curve(axes, *values, name=f"networks, {label}", **look)
    if algorithm not in smaller:
        return
    found = networks_half[algorithm]
    values = found.frequency, found.temperature, found.error
    size = half(vanilla_size if algorithm == vanilla else network_size)["features"]
    name = f"networks, $N={size}$, {label}"
    plotting.curve(axes, *values, name=name, visible=False, **look)


for axes, family, letter in ((panels[0], by_tau, r"\tau"), (panels[1], by_batch, "b")):
    for value, color in plotting.ordered(family).items():
        # The largest and the smallest fraction have nearly the same T(0).
        up = {batches[0]: -4, batches[-1]: 5}.get(value, 0) if letter == "b" else 0
        spectrum(axes, family[value], color, f"${letter}={value:g}$", up)
    axes.set(ylim=(8e-4, 2.0), xlim=(0.009, 45))
panels[0].set_title(f"p-SGD, $b={fixed_batch:g}$")
panels[1].set_title(rf"p-SGD, $\tau={fixed_persistence:g}$")
panels[2].set_title(rf"vanilla, $\alpha={vanilla_alpha:g}$, $b={vanilla_batch:g}$")
spectrum(panels[2], vanilla, plotting.COLORS["blue"], "vanilla")
star = {"fmt": "*", "color": "k", "markersize": 9, "elinewidth": 0.8, "zorder": 5}
for axes, algorithm, name in (
    (panels[0], middle, "slow-strong"),
    (panels[2], vanilla, "vanilla-strong"),
):
    truth = temperatures(theory[algorithm], dials).temperature.values
    values = np.array([(e.value, e.error) for e in readings[name]]).T * truth
    plotting.curve(axes, dials, *values, **star, name="thermometer")
# The paper's values, from one over the longest to one over the shortest lag.
paper = {  # where: the value, the algorithm, the window of lags that gives it
    0: (0.05, sn.PersistentSGD(batch=0.3, persistence=2.0), (0.1, 0.25)),
    1: (0.2, sn.PersistentSGD(batch=0.2, persistence=2.0), (0.8, 1.6)),
    2: (0.015, sn.SGD(batch=0.1), (0.0, 2.5)),
}
paper = {i: row for i, row in paper.items() if row[1] in theory}
bar = {
    "color": plotting.COLORS["pink"],
    "linewidth": 6,
    "alpha": 0.45,
    "zorder": 0,
    "fmt": "-",
}
for i, (value, _, (first, last)) in paper.items():
    ends = 1 / last, 1 / max(first, 1 / 31)
    look = bar | {"solid_capstyle": "butt", "name": f"paper, {value:g}"}
    plotting.curve(panels[i], ends, [value] * 2, **look)
    words = f"paper: {value:g},\nas over lags\n{first:g} to {last:g}"
    arrow = {"arrowstyle": "-", "color": "0.5", "linewidth": 0.7}
    panels[i].annotate(
        words,
        (float(np.sqrt(ends[0] * ends[1])), value),
        (0.98, 0.97 if i < 2 else 0.8),
        textcoords="axes fraction",
        ha="right",
        va="top",
        fontsize=9,
        color=plotting.darker(plotting.COLORS["pink"]),
        arrowprops=arrow,
    )
for axes in panels:
    axes.set(xlabel=r"frequency $\omega$", xscale="log", yscale="log")
    axes.set_xticks([ZERO, 1, 10], ["0", "1", "10"])
    axes.minorticks_off()
    middle_of_gap = {"ha": "center", "va": "center", "fontsize": 9}
    axes.text(0.19, 0, "//", transform=axes.get_xaxis_transform(), **middle_of_gap)
panels[0].set(ylabel=r"temperature $T(\omega)$")
panels[2].set(ylim=(0.005, 0.04), xlim=(0.08, 45))
plotting.plain_ticks(panels[2].yaxis, [0.005, 0.01, 0.02, 0.04])
key = {
    "mean-field theory": {"marker": "o", "linestyle": ""},
    "networks": {
        "marker": "s",
        "fillstyle": "none",
        "markersize": 4.5,
        "linestyle": "",
    },
    "thermometer": {"marker": "*", "markersize": 9, "linestyle": ""},
    "linear response": {"linewidth": 0.9, "linestyle": "-"},
}
handles = [plt.Line2D([], [], color="k", label=name, **s) for name, s in key.items()]
figure.legend(handles=handles, loc="outside lower center", ncols=2)
publish("frequencies", figure)

# %% tags=["hide-input"]
# Write the table of windows.
rows = [
    "| parameters | paper | a window that meets it | slope of the line over it | chord | frequency zero |",
    "|---|---|---|---|---|---|",
]


def line_over(run, first, last):
    """Slope of the line through the FDT curve over a window of lags."""
    curve = sn.fdt_curve(run, waiting_time=0.0)
    curve = curve.sel(lag=slice(first - 1e-9, last + 1e-9))
    return jackknife(
        lambda x, y: sn.fdt.line(x, y)[0], curve.integrated_response, curve.displacement
    )


# The few paths of the smoke profile drift by chance.
steady = {"drift_tolerance": 1e3} if profile == "smoke" else {}
try:
    reference = sn.effective_temperature(waited, "line", (0.0, 2.5), **steady)
except sn.TemperatureError as refusal:  # with parameters of your own
    reference = refusal.estimate
reference = Estimate.of(reference)
for value, algorithm, window in paper.values():
    line = line_over(theory[algorithm], *window)
    if algorithm == vanilla:
        line = reference
    zero = spectral[algorithm].isel(frequency=0)
    zero = Estimate(float(zero.temperature), float(zero.error), freedom)
    chord = Estimate.of(sn.effective_temperature(theory[algorithm], "chord"))
    digits = ".5f" if algorithm == vanilla else ""  # as on the other pages
    about = f"vanilla SGD, $b={algorithm.batch:g}$"
    if algorithm != vanilla:
        tau = algorithm.persistence
        about = rf"p-SGD, $b={algorithm.batch:g}$, $\tau={tau:g}$"
    row = [about, f"{value:g}", f"{window[0]:g} to {window[1]:g}", f"{line:{digits}}"]
    rows.append("| " + " | ".join(str(entry) for entry in [*row, chord, zero]) + " |")
display(Markdown("\n".join(rows)))

# %% tags=["hide-input", "claims"]
# Quote numbers.


def off(algorithm, frequency):
    """By how many per cent linear response is off."""
    exact = temperatures(theory[algorithm], [frequency])
    exact = Estimate(float(exact.temperature[0]), float(exact.error[0]), freedom)
    other = sn.frequency_temperature(linear[algorithm], [frequency])
    return 100 * (Estimate(float(other.temperature[0]), 0.0) / exact - 1.0)


def spread(frequency, family):
    """The smallest and the largest of these for a family."""
    values = [off(algorithm, frequency).value for algorithm in family]
    return f"{min(values):+.0f} to {max(values):+.0f}"


def each(run):
    """Temperature of each frequency in each data set, such that their mean is that of all."""
    count = run.sizes["realisation"]
    others = [seen(run.drop_isel(realisation=i)).temperature for i in range(count)]
    return (
        count * seen(run).temperature.values[:, None] - (count - 1) * np.array(others).T
    )


ends = [np.concatenate([each(runs[a]) for a in smaller]) for runs in (network, smaller)]
glue("shift", f"{100 * finite_size(*ends):+.1f}")
glue("network-half", half(network_size)["features"])
again = line_over(theory[vanilla], 0.0, 2.5)
glue("line-vanilla", f"{reference:.5f}")
glue("line-stationary", f"{again:.5f}")
apart = again - reference
glue("line-difference", f"{apart:+.5f}")
glue("line-sigmas", f"{abs(apart.value) / apart.error:.1f}")
glue("chord-vanilla", Estimate.of(sn.effective_temperature(theory[vanilla], "chord")))
zero = spectral[vanilla].isel(frequency=0)
zero = Estimate(float(zero.temperature), float(zero.error), freedom)
glue("zero-vanilla", zero)
slow = [*by_tau.values(), *by_batch.values()]
glue("linear-off-zero", spread(0.0, slow))
glue("linear-off-three", spread(3.0, slow))
glue("linear-off-vanilla", spread(0.0, [vanilla]).split()[0])
for name, tau in (("short", 0.5), ("middle", 2.0), ("long", 8.0)):
    zero = spectral[by_tau[tau]].isel(frequency=0)
    glue(f"zero-{name}", Estimate(float(zero.temperature), float(zero.error)))
    glue(f"zero-{name}-excess", f"{off(by_tau[tau], 0.0):+.0f}")
peak = spectral[by_batch[0.2]]
peak = peak.isel(frequency=int(peak.temperature.argmax("frequency")))
glue("peak", Estimate(float(peak.temperature), float(peak.error)))
for name, i in (("low", 0), ("high", 6)):
    hottest = max(by_batch, key=lambda b: float(spectral[by_batch[b]].temperature[i]))
    glue(f"hottest-{name}", f"{hottest:g}")
glue("high-frequency", f"{frequencies[5]:.1f}")
glue("rate", rate)
glue("network-features", network_size["features"])
glue("vanilla-features", vanilla_size["features"])
for name, part in damping.items():
    glue(f"thermometer-{name}", f"{100 * part:.0f}")
glue("thermometer-features", dial_size.features)
glue("thermometer-sets", dial_size.networks)
glue("thermometer-count", dial_size.each * dial_size.copies * dial_size.networks)
glue("thermometer-degrees", dial_size.networks - 1)
for name, row in readings.items():
    glue(f"thermometer-{name}", ", ".join(str(e) for e in row))
worst = [abs(e.value - 1) / e.error for row in readings.values() for e in row]
glue("thermometer-worst", f"{max(worst):.1f}")
beyond = 2 * stdtr(dial_size.networks - 1, -max(worst))  # both signs
glue("thermometer-chance", f"{100 * (1 - (1 - beyond) ** len(worst)):.0f}")
quick = [abs(e.value - 1) for row in readings.values() for e in row[2:]]
glue("thermometer-off", f"{100 * max(quick):.0f}")
glue("thermometer-readings", len(worst))
shifts = []
for algorithm in (middle, vanilla):
    at_coupling = expected_reading(
        theory[algorithm], oscillators(theory[algorithm], dials, damping["strong"])
    )
    truth = temperatures(theory[algorithm], dials).temperature.values
    shifts.append(np.abs(at_coupling / truth - 1).max())
glue("thermometer-shift", f"{100 * max(shifts):.0f}")

# %% [markdown]
# ```{glue:figure} frequencies
# ---
# name: fig-frequencies
# alt: >-
#   Three panels, temperature against frequency on logarithmic scales: five persistence times on the left, five batch
#   fractions in the middle, vanilla SGD on the right. Points with error bars on lines, open squares, stars, and a pink
#   bar in each panel with the value of the paper and its window of lags.
# ---
# Temperature of each frequency, zero included, which stands left of the break in the axis. Left and middle: p-SGD with
# $\alpha=8$, $dt=$ {glue:}`rate`, all persistence times and batch fractions of the paper's second figure. Right:
# vanilla SGD, $dt=0.1$. Circles: mean-field theory of the stationary state; squares: networks ($N=$
# {glue:}`network-features`), at frequencies of which a period fits into their lags; stars: mean energy of
# {glue:}`thermometer-count` oscillators of each frequency (left: at $\tau=2$), in {glue:}`thermometer-sets` networks
# with $N=$ {glue:}`thermometer-features`, corrected for the coupling. Bars are two standard errors; points with errors
# above 30 per cent are not shown. Lines: linear response. It leaves out terms of relative order $b\tau\Delta$ for p-SGD
# and $dt$ for vanilla SGD, and is off by {glue:text}`linear-off-zero` per cent for p-SGD at frequency zero, by
# {glue:text}`linear-off-three` at $\omega=3$, and by {glue:text}`linear-off-vanilla` for vanilla SGD at frequency zero.
# Pink: the paper's temperatures. The paper does not state its windows of lags; each bar goes from one over the longest
# to one over the shortest lag of a window that would give the value.
# ```
#
# From networks with $N=$ {glue:}`network-half` to those of the figure the temperatures change by {glue:text}`shift` per
# cent, in the mean over the squares on the left and on the right, weighted by their accuracy; if the shift falls as
# $1/N$, as much is left.
#
# p-SGD is hot at low frequencies and cold at high ones, and the crossover is where the batch is forgotten, at
# $\omega\approx1/(b\tau)$. At frequency zero the temperature grows with the persistence time, from
# {glue:text}`zero-short` at $\tau=0.5$ to {glue:text}`zero-long` at $\tau=8$; at high frequency the order is reversed.
# Of the five batch fractions the hottest is $b=$ {glue:text}`hottest-low` at frequency zero and $b=$
# {glue:text}`hottest-high` at $\omega=$ {glue:text}`high-frequency`. Vanilla SGD has nearly the same temperature at
# all frequencies, because the weight $1/(a^2+\omega^2)$ averages over the modes. The slope at long lag singles out the
# softest and coldest modes, and falls ({doc}`/notebooks/vanilla_modes`).
#
# The reading of the thermometer over that of {eq}`eq-reading` is:
#
# | | at $\omega_0=0.5$, 1, 2 and 4 |
# |---|---|
# | p-SGD, $\tau=2$, weaker coupling | {glue:text}`thermometer-slow-weak` |
# | p-SGD, $\tau=2$, stronger coupling | {glue:text}`thermometer-slow-strong` |
# | vanilla SGD | {glue:text}`thermometer-vanilla-strong` |
#
# The errors come from the scatter of the networks, with {glue:}`thermometer-degrees` degrees of freedom. The largest
# of {glue:}`thermometer-readings` deviations from 1 is {glue:text}`thermometer-worst` standard errors; with as many
# independent unbiased readings (the two couplings share data) that would have a probability of
# {glue:text}`thermometer-chance` per cent. At the two higher frequencies, where the readings are most accurate, they
# are within {glue:text}`thermometer-off` per cent of 1. The stronger coupling itself moves {eq}`eq-reading` by at most
# {glue:text}`thermometer-shift` per cent from $T(\omega_0)$.
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
# with the lag $t-t_w$ running along it. Out of equilibrium it has several slopes: of a **line** over a window of lags,
# of the **tail**, and of the **chord** from one end to the other,
#
# $$
# T_\mathrm{int} = \frac{C(t_w,t_w) - C(\infty)}{\chi(\infty)} = \frac{d^2/2}{\chi(\infty)},
# $$ (eq-chord)
#
# with $d$ the distance between two stationary replicas. $T_\mathrm{int}$ is a mean of $T(\omega)$ over all
# frequencies, because $C_0$ and $\chi(\infty)$ are integrals of $S$ and of $\chi''/\omega$. The **slope at one lag**,
# the *local temperature*, is a quotient of derivatives, and no mean of $T(\omega)$: if the correlation decays more
# slowly than the response, it formally has no limit at long lag ({doc}`/notebooks/plateau`).
# `sn.effective_temperature` computes line, tail and chord, and refuses a line through a bent curve, a tail whose slope
# still changes, and a chord that has not ended.
#
# The paper's 0.015 is close to $T(\omega)$ at all frequencies. Its 0.05 is a slope at short lags, and equals
# $T(\omega)$ at one high frequency only. Its 0.2 lies above $T(\omega)$ at every frequency, whose maximum in
# {numref}`fig-frequencies` is {glue:text}`peak` for these parameters: a slope at one lag is no mean of temperatures.
# The paper does not state its windows of lags. The table above lists windows that give its values, the slope of the
# theory over each, and two temperatures that need no window.
#
# For vanilla SGD this book quotes the line over lags from 0 to 2.5, lag zero included, and always from the same run:
# {glue:text}`line-vanilla`. The chord {glue:text}`chord-vanilla` and the temperature at frequency zero
# {glue:text}`zero-vanilla` weight the modes differently. The circles of {numref}`fig-frequencies` are a second
# solution of the theory, with other random numbers: the line has the slope {glue:text}`line-stationary` there, a
# difference of {glue:text}`line-difference` or {glue:text}`line-sigmas` standard errors.
#
# :::{admonition} What was found
# :class: found
# - SGD has a temperature at each frequency, which a weakly coupled oscillator reads. For p-SGD at $b=0.3$ it goes at
#   frequency zero from {glue:text}`zero-short` at $\tau=0.5$ to {glue:text}`zero-long` at $\tau=8$.
# - The paper's 0.015, 0.2 and 0.05 are slopes over windows of lags. Only the first is near $T(\omega)$ at all
#   frequencies.
# :::
