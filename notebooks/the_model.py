# ---
# jupyter:
#   expected_seconds:
#     paper: 36
#     smoke: 10
#     standard: 11
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   try_your_own: batch 0.1
# ---

# %% [markdown]
# # The model, and three ways to train it
#
# :::{admonition} What you will learn
# :class: learn
# The data, the loss and the three algorithms of the paper, what training looks like with each of them, and what
# *persistent* means: for how long a batch is remembered.
# :::
#
# A one-layer network learns to separate two Gaussian clouds. Its loss is convex. With a ridge it has a single minimum,
# so whatever distinguishes two late runs comes from their batches and not from the landscape. (If the data are
# separable and there is no ridge, many minima have zero loss, and the start also decides which one is reached.) This
# page introduces the data, the loss and the three algorithms, and shows what training looks like with each.
#
# ## Data and loss
#
# There are $P = \alpha N$ samples ($M$ in the paper) with $N$ features and labels $y_\mu = \pm 1$,
#
# $$
# x_\mu = y_\mu \frac{v}{\sqrt N} + \sqrt{\Delta}\, z_\mu , \qquad
# v = (1, \dots, 1), \quad z_\mu \sim \mathcal N(0, I_N),
# $$ (eq-data)
#
# and the weights $w$ are trained on the squared hinge with margin $\kappa$ and a ridge {cite:p}`mignacco2022effective`,
#
# $$
# \begin{gathered}
# L(w) = \sum_{\mu=1}^{P} \ell(h_\mu) + \frac{\lambda}{2} |w|^2, \\
# h_\mu = y_\mu \frac{x_\mu \cdot w}{\sqrt N}, \qquad \ell(h) = \tfrac12 (\kappa - h)_+^2 .
# \end{gathered}
# $$ (eq-loss)
#
# A sample with $h_\mu > \kappa$ is satisfied and exerts no force. With few samples per feature all of them can be
# satisfied and the loss can reach zero (the SAT phase, $\lambda = 0$); with many it cannot (UNSAT), and a stochastic
# algorithm never comes to rest. The weights start as independent Gaussian numbers of variance $R_0$, one unless we say
# otherwise.

# %% tags=["parameters"]
profile = "standard"
seed = 0
alpha = 6.0  # samples per feature
delta = 1.0  # noise of the data
ridge = 1.0
margin = 1.0
rate = 0.1  # learning rate
batch = 0.3  # batch fraction
persistence = 2.0

# %% tags=["hide-input"]
# Set up.
import matplotlib.pyplot as plt
import numpy as np

import sgdnoise as sn
from sgdnoise import plotting
from sgdnoise.estimates import Estimate
from sgdnoise.random.batches import sample_weights
from sgdnoise.report import claim, glue, publish

plotting.use_style()
size = {
    "smoke": {"features": 100, "realisations": 8, "chains": 20_000},
    "standard": {"features": 400, "realisations": 16, "chains": 200_000},
    "paper": {"features": 1000, "realisations": 32, "chains": 1_000_000},
}[profile]

# %% [markdown]
# ## The algorithms: three ways to choose the batch
#
# Each step moves the weights by
#
# $$
# w(t+dt) = w(t) - dt \Big[ \sum_\mu s_\mu(t)\, \ell'(h_\mu(t)) \frac{y_\mu x_\mu}{\sqrt N} + \lambda w(t) \Big],
# $$ (eq-update)
#
# where $s_\mu(t) = 1$ if sample $\mu$ is in the batch. Gradient descent (GD) takes them all. Vanilla SGD
# {cite:p}`bottou1999online` puts each sample into the batch with probability $b$, independently at each step. In
# persistent SGD (p-SGD) {cite:p}`mignacco2020dynamical` a sample that is out comes back at rate $1/\tau$, and one that
# is in leaves at rate $(1-b)/(b\tau)$: the batch has the same size $b$ on average but changes slowly. It was designed
# to remain noisy in the limit of continuous time, $dt\to0$, in which the noise of vanilla SGD vanishes.
#
# The gradient is a *sum* over about $b\alpha N$ samples, each with a factor $1/\sqrt N$. The Hessian of the loss
# therefore has eigenvalues of order one, and useful learning rates $dt$ are of order one or a little below.
#
# Each is a chain with two states for each sample, started with a fraction $b$ of the samples in the batch. In steps of
# $dt$ the rates of p-SGD can be used in two ways. The paper does not say which it uses. We use the first, Euler's,
# unless we say otherwise, because only with it is p-SGD at $\tau=dt/b$ vanilla SGD, as in the paper:
#
# | algorithm | a sample that is out comes in with probability | one that is in goes out with probability |
# |---|---|---|
# | GD, `sn.GD()` | 1 | 0 |
# | SGD, `sn.SGD(b)` | $b$ | $1-b$ |
# | p-SGD, Euler, `sn.PersistentSGD(b, tau)` | $dt/\tau$ | $\frac{1-b}{b}\,dt/\tau$ |
# | p-SGD, exact, `sn.PersistentSGD(b, tau, "exact")` | $b\,(1-e^{-dt/(b\tau)})$ | $(1-b)\,(1-e^{-dt/(b\tau)})$ |

