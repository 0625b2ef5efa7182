# ---
# jupyter:
#   expected_seconds:
#     paper: 100
#     smoke: 12
#     standard: 20
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Where a plateau exists
#
# :::{admonition} What you will learn
# :class: learn
# When the slope of the FDT plot of persistent SGD has a limit at infinite lag, what a run can see of that limit, and
# which temperature exists in any case.
# :::
#
# The paper reads the temperature of p-SGD off the end of the FDT plot, where it expects a straight part. With p-SGD the
# force on a mode is remembered for a time $1/\gamma = b\tau$. In linear response the slope of a mode of stiffness $a$
# at lag $t$ is, for small $dt$,
#
# $$
# T(t) = \sigma^2(a)\,\frac{\gamma}{\gamma^2-a^2}\,\big(1-e^{-(\gamma-a)t}\big) ,
# $$ (eq-plateau)
#
# zero at short lag, as in the paper. It has a limit only if $\gamma > a$. If the batch is remembered for longer than
# the mode takes to relax, the weights just follow the batch: they respond quickly and fluctuate slowly, and the
# quotient of the two grows as long as one looks.
#
# For the whole system what counts is what decays last. Linear response leaves out terms of relative order
# $b\tau\Delta$, which change that rate; we measure it in the mean-field theory of the stationary state. A spectrum
# with a soft edge makes the response decay as
#
# $$
# R(t) \simeq A\,(t+t_0)^{-3/2}\,e^{-a t} ,
# $$ (eq-decay)
#
# which fits it over many decades; $a$ is the rate that a plateau has to wait for. The batch itself forgets at the rate
# $\gamma=-\ln(1-dt/b\tau)/dt$ exactly. The correlation decays with the slower of the two in the end.

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
border_batches = [
    0.1,
    0.2,
    0.3,
    0.5,
    0.8,
]  # batch fractions at which we look for the border

# %% tags=["hide-input"]
# Set up.
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Markdown, display

import sgdnoise as sn
from sgdnoise import plotting
from sgdnoise.decay import (
    correlation_decay,
    forgetting_rate,
    mode_decay,
    response_decay,
)
from sgdnoise.estimates import Estimate
from sgdnoise.report import glue, publish

plotting.use_style()
# The runs of the page on Fig. 2, which are computed once.
theory_size, border_size, rate = {
    "smoke": (
        {"paths": 256, "realisations": 3},
        {"paths": 256, "realisations": 3},
        0.1,
    ),
    "standard": (
        {"paths": 800, "realisations": 12},
        {"paths": 1200, "realisations": 6},
        0.05,
    ),
    "paper": (
        {"paths": 12_000, "realisations": 12},
        {"paths": 12_000, "realisations": 10},
        0.05,
    ),
}[profile]
problem = sn.Problem(alpha=alpha, delta=delta, ridge=ridge)
by_tau = {
    tau: sn.PersistentSGD(batch=fixed_batch, persistence=tau) for tau in persistences
}
by_batch = {
    b: sn.PersistentSGD(batch=b, persistence=fixed_persistence) for b in batches
}


def memory(algorithm):
    """How long the batch is remembered."""
    return algorithm.batch * algorithm.persistence


def solve(algorithm, **size):
    """Mean-field theory of the stationary state, stored or computed now."""
    point = [{"algorithm": algorithm, "problem": problem, "learning_rate": rate}]
    longest = float(np.ceil(max(12.0, 12 * memory(algorithm))))
    options = {"duration": longest, "memories": 12.0} | size
    found = sn.sweep(sn.solve_stationary, point, [seed], fixed=options)
    return found.squeeze(("point", "seed"))


def softest(batch):
    """Stiffness of the softest mode, the decay rate in linear response."""
    return sn.hessian_spectrum(problem, sn.SGD(batch=batch)).softest


def per_step(stiffness):
    """The same as a rate of steps of finite length."""
    return -np.log(1 - rate * np.asarray(stiffness)) / rate


# %%
theory, linear = {}, {}
for algorithm in [*by_tau.values(), *by_batch.values()]:
    theory[algorithm] = solve(algorithm, **theory_size)
    linear[algorithm] = sn.linear_response(problem, algorithm, rate, duration=60.0)
