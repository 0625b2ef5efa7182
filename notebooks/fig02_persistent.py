# ---
# jupyter:
#   expected_seconds:
#     paper: 737
#     smoke: 14
#     standard: 218
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
# here, as in {doc}`/notebooks/fig01_vanilla`). It grows with $\tau$ and
# has a maximum in $b$.

# %% tags=["parameters"]
profile = "standard"
seed = 0

# %% tags=["hide-input"]
# Set up.
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Markdown, display

import sgdnoise as sn
from sgdnoise import interactive, plotting
from sgdnoise.estimates import Estimate, Statement, jackknife
from sgdnoise.report import claim, glue, publish

plotting.use_style()
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

# %%
problem = sn.Problem(alpha=8, delta=1.0, ridge=1.0)
by_tau = {
    tau: sn.PersistentSGD(batch=0.3, persistence=tau)
    for tau in (0.5, 1.0, 2.0, 4.0, 8.0)
}
by_batch = {
    batch: sn.PersistentSGD(batch=batch, persistence=2.0)
    for batch in (0.1, 0.2, 0.4, 0.8, 0.99)
}
algorithms = [*by_tau.values(), *by_batch.values()]


def memory(algorithm):
    """How long the batch is remembered."""
    return algorithm.batch * algorithm.persistence


theory, network = {}, {}
for algorithm in algorithms:
    point = [{"algorithm": algorithm, "problem": problem, "learning_rate": rate}]
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

# %% [markdown]
# Three readings of each plot. The paper's, the slope of the last points, has to name a lag; here are two, over the
# half unit of time that ends at the lags 1 and 2. And the chord $T_\mathrm{int}$ from one end of the plot to the other
# ({doc}`/notebooks/temperature`), which needs no window.

# %%
# The few paths of the smoke profile drift by chance; elsewhere the usual test of
# stationarity decides.
steady = {"drift_tolerance": 1e3} if profile == "smoke" else {}
nearly = {"drift_tolerance": 0.1} | steady
slopes, chords = {}, {}
for algorithm, run in theory.items():
    slopes[algorithm] = sn.local_temperature(
        run, lags=(0.75, 1.75), window=round(0.25 / rate), **nearly
    )
    try:
        span = (0.0, 3 + float(np.ceil(5 * memory(algorithm))))
        # What is left of the start by then is far below the tolerance.
        chords[algorithm] = sn.effective_temperature(
            run, method="chord", lags=span, waiting_times=[4.0, 4.5, 5.0], **nearly
        )
    except sn.NoPlateauError as refusal:
        chords[algorithm] = refusal.estimate

# %% tags=["hide-input"]
# Draw the figure.


def plot_curves(axes, family, letter):
    """FDT plots: lines for the theory, points with two standard errors for networks."""
    for (value, algorithm), color, marker in zip(
        family.items(), plotting.SERIES, "osD^v", strict=False
    ):
        name = f"${letter}={value:g}$"
        curve = sn.fdt_curve(theory[algorithm]).sel(lag=slice(0, 4.01))
        plotting.draw_fdt(
            axes, curve, linestyle="-", color=color, name=f"theory, {name}"
        )
        lags, points = (0.1, 0.25, 0.5, 1.0, 2.0, 3.5), sn.fdt_curve(network[algorithm])
        plotting.draw_fdt(axes, points, lags, fmt=marker, color=color, label=name)
    axes.legend(fontsize=7)


def plot_temperatures(axes, family):
    """The three readings, where they are known to 30 per cent."""
    readings = {
        "slope, lags 0.5 to 1": [
            (float(slopes[a].slope[0]), float(slopes[a].error[0]))
            for a in family.values()
        ],
        "slope, lags 1.5 to 2": [
            (float(slopes[a].slope[1]), float(slopes[a].error[1]))
            for a in family.values()
        ],
        r"$T_\mathrm{int}$": [
            (chords[a].value, chords[a].error) for a in family.values()
        ],
    }
    for (name, pairs), marker, color in zip(
        readings.items(), "^vo", plotting.SERIES, strict=False
    ):
        known = [
            (x, *pair)
            for x, pair in zip(family, pairs, strict=True)
            if 0 < pair[1] < 0.3 * pair[0]
        ]
        x, y, error = np.array(known).reshape(-1, 3).T
        look = {"color": color, "linewidth": 0.7, "label": name}
        plotting.curve(axes, x, y, error, fmt=f"{marker}:", **look)
    axes.set(ylabel="temperature", yscale="log")


