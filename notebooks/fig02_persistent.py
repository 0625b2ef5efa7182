# ---
# jupyter:
#   expected_seconds:
#     paper: 500
#     smoke: 10
#     standard: 100
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The FDT plot of persistent SGD
#
# :::{admonition} What you will learn
# :class: learn
# What a slowly changing batch does to the FDT plot, why a temperature read from it depends on the lag, and what can be
# read without choosing a lag.
# :::
#
# *Figure 2 of the paper.* In p-SGD a sample that has left the batch stays out for a time $\tau$ on average, and the
# batch is remembered for a time $b\tau$. The paper finds a curved FDT plot: temperature zero at the shortest lags,
# where the batch is frozen, and a straight part beyond $b\tau$ that gives the effective temperature (*slope* means $T$
# on every page: the slope of the displacement $C(t_w,t_w)-C(t,t_w)$ against the response $\chi$. The figure shows
# $\chi$ against $C$, where a steep plot is a cold one). It grows with $\tau$ and has a maximum in $b$.

# %% tags=["parameters"]
profile = "standard"
seed = 0
alpha = 8.0  # samples per feature
delta = 1.0  # variance of the data
ridge = 1.0
persistences = [0.5, 1.0, 2.0, 4.0, 8.0]
fixed_batch = 0.3  # batch fraction at which the persistence changes
batches = [0.1, 0.2, 0.4, 0.8, 0.99]
fixed_persistence = 2.0  # persistence at which the batch fraction changes
ending_lags = [1.0, 2.0]  # where plots end of which the last points are taken

# %% tags=["hide-input"]
# Set up.
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Markdown, display

import sgdnoise as sn
from sgdnoise import interactive, plotting
from sgdnoise.decay import continued_response, forgetting_rate, response_decay
from sgdnoise.estimates import Estimate, Statement, finite_size, jackknife
from sgdnoise.report import claim, glue, publish

plotting.use_style()
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

# %%
problem = sn.Problem(alpha=alpha, delta=delta, ridge=ridge)
by_tau = {
    tau: sn.PersistentSGD(batch=fixed_batch, persistence=tau) for tau in persistences
}
by_batch = {
    b: sn.PersistentSGD(batch=b, persistence=fixed_persistence) for b in batches
}
algorithms = [*by_tau.values(), *by_batch.values()]


def memory(algorithm):
    """How long the batch is remembered."""
    return algorithm.batch * algorithm.persistence