decays = {a: response_decay(run, start=2.0) for a, run in theory.items()}
# The correlation, from two to four times the longer of b tau and 1/a.
spans = {a: max(memory(a), 1 / decays[a].value) * np.array([2, 4]) for a in theory}
fades = {a: correlation_decay(run, *spans[a]) for a, run in theory.items()}
tails = {}
for algorithm, run in theory.items():
    choices = {"method": "tail", "points": 10, "lags": (0.0, 4.0)}
    try:
        tails[algorithm] = sn.effective_temperature(run, **choices)
    except sn.NoPlateauError as refusal:
        tails[algorithm] = refusal.estimate

# %% [markdown]
# The border is where $a=\gamma$. Since $a$ changes little with $\tau$, one solution of the theory close to the border
# is enough for each $b$; the change, $da/d\ln\tau$, we take from the persistence times next to the border.

# %%
close = sorted(
    by_tau, key=lambda tau: abs(np.log(tau * fixed_batch * softest(fixed_batch)))
)
change = 0.0
if len(close) > 1:
    change = decays[by_tau[close[0]]].value - decays[by_tau[close[1]]].value
    change /= np.log(close[0] / close[1])
border = {}
for b in border_batches:
    start = 1.1 / (b * softest(b))  # near the border
    near = sn.PersistentSGD(batch=b, persistence=float(f"{start:.1g}"))
    run = solve(near, **border_size)
    a, later = response_decay(run, start=2.0), response_decay(run, start=3.0)
    tau = near.persistence
    for _ in range(30):
        here = a.value + change * np.log(tau / near.persistence)
        tau = rate / b / (1 - np.exp(-rate * here))
    moved = tau * np.log(tau / near.persistence) * change / (2 * here)
    # With what another window of the fit and the extrapolation in tau change.
    error = tau / (here + change) * np.hypot(a.error, later.value - a.value)
    border[b] = Estimate(tau, float(np.hypot(error, moved)), a.freedom)

# %% tags=["hide-input"]
# Write the table of the border.
rows = [
    r"| batch fraction $b$ | border in $\tau$ | in linear response |",
    "|---|---|---|",
]
rows += [f"| {b:g} | {tau} | {1 / (b * softest(b)):.3f} |" for b, tau in border.items()]
display(Markdown("\n".join(rows)))

# %% tags=["hide-input"]
# Draw the figure.
figure, ((left, upper), (lower, right)) = plt.subplots(2, 2, figsize=(7.2, 6.0))
lags = np.arange(0.1, 3.01, 0.2)
blue, red = plotting.COLORS["blue"], plotting.COLORS["red"]
off_slope = []
for tau, algorithm in by_tau.items():
    color = plotting.ordered(by_tau)[tau]
    local = sn.local_temperature(theory[algorithm], lags=lags, window=2)
    good = (local.error < 0.3 * local.slope).values
    sure = np.logical_and.accumulate(good)  # up to the first that is not
    values = (x[sure] for x in (local.lag, local.slope, local.error))
    plotting.curve(left, *values, fmt="o", color=color, name=rf"theory, $\tau={tau:g}$")
    line = sn.local_temperature(linear[algorithm], lags=lags)
    off_slope += list((line.slope.values / local.slope.values - 1)[sure])
    look = {"linewidth": 1, "name": rf"linear response, $\tau={tau:g}$"}
    drawn = plotting.curve(left, line.lag, line.slope, fmt="-", color=color, **look)
    end = int(np.flatnonzero(line.slope.values < 9)[-1])
    aside = (-6, 4) if tau == max(by_tau) else (4, -2)
    plotting.label(drawn, rf"$\tau={tau:g}$", at=end, offset=aside)
