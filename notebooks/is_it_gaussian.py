# ---
# jupyter:
#   expected_seconds:
#     paper: 300
#     smoke: 9
#     standard: 20
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Is it Gaussian?
#
# :::{admonition} What you will learn
# :class: learn
# Which part of the common picture of SGD as a Langevin equation holds in this model. The noise is Gaussian, but it is
# not white noise of one temperature, and it vanishes with the loss.
# :::
#
# Much of the literature argues by the central limit theorem that SGD is gradient descent with Gaussian noise, a
# Langevin equation. The paper's introduction calls this into question, and cites experiments that found heavy tails and
# proposed Lévy flights {cite:p}`simsekli2019tail`. The Langevin picture combines two assumptions: that the noise is
# *Gaussian*, and that it is the same *in every direction and at any loss*. We separate them with two controls.
# `sn.GaussianSGD` replaces the batch indicator of each sample by a normal number with the same mean and variance, which
# keeps the first two moments of the batch and nothing else. `sn.Langevin` has full batches and white noise of a known
# temperature $T$.
#
# ```{glue:figure} three-noises
# ---
# name: fig-three-noises
# alt: >-
#   Left: displacement against integrated response for SGD, Gaussian SGD and Langevin descent, points near two lines.
#   Right: temperature of modes against their stiffness for the same three, points with error bars and two lines.
# ---
# Left: FDT plot of SGD ($b=0.2$, batch means), Gaussian SGD and Langevin descent at $T=$ {glue:}`temperature`, all at
# $dt=0.05$, $\alpha=6$, $\Delta=\lambda=1$; networks with $N=$ {glue:}`features`, {glue:}`data_sets` data sets. Right:
# temperature of the modes of one data set with $N=$ {glue:}`mode_features`, in groups of neighbouring stiffness. Lines:
# linear response, the same for SGD and Gaussian SGD, which leaves out terms of relative order $dt/b$. On the left its
# chord $B/\chi$ at lag 2.5 is off from that of the networks by {glue:text}`off-chord-sgd` per cent for SGD and
# {glue:text}`off-chord-langevin` for Langevin descent. On the right it is off by {glue:text}`off-soft-sgd` per cent at
# the softest group and {glue:text}`off-stiff-sgd` at the stiffest for SGD, by {glue:text}`off-soft-langevin` and
# {glue:text}`off-stiff-langevin` for Langevin descent. Bars are two standard errors.
# ```
#
# The gradient is here the mean over the batch, so all three algorithms descend the same loss on average. We choose the
# temperature of Langevin descent such that the chord of its FDT plot, $T_\mathrm{int}$, equals that of SGD in linear
# response: the total noise is then the same, and its distribution over the modes differs.
#
# In the right panel we project the weights of many replicas of a small network on the eigenvectors of its mean Hessian.
# A mode of stiffness $a$ with the variance $\langle x^2\rangle$ has the temperature $a\langle x^2\rangle$.
#
# The chords up to lag 2.5 are {glue:text}`chord-sgd` for SGD, {glue:text}`chord-gaussian` with Gaussian weights and
# {glue:text}`chord-langevin` for Langevin descent. That SGD and Langevin descent agree was our choice of $T$; that
# Gaussian weights give the same is a result. The curves differ. That of Langevin descent is nearly straight,
# because every mode has the temperature $T/(1-a\,dt/2)$. That of SGD is bent, because its noise consists of the same
# vectors as the Hessian and heats a mode nearly in proportion to its curvature ({doc}`/notebooks/vanilla_modes`). The
# stiffest quarter of the modes is {glue:text}`stiff-over-soft-sgd` times as hot as the softest quarter; for Langevin
# descent the factor is {glue:text}`stiff-over-soft-langevin` (closed form: {glue:text}`closed-ratio`). With Gaussian
# weights it is {glue:text}`stiff-over-soft-gaussian`. For these second
# moments, the covariance of the noise matters and the rest of its distribution does not.
#
# The hottest modes lie above the line. The line uses the Hessian at the minimum, the points the mean Hessian of the
# run, which is softer, because samples enter and leave the margin as the weights fluctuate. This moves the points to
# the left.
#
# ## The noise vanishes with the loss
#
# ```{glue:figure} gaussian-tails
# ---
# name: fig-gaussian-tails
# alt: >-
#   Left: loss against steps on separable data for SGD, Gaussian SGD and Langevin descent, on a logarithmic scale.
#   Middle: excess kurtosis of the noise of one weight against the number of features, points and a line. Right:
#   Hill's tail index against the number of features, with levels for normal numbers and for Lévy flights.
# ---
# Left: loss on separable data, $\alpha=\Delta=0.5$, $\lambda=0$, $b=1/4$, $dt=0.2$ (summed gradients), up to the first
# stop, mean over {glue:}`stopped_sets` data sets with $N=$ {glue:}`stopped_features`; Langevin descent at $T=10^{-3}$
# and $b\,dt$, four data sets. Middle and right: excess kurtosis and tail index of the stochastic gradient of one
# weight, $\alpha=6$, $b=0.05$; line: Eq. {eq}`eq-kurtosis` on the same data. Bars are two standard errors.
# ```
#
# On separable data the force of every sample vanishes at the end, and with it the noise of SGD. We train with the
# stopping rule of the paper and follow Langevin descent at $T=10^{-3}$ for comparison; it has no stopping rule,
# because its noise never vanishes.
#
# SGD with Gaussian weights stops as SGD does: {glue:text}`stopped` replicas met the rule. The distance of two replicas
# is {glue:text}`sat` times that of SGD, and the fraction of support vectors {glue:text}`support` times. Langevin
# descent does not stop; its loss stays near {glue:text}`langevin-loss`, and it keeps diffusing along flat directions.
# On data that cannot be separated, Gaussian weights give {glue:text}`unsat` times the distance of two replicas that SGD
# gives, and Langevin descent with the same chord {glue:text}`white` times that distance.
#
# ## Tails
#
# The stochastic gradient of one weight is a sum over the samples, $\xi_i=\sum_\mu (s_\mu-b)\,\partial_i\ell_\mu$ with
# $\partial_i\ell_\mu=\ell'(h_\mu)\,y_\mu x_{\mu i}/\sqrt N$. Cumulants of independent variables add up, so its excess
# kurtosis over the draw of a batch is known exactly,
#
# $$
# \frac{\langle \xi_i^4\rangle}{\langle \xi_i^2\rangle^2} - 3
# = \frac{1-6b(1-b)}{b(1-b)}\;\frac{\sum_\mu (\partial_i\ell_\mu)^4}{[\,\sum_\mu (\partial_i\ell_\mu)^2\,]^2} .
# $$ (eq-kurtosis)
#
# The second factor is of the order of one over the number of samples within the margin, and falls as $1/N$. We draw
# batches at the minimum, with $b=0.05$, and measure the kurtosis and Hill's tail index. The index is one over the mean
# logarithm of the largest hundredth of $|\xi_i|$, in units of the smallest among them. For a power law it is the
# exponent; for a Lévy flight it is below two.
#
# The excess kurtosis falls as $N$ to the power {glue:text}`exponent`, and is {glue:text}`kurtosis-last` at $N=$
# {glue:}`largest`. This is consistent with Eq. {eq}`eq-kurtosis`, whose power tends to $-1$ for large $N$: at the
# smallest $N$ few samples are within the margin, and the exact sums on the same data (line) are less steep too. The
# tail index comes closest to that of a Lévy flight with {glue:text}`hill`; normal numbers have
# {glue:text}`hill-normal`. In this model with Gaussian data there are therefore no Lévy flights. This does not
# contradict experiments with deep networks, whose data and gradients may themselves be heavy-tailed.
#
# In continuous time, Gaussian weights with the covariance of SGD define stochastic gradient flow, for which
# {cite:t}`nishiyama2026stochastic` prove mean-field equations. {cite:t}`fan2026highdimensional` show that for batches
# much smaller than the data, with the learning rate scaled accordingly, SGD and its Gaussian approximation *differ*
# unless the model is linear. Here batches are a finite fraction of the data, and any difference is within the errors
# quoted above.
#
# ## What this means in practice
#
# In a model like this you may describe the noise of SGD as Gaussian, but with the covariance of the gradients, which
# changes with the weights. White noise of one temperature heats soft directions too much and stiff ones too little,
# and it does not vanish with the loss. Testing single gradients for normality says little; measure their covariance
# instead.
#
# :::{admonition} What was found
# :class: found
# - The stiffest quarter of the modes is {glue:text}`stiff-over-soft-sgd` times as hot as the softest with SGD, and
#   {glue:text}`stiff-over-soft-langevin` times with Langevin descent.
# - With Gaussian weights the distance of two replicas is {glue:text}`unsat` times that of SGD on data that cannot be
#   separated, and {glue:text}`sat` times on separable data.
# - The excess kurtosis of the noise of one weight scales with $N$ with the exponent {glue:text}`exponent`.
# :::
#
# ## How it was made
#
# Try your own values, for example `make notebook NAME=is_it_gaussian ARGS="-p batch 0.1 -p rate 0.02"`.

