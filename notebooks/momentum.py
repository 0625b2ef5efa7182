# ---
# jupyter:
#   expected_seconds:
#     paper: 400
#     smoke: 20
#     standard: 32
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Momentum
#
# :::{admonition} What you will learn
# :class: learn
# By how much momentum raises the temperature of SGD, why the increase does not depend on inertia, and where inertia
# does matter.
# :::
#
# Momentum is used nearly everywhere in practice, but not in the paper. By a rule of thumb, momentum $\beta$ multiplies
# the learning rate by $1/(1-\beta)$, because gradients add up over the last $1/(1-\beta)$ steps.
# {cite:t}`mandt2017stochastic` read constant-rate SGD as a Markov chain with a stationary distribution, and adjust the
# damping when momentum is used to sample. {cite:t}`gerbelot2022rigorous` prove mean-field equations for a family of
# first-order methods that includes SGD and Nesterov's acceleration. Does the rule of thumb hold for the temperature, in
# theory and in simulation? And does it predict where training *lands* when the data can be separated and there is no
# temperature? We compare two families: at fixed $dt/(1-\beta)$, where by the rule of thumb nothing should change, and
# at fixed $dt$. As temperature we take the chord $T_\mathrm{int}$ of the FDT plot ({doc}`/notebooks/temperature`): half
# the squared distance of two stationary replicas over the integrated response.
#
# ```{glue:figure} momentum
# ---
# name: fig-momentum
# alt: >-
#   Three panels. Left: displacement against response for four values of momentum, lines of theory and points
#   of networks. Middle: temperature over its limit against momentum for two families, with points of theory, crosses
#   of networks, two lines of linear response and a dashed level at one. Right: distance and fraction of support vectors
#   of stopped replicas against the inertia time, relative to no momentum, for two learning rates.
# ---
# Left: FDT plots, half the squared displacement against response, whose slope is $T$, at $dt/(1-\beta)=0.1$; lines:
# mean-field theory, dots: networks. Middle: $T_\mathrm{int}$ over its limit $T_{\beta=0}/(1-\beta)$ for a vanishing
# learning rate, at $dt/(1-\beta)=0.1$ (blue) and at $dt=0.1$ (orange). Circles: theory; crosses: networks with $N=$
# {glue:}`features`, {glue:}`data-sets` data sets; lines: Eq. {eq}`eq-momentum-mode`, averaged over the modes, which
# leaves out terms of relative order $dt/(1-\beta)$ and is off from the theory by {glue:text}`off-same` per cent at
# $dt/(1-\beta)=0.1$ and by {glue:text}`off-fixed` at $dt=0.1$, for $\beta=0$, 0.5, 0.8 and 0.9. Both at $\alpha=6$,
# $\Delta=\lambda=\kappa=1$, $b=$ {glue:}`batch`. Right: vanilla SGD with $b=$ {glue:}`batch` on separable data;
# distance $d_0$ of two stopped replicas and fraction $c_0$ of samples within the margin, relative to those without
# momentum; networks with $N=$ {glue:}`stop-features`, {glue:}`stop-data-sets` data sets; circles are moved to the right
# a little. Bars: two standard errors.
# ```
#
# Finite size: from networks with $N=$ {glue:}`half` to those of the middle panel $T_\mathrm{int}$ changes by
# {glue:text}`shift` per cent, in the mean over all crosses; if the shift falls as $1/N$, as much is left. (The data of
# the figure have both sizes.)
#
# ## The temperature does not depend on inertia
#
# Written without the velocity, the rule is
#
# $$
# w(t+dt) - w(t) = \beta\,[w(t) - w(t-dt)] - dt\,\nabla L(t),
# $$ (eq-momentum-rule)
#
# with $\nabla L$ the gradient of the batch, including the ridge. We expand it for slow weights and measure time in
# units in which the weights move as they would without momentum, $t/(1-\beta)$. The result is Newton's equation with
# friction,
#
# $$
# t_\beta\,\ddot w + \dot w = -\nabla L,\qquad t_\beta = \frac{\beta\,dt}{(1-\beta)^2} ,
# $$ (eq-momentum-inertia)
#
# driven by noise of variance $\sigma^2$ in each step of length $dt/(1-\beta)$. This is Langevin's equation at
# temperature $\sigma^2dt/2(1-\beta)$. In equilibrium the distribution of positions does not depend on the mass, so the
# *inertia time* $t_\beta$ drops out of $T$, even if it is so long that modes oscillate. The left panel shows both
# effects. The plots with momentum coincide; the one without is steeper, by the correction below. At $\beta=0.9$ the
# response overshoots and returns on a narrow loop, because stiff modes feel a stronger noise and are hotter than soft
# ones.
#
# At a finite learning rate a mode of stiffness $a$ can be solved exactly. Let $x$ be its weight and $u$ its velocity.
# In the stationary state a step leaves $\langle x^2\rangle$, $\langle xu\rangle$ and $\langle u^2\rangle$ unchanged.
# The first two conditions give $a\langle x^2\rangle=\frac12(1+\beta)\,dt\,\langle u^2\rangle$, the third gives
# $\langle u^2\rangle$, and it follows that
#
# $$
# T_a = a\,\langle x^2\rangle = \frac{dt\,\sigma^2}{(1-\beta)\,[\,2-dt\,a/(1+\beta)\,]} .
# $$ (eq-momentum-mode)
#
# `sn.linear_response` averages this over the spectrum and includes the contribution of the fluctuating weights to
# $\sigma^2$. The correction is that of a learning rate smaller by a factor $1+\beta$; at fixed $dt/(1-\beta)$ momentum
# nearly removes it. At $dt/(1-\beta)=0.1$ the formula exceeds its limit by {glue:text}`uncorrected` per cent without
# momentum and by {glue:text}`corrected` per cent at $\beta=0.9$. One effect of the discrete step remains for any $a$:
# the first step of the FDT plot has the slope $\frac12dt\,\langle u^2\rangle=T_a/(1+\beta)$, so a temperature should
# not be read off there.
#
# At fixed $dt$ the rule of thumb fails in the other direction. At $\beta=0.9$ the effective learning rate is one, the
# fluctuations are strong enough to increase the noise itself, and theory gives {glue:text}`fixed-theory` times the
# limit (linear response: {glue:text}`fixed-closed-9`); at $\beta=0.95$ networks give {glue:text}`fixed-network` (linear
# response: {glue:text}`fixed-closed`).
#
# ## Where training lands
#
# On separable data there is no stationary state, and the landing point may depend on inertia. At $dt/(1-\beta)=0.2$ and
# $\beta=0.9$ two replicas stop {glue:text}`farther` times as far apart as without momentum, with {glue:text}`fewer` per
# cent of the support vectors. A likely reason is that weights with inertia overshoot the border of the solutions
# instead of approaching it slowly.
#
# As long as the noise is weak, distances are proportional to it, and by Eq. {eq}`eq-momentum-inertia` the factor can
# depend only on $t_\beta$. The second learning rate tests that: at a quarter of $dt/(1-\beta)$ and with $\beta=$
# {glue:text}`slow-momentum`, which has the same $t_\beta$, the factor is {glue:text}`same-inertia`. The support vectors
# do not follow this rule: there {glue:text}`fewer-slow` per cent of them remain. At the same $\beta$ a smaller learning
# rate has less inertia, and momentum then changes less. (The largest loss per feature at any of the stops is
# {glue:text}`energy`.)
#
# ## What this means in practice
#
# When you change the momentum, keep $dt/(1-\beta)$ fixed. The stationary temperature and the speed then stay the same,
# and the correction for a finite step becomes smaller. The inertia time $\beta\,dt/(1-\beta)^2$ does change. If it
# exceeds the relaxation time of the loss at learning rate $dt/(1-\beta)$, the network overshoots. On data that it can
# fit it then ends farther from another run, with fewer samples at the margin.
#
# ## What about schedules?
#
# A learning rate that changes in time is not part of the library. It would need three changes. The update rule holds
# one learning rate for a run and would have to know the step. Recorded times and waiting times are multiples of $dt$
# and would become sums over steps. In the mean-field equations every factor $dt$ would become that of its own step. The
# sampling processes stay as they are, except that the switching probabilities of p-SGD contain $dt$. There is no
# stationary state then, and linear response applies only to a schedule that is slow compared with the relaxation of the
# weights.
#
# :::{admonition} What was found
# :class: found
# - At fixed $dt/(1-\beta)$ the theory follows the closed form up to $\beta=0.9$; the largest of four differences is
#   {glue:text}`misfit` per cent.
# - On separable data momentum does more than raise the learning rate: at $\beta=0.9$ two replicas stop
#   {glue:text}`farther` times as far apart.
# - At the same inertia time and a quarter of the effective learning rate this factor is {glue:text}`same-inertia`.
# :::
#
# ## How it was made
#
# `sn.SGD(batch, momentum=...)` follows PyTorch's rule: the velocity becomes $\beta$ times itself plus the gradient, and
# the weights move by $-dt$ times the velocity. On separable data we choose the momenta so that both learning rates have
# the same inertia time. Try your own values, for example `make notebook NAME=momentum ARGS="-p momenta 0.3,0.6 -p rate
# 0.05"`.