left.set(xlabel="lag $t-t_w$", ylabel="slope at this lag", yscale="log")
left.set(ylim=(0.01, 12), xlim=(0, 3.5))
plotting.plain_ticks(left.yaxis, [0.01, 0.1, 1, 10])
for axes, family, fine in (
    (upper, by_tau, np.geomspace(0.4, 9, 40)),
    (lower, by_batch, np.geomspace(0.08, 1.0, 20)),
):
    part = np.full(fine.shape, fixed_batch) if family is by_tau else fine
    persistence = fine if family is by_tau else fixed_persistence
    batch_rate = per_step(1 / (part * persistence))
    look = {"linewidth": 1.2, "fmt": "k-", "label": r"batch, $\gamma$"}
    plotting.curve(axes, fine, batch_rate, **look)
    soft = per_step([softest(b) for b in part]) if family is by_batch else None
    if soft is None:
        soft = np.full(fine.shape, per_step(softest(fixed_batch)))
    look = {"linewidth": 1.2, "fmt": "k:", "label": "response, linear"}
    plotting.curve(axes, fine, soft, **look)
    values = np.array([(decays[a].value, decays[a].error) for a in family.values()])
    look = {"fmt": "o", "color": blue, "markersize": 4.5, "label": "response, $a$"}
    plotting.curve(axes, list(family), *values.T, **look)
    values = np.array([(fades[a].value, fades[a].error) for a in family.values()])
    sure = values[:, 1] < 0.3 * values[:, 0]
    look = {"fmt": "s", "color": red, "fillstyle": "none", "markersize": 5.5}
    look |= {"label": "correlation"}
    plotting.curve(axes, np.array(list(family))[sure], *values[sure].T, **look)
    axes.set(ylabel="rate", xscale="log", ylim=(0, 3.5))
    plotting.plain_ticks(axes.xaxis, [x for x in family if x != 0.99])
upper.set(xlabel=rf"persistence $\tau$, $b={fixed_batch:g}$")
lower.set(xlabel=rf"batch fraction $b$, $\tau={fixed_persistence:g}$")
upper.legend(loc="upper right")
fine = np.linspace(0.05, 0.99, 40)
look = {"fmt": "k:", "linewidth": 1.2, "name": "border in linear response"}
plotting.curve(right, fine, [1 / (b * softest(b)) for b in fine], **look)
values = np.array([(e.value, e.error) for e in border.values()]).T
look = {"fmt": "D-", "color": red, "linewidth": 1, "name": "border"}
look["markersize"] = 3.5
plotting.curve(right, list(border), *values, **look)
look = {"fmt": "k--", "linewidth": 1, "name": r"$b\tau=1/\lambda$"}
plotting.curve(right, fine, 1 / (fine * ridge), **look)
right.fill_between(list(border), 0.1, values[0], color="0.9")
for algorithm, tail in tails.items():
    fill = "full" if tail.established else "none" if tail.refuted else "left"
    name = {"full": "excluded", "none": "shown", "left": "not decided"}[fill]
    look = {"fmt": "o", "color": blue, "fillstyle": fill, "zorder": 4}
    look |= {"markersize": 8, "name": f"change of the slope {name}"}
    plotting.curve(right, algorithm.batch, algorithm.persistence, **look)
right.text(0.36, 0.37, "limit at infinite lag", fontsize=9)
right.text(0.62, 5, "no limit", fontsize=9)
right.text(0.13, 11, r"$b\tau=1/\lambda$", fontsize=9)
right.set(xlabel="batch fraction $b$", ylabel=r"persistence $\tau$")
right.set(yscale="log", ylim=(0.3, 20), xlim=(0, 1.02))
plotting.plain_ticks(right.yaxis, [0.5, 1, 2, 4, 8, 16])
publish("persistent", figure)

# %% tags=["hide-input"]
# Draw the chord and the initial slope.
figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 2.9))
fine = np.geomspace(min(by_tau) / 2, 1.25 * max(by_tau), 25)
chords = {
    a: Estimate.of(sn.effective_temperature(r, "chord")) for a, r in theory.items()
}
for axes, name in ((left, "integrated_temperature"), (right, "initial_temperature")):
    slow = [sn.PersistentSGD(batch=fixed_batch, persistence=tau) for tau in fine]
    lines = [sn.linear_response(problem, a, rate, rate).attrs[name] for a in slow]
    plotting.curve(axes, fine, lines, fmt="k-", linewidth=1, label="linear response")
initial = {}
for tau, algorithm in by_tau.items():
    look = {"fmt": "o", "color": blue, "markersize": 4.5, "name": "mean-field theory"}
    chord = chords[algorithm]
    plotting.curve(left, tau, chord.value, chord.error, **look)
    first = sn.local_temperature(theory[algorithm], lags=(rate / 2,))
    plotting.curve(right, [tau], first.slope, first.error, **look)
    initial[tau] = float(first.slope[0])
for axes, name in ((left, r"chord $T_\mathrm{int}$"), (right, "initial slope")):
    axes.set(xlabel=rf"persistence $\tau$, $b={fixed_batch:g}$", ylabel=name)
    axes.set(xscale="log", ylim=(0, None))
    plotting.plain_ticks(axes.xaxis, list(by_tau))