# %% tags=["parameters"]
profile = "standard"
seed = 0
alpha = 6.0
delta = 1.0
ridge = 1.0
rate = 0.05
batch = 0.2
sat_alpha = 0.5
sat_delta = 0.5
sat_rate = 0.2
sat_batch = 0.25
sat_temperature = 1e-3
tail_batch = 0.05

# %% tags=["hide-input"]
# Set up.
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from scipy import stats

import sgdnoise as sn
from sgdnoise import plotting
from sgdnoise.estimates import Estimate, jackknife
from sgdnoise.report import claim, glue, publish

plotting.use_style()
network_size, mode_size, stopped_size, tail_sets, tail_sizes = {
    "smoke": (
        {"features": 80, "realisations": 4},
        {"features": 40, "replicas": 8, "steps": 300},
        {"features": 200, "realisations": 6},
        8,
        (25, 50, 100),
    ),
    "standard": (
        {"features": 300, "realisations": 10},
        {"features": 80, "replicas": 20, "steps": 500},
        {"features": 400, "realisations": 48},
        48,
        (25, 50, 100, 200),
    ),
    "paper": (
        {"features": 1000, "realisations": 24},
        {"features": 200, "replicas": 32, "steps": 2000},
        {"features": 1000, "realisations": 100},
        64,
        (25, 50, 100, 200, 400, 800),
    ),
}[profile]
nearly = {"drift_tolerance": 1e3 if profile == "smoke" else 0.1}
colors = {"SGD": "blue", "Gaussian SGD": "red", "Langevin": "green"}
markers = dict(zip(colors, "osD", strict=True))


