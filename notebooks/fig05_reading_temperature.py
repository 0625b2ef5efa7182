# ---
# jupyter:
#   expected_seconds:
#     paper: 21
#     smoke: 27
#     standard: 11
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # How the temperature is read off
#
# :::{admonition} What you will learn
# :class: learn
# The two procedures by which the paper measures its temperatures, and how strongly the results depend on the choice of
# a window.
# :::
#
# *Figure 5 of the paper.* The paper uses two procedures. For vanilla SGD it fits one line to the FDT plots of all late
# waiting times together. For p-SGD, whose plot is curved, it follows the slope of the last $n$ points as the waiting
# time $t_w$ moves away from the end of the run, until different $n$ agree. The paper obtains $0.015\pm0.00005$ for the
# first and about 0.2 for the second. For the second it does not give $\tau$; we take 2, the value of its other figures.

# %% tags=["parameters"]
profile = "standard"
seed = 0

# %% tags=["hide-input"]
# Set up.
import matplotlib.pyplot as plt
import numpy as np

import sgdnoise as sn
from sgdnoise import interactive, plotting
from sgdnoise.estimates import Estimate, jackknife
from sgdnoise.report import claim, glue, publish

plotting.use_style()
vanilla_size, persistent_size = {
    "smoke": ({"paths": 430, "realisations": 4}, {"paths": 450, "realisations": 3}),
    "standard": (
        {"paths": 3000, "realisations": 8},
        {"paths": 3000, "realisations": 12},
    ),
    "paper": (
        {"paths": 10_000, "realisations": 12},
        {"paths": 8000, "realisations": 12},
    ),
}[profile]

# %%
vanilla = sn.sweep(
    sn.solve_dmft,
    [
        {
            "problem": sn.Problem(alpha=6, delta=1.0, ridge=1.0),
            "algorithm": sn.SGD(batch=0.1),
        }
    ],
    [seed],
    fixed={
        "learning_rate": 0.1,
        "duration": 12.0,
        "waiting_times": np.arange(0.0, 12.0, 0.3).round(9).tolist(),
    }
    | vanilla_size,
).squeeze(("point", "seed"))
# The waiting times, and so the number, of Fig. 1: before that it has not forgotten its start.
vanilla = vanilla.sel(waiting_time=slice(3.0, None))
persistent = sn.sweep(
    sn.solve_dmft,
    [
        {
            "problem": sn.Problem(alpha=8, delta=1.0, ridge=1.0),
            "algorithm": sn.PersistentSGD(batch=0.2, persistence=2.0),
        }
    ],
    [seed],
    fixed={
        "learning_rate": 0.05,
        "duration": 10.0,
        "waiting_times": np.arange(4.0, 10.0, 0.1).round(9).tolist(),
    }
    | persistent_size,
).squeeze(("point", "seed"))
# The few paths of the smoke profile drift by chance.
steady = {"drift_tolerance": 1e3} if profile == "smoke" else {}
fit = sn.effective_temperature(vanilla, method="line", lags=(0.0, 2.5), **steady)
tails = sn.tail_slopes(persistent, points=(5, 10, 15))

# %% tags=["hide-input"]
# Draw the figure.
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(8.4, 2.9))
shade = plt.get_cmap("viridis_r")
for axes, run, waits, longest in (
    (left, vanilla, [t for t in fit.waiting_times if t < 9.5][::3], 2.51),
    (middle, persistent, np.arange(4.0, 8.01, 1.0), 4.01),
):
    for i, wait in enumerate(waits):
        curve = (
            sn.fdt_curve(run, waiting_time=wait)
            .mean("realisation")
            .sel(lag=slice(0, longest))
        )
        color = shade(0.15 + 0.85 * i / (len(waits) - 1))
        x, y = curve.normalised_correlation, curve.normalised_response
        look = {"color": color, "linewidth": 1, "name": f"$t_w={wait:g}$"}
        plotting.curve(axes, x, y, fmt="-", **look)
    axes.set(xlabel=r"$C(t,t_w)/C(t_w,t_w)$", ylabel=r"$\chi(t,t_w)/C(t_w,t_w)$")