left.legend(loc="lower right")
publish("chord", figure)

# %% tags=["hide-input", "claims"]
# Quote numbers.


def spread(values):
    """The smallest and the largest, in per cent."""
    return f"{100 * min(values):+.0f} to {100 * max(values):+.0f}"


glue("rate", rate)
glue("tau-limit", f"{1 / (0.3 * softest(0.3)):.2f}")
glue("tau-border", f"{border[0.3]:.2f}")
glue("steepest", f"{2 / rate - ridge:.0f}")
glue("rate-linear", f"{float(per_step(softest(0.3))):.2f}")
middle = by_tau[2.0]
glue("rate-middle", decays[middle])
for name, first in (("early", 1.0), ("later", 3.0)):
    glue(f"rate-{name}", response_decay(theory[middle], start=first))
moves = [
    (response_decay(run, start=3.0).value - decays[a].value) / decays[a].error
    for a, run in theory.items()
]
glue("rate-moves", f"{np.abs(moves).max():.1f}")
glue("rate-batch", f"{forgetting_rate(middle, rate):.3f}")
glue("rate-gap", Estimate(forgetting_rate(middle, rate), 0.0) - decays[middle])
shift = [border[b].value * b * softest(b) - 1 for b in border]
glue("border-shift", f"{100 * min(shift):.0f} to {100 * max(shift):.0f}")
alone = {
    a: mode_decay(decays[a].value, forgetting_rate(a, rate), *spans[a]) for a in theory
}
for name, tau in (("four", 4.0), ("eight", 8.0)):
    glue(f"fade-{name}", fades[by_tau[tau]])
    glue(f"fade-{name}-mode", f"{alone[by_tau[tau]]:.2f}")
    glue(f"forget-{name}", f"{forgetting_rate(by_tau[tau], rate):.2f}")
scores = {a: (fades[a].value - alone[a]) / fades[a].error for a in theory}
slow = [a for a in theory if forgetting_rate(a, rate) < decays[a].value]
glue("fade-count", len(slow))
glue("fade-worst", f"{max(abs(scores[a]) for a in slow):.1f}")
# Below the border: how much faster it decays than the softest mode alone.
quick = [a for a in theory if a not in slow]
faster = sorted(
    (100 * (fades[a] / alone[a] - 1.0) for a in quick), key=lambda e: e.value
)
glue("fade-below", " to ".join(f"{end:+.0f}" for end in (faster[0], faster[-1])))


def linear_excess(algorithm, times=1):
    """The same in linear response, at so many times the lags."""
    lags = times * spans[algorithm]
    rates = per_step(softest(algorithm.batch)), forgetting_rate(algorithm, rate)
    found = correlation_decay(linear[algorithm], *lags).value
    return found / mode_decay(*rates, *lags) - 1


# Those below the border of linear response too.
inside = [a for a in quick if forgetting_rate(a, rate) > per_step(softest(a.batch))]
glue("fade-linear", spread([linear_excess(a) for a in inside]))
glue("fade-linear-later", spread([linear_excess(a, times=3) for a in inside]))
left = []
for a in inside:
    C = linear[a].correlation[0, 0] - linear[a].correlation[0, 0, -1]
    left.append(float(C.sel(time=3 * spans[a][1], method="nearest") / C[0]))
glue("fade-left", f"{max(left):.0e}")
bounds = []
for run in theory.values():
    R = run.response.values[:, 0, 2:]  # the first is 1 by definition
    bounds.append((R / (1 - rate * ridge) ** np.arange(1, R.shape[1] + 1)).max())