def of_means(over, under):
    """Ratio of two means over the same data sets."""
    return jackknife(lambda x, y: x / y, over, under)


# %%
problem = sn.Problem(alpha=alpha, delta=delta, ridge=ridge)
sgd = sn.SGD(batch, gradient="mean")
chord_of_sgd, chord_of_unit = (
    sn.linear_response(problem, algorithm, rate, rate).integrated_temperature
    for algorithm in (sgd, sn.Langevin(temperature=1.0))
)
algorithms = {
    "SGD": sgd,
    "Gaussian SGD": sn.GaussianSGD(batch, gradient="mean"),
    "Langevin": sn.Langevin(temperature=chord_of_sgd / chord_of_unit),
}
points = [{"algorithm": algorithm} for algorithm in algorithms.values()]
waits = [round(rate * round(t / rate), 9) for t in (4.0, 4.5, 5.0, 5.5, 6.0)]
runs = sn.sweep(
    sn.simulate,
    points,
    [seed],
    fixed={
        "problem": problem,
        "learning_rate": rate,
        "duration": rate * round(9.0 / rate),
        "waiting_times": waits,
        "replicas": 2,
        **network_size,
    },
).squeeze("seed")
network = {name: runs.isel(point=i) for i, name in enumerate(algorithms)}


# %%
def modes(algorithm, problem, rate, seed, features, replicas, steps):
    """Stiffness and temperature of every mode of the mean Hessian, by a plain loop."""
    data, noise = np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1])
    shape = round(problem.alpha * features), replicas
    spread, b = (problem.delta / features) ** 0.5, algorithm.batch
    A = 1 / features + spread * data.standard_normal((shape[0], features))
    w, kept, active = np.zeros((features, replicas)), [], 0.0
    for step in range(steps):
        h = A @ w
        slope = np.minimum(h - 1, 0)
        if isinstance(algorithm, sn.GaussianSGD):
            slope *= 1 + ((1 - b) / b) ** 0.5 * noise.standard_normal(shape)
        elif isinstance(algorithm, sn.SGD):
            slope *= (noise.random(shape) < b) / b
        gradient = A.T @ slope + problem.ridge * w
        white = algorithm.noise(rate) * noise.standard_normal(w.shape)
        w = w - rate * (gradient + white)
        if step * rate >= 5 and step % 4 == 0:
            kept.append(w)
            active = active + (h < 1).mean(axis=1)
    hessian = A.T @ (active[:, None] / len(kept) * A) + problem.ridge * np.eye(features)
    stiffness, vectors = np.linalg.eigh(hessian)
    x = np.einsum(
        "nm,tnr->trm", vectors, np.array(kept) - np.mean(kept, axis=(0, 2))[:, None]
    )
    temperature = stiffness * (x**2).mean(axis=0)
    return xr.Dataset(
        {
            "stiffness": ("mode", stiffness),
            "temperature": (("replica", "mode"), temperature),
        }
    )