norm = float(vanilla.norm.sel(time=slice(fit.waiting_times[0], None)).mean())
pooled = fit.curve.mean("realisation")
slope, offset = np.polyfit(pooled.integrated_response, pooled.displacement, 1)
chi = np.array([0.0, float(pooled.integrated_response[-1])])
plotting.curve(
    left,
    1 - (slope * chi + offset) / norm,
    chi / norm,
    fmt="--",
    color=plotting.COLORS["red"],
    linewidth=1.5,
    zorder=5,
    label="fit",
)
left.set(title="vanilla SGD")
middle.set(title="p-SGD")
left.legend()
end = float(persistent.time[-1])
for count, marker, color in zip(
    tails.points.values, "osD", plotting.SERIES, strict=False
):
    row = tails.sel(points=count)
    row = row.isel(waiting_time=(row.error < 0.3 * row.slope).values).isel(
        waiting_time=slice(None, None, 2)
    )
    row = row.sel(waiting_time=slice(end - 3, None))
    look = {"color": color, "markersize": 2.5, "label": f"$n={count}$"}
    plotting.curve(right, row.waiting_time, row.slope, row.error, fmt=marker, **look)
plotting.curve(right, None, 0.2, fmt="--", color="0.5", linewidth=1, name="paper")
right.set(
    xlabel="waiting time $t_w$",
    ylabel="slope of the last $n$ points",
    ylim=(0, None),
    title="p-SGD",
)
right.legend()
publish("reading", figure)

# %% tags=["hide-input"]
# Let the reader move the window of lags.
third_size, third_rate = {
    "smoke": ({"paths": 500, "realisations": 4}, 0.05),
    "standard": ({"paths": 1000, "realisations": 10}, 0.01),
    "paper": ({"paths": 4000, "realisations": 8}, 0.01),
}[profile]
third = sn.sweep(
    sn.solve_dmft,
    [{"algorithm": sn.PersistentSGD(batch=0.3, persistence=2.0)}],
    [seed],
    fixed={
        "problem": sn.Problem(alpha=8, delta=1.0, ridge=1.0),
        "learning_rate": third_rate,
        "duration": 7.0,
        "waiting_times": np.arange(2.0, 6.0, 0.5).tolist(),
    }
    | third_size,
).squeeze(("point", "seed"))
third = third.isel(time=slice(None, None, round(0.05 / third_rate)))
offered = [
    interactive.reading(
        vanilla,
        "vanilla SGD: α = 6, b = 0.1",
        paper=0.015,
        waiting_times=vanilla.waiting_time.values[::3],
        longest=5.0,
        window=(0.0, 2.5),
    ),
    interactive.reading(
        persistent,
        "p-SGD: α = 8, b = 0.2, τ = 2",
        paper=0.2,
        waiting_times=persistent.waiting_time.values[:41:5],
        longest=4.0,
        window=(1.0, 2.0),
    ),
    interactive.reading(
        third,
        "p-SGD: α = 8, b = 0.3, τ = 2",
        paper=0.05,
        waiting_times=np.arange(2.0, 5.1, 0.5),
        longest=4.0,
        window=(0.0, 0.6),
    ),
]
interactive.offer("reading", "reading", {"runs": offered})

# %% tags=["hide-input"]
# Test the claims.
glue("fit", f"{fit.value:.5f} ± {fit.error:.5f}")
glue("waits", len(fit.waiting_times))
glue("first_wait", f"{fit.waiting_times[0]:g}")
glue("end", end)
for name, upto in (("short", 0.5), ("long", 4.0)):
    glue(
        name,
        f"{sn.effective_temperature(vanilla, lags=(0.0, upto), **steady).value:.4f}",
    )