glue("bound-worst", f"{max(bounds):.3f}")
glue("linear-off-slope", spread(off_slope))
rates = [per_step(softest(a.batch)) / e.value - 1 for a, e in decays.items()]
glue("linear-off-rate", spread(rates))
whole = [linear[a].integrated_temperature / chords[a].value for a in by_tau.values()]
glue("linear-off-chord", spread([ratio - 1 for ratio in whole]))
starts = [linear[by_tau[t]].initial_temperature / s - 1 for t, s in initial.items()]
glue("linear-off-initial", spread(starts))
for name, tau in (("short", 0.5), ("long", 8.0)):
    glue(f"chord-{name}", chords[by_tau[tau]])

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
# p-SGD with $\alpha=8$, $\Delta=\lambda=\kappa=1$, $dt=$ {glue:}`rate`. Upper left: slope of the FDT curve at each lag,
# $b=0.3$. Points: mean-field theory with two standard errors, up to the first lag at which the slope is not known to
# 30 per cent. Lines: linear response, off from the points by {glue:text}`linear-off-slope` per cent. Upper right and
# lower left: rates at which the response decays, fitted by {eq}`eq-decay` from lag 2 to where it is $10^{-9}$, and the
# correlation, between two and four times the longer of $b\tau$ and $1/a$, with two standard errors; the rate at which
# the batch forgets (full line); the rate of the response in linear response (dotted), off by
# {glue:text}`linear-off-rate` per cent. Lower right: where $a=\gamma$ in mean-field theory (diamonds with two standard
# errors; grey: the slope has a limit at infinite lag) and in linear response (dotted). Above the dashed line
# $b\tau=1/\lambda$ it can have none if the correlation keeps a part that decays with the batch. Circles: the choices of
# the paper's second figure; a change of the slope beyond 30 per cent from half the lag on is shown by the data (open),
# excluded (full), or neither (half).
# ```
#
# **Formally, at infinite lag.** At $b=0.3$ and $\tau=2$ the response decays at the rate {glue:text}`rate-middle` if the
# fit begins at lag 2, {glue:text}`rate-early` if at lag 1 and {glue:text}`rate-later` if at lag 3. (Over all ten
# choices a start at lag 3 moves it by at most {glue:text}`rate-moves` standard errors.) Linear response gives
# {glue:text}`rate-linear`; the batch forgets at {glue:text}`rate-batch`. The border, which linear response puts at
# $\tau=$ {glue:text}`tau-limit`, is at $\tau=$ {glue:text}`tau-border`. The error includes what the window of the fit
# changes; it presupposes the form {eq}`eq-decay`, with its power $-3/2$, which we take from linear response. The
# paper's $\tau=2$ lies at the border: the rates differ by {glue:text}`rate-gap`. Over the batch
# fractions of the table above the border lies {glue:text}`border-shift` per cent above that of linear response.
#
# Far above the border there is an argument that needs no fit. The Hessian of every batch is at least $\lambda$.
# Therefore $R(n\,dt+dt)\le(1-\lambda dt)^n$ as long as no eigenvalue exceeds $2/dt-\lambda=$ {glue:text}`steepest`;
# the largest ratio of the two sides in our ten solutions is {glue:text}`bound-worst`. A correlation that keeps a part
# which decays with the batch, as $e^{-\gamma t}$, then makes the slope grow without limit if $b\tau>1/\lambda$, at
# $b=0.3$ for $\tau=4$ and 8. We see such a part as far as our lags reach: the correlation decays at the rate
# {glue:text}`fade-four` at $\tau=4$ and {glue:text}`fade-eight` at $\tau=8$. The batch forgets at
# {glue:text}`forget-four` and {glue:text}`forget-eight`; a single mode that relaxes at the rate $a$ would have
# {glue:text}`fade-four-mode` and {glue:text}`fade-eight-mode` between these lags. Where the batch is forgotten more
# slowly than the response decays ({glue:text}`fade-count` choices), the measured rate differs from that of such a mode
# by at most {glue:text}`fade-worst` standard errors.
#
# In the others, below the border, the measured rate differs from that of the softest mode alone by
# {glue:text}`fade-below` per cent. Linear response, in which all modes are known, gives {glue:text}`fade-linear` per
# cent over the same lags where the slope has a limit: stiffer modes are still there. At infinite lag only the softest
# mode is left, and the slope tends to its temperature. No run gets there: at three times these lags linear response
# still gives {glue:text}`fade-linear-later` per cent, and by then the correlation is at most {glue:text}`fade-left` of
# its value at lag zero.
#
# **In practice, at lags that a run can reach,** the slope is not at its limit, even where there is one. For short
# memory $b\tau$ it rises, passes through a broad maximum and falls slowly. The estimator `effective_temperature` looks
# at lags up to 4, of which it keeps those at which the slope of the last ten points is known to ten per cent. It
# compares this slope with that at half the lag. A change beyond 30 per cent may be *shown* by the data, by two standard
# errors, it may likewise be *excluded*, or neither.