fixed = {"problem": problem, "rate": rate} | mode_size
by_mode = sn.sweep(modes, points, [seed], fixed=fixed).squeeze("seed")

# %% tags=["hide-input"]
# Draw FDT plot and modes.


def displacement(dataset):
    """Squared displacement B and response against lag, averaged over the waiting times."""
    curve = sn.fdt_curve(dataset, waiting_time=waits).mean("waiting_time")
    curve["displacement"] = curve.displacement + 0.5 * curve.drift
    return curve.sel(lag=slice(0, 2.5 + 0.5 * rate))


def in_groups(name, count=8):
    """Stiffness and temperature of groups of neighbouring modes, with errors from the replicas."""
    found = by_mode.isel(point=list(algorithms).index(name)).rename(
        replica="realisation"
    )
    size = found.sizes["mode"] // count
    groups = found.isel(mode=slice(0, size * count)).coarsen(mode=size).mean()
    return groups.stiffness.values, *plotting.mean_and_error(groups.temperature)


figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.3))
linear = {}
for name, color in colors.items():
    look = {"color": plotting.COLORS[color], "label": name, "fmt": markers[name]}
    look |= {"markersize": 4, "elinewidth": 0.7, "fillstyle": "none"}
    curve = displacement(network[name]).sel(
        lag=[rate, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0], method="nearest"
    )
    x, _ = plotting.mean_and_error(curve.integrated_response)
    plotting.curve(left, x, *plotting.mean_and_error(curve.displacement), **look)
    plotting.curve(right, *in_groups(name), **look)
    if name == "Gaussian SGD":  # its linear response is that of SGD
        continue
    line = {"fmt": "-", "color": look["color"], "linewidth": 1, "zorder": 1}
    exact = sn.linear_response(
        problem, algorithms[name], rate, rate * round(2.5 / rate)
    )
    linear[name] = exact
    curve = sn.fdt_curve(exact, waiting_time=0.0).isel(realisation=0)
    line["name"] = f"{name}, linear response"
    plotting.curve(left, curve.integrated_response, curve.displacement, **line)
    order = np.argsort(exact.mode_stiffness.values)[::10]  # as many as a line needs
    by_stiffness = exact.isel(mode=order)
    plotting.curve(
        right, by_stiffness.mode_stiffness, by_stiffness.mode_temperature, **line
    )
left.set(xlabel=r"integrated response $\chi$", ylabel="displacement $B$")
left.legend(loc="lower right")
left.set(xlim=(0, None), ylim=(0, None))
right.set(xlabel="stiffness $a$ of the mode", ylabel="its temperature", ylim=(0, None))
publish("three-noises", figure)
glue("temperature", f"{algorithms['Langevin'].temperature:.4f}")
glue("features", network_size["features"])
glue("data_sets", network_size["realisations"])
glue("mode_features", mode_size["features"])

# %% tags=["hide-input", "claims"]
# Quote numbers and test the first claim.
for name, short in (
    ("SGD", "sgd"),
    ("Gaussian SGD", "gaussian"),
    ("Langevin", "langevin"),
):
    found = sn.effective_temperature(
        network[name], "chord", (0.0, 2.5), waits, tolerance=1.0, **nearly
    )
    glue(f"chord-{short}", Estimate.of(found))
# How far off linear response is, at the ends of its lines.
for name, exact in linear.items():
    short = name.lower()
    end = sn.fdt_curve(exact, waiting_time=0.0).isel(realisation=0, lag=-1)
    chord = float(end.displacement / end.integrated_response)
    end = displacement(network[name]).isel(lag=-1)
    over = chord * of_means(end.integrated_response, end.displacement)
    glue(f"off-chord-{short}", f"{100 * (over - 1.0):+.1f}")
    order = np.argsort(exact.mode_stiffness.values)
    a, value, error = (np.asarray(v) for v in in_groups(name))
    line = np.interp(
        a, exact.mode_stiffness.values[order], exact.mode_temperature.values[order]
    )
    for word, i in (("soft", 0), ("stiff", -1)):
        group = Estimate(value[i], error[i], by_mode.sizes["replica"] - 1)
        over = 100 * (Estimate(line[i], 0.0) / group - 1.0)
        glue(f"off-{word}-{short}", f"{over:+.0f}")