# %% tags=["parameters"]
profile = "standard"
seed = 0
alpha = 6.0
delta = 1.0
ridge = 1.0
batch = 0.3
rate = 0.1  # effective learning rate dt/(1-momentum) of one family, dt of the other
momenta = [0.0, 0.5, 0.8, 0.9]
network_momenta = [0.0, 0.5, 0.8, 0.9, 0.95]
sat_alpha = 0.5
sat_delta = 0.5
sat_rates = [0.05, 0.2]  # effective ones
inertia_times = [0.0, 0.2, 0.8, 1.8]

# %% tags=["hide-input"]
# Set up.
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import sgdnoise as sn
from sgdnoise import plotting
from sgdnoise.estimates import Estimate, finite_size
from sgdnoise.report import claim, glue, publish

plotting.use_style()
size = {
    "smoke": {
        "theory": {"paths": 250, "realisations": 3},
        "networks": {"features": 64, "realisations": 4},
        "separable": {"features": 200, "realisations": 6},
    },
    "standard": {
        "theory": {"paths": 600, "realisations": 12},
        "networks": {"features": 200, "realisations": 12},
        "separable": {"features": 300, "realisations": 40},
    },
    "paper": {
        "theory": {"paths": 5000, "realisations": 10},
        "networks": {"features": 600, "realisations": 24},
        "separable": {"features": 1000, "realisations": 60},
    },
}[profile]
# Every sweep has one worker: short runs use all cores themselves.