figure, panels = plt.subplots(2, 2, figsize=(7.2, 6.0), width_ratios=(1.5, 1))
plot_curves(panels[0, 0], by_tau, r"\tau")
plot_curves(panels[1, 0], by_batch, "b")
plot_temperatures(panels[0, 1], by_tau)
plot_temperatures(panels[1, 1], by_batch)
panels[0, 1].set(xlabel=r"persistence $\tau$", xscale="log")
plotting.plain_ticks(panels[0, 1].xaxis, list(by_tau))
panels[1, 1].set(xlabel="batch fraction $b$")
panels[0, 1].legend(fontsize=7)
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

# %% tags=["hide-input"]
# Test the claims.
glue("rate", rate)
glue("features", network_size["features"])
glue("data_sets", network_size["realisations"])


def named(algorithm):
    """Write the parameters."""
    return rf"$b={algorithm.batch:g}$, $\tau={algorithm.persistence:g}$"


count = theory_size["realisations"] - 1
whole = {algorithm: Estimate.of(chord) for algorithm, chord in chords.items()}
slow = list(by_tau.values())
table = ", ".join(f"{whole[a]:.3f}" for a in slow)
claim(
    "persistent-grows-with-persistence",
    rf"$T_\mathrm{{int}}$ is {table} at $\tau = 0.5$ to 8",
    {f"{named(a)} to {named(b)}": whole[b] - whole[a] for a, b in pairwise(slow)},
)
readings = {
    "lags 0.5 to 1": {
        a: Estimate(float(run.slope[0]), float(run.error[0]), count)
        for a, run in slopes.items()
    },
    "lags 1.5 to 2": {
        a: Estimate(float(run.slope[1]), float(run.error[1]), count)
        for a, run in slopes.items()
    },
    r"$T_\mathrm{int}$": whole,
}
first, *middle, last = by_batch.values()
peaks = {}
for name, read in readings.items():
    mean = (1 / 3) * (read[middle[0]] + read[middle[1]] + read[middle[2]])
    for end in (first, last):
        peaks[f"{name}, less $b={end.batch:g}$"] = mean - read[end]
words = "; ".join(
    f"{name}: {', '.join(f'{read[a].value:.2g}' for a in by_batch.values())}"
    for name, read in readings.items()
)
claim("persistent-peaks-in-batch", f"{words} at $b = 0.1$ to 0.99", peaks)
short = sn.local_temperature(theory[by_tau[2.0]], lags=(rate / 2,), **nearly)
part = (
    Estimate(float(short.slope[0]), float(short.error[0]), count) / whole[by_tau[2.0]]
)
glue("start", f"{100 * part:.1f}")
claim(
    "persistent-cold-at-short-lags",
    rf"at $\tau=2$, $b=0.3$ the slope of the first step is {100 * part:.1f} per cent of $T_\mathrm{{int}}$",
    part,
)


def doubling(algorithm):
    """Logarithm to base 2 of the slope at the lag 4 b tau over that at 2 b tau."""
    lags, curve = (
        2 * memory(algorithm) * np.array([1, 2]),
        sn.fdt_curve(theory[algorithm]),
    )
    # Waiting times by which the start is forgotten, and that leave these lags to the run.
    waits = curve.waiting_time.values
    end = float(theory[algorithm].time[-1]) - 1.1 * lags[1] - 0.1
    curve = curve.sel(waiting_time=waits[(waits >= min(6.0, end)) & (waits <= end)])
    curve = curve.mean("waiting_time")
    # The squared displacement, which in a stationary state is the same and scatters less.
    shown = curve.integrated_response, curve.displacement + 0.5 * curve.drift
    near = [
        np.flatnonzero(np.abs(curve.lag.values - lag) <= max(0.1, 0.1 * lags[0]) + 1e-9)
        for lag in lags
    ]

    def ratio(x, y):
        one, two = (sn.fdt.line(x[:, at], y[:, at])[0] for at in near)
        return np.log2(np.where((one > 0) & (two > 0), two / one, np.nan))

    return jackknife(ratio, *shown)


growths = {named(algorithm): doubling(algorithm) for algorithm in algorithms}
case = growths[named(by_tau[4.0])]
glue("growth", 2**case.value * Estimate(1.0, np.log(2) * case.error))
claim(
    "persistent-constant-beyond-memory",
    r"the slope grows from the lag $2b\tau$ to $4b\tau$ by the factors "
    + ", ".join(f"{2**e.value:.3g} ({name})" for name, e in growths.items()),
    growths,
)
rows = [r"| | slope at $4b\tau$ over that at $2b\tau$ | |", "|---|---|---|"]
for name, e in growths.items():
    above = Statement(above=1.0).by_chance(e)
    says = "has none", "may have a plateau"
    says = says[int(np.argmin(above))] if min(above) < 0.00135 else "not decided"
    known = np.isfinite(e.value) and e.error < 1
    number = (
        f"{2**e.value * Estimate(1.0, np.log(2) * e.error)}" if known else "unknown"
    )
    rows.append(f"| {name} | {number} | {says if known else 'not decided'} |")