half = network_size | {"features": network_size["features"] // 2}
theory, linear, network, smaller = {}, {}, {}, {}
for algorithm in algorithms:
    point = [{"algorithm": algorithm, "problem": problem, "learning_rate": rate}]
    # The stationary state itself, where only the lag matters.
    longest = float(np.ceil(max(12.0, 12 * memory(algorithm))))
    options = theory_size | {"duration": longest, "memories": 12.0}
    found = sn.sweep(sn.solve_stationary, point, [seed], fixed=options)
    theory[algorithm] = found.squeeze(("point", "seed"))
    linear[algorithm] = sn.linear_response(problem, algorithm, rate, longest)
    options = {"duration": 11.0, "waiting_times": [5.0, 6.0, 7.0], "loss_every": 20}
    for size, kept in ((network_size, network), (half, smaller)):
        found = sn.sweep(sn.simulate, point, [seed], fixed=options | size)
        kept[algorithm] = found.squeeze(("point", "seed"))

# %% [markdown]
# Four readings of each plot. The paper's rule for p-SGD is the slope of the last 10 points; it has to name the lag at
# which the plot ends, and we take two. Ours need no lag: the chord $T_\mathrm{int}$ from one end of the plot to the
# other, and the temperature at frequency zero ({doc}`/notebooks/temperature`).

# %%
readings = {}
for lag in ending_lags:
    readings[f"paper's rule, to lag {lag:g}"] = {
        a: sn.tail_slopes(run.sel(time=slice(0, lag + 1e-9)), points=(10,)).squeeze()
        for a, run in theory.items()
    }
readings = {
    name: {
        a: Estimate(float(t.slope), float(t.error), theory_size["realisations"] - 1)
        for a, t in row.items()
    }
    for name, row in readings.items()
}
readings[r"chord $T_\mathrm{int}$"] = {
    a: Estimate.of(sn.effective_temperature(run, method="chord"))
    for a, run in theory.items()
}
readings["frequency zero, $T(0)$"] = {}
for a, run in theory.items():
    zero = sn.frequency_temperature(run, [0.0])
    readings["frequency zero, $T(0)$"][a] = Estimate(
        float(zero.temperature[0]),
        float(zero.error[0]),
        theory_size["realisations"] - 1,
    )

# %% tags=["hide-input"]
# Draw the figure.


def plot_curves(axes, family, letter):
    """FDT plots: lines for the theory, points with two standard errors for networks."""
    for value, algorithm in family.items():
        color = plotting.ordered(family)[value]
        name = f"${letter}={value:g}$"
        curve = sn.fdt_curve(theory[algorithm]).sel(lag=slice(0, 4.01))
        plotting.draw_fdt(
            axes, curve, linestyle="-", color=color, name=f"theory, {name}"
        )
        lags = (0.1, 0.25, 0.5, 1.0, 2.0, 3.5)
        look = {"fmt": "o", "color": color}
        points = sn.fdt_curve(smaller[algorithm])
        words = f"networks, $N={half['features']}$, {name}"
        plotting.draw_fdt(axes, points, lags, name=words, visible=False, **look)
        points = sn.fdt_curve(network[algorithm])
        plotting.draw_fdt(axes, points, lags, label=name, **look)


# Of Figs. 5 and 6, whose parameters are among those of this figure.
quoted = {(0.2, 2.0): (0.2, "Fig. 5"), (0.3, 2.0): (0.05, "Fig. 6")}
styles = {
    "^": plotting.COLORS["orange"],
    "v": plotting.COLORS["red"],
    "o": plotting.COLORS["blue"],
    "s": plotting.COLORS["black"],
}


def plot_temperatures(axes, family):
    """The readings, where they are known to 30 per cent, and what the paper quotes."""
    marks = ["^", "v"] * len(ending_lags)
    marks = [*marks[: len(ending_lags)], "o", "s"]
    for (name, row), marker in zip(readings.items(), marks, strict=True):
        known = [
            (x, row[a].value, row[a].error)
            for x, a in family.items()
            if 0 < row[a].error < 0.3 * row[a].value
        ]
        x, y, error = np.array(known).reshape(-1, 3).T
        line = "--" if marker in "^v" else "-"
        look = {"color": styles[marker], "linewidth": 0.9, "label": name}
        plotting.curve(axes, x, y, error, fmt=f"{marker}{line}", markersize=4.5, **look)
    for x, a in family.items():
        if (a.batch, a.persistence) in quoted:
            value, source = quoted[a.batch, a.persistence]
            line = plotting.quoted(axes, x, value, f"paper, {source}", zorder=5)
            line.set_label("_")  # it has its name beside it
            place = (8, -2) if family is by_tau else (6, -34)
            plotting.label(line, f"paper, {source}: {value:g}", offset=place)
    axes.set(ylabel="temperature", yscale="log")


figure, panels = plt.subplots(2, 2, figsize=(7.2, 6.4), width_ratios=(1.25, 1))
plot_curves(panels[0, 0], by_tau, r"\tau")
plot_curves(panels[1, 0], by_batch, "b")
panels[0, 0].legend(loc="lower left")
panels[1, 0].legend(loc="upper right")
plot_temperatures(panels[0, 1], by_tau)
plot_temperatures(panels[1, 1], by_batch)
panels[0, 1].set(xlabel=r"persistence $\tau$", xscale="log")
plotting.plain_ticks(panels[0, 1].xaxis, list(by_tau))
panels[1, 1].set(xlabel="batch fraction $b$")
for axes in panels[:, 1]:
    plotting.plain_ticks(axes.yaxis, [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5])
figure.legend(
    *panels[0, 1].get_legend_handles_labels(),
    loc="outside upper center",
    ncols=2,  # as wide as a panel, for a phone
    columnspacing=1.2,
    handletextpad=0.4,
)
publish("fdt", figure)

# %% tags=["hide-input"]
# Let the reader set batch and persistence.
offered = interactive.persistence(
    problem,
    rate,
    (0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 0.99),
    (0.5, 1.0, 2.0, 4.0, 8.0) if rate < 0.1 else (1.0, 2.0, 4.0, 8.0),
    theory,
    drift_tolerance=1e3 if profile == "smoke" else 0.1,
)
interactive.offer("fdt", "persistence", offered)

# %% [markdown]
# Is the slope constant beyond $b\tau$? A mode of stiffness $a$ has the slope $T\,(1-e^{-(1/b\tau-a)t})$ at the lag
# $t$. Far beyond $b\tau$ it is constant if there is a plateau, grows in proportion to $t$ where the plateau just ceases
# to exist, and exponentially otherwise. We measure the exponent $k$ of a slope that grows as $t^k$ over a window of
# lags, from two chords of the plot. Near $b\tau$ they go over lags from 2 to $2.5\,b\tau$ and from 2.5 to $4\,b\tau$,
# far beyond it from 5 to $6.25\,b\tau$ and from 6.25 to $10\,b\tau$. A chord is the average of the slope weighted by
# $R(t)$; we assign it the lag averaged with the same weight.
#
# Far beyond $b\tau$ the response is still known to a few per cent, because the theory averages it over the last batch
# of every path, but the decay of the correlation is lost in its sampling error. There we take the decay of the
# correlation from linear response, and the response from the theory. Between 2 and $4\,b\tau$, where all is known, $k$
# can be computed in both ways; the root mean square of the ten differences is the error that we give to this $k$.


# %%
def exponent(algorithm, edges, scale=np.log, decay=theory):
    """Growth of the slope between windows in units of b tau, as a power or a rate.

    The correlation may be that of other runs.
    """
    run = theory[algorithm]
    at = [round(k * memory(algorithm) / rate) for k in edges]
    R = continued_response(run)
    C = decay[algorithm].correlation.values[:, 0][:, at]
    fall = np.broadcast_to(-np.diff(C, axis=1), (len(R), 2))
    windows = [slice(i + 1, j + 1) for i, j in pairwise(at)]
    felt = [R[:, window].sum(axis=1) for window in windows]
    lags = [
        np.average(run.time.values[window], weights=R.mean(axis=0)[window])
        for window in windows
    ]

    def power(fall, one, two):
        growth = (fall[:, 1] / two) / (fall[:, 0] / one)
        growth = np.where((fall > 0).all(axis=1), growth, np.nan)
        return np.log(growth) / (scale(lags[1]) - scale(lags[0]))

    return jackknife(power, fall, *felt)


def named(algorithm):
    """Write the parameters."""
    return rf"$b={algorithm.batch:g}$, $\tau={algorithm.persistence:g}$"


def known(estimate):
    """Write an estimate, if there is one."""
    return str(estimate) if np.isfinite(estimate.error) else "not known"


close, far = (2, 2.5, 4), (5, 6.25, 10)
near = {algorithm: exponent(algorithm, close) for algorithm in algorithms}
sampled = {algorithm: exponent(algorithm, far) for algorithm in algorithms}
# The decay of the correlation from linear response, and what that is off by where all is known.
off = [near[a].value - exponent(a, close, decay=linear).value for a in algorithms]
off = float(np.sqrt(np.mean(np.square(off))))
powers = {}
for algorithm in algorithms:
    power = exponent(algorithm, far, decay=linear)
    error = float(np.hypot(off, power.error))
    powers[algorithm] = Estimate(power.value, error, len(algorithms))

# %% tags=["hide-input"]
# Write the table.


def verdict(power):
    """How the slope grows, if that is decided at three standard errors."""
    for words, statement in (
        ("more slowly than the lag, or falls", Statement(below=1.0)),
        ("faster than the lag", Statement(above=1.0)),
    ):
        if statement.by_chance(power)[0] < 0.00135:
            return words
    return "open"


rows = [
    r"| | $b\tau$ | $k$, 2 to $4\,b\tau$ | $k$, 5 to $10\,b\tau$, sampled | the same, correlation of linear response "
    r"| the slope grows there |",
    "|---|---|---|---|---|---|",
]
for a in algorithms:
    found = [known(part[a]) for part in (near, sampled, powers)]
    row = [named(a), f"{memory(a):.3g}", *found, verdict(powers[a])]
    rows.append("| " + " | ".join(row) + " |")
display(Markdown("\n".join(rows)))

# %% tags=["hide-input", "claims"]
# Test the claims.
glue("rate", rate)
glue("features", network_size["features"])
glue("data_sets", network_size["realisations"])
early, late, whole, zero = readings.values()
slow = list(by_tau.values())
table = ", ".join(f"{whole[a]}" for a in slow)
claim(
    "persistent-grows-with-persistence",
    rf"$T_\mathrm{{int}}$ is {table} at $\tau = 0.5$ to 8",
    {f"{named(a)} to {named(b)}": whole[b] - whole[a] for a, b in pairwise(slow)},
)
first, *middle, last = by_batch.values()
peaks = {}
for name, read in zip(("lag 1", "lag 2", "chord"), (early, late, whole), strict=True):
    mean = (1 / 3) * (read[middle[0]] + read[middle[1]] + read[middle[2]])
    for end in (first, last):
        peaks[f"{name}, less $b={end.batch:g}$"] = mean - read[end]
words = "; ".join(
    f"{name}: {', '.join(f'{read[a].value:.2g}' for a in by_batch.values())}"
    for name, read in list(readings.items())[:3]
)
claim("persistent-peaks-in-batch", f"{words} at $b = 0.1$ to 0.99", peaks)
short = sn.local_temperature(theory[by_tau[2.0]], lags=(rate / 2,))
count = theory_size["realisations"] - 1
part = (
    Estimate(float(short.slope[0]), float(short.error[0]), count) / whole[by_tau[2.0]]
)
glue("start", 100 * part)
claim(
    "persistent-cold-at-short-lags",
    rf"at $\tau=2$, $b=0.3$ the slope of the first step is {100 * part} per cent of $T_\mathrm{{int}}$",
    part,
)
claim(
    "persistent-constant-beyond-memory",
    r"the slope grows as the lag to the power (2 to $4\,b\tau$; 5 to $10\,b\tau$, decay of the correlation from linear "
    r"response) "
    + ", ".join(
        f"{known(near[a])}; {known(powers[a])} ({named(a)})" for a in algorithms
    ),
    {named(a): e for a, e in near.items()},
    {named(a): e for a, e in powers.items()},
)


def chord(run):
    """Displacement over response at lag 2, one value a data set."""
    curve = sn.fdt_curve(run).mean("waiting_time").sel(lag=2.0, method="nearest")
    return curve.displacement / curve.integrated_response


ends = [[chord(runs[a]) for a in algorithms] for runs in (network, smaller)]
glue("half", half["features"])
glue("shift", f"{100 * finite_size(*ends):+.1f}")
longest = by_tau[8.0]
glue("growth", known(exponent(longest, far, scale=float)))
glue("growth-near", exponent(longest, close, scale=float))
glue("off", f"{off:.2f}")
apart = [
    abs(sampled[a].value - powers[a].value) / np.hypot(sampled[a].error, off)
    for a in algorithms
    if np.isfinite(sampled[a].error)
]
glue("compared", len(apart))
glue("apart", f"{max(apart, default=np.nan):.1f}")
marginal = [a for a in algorithms if verdict(powers[a]) == "open"]
words = "; ".join(f"{named(a)}, with {known(powers[a])}" for a in marginal)
glue("marginal", words or "none")
glue("decided", len(algorithms) - len(marginal))
border = response_decay(theory[by_tau[2.0]], start=2.0)
glue("border-response", border)
glue("border-batch", f"{forgetting_rate(by_tau[2.0], rate):.3f}")
soft = response_decay(theory[longest], start=2.0)
glue("growth-mode", f"{soft.value - forgetting_rate(longest, rate):.2f}")
growing = [e for e in near.values() if Statement(above=0.0).by_chance(e)[0] < 0.00135]
glue("growing", len(growing))
glue("choices", len(near))
glue("least", known(min(near.values(), key=lambda e: e.value)))
for name, read in (
    ("turning", early),
    ("turning_later", late),
    ("turning_chord", whole),
):
    glue(name, f"{max(by_tau, key=lambda tau: read[by_tau[tau]].value):g}")


def runs_away(algorithm):
    """Tell whether the batch is remembered for longer than any push of the weights."""
    return memory(algorithm) * problem.ridge > 1


for name, family in (("without_tau", by_tau), ("without_batch", by_batch)):
    without = [value for value, algorithm in family.items() if runs_away(algorithm)]
    glue(name, " and ".join(f"{value:g}" for value in without))

# %% [markdown]
# ```{glue:figure} fdt
# ---
# name: fig-fdt-persistent
# alt: >-
#   Left, integrated response against correlation for five persistence times above and five batch fractions below:
#   curves of the theory with symbols of networks, steep at the lower right and then bending over. Right, four
#   temperatures of each on a logarithmic scale, against persistence above and the batch fraction below: two slopes
#   by the paper's rule, the chord and the temperature at frequency zero, with two stars for values of the paper.
# ---
# FDT plots of p-SGD, $\alpha=8$, $\Delta=\lambda=\kappa=1$, $dt=$ {glue:}`rate`, in the stationary state, lags up to 4.
# Above: persistence times at $b=0.3$. Below: batch sizes at $\tau=2$. Lines: mean-field theory; symbols: networks with
# $N=$ {glue:}`features` features, mean of waiting times 5, 6, 7 and {glue:}`data_sets` data sets with two standard
# errors. Right, from theory: the paper's rule, the slope of the last 10 points, for plots that end at lag 1 and at lag
# 2 (triangles); the chord $T_\mathrm{int}$ and the temperature at frequency zero, which need no lag (circles,
# squares). Bars are two standard errors; readings with errors above 30 per cent are not shown. Stars: the values
# that the paper quotes in its Figs. 5 and 6.
# ```
#
# From networks with $N=$ {glue:}`half` to those of the figure the chord of the plot up to lag 2 changes by
# {glue:text}`shift` per cent, in the mean over the ten choices weighted by their accuracy; if the shift falls as $1/N$,
# as much is left from there to infinite $N$. (The data of the figure have both sizes.)
#
# At short lags the batch is frozen: at $\tau=2$, $b=0.3$ the slope of the first step is {glue:text}`start` per cent of
# the slope of the whole plot. (It is not zero, because a few samples are exchanged even in a single step.)
#
# Is the temperature constant beyond $b\tau$? We measure the exponent $k$ of a slope that grows as $t^k$ with the lag
# $t$; a constant slope has $k=0$. *In practice, at lags that a run can reach,* it is not constant. Between 2 and
# $4\,b\tau$ the slope grows for {glue:}`growing` of the {glue:}`choices` choices, by three standard errors; the
# smallest $k$ is {glue:text}`least`. Between 5 and $10\,b\tau$ a $k$ above one means that it grows faster than the lag,
# a $k$ below one that it grows more slowly or falls. Sampling alone leaves most of the ten choices open there; with the
# decay of the correlation from linear response, {glue:}`decided` are decided. The error of this $k$, {glue:text}`off`,
# is measured between 2 and $4\,b\tau$. Between 5 and 10 the {glue:}`compared` sampled values that are known differ from
# it by at most {glue:text}`apart` times both errors together. Open: {glue:text}`marginal`. At $b=0.3$, $\tau=2$ the
# theory itself lies on the margin: the batch is forgotten at the rate {glue:text}`border-batch` and the response,
# fitted as on {doc}`/notebooks/plateau`, decays at the rate {glue:text}`border-response`, so that the slope grows as a
# power of the lag and hardly faster than the lag. (Where the response drops below $10^{-9}$ we extrapolate it with its
# fitted decay, see {doc}`/notebooks/plateau`. That page also asks a coarser question, whether the slope changes by more
# than 30 per cent if the lag is halved.) *Formally, at infinite lag,* the slope has a limit only if the batch is
# forgotten before the response has decayed. The response decays at the rate $\lambda$ or faster. Hence there is no
# limit for $\tau=$ {glue:text}`without_tau` at $b=0.3$ and for $b=$ {glue:text}`without_batch` at $\tau=2$, provided
# that a part of the correlation decays with the batch. The choice $\tau=2$, $b=0.3$ lies at the border, and a limit
# there would take lags that no run reaches ({doc}`/notebooks/plateau`).
#
# The paper's values for long persistence are slopes at the lag where its runs ended, which it does not give. Even the
# order of the temperatures depends on that lag: of the five persistence times the hottest is $\tau=$
# {glue:text}`turning` by the paper's rule at lag 1, $\tau=$ {glue:text}`turning_later` by the rule at lag 2, and
# $\tau=$ {glue:text}`turning_chord` by $T_\mathrm{int}$.
#
# :::{admonition} What was found
# :class: found
# - At short lags the plot is cold: at $\tau=2$, $b=0.3$ the slope of the first step is {glue:text}`start` per cent of
#   $T_\mathrm{int}$.
# - Beyond $b\tau$ the slope still changes: between 2 and $4\,b\tau$ it grows for {glue:}`growing` of
#   {glue:}`choices` choices. At $\tau=8$, $b=0.3$ it grows exponentially. The rate is {glue:text}`growth-near` per unit
#   of lag between 2 and $4\,b\tau$ and {glue:text}`growth` between 5 and $10\,b\tau$; the softest mode alone would grow
#   at the rate {glue:text}`growth-mode`.
# - The paper's rule needs the lag at which the plot ends. $T_\mathrm{int}$ and $T(0)$ do not, and both grow with
#   $\tau$.
# :::
