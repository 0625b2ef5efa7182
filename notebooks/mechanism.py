# ---
# jupyter:
#   expected_seconds:
#     paper: 100
#     smoke: 9
#     standard: 25
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Why persistence is hot
#
# :::{admonition} What you will learn
# :class: learn
# What happens to one sample while it is in the batch of p-SGD and while it is out, and whether the paper's explanation
# of the high temperature is right.
# :::
#
# The paper gives a picture of why p-SGD is hotter than vanilla SGD. A batch that stays is fitted: the weights come
# to a minimum of its *partial* loss. When samples return after a long absence, the weights are in a "very atypical,
# random-like configuration", and the gradient is large. In the vanilla limit batches change too quickly to be fitted,
# and gradients have no such jumps. The picture can be checked sample by sample: what is the loss of a sample against
# the time since it entered the batch, or since it left?

# %% tags=["parameters"]
profile = "standard"
seed = 0
alpha = 8.0  # samples per feature
delta = 1.0  # variance of the data around their centres
ridge = 1.0  # strength of the ridge
batch = 0.3  # fraction of the samples in the batch
persistences = [0.5, 2.0, 8.0]  # mean times that a sample spends out of the batch
rate = 0.05  # learning rate

# %% tags=["hide-input"]
# Set up.
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from scipy import special

import sgdnoise as sn
from sgdnoise import plotting
from sgdnoise.estimates import Estimate
from sgdnoise.report import claim, glue, publish

plotting.use_style()
features, sets, steps = {
    "smoke": (60, 4, 300),
    "standard": (250, 12, 600),
    "paper": (500, 24, 1200),
}[profile]
start, longest = steps // 4, 120  # where averages begin; the highest age, in steps
vanilla = rate / batch  # the persistence at which p-SGD is vanilla SGD
times = [vanilla, *persistences]

# %% [markdown]
# The whole experiment is a loop of NumPy. `age` counts the steps since a sample last entered or left.


# %%
def watch(persistence, number, seed, features, steps, longest):
    """Mean loss by age in the batch and out of it, and of all, in, out and unseen."""
    rng = np.random.default_rng((seed, number))
    samples = round(alpha * features)
    rows = 1 / np.sqrt(features) + np.sqrt(delta) * rng.normal(size=(samples, features))
    rows /= np.sqrt(features)
    w = rng.normal(size=features)
    inside = rng.random(samples) < batch
    age = np.zeros(samples, dtype=int)
    total, count, unseen = np.zeros((2, longest)), np.zeros((2, longest)), []
    for step in range(steps):
        slope = np.minimum(rows @ w - 1.0, 0.0)
        if step >= start:
            for state in (False, True):
                chosen = (inside == state) & (age < longest)
                total[int(state)] += np.bincount(
                    age[chosen], 0.5 * slope[chosen] ** 2, longest
                )
                count[int(state)] += np.bincount(age[chosen], minlength=longest)
            unseen.append(expected(w.mean(), np.sqrt(delta * w @ w / features)))
        w -= rate * (rows.T @ (inside * slope) + ridge * w)
        chance = np.where(inside, (1 - batch) / batch, 1.0) * rate / persistence
        switch = rng.random(samples) < chance
        inside ^= switch
        age = np.where(switch, 0, age + 1)
    with np.errstate(invalid="ignore"):
        by_age = total / count
    table = {"loss": (("place", "age"), by_age), "unseen": np.mean(unseen)}
    table |= {"all": ("place", total.sum(1) / count.sum(1))}
    return xr.Dataset(table, coords={"place": ["out", "in"]})


def expected(mean, deviation):
    """Mean loss of a sample with a normal field, as every unseen one has it."""
    x = (1.0 - mean) / deviation
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    return deviation**2 / 2 * ((1 + x**2) * special.ndtr(x) + x * density)


points = [{"persistence": tau, "number": k} for tau in times for k in range(sets)]
fixed = {"features": features, "steps": steps, "longest": longest}
runs = sn.sweep(watch, points, [seed], fixed=fixed).squeeze("seed")
found = {
    tau: runs.isel(point=slice(i * sets, (i + 1) * sets)).rename(point="realisation")
    for i, tau in enumerate(times)
}

# %% tags=["hide-input"]
# Draw the figure.
# The minimum of the loss of one batch, b alpha N samples, is known exactly.
least = sn.solve_statics(sn.Problem(batch * alpha, delta, ridge), sn.GD())
spread = np.sqrt(delta * least.norm)
partial = least.square_slope / 2 / expected(least.magnetization, spread)
figure, panels = plt.subplots(1, 2, figsize=(plotting.WIDTH, 3.6))
for tau, color in plotting.ordered(times).items():
    run, label = found[tau], rf"$\tau={tau:.2g}$"
    for axes, place in zip(panels, ("in", "out"), strict=True):
        relative = run.loss.sel(place=place) / run.unseen
        enough = np.isfinite(relative).all("realisation").values
        ages = np.unique(np.geomspace(1, longest, 16).round().astype(int)) - 1
        stay = tau * (batch / (1 - batch) if place == "in" else 1.0)
        ages = ages[enough[ages] & (rate * ages < 3 * stay)]  # older ones are rare
        value, error = plotting.mean_and_error(relative.isel(age=ages))
        look = {"color": color, "fmt": "o-", "linewidth": 1}
        plotting.curve(axes, rate * (ages + 1), value, error, label=label, **look)