# %% tags=["hide-input"]
# Write the table.
display(Markdown("\n".join(rows)))

# %% tags=["hide-input"]
# Quote numbers.
for i, name in enumerate(("turning", "turning_later")):
    highest = max(by_tau, key=lambda tau: float(slopes[by_tau[tau]].slope[i]))
    glue(name, f"{highest:g}")
highest = max(by_tau, key=lambda tau: chords[by_tau[tau]].value)
glue("turning_chord", f"{highest:g}")


def runs_away(algorithm):
    """Tell whether the batch is remembered for longer than any push of the weights."""
    return memory(algorithm) * problem.ridge > 1


for name, family in (("without_tau", by_tau), ("without_batch", by_batch)):
    without = [value for value, algorithm in family.items() if runs_away(algorithm)]
    glue(name, ", ".join(f"{value:g}" for value in without))

# %% [markdown]
# ```{glue:figure} fdt
# ---
# name: fig-fdt-persistent
# alt: >-
#   Left, integrated response against correlation for five persistence times above and five batch fractions below:
#   curves of the theory with symbols of networks, steep at the lower right and then bending over. Right, three
#   temperatures of each on a logarithmic scale, against persistence above and the batch fraction below: two slopes
#   and the chord.
# ---
# FDT plots of p-SGD, $\alpha=8$, $\Delta=\lambda=\kappa=1$, $dt=$ {glue:}`rate`, mean over waiting times from 4 on
# (networks: 5, 6, 7). Above: persistence times at $b=0.3$. Below: batch sizes at $\tau=2$. Lines: mean-field theory;
# symbols: networks with $N=$ {glue:}`features` features, mean of {glue:}`data_sets` data sets with two standard errors.
# Right: the slope over the half unit of time that ends at lag 1 and at lag 2, and the chord $T_\mathrm{int}$, from
# theory, with two standard errors; readings that are not known to 30 per cent are left out.
# ```
#
# At short lags the batch is frozen: at $\tau=2$, $b=0.3$ the slope of the first step is {glue:text}`start` per cent of
# the slope of the whole plot. (It is not zero, because a few samples are exchanged even in a single step.)
#
# Is the temperature constant beyond $b\tau$? A mode of stiffness $a$ has the slope $T\,(1-e^{-(1/b\tau-a)t})$ at the
# lag $t$. From $2b\tau$ to $4b\tau$ it grows by the factor $1+e^{-2(1-ab\tau)}$: by at least 1.14 if the plateau is
# ideal, and by 2 at the point where the plateau ceases to exist. The table gives the factor for each choice of
# parameters. (Between $5\,b\tau$ and $10\,b\tau$, where a plateau would be flat, the remaining response is too small to
# measure a slope.) At $\tau=4$ the slope grows by a factor {glue:text}`growth`. In principle the slope has a limit at
# long lag only if the batch is forgotten before the response has decayed. The response decays at the rate $\lambda$ or
# faster. Hence there is no limit for $\tau=$ {glue:text}`without_tau` at $b=0.3$ and for $b=$
# {glue:text}`without_batch` at $\tau=2$, provided that a part of the correlation decays with the batch. The choice
# $\tau=2$, $b=0.3$ lies at the border, and a limit there would take lags that no run reaches
# ({doc}`/notebooks/temperature`). In practice the paper's values for long persistence are slopes at the lag where its
# runs ended, which it does not give. Even the order of the temperatures depends on that lag: of the five persistence
# times the hottest is $\tau=$ {glue:text}`turning` over lags from 0.5 to 1, $\tau=$ {glue:text}`turning_later` over
# lags from 1.5 to 2, and $\tau=$ {glue:text}`turning_chord` by $T_\mathrm{int}$. The temperature of a frequency needs
# no lag; {doc}`/notebooks/temperature` gives it for these ten choices.
#
# :::{admonition} What was found
# :class: found
# - At short lags the plot is cold: at $\tau=2$, $b=0.3$ the first step has {glue:text}`start` per cent of
#   $T_\mathrm{int}$.
# - The slope is not constant beyond $b\tau$. At $\tau=4$ it grows by a factor {glue:text}`growth` from the lag $2b\tau$
#   to twice that; a single mode with a plateau would grow by less than 2. Where the batch is remembered for longer than
#   $1/\lambda$ we expect it to grow without limit.
# :::
