# ---
# jupyter:
#   expected_seconds:
#     paper: 330
#     smoke: 8
#     standard: 45
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Try it: two networks in your browser
#
# :::{admonition} What you will learn
# :class: learn
# How the batch, its memory, the learning rate and the data affect the noise of training, and how close a small
# network comes to the theory. You set the parameters yourself.
# :::
#
# Two networks start from the same weights and train on the same data; only their batches differ. This experiment runs
# on this page, without a server, and gives the same numbers as `sgdnoise.simulate` with the same seed.
#
# <section id="live" class="live" aria-label="Live simulation" hidden></section>
# <noscript><p>The simulation needs JavaScript; <a href="#the-same-printed">a printed one</a> is below.</p></noscript>
#
# The thin line is the simulation. The thick one is dynamical mean-field theory ({doc}`/book/dmft`) for the same
# setting, solved with few sample paths, so it has a small scatter of its own. A single pair of small networks scatters
# more about it. The theory was solved without momentum, where training settles, and for shuffled epochs at one learning
# rate of each phase; elsewhere the simulation stands alone. Earlier runs stay as faint lines, and every finished run
# adds its point to the two plots against the batch fraction. Displacement is $B(t,t_w)=|w(t)-w(t_w)|^2/2N$, which in a
# stationary state is $C(t_w,t_w)-C(t,t_w)$; response and displacement are counted from $t_w=$ {glue:text}`wait_unsat`
# (UNSAT) or {glue:text}`wait_sat` (SAT).
#
# ## Things to try
#
# - **Where the noise comes from.** Set the persistence to "none". In the UNSAT phase, move the batch fraction from one
#   end to the other, and let each run finish. The maximum of the distance appears in the plot against $b$: a full batch
#   has no noise, and a small batch exerts a weak force.
# - **What memory does.** Raise the persistence $\tau$. The batch is then remembered for a time $b\tau$, the networks
#   drift further apart, and the FDT plot bends: there is no single slope, hence no single temperature.
# - **What the learning rate does.** Without persistence the slope of the FDT plot grows with $dt$. A full batch with
#   $dt=0.4$ no longer settles, and the page says so.
# - **What momentum does.** Raise $\beta$: at fixed $dt$ the temperature grows roughly as $1/(1-\beta)$
#   ({doc}`/notebooks/momentum`).
# - **What shuffling does.** Choose shuffled epochs: every epoch splits the samples at random into $1/b$ equal batches
#   and uses each sample once. Compare with random batches of the same $b$: the two networks stay closer together
#   ({doc}`/notebooks/shuffled_epochs`).
# - **The other phase.** In SAT the loss goes to zero and both networks come to rest, in different places. The FDT plot
#   is flat: the weights still respond to a push, but they hardly fluctuate.
# - **What finite size does.** With fewer features a run strays further from the theory, which is for infinitely many;
#   new data show by how much. The points of earlier runs stay, and their scatter is the error of one pair of networks.

# %% tags=["parameters"]
profile = "standard"
seed = 0

# %% tags=["hide-input"]
# Set up.
import json

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import HTML, display

import sgdnoise as sn
from sgdnoise import plotting
from sgdnoise.report import glue, publish

plotting.use_style()
theory_size, batches, persistences, epochs = {
    "smoke": ({"paths": 210, "realisations": 2}, (0.3,), (None, 2.0), (4,)),
    "standard": (
        {"paths": 600, "realisations": 2},
        (0.1, 0.2, 0.3, 0.5, 0.7, 0.9),
        (None, 0.5, 1.0, 2.0, 4.0),
        (10, 5, 4, 2),
    ),
    "paper": (
        {"paths": 3000, "realisations": 3},
        (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9),
        (None, 0.5, 1.0, 2.0, 4.0),
        (10, 5, 4, 2),
    ),
}[profile]

# %% [markdown]
# ## Behind the page
#
# The theory of two replicas is solved on a grid of settings, and its curves are shipped inside the page.

# %% tags=["hide-input"]
# Say what the sliders offer, and which settings are solved.
phases = {
    "unsat": {
        "label": "UNSAT",
        "problem": sn.Problem(alpha=6, delta=1.0, ridge=1.0),
        "duration": 12.0,
        "wait": 6.0,
        "solved": (0.1, 0.2, 0.4) if profile != "smoke" else (0.1,),
        "rates": (0.05, 0.1, 0.2, 0.3, 0.4, 0.6),
        "rate": 0.1,
    },
    "sat": {
        "label": "SAT",
        "problem": sn.Problem(alpha=0.5, delta=0.5, ridge=0.0),
        "duration": 40.0,
        "wait": 20.0,
        "solved": (0.2, 0.4, 0.8) if profile != "smoke" else (0.2,),
        "rates": (0.1, 0.2, 0.4, 0.8),
        "rate": 0.2,
    },
}