def quote(value, error):
    """A number with its error, to be quoted in the text."""
    digits = max(0, 1 - int(np.floor(np.log10(error))))
    return f"{value:.{digits}f} ± {error:.{digits}f}"


# %%
problem = sn.Problem(alpha=alpha, delta=delta, ridge=ridge)
# The learning rate is `rate` times this power of one less the momentum.
families = {"fixed $dt/(1-\\beta)$": 1, "fixed $dt$": 0}


def stationary(engine, problem, batch, momentum, rate, seed, **options):
    """A run long enough for slow modes to relax and for momentum to be forgotten."""
    steps = round(max(8 * (1 - momentum) / rate, 20 / (1 - momentum)))
    waits = [rate * round(part * steps) for part in (0.36, 0.38, 0.4)]
    sgd = sn.SGD(batch, momentum=momentum)
    run = engine(
        problem,
        sgd,
        rate,
        steps * rate,
        replicas=2,
        waiting_times=waits,
        seed=seed,
        **options,
    )
    curve = sn.fdt_curve(run).mean("waiting_time").isel(lag=slice(round(0.6 * steps)))
    whole = curve.integrated_response.isel(lag=slice(round(0.45 * steps), None))
    distance = run.distance.isel(time=slice(round(0.6 * steps), None))
    return xr.Dataset(
        {
            "temperature": 0.5 * (distance**2).mean("time") / whole.mean("lag"),
            "displacement": (curve.displacement + 0.5 * curve.drift).drop_vars("lag"),
            "response": curve.integrated_response.drop_vars("lag"),
        }
    )


def solve(engine, betas, **options):
    """One family after the other, stored or computed now."""
    return {
        (name, beta): sn.sweep(
            stationary,
            [{"momentum": beta, "rate": rate * (1 - beta) ** power}],
            [seed],
            fixed={"engine": engine, "problem": problem, "batch": batch} | options,
            workers=1,
        ).squeeze(("point", "seed"))
        for name, power in families.items()
        for beta in betas
    }