# %%
problem = sn.Problem(alpha=alpha, delta=delta, ridge=ridge, margin=margin)
algorithms = {
    "GD": sn.GD(),
    "SGD": sn.SGD(batch=batch),
    "p-SGD": sn.PersistentSGD(batch=batch, persistence=persistence),
}
training = {
    "learning_rate": rate,
    "duration": round(rate * round(10 / rate), 9),
    "features": size["features"],
    "realisations": size["realisations"],
    "seed": seed,
}
trained = sn.sweep(
    sn.simulate,
    {"algorithm": list(algorithms.values())},
    fixed={"problem": problem, **training},
)
runs = {label: trained.isel(algorithm=index) for index, label in enumerate(algorithms)}

# %% tags=["hide-input"]
# Draw the figure.
figure, panels = plt.subplots(1, 3)
for label, run in runs.items():
    for axes, name in zip(panels, ("magnetization", "loss", "error"), strict=True):
        plotting.draw(axes, run[name], label=label)
labels = ("magnetisation $m$", "loss per feature $L/N$", "generalisation error")
for axes, label in zip(panels, labels, strict=True):
    axes.set(xlabel="time $t$", ylabel=label, xlim=(-0.1, 5))
panels[1].legend(title=rf"$b={batch:g}$, $\tau={persistence:g}$")
publish("training", figure)
glue("features", size["features"])
glue("realisations", size["realisations"])

# %% [markdown]
# ```{glue:figure} training
# ---
# name: fig-training
# alt: >-
#   Three panels against training time, each with a line for GD, SGD and persistent SGD: magnetisation, which rises
#   (for GD beyond its final value), and loss and generalisation error, which fall, until all of them level off.
# ---
# Training by GD, vanilla SGD and p-SGD on the same data sets ($\alpha=6$, $\Delta=\lambda=\kappa=1$, $dt=0.1$,
# $b=0.3$, $\tau=2$): magnetisation $m = v\cdot w/N$, loss per feature, and probability of misclassifying a new sample.
# Lines are means over {glue:}`realisations` simulated data sets with $N=$ {glue:}`features` features, bands two
# standard errors.
# ```

# %% tags=["hide-input", "claims"]
# Numbers quoted in the text.
final = {
    label: run.sel(time=slice(7.0, None)).mean("time") for label, run in runs.items()
}
base, vanilla, persistent = final.values()


def difference(name, high, low):
    """Mean paired difference between two algorithms on the same data, with its standard error."""
    mean, error = plotting.mean_and_error(high[name] - low[name])
    return f"{float(mean):.3f} ± {float(error):.3f}"


# GD on the data term weakened by b, that is at ridge lambda/b, with its loss counted at the given lambda.
stronger = sn.Problem(alpha=alpha, delta=delta, ridge=ridge / batch, margin=margin)
weakened = sn.sweep(
    sn.simulate, {"problem": [stronger]}, fixed={"algorithm": sn.GD(), **training}
).isel(problem=0)
weakened["loss"] = weakened.loss - 0.5 * problem.ridge * (1 / batch - 1) * weakened.norm
weakened = weakened.sel(time=slice(7.0, None)).mean("time")

glue("loss_weakened", difference("loss", weakened, base))
glue("loss_sgd", difference("loss", vanilla, base))
glue("loss_psgd", difference("loss", persistent, vanilla))
glue("error_psgd", difference("error", persistent, vanilla))

# %% [markdown]
# Training with batches ends at a higher loss. Averaged over the last three units of time and paired data set by data
# set, the loss per feature of SGD is {glue:text}`loss_sgd` above that of GD. That of p-SGD is another
# {glue:text}`loss_psgd` higher, and its generalisation error is {glue:text}`error_psgd` above that of SGD. Not all of
# this is noise. A batch of fraction $b$ weakens the data term by a factor $b$ and leaves the ridge as it is, so SGD at
# ridge $\lambda$ aims at the minimum for $\lambda/b$. GD at ridge $\lambda/b$ has no noise at all, and ends
# {glue:text}`loss_weakened` above GD at $\lambda$ when its loss is counted at $\lambda$.
#
# ## How long a batch is remembered
#
# SGD and p-SGD differ only in the autocorrelation of $s$. Two rates that add up to $1/\tau + (1-b)/(b\tau) = 1/(b\tau)$
# give, in continuous time,
#
# $$
# \langle s(t_w)\, s(t_w+t) \rangle - b^2 = b(1-b)\, e^{-t/(b\tau)} .
# $$ (eq-autocorrelation)
#
# Euler's probabilities, rate times $dt$, make it decay by $1 - dt/(b\tau)$ a step, which is the exponential to first
# order and *exactly* vanilla SGD at $\tau = dt/b$. The exact embedding looks at the continuous process every $dt$, and
# obeys {eq}`eq-autocorrelation` at any $dt$.