SLIDERS = {
    "batches": [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1],
    "persistences": [None, 0.25, 0.5, 1, 2, 4, 8],
    "features": [100, 200, 300, 400],
    "momenta": [0, 0.5, 0.9],
    "epochs": [10, 5, 4, 2, 1],  # batches in a shuffled epoch
}
if profile != "smoke":  # sliders stop where the theory is solved
    SLIDERS |= {"batches": [*batches, 1], "persistences": list(persistences)}
    for about in phases.values():
        about["rates"] = about["solved"]


def algorithm(batch, persistence):
    """What the sliders stand for."""
    if batch == 1:
        return sn.GD()
    if persistence == "shuffled":
        return sn.ShuffledSGD(batch)
    return (
        sn.SGD(batch) if persistence is None else sn.PersistentSGD(batch, persistence)
    )


def allowed(batch, persistence, rate):
    """Tell whether Euler's switching probabilities are probabilities."""
    try:
        algorithm(batch, persistence).sampling(rate)
    except ValueError:
        return False
    return True


def settings_to_solve(phase, rate):
    """Batch and persistence of the points at one learning rate: where training settles.

    GD is solved at the smallest rate, and shuffled epochs at the rate that the page begins with.
    """
    found = {(b, tau): None for b in batches for tau in persistences}
    found = [(b, tau) for b, tau in found if allowed(b, tau, rate)]
    if phase == "unsat":
        found = [(b, tau) for b, tau in found if b * rate <= 0.2]
    if rate == phases[phase]["rate"]:
        found += [(1 / n, "shuffled") for n in epochs]
    return found + ([(1, None)] if rate == phases[phase]["solved"][0] else [])


# %%
def solve(phase, rate):
    """Theory of two replicas at all settings of one phase and one learning rate."""
    about = phases[phase]
    settings = settings_to_solve(phase, rate)
    fixed = {
        "problem": about["problem"],
        "learning_rate": rate,
        "duration": about["duration"],
        "replicas": 2,
    }
    fixed |= {"waiting_times": [about["wait"]]} | theory_size
    points = [{"algorithm": algorithm(*setting)} for setting in settings]
    whole = (
        sn.sweep(sn.solve_dmft, points, [seed], fixed=fixed)
        .squeeze("seed")
        .isel(waiting_time=0)
    )
    return {setting: whole.isel(point=i) for i, setting in enumerate(settings)}


theory = {
    (phase, rate): solve(phase, rate)
    for phase, about in phases.items()
    for rate in about["solved"]
}

# %% tags=["hide-input"]
# Collect the curves for the page.
first = {
    "phase": "unsat",
    "sampling": "random",
    "batch": 0.3,
    "persistence": 2.0,
    "rate": 0.1,
    "features": 300,
    "momentum": 0,
    "seed": seed,
}


def displacement(run):
    """Squared displacement since the waiting time over 2N: the mean norm then and now, less the correlation."""
    then = float(run.waiting_time)
    return (
        0.5 * (run.norm + run.norm.sel(time=then, method="nearest")) - run.correlation
    )


def curves(run):
    """Return the curves of one solution: every step at first and after the waiting time, later every fourth."""
    lags = np.arange(run.time.size) - round(
        float(run.waiting_time) / float(run.time[1])
    )
    steps = np.arange(run.time.size)
    kept = run.mean("realisation").isel(
        time=(steps <= 40) | (lags >= 0) & (lags <= 30) | (steps % 4 == 0)
    )
    later = kept.sel(time=kept.time >= float(run.waiting_time) - 1e-9)
    chosen = {name: kept[name] for name in ("distance", "loss", "magnetization")}
    chosen |= {
        "response": later.integrated_response,
        "displacement": displacement(later),
    }
    return kept.time, chosen


def digits(values):
    """Numbers as they are shipped: to four digits, and without rounding errors of zero."""
    return [float(f"{value:.4g}") for value in np.asarray(values).round(12)]


groups = []
for (phase, rate), solved in theory.items():
    points = []
    for (batch, persistence), run in solved.items():
        time, chosen = curves(run)
        setting = {"batch": batch, "persistence": persistence}
        if persistence == "shuffled":
            setting |= {"persistence": None, "sampling": "shuffled"}
        points.append(setting | {k: digits(v) for k, v in chosen.items()})
    groups.append(
        {"phase": phase, "rate": rate, "time": digits(time), "points": points}
    )

content = {
    "phases": {
        name: {
            "problem": {
                part: getattr(about["problem"], part)
                for part in sn.Problem.__match_args__
                if part != "loss"
            },
            **{
                part: about[part]
                for part in ("label", "duration", "wait", "rates", "rate")
            },
        }
        for name, about in phases.items()
    },
    **SLIDERS,
    "start": first,
    "groups": groups,
}

# %% tags=["remove-input"]
# The scripts of the page (book/live) read this and fill the element at the top, which is hidden where they do not run.
text = json.dumps(content, separators=(",", ":"), allow_nan=False).replace(
    "<", "\\u003c"
)
display(HTML(f'<script type="application/json" id="live-content">{text}</script>'))