theory = solve(sn.solve_dmft, momenta, **size["theory"])
half = size["networks"] | {"features": size["networks"]["features"] // 2}
networks, smaller = (
    solve(sn.simulate, network_momenta, **features, probes=4, loss_every=1000)
    for features in (size["networks"], half)
)

# %%
separable = sn.Problem(alpha=sat_alpha, delta=sat_delta, ridge=0.0)


def landing(problem, batch, effective, inertia, seed, **options):
    """Distance, samples within the margin and energy when both replicas have stopped."""
    momentum = inertia / (inertia + effective)
    rate = effective * (1 - momentum)
    run = sn.simulate(
        problem,
        sn.SGD(batch, momentum=momentum),
        rate,
        rate * round(1000 / effective),
        replicas=2,
        stop_gradient=1e-10,
        record_every=10_000,
        seed=seed,
        **options,
    )
    return run[["distance", "unsatisfied", "loss"]].isel(time=-1, drop=True)


grid = {"effective": sat_rates, "inertia": inertia_times}
fixed = {"problem": separable, "batch": batch} | size["separable"]
landed = sn.sweep(landing, grid, [seed], fixed=fixed, workers=1).squeeze("seed")

# %% tags=["hide-input"]
# Draw the figure.
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(7.4, 3.4))
same = next(iter(families))
for beta, color in plotting.ordered(momenta).items():
    run = theory[same, beta].mean("realisation")
    line = plotting.curve(
        left,
        run.response,
        run.displacement,
        fmt="-",
        color=color,
        label=rf"$\beta={beta:g}$",
    )
    if beta not in network_momenta:
        continue
    run = networks[same, beta]
    steps = run.sizes["lag"]
    some = run.isel(lag=np.unique(np.geomspace(2, steps - 1, 7).astype(int)))
    x, x_error = plotting.mean_and_error(some.response)
    y, y_error = plotting.mean_and_error(some.displacement)
    look = {"fmt": "o", "color": color, "markersize": 2.5, "elinewidth": 0.7}
    name = rf"networks, $\beta={beta:g}$"
    plotting.curve(left, x, y, y_error, x_error, name=name, **look)
left.set(xlabel=r"response $\chi(t,t_w)$", ylabel=r"displacement $B(t,t_w)$")
left.legend(loc="upper left", handlelength=1.2, borderaxespad=0)

static = sn.solve_statics(problem, sn.SGD(batch))
limit = static.temperature_slope / (1 + static.susceptibility)
fine = np.linspace(0, 0.96, 40)
closed, points = {}, {}
for (name, power), color in zip(families.items(), plotting.SERIES, strict=False):

    def unit(beta, power=power):
        """What T_int is for a vanishing learning rate."""
        return rate * limit * (1 - beta) ** (power - 1)

    def weak(beta, power=power):
        """T_int of linear response."""
        sgd, step = sn.SGD(batch, momentum=beta), rate * (1 - beta) ** power
        return sn.linear_response(problem, sgd, step, step).integrated_temperature

    closed[name] = {beta: weak(beta) for beta in {*momenta, *network_momenta}}
    look = {"color": color, "linewidth": 1, "name": f"{name}, linear response"}
    levels = [weak(beta) / unit(beta) for beta in fine]
    line = plotting.curve(middle, fine, levels, fmt="-", **look)
    plotting.label(line, name, at=30, offset=(-5, 4) if power == 0 else (0, -16))
    for found, fmt, which in (
        (theory, "o", "theory"),
        (networks, "x", "networks"),
        (smaller, "x", f"networks, $N={half['features']}$"),
    ):
        betas = [beta for family, beta in found if family == name]
        values = [
            plotting.mean_and_error(found[name, beta].temperature / unit(beta))
            for beta in betas
        ]
        values, errors = np.array(values, dtype=float).T
        points[name, which] = dict(
            zip(betas, zip(values, errors, strict=True), strict=True)
        )
        look = {"fmt": fmt, "color": color, "name": f"{name}, {which}"}
        look |= {"markersize": 4.5, "elinewidth": 0.7, "visible": found is not smaller}
        plotting.curve(middle, betas, values, errors, **look)
plotting.curve(
    middle,
    None,
    1.0,
    fmt="--",
    color="0.4",
    linewidth=1,
    name=r"$T_{\beta=0}/(1-\beta)$",
)
middle.set(
    xlabel=r"momentum $\beta$",
    ylabel=r"$T_\mathrm{int}$ over its limit",
    ylim=(0.7, None),
)