# %%
lags, BLOCKS = np.arange(21), 50


def autocorrelation(algorithm, stream):
    """Sampled autocorrelation of s from time zero, one for each block of chains."""
    process = algorithm.sampling(rate)
    s = sample_weights(process, size["chains"], lags.size, stream) - algorithm.batch
    return np.reshape(s[0] * s, (lags.size, BLOCKS, -1)).mean(axis=2).T


cases = [(0.3, 2.0), (0.3, 0.5), (0.8, 0.5)]
streams = iter(np.random.SeedSequence(seed).spawn(2 * len(cases)))
sampled = {
    (b, tau, embedding): autocorrelation(
        sn.PersistentSGD(b, tau, embedding), next(streams)
    )
    for b, tau in cases
    for embedding in ("exact", "euler")
}

# %% tags=["hide-input"]
# Draw the figure.
figure, panels = plt.subplots(1, 2, sharey=True)
t = rate * lags
misfit = {"exact": [], "euler": []}
colors = [plotting.COLORS[name] for name in ("blue", "red", "green")]
for (b, tau), color in zip(cases, colors, strict=True):
    label = rf"$b={b}$, $\tau={tau}$"
    for axes, embedding in zip(panels, misfit, strict=True):
        blocks = sampled[b, tau, embedding]
        mean, error = blocks.mean(axis=0), blocks.std(axis=0, ddof=1) / np.sqrt(BLOCKS)
        memory = sn.PersistentSGD(b, tau, embedding).sampling(rate).memory
        misfit[embedding].append((mean - b * (1 - b) * memory**lags) / error)
        law = b * (1 - b) * np.exp(-t / (b * tau))
        look = {"color": color, "linewidth": 1, "name": f"law, {label}"}
        plotting.curve(axes, t, law, fmt="-", **look)
        plotting.curve(axes, t, mean, error, fmt="o", color=color, label=label)
for axes, embedding in zip(panels, misfit, strict=True):
    axes.set(
        xlabel="time difference $t$",
        title={"exact": "exact embedding", "euler": "Euler's embedding"}[embedding],
    )
    plotting.curve(axes, None, 0, fmt="-", color="0.7", zorder=0, name="zero")
panels[0].set_ylabel(r"$\langle s(t)s(0)\rangle - b^2$")
panels[0].legend()
publish("autocorrelation", figure)
for embedding, deviations in misfit.items():
    glue(f"scatter_{embedding}", f"{np.sqrt(np.mean(np.square(deviations))):.2f}")
glue("points", np.size(misfit["exact"]))

# %% tags=["hide-input", "claims"]
# Test the claim.
# The amplitude of the law, fitted to the sampled values, block by block.
ratios = {}
for b, tau in cases:
    law = b * (1 - b) * np.exp(-t / (b * tau))
    fitted = sampled[b, tau, "exact"] @ law / (law @ law)
    ratios[rf"$b={b:g}$, $\tau={tau:g}$"] = Estimate.mean(fitted)
words = ", ".join(f"{ratio:.4f}" for ratio in ratios.values())
claim("sampling-autocorrelation", f"sampled over predicted: {words}", ratios)

# %% [markdown]
# ```{glue:figure} autocorrelation
# ---
# name: fig-autocorrelation
# alt: >-
#   Two panels, autocorrelation against time difference, for three pairs of batch size and persistence time. Points
#   are sampled chains, of the exact embedding on the left and of the Euler embedding on the right; lines are
#   exponentials.
# ---
# Autocorrelation of the sampling variable at $dt=0.1$ for the exact embedding (left) and Euler's (right). Points:
# sampled chains, with bars of two standard errors (mostly smaller than the symbols). Lines:
# $b(1-b)e^{-t/(b\tau)}$, {eq}`eq-autocorrelation`.
# ```
#
# The {glue:text}`points` sampled values of each embedding scatter about its own law, in units of their standard error,
# with a root mean square of {glue:text}`scatter_exact` (exact) and {glue:text}`scatter_euler` (Euler); one is expected.
#
# :::{admonition} What was found
# :class: found
# - With batches the final loss is higher than with GD on the same data, by {glue:text}`loss_sgd` for SGD and by another
#   {glue:text}`loss_psgd` for p-SGD.
# - Noise explains only part of this. Of the first number, {glue:text}`loss_weakened` is present without any noise,
#   because SGD at ridge $\lambda$ minimises the loss with ridge $\lambda/b$.
# - The batch is forgotten as the paper says, {eq}`eq-autocorrelation`, if the jump process is followed exactly. With
#   Euler's probabilities it is forgotten faster, especially if $b\tau$ is not much longer than $dt$.
# :::