# %% [markdown]
# ## The same, printed
#
# Runs of the library, each one data set with two networks, at two settings of each phase.

# %%
shown = {(0.3, None): "vanilla SGD", (0.3, 2.0): r"p-SGD, $\tau=2$"}


def simulate(phase):
    """Theory and one pair of networks for both settings of a phase."""
    about = phases[phase]
    fixed = {
        "problem": about["problem"],
        "learning_rate": about["rate"],
        "duration": about["duration"],
    }
    fixed |= {
        "waiting_times": [about["wait"]],
        "features": first["features"],
        "replicas": 2,
        "realisations": 1,
    }
    points = [{"algorithm": algorithm(*setting)} for setting in shown]
    runs = sn.sweep(sn.simulate, points, [seed], fixed=fixed).squeeze(
        ("seed", "realisation", "waiting_time")
    )
    solved = theory[phase, about["rate"]]
    return {
        setting: (solved[setting].mean("realisation"), runs.isel(point=i))
        for i, setting in enumerate(shown)
    }


pairs = {phase: simulate(phase) for phase in phases}

# %% tags=["hide-input"]
# Draw the figure.
figure, panels = plt.subplots(2, 3, figsize=(7.4, 4.6))
for row, (phase, about) in zip(panels, phases.items(), strict=True):
    for (setting, name), color in zip(shown.items(), plotting.SERIES, strict=False):
        looks = [
            {"color": "0.55", "linewidth": 3, "name": f"theory, {name}"},
            {"color": color, "linewidth": 1, "label": name},
        ]
        for every, look in zip(pairs[phase][setting], looks, strict=True):
            data = every.isel(time=slice(None, None, 2))  # enough for a line
            plotting.curve(row[0], data.time, data.distance, fmt="-", **look)
            plotting.curve(row[1], data.time, data.loss, fmt="-", **look)
            plotting.curve(
                row[2], data.integrated_response, displacement(data), fmt="-", **look
            )
    row[0].set(
        xlabel="time $t$", ylabel=f"{about['label']}\ndistance $d$", ylim=(0, None)
    )
    row[1].set(xlabel="time $t$", ylabel="loss per feature $L/N$", ylim=(0, None))
    # As on the page above: a temperature of 0.01 at least fills the panel, so that rest is flat.
    highest = max(row[2].get_ylim()[1], 0.01 * row[2].get_xlim()[1])
    row[2].set(
        xlabel=r"integrated response $\chi$",
        ylabel="displacement $B$",
        ylim=(0, highest),
    )
    glue(f"wait_{phase}", f"{about['wait']:g}")
    glue(f"rate_{phase}", f"{about['rate']:g}")
panels[0, 1].plot([], [], color="0.55", linewidth=3, label="theory")
panels[0, 1].legend()
publish("live", figure)
glue("features", first["features"])

# %% tags=["hide-input"]
# Read off distances and slopes.
for phase, about in phases.items():
    for (_, persistence), (solved, run) in pairs[phase].items():
        name = f"{phase}_{'vanilla' if persistence is None else 'persistent'}"
        late = [
            float(data.distance.sel(time=slice(about["wait"], None)).mean())
            for data in (run, solved)
        ]
        glue(f"distance_{name}", f"{late[0]:.3f} (theory: {late[1]:.3f})")
        end = run.isel(time=-1)
        glue(
            f"slope_{name}",
            f"{float(displacement(run)[-1] / end.integrated_response):.2g}",
        )

# %% [markdown]
# ```{glue:figure} live
# ---
# name: fig-live
# alt: >-
#   Two rows of three panels, above for data that cannot be fitted and below for data that can: distance between two
#   networks and loss against time, and displacement against response. Thin lines of simulated pairs, for vanilla and
#   for persistent SGD, over thick grey lines of the theory.
# ---
# One pair of networks with $N=$ {glue:text}`features` features (thin) and dynamical mean-field theory (thick, grey) for
# vanilla SGD and p-SGD with $\tau=2$, both with $b=0.3$. Above: UNSAT ($\alpha=6$, $\Delta=\lambda=1$, $dt=$
# {glue:text}`rate_unsat`). Below: SAT ($\alpha=\Delta=0.5$, $\lambda=0$, $dt=$ {glue:text}`rate_sat`). Left: distance
# of the two networks. Middle: loss. Right: displacement against integrated response since the waiting time.
# ```
#
# :::{admonition} What was found
# :class: found
# - A single pair of small networks is close to the theory of infinitely many features. Their mean
#   distance after the waiting time, in the UNSAT phase, is {glue:text}`distance_unsat_vanilla` for vanilla SGD and
#   {glue:text}`distance_unsat_persistent` for p-SGD.
# - Where the data can be fitted, the weights hardly fluctuate in the end: for vanilla SGD displacement over response is
#   {glue:text}`slope_sat_vanilla`, and {glue:text}`slope_unsat_vanilla` where they cannot.
# :::