start = landed.isel(inertia=0)
looks = zip(("pink", "green", "orange", "sky"), "soDv", strict=True)
for i, (effective, (color, marker)) in enumerate(zip(sat_rates, looks, strict=False)):
    for name, fill, line in (("distance", "full", "-"), ("unsatisfied", "none", ":")):
        ratio = (landed[name] / start[name]).sel(effective=effective)
        mean, error = plotting.mean_and_error(ratio)
        symbol = "d_0" if name == "distance" else "c_0"
        look = {"color": plotting.COLORS[color], "fillstyle": fill, "linewidth": 0.8}
        label = f"${symbol}$, {effective:g}"
        x = np.array(inertia_times) + 0.03 * i
        plotting.curve(right, x, mean, error, fmt=marker + line, label=label, **look)
right.set(
    xlabel=r"inertia time $\beta\,dt/(1-\beta)^2$",
    ylabel=r"relative to $\beta=0$",
    ylim=(0.6, None),
)
right.set_xticks([0, 0.5, 1, 1.5])
right.legend(title=r"at $dt/(1-\beta)=$", handlelength=1.6)
publish("momentum", figure)
glue("batch", f"{batch:g}")
glue("features", size["networks"]["features"])
glue("data-sets", size["networks"]["realisations"])
glue("stop-features", size["separable"]["features"])
glue("stop-data-sets", size["separable"]["realisations"])

# %% tags=["hide-input", "claims"]
# Test the claims.
ratios = {}
for beta in momenta:
    ratio = theory[same, beta].temperature / closed[same][beta]
    ratios[rf"$\beta={beta:g}$"] = Estimate.mean(ratio)
table = ", ".join(f"{ratio:.3f}" for ratio in ratios.values())
claim(
    "momentum-temperature",
    rf"theory over closed form {table} at $\beta=0$, 0.5, 0.8, 0.9",
    ratios,
)
ends = [[run.temperature for run in found.values()] for found in (networks, smaller)]
glue("half", half["features"])
glue("shift", f"{100 * finite_size(*ends):+.1f}")
# How far off linear response is.
for word, name in zip(("same", "fixed"), families, strict=True):
    off = []
    for beta in momenta:
        found = Estimate.mean(theory[name, beta].temperature)
        over = 100 * (Estimate(closed[name][beta], 0.0) / found - 1.0)
        off.append(f"{over:+.1f}")
    glue(f"off-{word}", ", ".join(off))
glue("uncorrected", f"{100 * (closed[same][0.0] / (rate * limit) - 1):.0f}")
glue("corrected", f"{100 * (closed[same][0.9] / (rate * limit) - 1):.0f}")
misfits = [100 * (ratio.value - 1) for ratio in ratios.values()]
glue("misfit", f"{max(misfits, key=abs):+.1f}")
last = list(families)[1]
glue("fixed-network", quote(*points[last, "networks"][0.95]))
glue("fixed-closed", f"{closed[last][0.95] / (0.1 / 0.05 * limit):.2f}")
glue("fixed-theory", quote(*points[last, "theory"][0.9]))
glue("fixed-closed-9", f"{closed[last][0.9] / (0.1 / 0.1 * limit):.2f}")

logs = np.log(landed / landed.sel(inertia=0.0)).sel(inertia=inertia_times[-1])


def change(name, effective):
    """Logarithm of what inertia multiplies an observable by, on the same data sets."""
    return Estimate.mean(logs[name].sel(effective=effective))


def factor(log, scale=1.0):
    """What an observable is multiplied by, given the logarithm."""
    return scale * np.exp(log.value) * Estimate(1.0, log.error, log.freedom)


distance, support = change("distance", 0.2), change("unsatisfied", 0.2)
glue("farther", factor(distance))
glue("fewer", factor(support, 100))
claim(
    "momentum-moves-the-landing",
    rf"at $\beta=0.9$ the distance is multiplied by {factor(distance)} and "
    rf"the fraction of support vectors by {factor(support)}",
    distance,
    support,
)
slower = change("distance", 0.05)
glue("same-inertia", factor(slower))
glue("fewer-slow", factor(change("unsatisfied", 0.05), 100))
slow = inertia_times[-1] / (inertia_times[-1] + sat_rates[0])
glue("slow-momentum", f"{slow:.3f}")
claim(
    "inertia-decides-the-landing",
    rf"at inertia time {inertia_times[-1]:g} the distance is multiplied by "
    rf"{factor(distance)} at $dt/(1-\beta)=0.2$ and by "
    rf"{factor(slower)} at 0.05",
    distance - slower,
)
glue("energy", f"{float(landed.loss.max()):.0e}")