for axes, what in zip(panels, ("entered", "left"), strict=True):
    for level, name in ((1.0, "unseen sample"), (partial, "minimum of the batch")):
        look = {"color": "0.5", "linewidth": 0.8, "fmt": ":", "name": name}
        plotting.curve(axes, None, level, **look)
    axes.set(xscale="log", xlabel=f"time since the sample {what} the batch")
    axes.set(ylabel="loss, relative to an unseen sample", ylim=(0, 1.1))
panels[1].legend(loc="lower right")
where = {"xytext": (4, 3), "textcoords": "offset points", "color": "0.3", "fontsize": 9}
across = ("axes fraction", "data")
for level, name in ((1.0, "never seen"), (partial, "minimum of the batch's loss")):
    panels[0].annotate(name, (0.0, level), xycoords=across, **where)
publish("ages", figure)

# %% tags=["claims", "hide-input"]
# Test the claims.


def ratio(tau, upper, lower):
    """Ratio of two losses, data set by data set."""
    return Estimate.mean(upper(found[tau]) / lower(found[tau]))


def entering(run):
    """Loss of samples in their first step in the batch."""
    return run.loss.sel(place="in").isel(age=0)


def settled(run, tau):
    """Loss of samples that have stayed for a time 2 b tau."""
    return run.loss.sel(place="in").isel(age=round(2 * batch * tau / rate))


fitted = {
    rf"$\tau={tau:g}$": ratio(tau, lambda run, t=tau: settled(run, t), entering)
    for tau in persistences
}
slowest = persistences[-1]
lowest = ratio(slowest, lambda run: settled(run, slowest), lambda run: run.unseen)
lowest = lowest / partial
jumps = {
    rf"$\tau={tau:g}$": ratio(tau, entering, lambda run: run["all"].sel(place="in"))
    for tau in persistences
}
still = ratio(vanilla, entering, lambda run: run["all"].sel(place="in"))
inside = {
    rf"$\tau={tau:g}$": ratio(
        tau, lambda run: run["all"].sel(place="in"), lambda run: run.unseen
    )
    for tau in persistences
}
fresh = {
    rf"$\tau={tau:g}$": ratio(tau, entering, lambda run: run.unseen)
    for tau in persistences
}


def words(family):
    """Write a family of ratios."""
    return ", ".join(f"{value} at {label}" for label, value in family.items())


for name, family in (
    ("fitted", fitted),
    ("jumps", jumps),
    ("fresh", fresh),
    ("inside", inside),
):
    glue(name, words(family))
glue("lowest", lowest)
glue("still", still)
glue("features", features)
glue("sets", sets)
claim(
    "persistent-fits-its-batch",
    rf"loss at entry over the mean in the batch: {words(jumps)}, and {still} in the vanilla limit; after a stay of "
    rf"$2b\tau$ at $\tau={slowest:g}$, over the minimum of the partial loss: {lowest}",
    jumps,
    still,
    lowest,
)
claim(
    "returning-sample-is-random",
    rf"loss of a returning sample over that of an unseen one: {words(fresh)}",
    fresh,
)

# %% [markdown]
# ```{glue:figure} ages
# ---
# name: fig-ages
# alt: >-
#   Mean loss of a sample relative to that of one never seen, against the time since it entered the batch on the left,
#   where it falls, and since it left on the right, where it rises, for the vanilla limit and three persistence times.
# ---
# Mean loss of a sample of p-SGD in the stationary state, over that of a sample that was never seen, against the time
# since it entered the batch (left) or left it (right); $\alpha=8$, $\Delta=\lambda=1$, $b=0.3$, $dt=0.05$, $N=$
# {glue:}`features`, mean of {glue:}`sets` data sets with two standard errors. The shortest persistence is the vanilla
# limit $dt/b$. Dotted: a sample never seen, and the minimum of the loss of one batch, by the static theory. For the
# squared hinge the loss of a sample is half its squared gradient.
# ```
#
# **Fitted while it stays.** After a stay of $2b\tau$ the loss of a sample, relative to that at its entry, is
# {glue:text}`fitted`. At $\tau=8$ that is {glue:text}`lowest` of the loss at the minimum of the partial loss, which
# the static theory gives for $b\alpha$ samples per feature. At shorter persistence a sample leaves before the weights
# get there.
#
# **A large gradient when it returns.** The loss at entry, relative to the mean over the batch, is {glue:text}`jumps`,
# and {glue:text}`still` in the vanilla limit.
#
# **Nearly random.** Relative to a sample never seen, a returning one has the loss {glue:text}`fresh`. The longer it was
# away, the more the weights have forgotten it.
#
# **And the temperature?** The noise is hot because it is slow. The force of a sample is remembered for the time
# $b\tau$, and in the vanilla limit for one step. As long as $b\tau$ is short compared with the relaxation of the
# weights, a force of variance $\sigma^2$ with the memory $b\tau$ gives a temperature proportional to $b\tau\sigma^2$.
# Fitting the batch lowers $\sigma^2$, which is proportional to the loss in the batch: relative to a sample never seen
# that loss is {glue:text}`inside`. From $\tau=0.5$ to 8 the memory grows by the factor 16, much more than the loss
# falls, and the temperature rises.
#
# The batch itself is remembered for $b\tau$, the decay time of the autocorrelation of $s_\mu$. The Results of the paper
# have the mean stay $\tau b/(1-b)$ in its place ({doc}`/notebooks/choices`).
#
# :::{admonition} What was found
# :class: found
# - A sample that stays is fitted: after $2b\tau$ its loss, relative to its entry, is {glue:text}`fitted`.
# - The loss of a returning sample, relative to one never seen, is {glue:text}`fresh`.
# :::