ratios = {}
for name in algorithms:
    a, value, error = (np.asarray(v) for v in in_groups(name, count=4))
    freedom = by_mode.sizes["replica"] - 1
    stiff, soft = (Estimate(value[i], error[i], freedom) for i in (-1, 0))
    ratios[name] = stiff / soft
    glue(f"stiff-over-soft-{name.split()[0].lower()}", f"{ratios[name]:.2f}")
# The closed form, at the stiffness of the two groups of Langevin descent.
closed = (1 - rate * a[0] / 2) / (1 - rate * a[-1] / 2)
glue("closed-ratio", f"{closed:.2f}")
claim(
    "sgd-noise-follows-the-hessian",
    "temperature of the stiffest quarter of the modes over that of the softest: "
    f"{ratios['SGD']:.2f} for SGD and {ratios['Langevin']:.2f} for Langevin descent, where the closed "
    f"form has {closed:.2f}",
    ratios["SGD"],
    ratios["Langevin"] / float(closed),
)

# %%
separable = sn.Problem(alpha=sat_alpha, delta=sat_delta, ridge=0.0)
ends = sn.sweep(
    sn.simulate,
    [{"algorithm": kind(sat_batch)} for kind in (sn.SGD, sn.GaussianSGD)],
    [seed],
    fixed={
        "problem": separable,
        "learning_rate": sat_rate,
        "duration": 3000 * sat_rate,
        "replicas": 2,
        "stop_gradient": 1e-10,
        "record_every": 100,
        **stopped_size,
    },
).squeeze("seed")
# A full batch at this learning rate is, on average, the sum over a batch at the other.
shaken = sn.simulate(
    separable,
    sn.Langevin(temperature=sat_temperature),
    learning_rate=sat_batch * sat_rate,
    duration=1000 * sat_batch * sat_rate,
    features=stopped_size["features"],
    realisations=4,
    record_every=50,
    seed=seed,
)