# %% tags=["hide-input"]
# Write the table.


def named(algorithm):
    """Write the parameters."""
    return rf"$b={algorithm.batch:g}$, $\tau={algorithm.persistence:g}$"


rows = [
    "| | lag of the last point | slope of the last ten | change from half the lag, per cent | beyond 30 per cent "
    "| slope over its limit, linear response |",
    "|---|---|---|---|---|---|",
]
words, above = {}, {}
for algorithm, tail in tails.items():
    found = (
        "excluded" if tail.established else "shown" if tail.refuted else "not decided"
    )
    words.setdefault(found, []).append(named(algorithm))
    changed = 100 * Estimate(tail.variation, tail.variation_error)
    limit = linear[algorithm].plateau_temperature
    if np.isfinite(limit):
        options = {"points": 10, "lags": tail.lags, "tolerance": 1.0}
        slope = sn.effective_temperature(linear[algorithm], "tail", **options).value
        above[algorithm] = slope / limit
    ratio = f"{above[algorithm]:.1f}" if algorithm in above else "no limit"
    about = [named(algorithm), f"{tail.lags[1]:.3g}", str(Estimate.of(tail))]
    rows.append("| " + " | ".join([*about, str(changed), found, ratio]) + " |")
display(Markdown("\n".join(rows)))
for name in ("excluded", "not decided", "shown"):
    glue(f"change-{name.split()[0]}", "; ".join(words.get(name, ["none"])))
ends = (f"{end(above.values(), default=np.nan):.1f}" for end in (min, max))
glue("above-limit", " to ".join(ends))

# %% [markdown]
# A change is excluded for {glue:text}`change-excluded`, shown for {glue:text}`change-shown`, and neither for
# {glue:text}`change-not`. An exclusion that is close is not certain: the scatter of a tail is larger than its quoted
# error ({doc}`/notebooks/calibration`). Where no change is seen the lags lie on the maximum. This is not the plateau:
# in linear response, whose limit we know, the slope over the same last ten points is {glue:text}`above-limit` times
# that limit. Where a change is shown, the slope of the last points depends on where the run ends, and the paper's
# temperatures there are properties of the window. {doc}`/notebooks/fig02_persistent` gives the growth of the slope
# between 2 and $4\,b\tau$ and between 5 and $10\,b\tau$ for each choice; {doc}`/notebooks/fig05_reading_temperature`
# shows why agreement between the last 5, 10 and 15 points does not demonstrate a plateau.
#
# ## The chord exists in every stationary state
#
# ```{glue:figure} chord
# ---
# name: fig-chord
# alt: >-
#   Two panels against persistence: on the left the chord temperature, on the right the initial slope, each with
#   points of mean-field theory with error bars and the line of linear response.
# ---
# Left: the chord $T_\mathrm{int}$ ({doc}`/notebooks/temperature`) for p-SGD with $b=0.3$. Right: slope at the
# shortest lag, which falls with $\tau$ because a frozen batch does not fluctuate. Points: mean-field theory with two
# standard errors; lines: linear response, which is off by {glue:text}`linear-off-chord` per cent on the left and
# {glue:text}`linear-off-initial` per cent on the right.
# ```
#
# $T_\mathrm{int}$ needs no plateau and no window beyond "long enough". Linear response is too high where the batch is
# remembered for long, because the weights partly fit a batch that stays.
#
# :::{admonition} What was found
# :class: found
# - Formally, at infinite lag, the slope of p-SGD has a limit if the batch is forgotten before the response has
#   decayed, at $b=0.3$ for $\tau$ below {glue:text}`tau-border`; linear response puts that border at
#   {glue:text}`tau-limit`.
# - In practice no run reaches that limit. Of the paper's ten choices the slope is constant to 30 per cent over a factor
#   of two in the lag for {glue:text}`change-excluded`, on a broad maximum. For {glue:text}`change-shown` it is not, and
#   the paper's temperature is a property of the window.
# - The chord $T_\mathrm{int}$ exists in every stationary state. At $b=0.3$ it goes from {glue:text}`chord-short` at
#   $\tau=0.5$ to {glue:text}`chord-long` at $\tau=8$. With $T_\mathrm{int}$ in place of the slope, the paper's
#   statement that the temperature grows with $\tau$ holds.
# :::