slopes, waits, memory = {}, persistent.waiting_time.values, 0.4
for window in (
    (0.2, 0.6),
    (2.5 * memory, 5 * memory),
):  # around the memory of the batch, and beyond it
    try:
        # All recorded waiting times, by name: the run is too short to exclude a drift.
        slopes[window] = sn.effective_temperature(
            persistent,
            lags=window,
            waiting_times=waits[waits <= end - window[1] + 1e-9],
            drift_tolerance=1e3 if profile == "smoke" else 0.1,
        )
    except sn.NoPlateauError as refusal:
        slopes[window] = refusal.estimate
around, beyond = map(Estimate.of, slopes.values())
glue("around", f"{around:.3f}")
glue("beyond", f"{beyond:.3f}")
claim(
    "persistent-temperature-0.2",
    rf"at $\tau=2$ the slope over lags from 1 to 2 is {beyond:.3f}, around $b\tau=0.4$ {around:.3f}",
    beyond / 0.2,
)
ends = sn.fdt_curve(persistent)


def last_five(lag):
    """Response and displacement of the last 5 points of the plot that began this long before the end."""
    one = ends.sel(waiting_time=end - lag, method="nearest")
    one = one.isel(lag=slice(round(lag / 0.05) - 4, round(lag / 0.05) + 1))
    return one.integrated_response, one.displacement


ratio = jackknife(
    lambda x, y, u, v: sn.fdt.line(x, y)[0] / sn.fdt.line(u, v)[0],
    *last_five(0.3),
    *last_five(1.2),
)
claim(
    "slope-vanishes-at-end",
    f"as $t_w$ moves from 1.2 to 0.3 before the end, the slope of the last 5 points falls to {ratio:.2f} of its value",
    ratio,
)

# %% [markdown]
# ```{glue:figure} reading
# ---
# name: fig-reading
# alt: >-
#   Left and middle: FDT plots for several waiting times, darker for later ones, of vanilla SGD with a fitted line and
#   of persistent SGD. Right: slope of the last 5, 10 and 15 points against the waiting time, with error bars and a
#   dashed level.
# ---
# Left: FDT plots of vanilla SGD at several waiting times (darker: later) and the line fitted to lags from 0 to 2.5;
# $\alpha=6$, $b=0.1$, $dt=0.1$. Middle: the same for p-SGD, $\alpha=8$, $b=0.2$, $\tau=2$, $dt=0.05$. Right: slope of
# the last $n$ points of the p-SGD plots against the waiting time, in a run that ends at {glue:}`end`, with two
# standard errors where it is known to 30 per cent; dashed, the paper's value. $\Delta=\lambda=\kappa=1$. All from
# mean-field theory.
# ```
#
# For vanilla SGD the line through {glue:text}`waits` waiting times, all that are stationary ($t_w$ from
# {glue:text}`first_wait` on), has the slope {glue:text}`fit`. The error is that of sampling. A window up to lag 0.5
# gives {glue:text}`short`, one up to 4 gives {glue:text}`long`: the choice of the window moves the result by far more
# than the paper's error of 0.00005.
#
# For p-SGD the slopes for different $n$ differ near the end of the run, because each is the slope some $n/2$ steps
# before it, and come together farther away, where the slope changes little over a few steps. Agreement between
# different $n$ does not demonstrate a plateau. Around the lag $b\tau=0.4$ the slope is {glue:text}`around`. Over lags
# from 1 to 2, averaged over waiting times, it is {glue:text}`beyond`; the paper has 0.2. That is not the limit at long
# lag: in linear response, which neglects terms of relative order $b\tau\Delta=0.4$, the slope rises further beyond lag
# 2, and its limit is lower ({doc}`/notebooks/choices`). {doc}`/notebooks/temperature` measures the effect of these
# terms.
#
# :::{admonition} What was found
# :class: found
# - For vanilla SGD the line gives {glue:text}`fit`, the paper 0.015. The window of lags, which the paper does not give,
#   moves it between {glue:text}`short` and {glue:text}`long`.
# - For p-SGD agreement between different numbers of points does not demonstrate a plateau. Over lags from 1 to 2 we
#   find {glue:text}`beyond`, the paper 0.2.
# :::