# %%
def tails(features, seed, data_sets, problem, b, batches=1000):
    """Excess kurtosis, the exact one, and Hill's index of the noise of one weight."""
    random = np.random.default_rng([seed, features])
    rows = []
    for _ in range(data_sets):
        A = random.standard_normal((round(problem.alpha * features), features))
        A = 1 / features + (problem.delta / features) ** 0.5 * A
        w = np.zeros(features)
        for _ in range(60):
            w -= 0.1 * (A.T @ np.minimum(A @ w - 1, 0) + problem.ridge * w)
        f = (A * np.minimum(A @ w - 1, 0)[:, None]).astype(np.float32)
        g = ((random.random((batches, len(f)), np.float32) < b) - np.float32(b)) @ f
        z = np.abs(g) / np.sqrt(b * (1 - b) * (f**2).sum(axis=0))
        exact = (1 / (b * (1 - b)) - 6) * (f**4).sum(axis=0) / (f**2).sum(axis=0) ** 2
        largest = np.sort(z, axis=None)[-(z.size // 100) :]
        hill = 1 / np.log(largest[1:] / largest[0]).mean()
        rows.append([(z**4).mean() - 3, exact.mean(), hill])
    names = ("kurtosis", "exact", "hill")
    columns = zip(names, np.transpose(rows), strict=True)
    return xr.Dataset({name: ("realisation", values) for name, values in columns})


tail = sn.sweep(
    tails,
    {"features": list(tail_sizes)},
    [seed],
    fixed={"data_sets": tail_sets, "problem": problem, "b": tail_batch},
).squeeze("seed")

# %% tags=["hide-input"]
# Draw losses and tails.
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(7.4, 3.2))
for i, name in enumerate(("SGD", "Gaussian SGD")):
    mean = ends.isel(point=i).loss.mean("realisation")
    shown = mean.sel(time=slice(0, float(ends.stopping_time.min())))
    line = {"color": plotting.COLORS[colors[name]], "fmt": "-" if i == 0 else "--"}
    plotting.curve(left, shown.time / sat_rate, shown, label=name, **line)
mean = shaken.loss.mean("realisation")
line = {"color": plotting.COLORS["green"], "fmt": "-."}
plotting.curve(left, mean.time / (sat_batch * sat_rate), mean, label="Langevin", **line)
left.set(xlabel="steps", ylabel="loss per feature", yscale="log", ylim=(1e-10, 10))
left.legend(loc="lower left")
shape = {"fmt": "o", "color": plotting.COLORS["blue"]}
for axes, name, label in (
    (middle, "kurtosis", "excess kurtosis"),
    (right, "hill", "Hill's tail index"),
):
    values = plotting.mean_and_error(tail[name])
    plotting.curve(axes, list(tail_sizes), *values, **shape, name=label)
    axes.set(xlabel="features $N$", ylabel=label, xscale="log")
    plotting.plain_ticks(axes.xaxis, tail_sizes)
exact, _ = plotting.mean_and_error(tail.exact)
plotting.curve(
    middle, list(tail_sizes), exact, fmt="k-", linewidth=1, label="exact cumulants"
)
middle.set(yscale="log")
plotting.plain_ticks(middle.yaxis, [0.05, 0.1, 0.2, 0.5, 1, 2])
middle.legend(loc="lower left")
u = stats.norm.isf(0.005)
z = np.linspace(u, u + 8, 4001)
gauss = 1 / (np.trapezoid(np.log(z / u) * stats.norm.pdf(z), z) / stats.norm.sf(u))
level = {"color": "0.5", "linewidth": 1}
plotting.curve(right, None, gauss, fmt="--", **level, name="normal numbers")
plotting.curve(right, None, 2.0, fmt=":", **level, name="Lévy below")
right.text(tail_sizes[0], gauss + 0.2, "normal numbers", color="0.35")
right.text(tail_sizes[0], 2.2, "Lévy flights: below 2", color="0.35")
right.set(ylim=(0, 1.25 * gauss))
publish("gaussian-tails", figure)
stops = ends.stopping_time
glue(
    "stopped",
    f"{int(stops.notnull().isel(point=1).sum())} of {stops.isel(point=1).size}",
)
glue("stopped_sets", stopped_size["realisations"])
glue("stopped_features", stopped_size["features"])
glue("langevin-loss", f"{float(shaken.loss.isel(time=-1).mean()):.1e}")
glue("largest", tail_sizes[-1])

# %% tags=["hide-input", "claims"]
# Quote numbers and test the other claims.

settled = {
    name: run.distance.sel(time=slice(4.0, None)).mean("time")
    for name, run in network.items()
}
unsat = of_means(settled["Gaussian SGD"], settled["SGD"])
last = ends.isel(time=-1)
sat, support = (
    of_means(last[name].isel(point=1), last[name].isel(point=0))
    for name in ("distance", "unsatisfied")
)
white = of_means(settled["Langevin"], settled["SGD"])
glue("unsat", f"{unsat:.3f}")
glue("white", f"{white:.3f}")
glue("sat", f"{sat:.3f}")
glue("support", f"{support:.3f}")
claim(
    "gaussian-weights-suffice",
    f"distance with Gaussian weights over that of SGD: {unsat:.3f} on data that cannot be separated, "
    f"{sat:.3f} on separable data when training stops",
    unsat,
    sat,
)
values, errors = plotting.mean_and_error(tail.kurtosis)
x = np.log(np.array(tail_sizes) / np.mean(tail_sizes))
weight = np.asarray(values / errors) ** 2
x = x - np.average(x, weights=weight)
many = tail.sizes["realisation"] - 1
exponent = Estimate(
    float((weight * x * np.log(values)).sum() / (weight * x**2).sum()),
    float((weight * x**2).sum() ** -0.5),
    many,
)
index, index_error = plotting.mean_and_error(tail.hill)
indices = {
    f"$N={n}$": Estimate(float(index[i]), float(index_error[i]), many)
    for i, n in enumerate(tail_sizes)
}
lowest = min(indices.values(), key=lambda e: e.value)
glue("exponent", f"{exponent:.2f}")
glue("hill", f"{lowest:.1f}")
glue("hill-normal", f"{gauss:.1f}")
glue("kurtosis-last", Estimate(float(values[-1]), float(errors[-1])))
claim(
    "gradient-noise-has-no-heavy-tail",
    f"excess kurtosis falls as $N$ to the power {exponent:.2f}; lowest tail index "
    f"{lowest:.1f}",
    exponent,
    indices,
)
