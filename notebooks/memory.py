# ---
# jupyter:
#   expected_seconds:
#     paper: 12
#     smoke: 5
#     standard: 8
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What a memory kernel is
#
# :::{admonition} What you will learn
# :class: learn
# How a system of many variables becomes an equation for one of them. You need no knowledge of the field: we leave
# variables out, first of a toy and then of a network, and look at what their absence leaves behind, which is a memory
# and a noise. Then we take one sample out of a training set and put it back, and see why a theory of training has to
# speak of *responses*.
# :::
#
# Dynamical mean-field theory, DMFT for short, has a reputation for long calculations. Its idea is short. A network has
# many weights and is trained on many samples, and everything is coupled to everything. But each weight feels the
# samples only through a sum of many small terms, and each sample feels the weights only through a sum of many small
# terms. Sums of many small terms are Gaussian, and a Gaussian is known when its mean and its covariance are known. So
# it is enough to follow *one* weight and *one* sample, in a noise that has the right covariance
# {cite:p}`mezard1987spin,georges1996dynamical`. Two things need care. Whatever we leave out comes back later as a
# **memory**. And the noise is not quite independent of the variable on which it acts, because the other variables have
# responded to that variable; a **response** function describes this. This page shows both, each in a case where you can
# follow every step.

# %% tags=["parameters"]
profile = "standard"
seed = 0
delta = 1.0  # variance of the data
ridge = 1.0
rate = 0.1  # learning rate
alpha = 3.0  # samples per feature where one sample is taken out
kernel_alpha = 6.0  # samples per feature where kernels are drawn
batch = 0.3
persistence = 2.0

# %% tags=["hide-input"]
# Set up.
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Circle, FancyArrowPatch

import sgdnoise as sn
from sgdnoise import plotting
from sgdnoise.dmft.population import Population
from sgdnoise.dmft.weights import Rule, Weights
from sgdnoise.report import glue, publish

plotting.use_style()
size = {
    "smoke": {"features": 200, "taken_out": 20, "paths": 600},
    "standard": {"features": 400, "taken_out": 40, "paths": 2000},
    "paper": {"features": 800, "taken_out": 80, "paths": 6000},
}[profile]
blue, red, green = (plotting.COLORS[name] for name in ("blue", "red", "green"))

# %% [markdown]
# ## Leave something out, and it comes back as memory
#
# Take two coupled numbers, each of which relaxes, in steps of $dt$:
#
# $$
# \begin{aligned}
# x(t+1) &= x(t) - dt\,[\,k_x\,x(t) - J\,y(t)\,], \\
# y(t+1) &= y(t) - dt\,[\,k_y\,y(t) - J\,x(t)\,], \qquad y(0) = 0 .
# \end{aligned}
# $$ (eq-toy)
#
# Suppose we only care about $x$. The second equation can be solved for $y$: it is the sum of everything that $x$ did to
# it, and each contribution fades by a factor $1-k_y\,dt$ per step. Substituting it into the first equation gives
#
# $$
# \begin{gathered}
# x(t+1) = x(t) - dt\,k_x\,x(t) + dt\sum_{u<t} K(t-u)\,x(u), \\
# K(n) = J^2\,dt\,(1-k_y\,dt)^{n-1} .
# \end{gathered}
# $$ (eq-toy-memory)
#
# This is still exact, although $y$ has been eliminated. The price is that $x$ now depends on its own past, through the
# *memory kernel* $K$. It tells how strongly the value of $x$ of $n$ steps ago acts on $x$ now: that value was passed to
# $y$ then and comes back from $y$ now. A slow $y$ remembers for a long time. With $K=0$, $x$ would move as if $y$ were
# not there.

# %%
dt, kx, ky, J = 0.1, 1.0, 0.5, 0.6
steps = 80
x, y = np.ones(steps + 1), np.zeros(steps + 1)
for t in range(steps):
    x[t + 1] = x[t] - dt * (kx * x[t] - J * y[t])
    y[t + 1] = y[t] - dt * (ky * y[t] - J * x[t])

kernel = J**2 * dt * (1 - ky * dt) ** np.arange(steps)  # K(1), K(2), ...
alone = np.ones(steps + 1)
for t in range(steps):
    alone[t + 1] = alone[t] - dt * kx * alone[t] + dt * kernel[:t][::-1] @ alone[:t]

# %% tags=["hide-input"]
# Draw the toy and its kernel.
time = dt * np.arange(steps + 1)
figure, (left, right) = plt.subplots(1, 2)
plotting.curve(left, time, x, fmt="-", color=blue, label="$x$, from both equations")
plotting.curve(
    left, time[::5], alone[::5], fmt="o", color=red, label="$x$, from one with memory"
)
plotting.curve(left, time, y, fmt="--", color=green, label="$y$, left out")
plotting.curve(
    left,
    time,
    (1 - dt * kx) ** np.arange(steps + 1),
    fmt=":",
    color="0.5",
    label="$x$ without $y$",
)
left.set(xlabel="time", ylim=(0, 1.05))
left.legend()
plotting.curve(right, time[1:], kernel / dt, fmt="-", color="k", name="$K/dt$")
right.set(xlabel="how long ago", ylabel="memory kernel $K/dt$", ylim=(0, None))
publish("toy", figure)
glue("toy_gap", f"{np.abs(x - alone).max():.0e}")

# %% [markdown]
# ```{glue:figure} toy
# ---
# name: fig-toy
# alt: >-
#   Left, two numbers against time: the solid line of x from both equations, points of x from the single equation with
#   memory, the dashed y that was left out, and a dotted line of x without y. Right, the memory kernel against how long
#   ago, an exponential.
# ---
# The two numbers of {eq}`eq-toy` with $k_x=1$, $k_y=0.5$, $J=0.6$, $x(0)=1$ and $dt=0.1$. Left: $x$ computed with $y$
# (line) and from {eq}`eq-toy-memory` without it (points), which differ by at most {glue:text}`toy_gap`; dashed: $y$;
# dotted: what $x$ would be without $y$. Right: the kernel.
# ```
#
# If $y$ had started at a random value, or had been pushed at random, there would be one more term in
# {eq}`eq-toy-memory`, a random force that does not depend on $x$. Variables that are left out always come back in
# these two forms: a **memory** of what one did to them, and a **noise** that they bring along.
#
# ## Take one sample out, and put it back
#
# Now a network. All samples but one pull on the weights. What does that one sample feel?

# %% tags=["hide-input"]
# Draw the diagram of the two steps.
figure, panels = plt.subplots(1, 2, figsize=(7.4, 2.6))
for axes, back in zip(panels, (False, True), strict=True):
    axes.set(
        xlim=(0, 10),
        ylim=(0, 5),
        title="2. the sample is back" if back else "1. the sample is out",
    )
    axes.set_aspect("equal")
    axes.axis("off")
    axes.add_patch(Circle((7.6, 2.6), 1.7, facecolor="0.93", edgecolor="0.3"))
    axes.text(7.6, 2.6, "weights,\nall other\nsamples", ha="center", va="center")
    style = "-" if back else (0, (3, 2))
    axes.add_patch(
        Circle((1.6, 2.6), 0.9, facecolor="white", edgecolor=blue, linestyle=style)
    )
    axes.text(
        1.6, 2.6, r"sample $\mu$", ha="center", va="center", color=blue, fontsize=9
    )
    bend = 0.35 if back else 0.0
    arrow = {"arrowstyle": "-|>", "mutation_scale": 12, "linewidth": 1.2}
    axes.add_patch(
        FancyArrowPatch(
            (5.9, 2.8),
            (2.6, 2.8),
            connectionstyle=f"arc3,rad={bend}",
            color="0.3",
            **arrow,
        )
    )
    axes.text(
        4.3,
        3.9 if back else 3.1,
        "a Gaussian field",
        ha="center",
        fontsize=9,
        color="0.3",
    )
    if back:
        axes.add_patch(
            FancyArrowPatch(
                (2.6, 2.4),
                (5.9, 2.4),
                connectionstyle="arc3,rad=0.35",
                color=blue,
                **arrow,
            )
        )
        axes.text(4.3, 1.0, "its pull", ha="center", fontsize=9, color=blue)
        axes.add_patch(
            FancyArrowPatch(
                (6.2, 1.5),
                (1.9, 1.7),
                connectionstyle="arc3,rad=-0.5",
                color=red,
                **arrow,
            )
        )
        axes.text(4.3, 0.05, "the answer, later", ha="center", fontsize=9, color=red)
publish("cavity", figure)

# %% [markdown]
# ```{glue:figure} cavity
# ---
# name: fig-cavity
# alt: >-
#   Two diagrams. In the first, a dashed circle for one sample beside a large circle for the weights and all other
#   samples, with one arrow to the sample, a Gaussian field. In the second, the sample is back: an arrow shows its pull
#   on the weights, and another the answer of the weights, which comes back later.
# ---
# The cavity argument. Left: one sample is taken out, and the others are trained without it. The field that it would
# feel is a sum over weights that know nothing of it. Right: with the sample back, it pulls on the weights, and a part
# of what it feels is the answer of the weights to its own earlier pulls.
# ```
#
# While the sample is out, its field $h_\mu = y_\mu x_\mu\cdot w/\sqrt N$ is a sum of many terms in which $x_\mu$ and
# $w$ are independent: Gaussian, with mean $m$ and $\Delta$ times the covariance of the weights. Once it is back, each
# of its pulls moves the weights by a small amount along $x_\mu$. On any other sample that has an effect of order
# $1/\sqrt N$. On the sample itself it has one of order one, because $x_\mu$ points along $x_\mu$: nothing averages out.
# How much of a push at $t'$ is left at $t$ is the **response** of the weights, $R(t,t')$. So the sample feels
#
# $$
# h_\mu(t) \;=\; h_\mu^\mathrm{out}(t) \;-\; \Delta\,dt \sum_{t'<t} R(t,t')\; s_\mu(t')\,\ell'(h_\mu(t')) .
# $$ (eq-cavity)
#
# This is why responses appear: they describe how a sample's own pull returns to it. To measure it, we train a network
# by gradient descent on all samples, and again without one of them, and compare the difference of the two fields with
# the sum in {eq}`eq-cavity`. The response comes from the theory.

# %%
problem = sn.Problem(alpha=alpha, delta=delta, ridge=ridge)
dt, steps, N = rate, 40, size["features"]
rng = np.random.default_rng(seed)
noise = rng.standard_normal((round(problem.alpha * N), N))
data = 1 / np.sqrt(N) + np.sqrt(problem.delta) * noise  # y_mu x_mu
start = rng.standard_normal(N)


def train(samples):
    """Gradient descent on these samples; the weights at every step."""
    weights = [start]
    for _ in range(steps):
        h = samples @ weights[-1] / np.sqrt(N)
        force = samples.T @ problem.loss.slope(h, problem.margin) / np.sqrt(N)
        weights.append(weights[-1] - dt * (force + problem.ridge * weights[-1]))
    return np.array(weights)


whole = train(data)
# The field of a sample at every step, trained with it and without it.
within, without = [], []
for sample in range(size["taken_out"]):
    within.append(whole @ data[sample] / np.sqrt(N))
    without.append(train(np.delete(data, sample, axis=0)) @ data[sample] / np.sqrt(N))
within, without = np.array(within), np.array(without)


# %% [markdown]
# ## The kernels of the theory, and one pass through time
#
# The response requires a theory of the weights, and the weights require the samples; {doc}`/book/dmft` closes this
# circle. Seen from the weights, all the samples have been eliminated. They come back, as in the toy, as a memory
# $\Gamma(t,t')$, the force at $t$ due to the weights at $t'$, and as a noise, with the covariance $M(t,t')$ of the
# forces at two times. The solver fits into a few lines. It holds a population of samples and goes through time once:
# from their fields to the kernels of this step, and from the kernels to the weights of the next.


# %%
def kernels(problem, algorithm, dt, steps, paths):
    """Solve the theory in one pass, and keep its kernels R, Gamma and M."""
    shape, stream = (steps, 1, paths), np.random.SeedSequence(seed)
    sampling = algorithm.sampling(dt)
    rule = Rule(algorithm.update(dt, problem.ridge), dt)
    population = Population.draw(problem, sampling, dt, shape, True, stream)
    weights = Weights(problem, rule, steps, replicas=1)
    Gamma, M = np.zeros((steps, steps)), np.zeros((steps, steps))
    for t in range(steps):
        # What the samples feel; their mean pull, noise and memory; the next weights.
        r = population.fields(t, weights.m[t], weights.L, weights.G)
        averages = population.advance(t, r, weights.G)
        Gamma[t, : t + 1], M[t, : t + 1] = averages.Gamma, averages.M[0]
        weights.step(t, averages)
    return weights.G[:, 1 : steps + 1], Gamma, M


response = kernels(problem, sn.GD(), dt, steps, size["paths"])[0]
pulls = problem.loss.slope(within[:, :-1], problem.margin)
answer = -problem.delta * dt * pulls @ response.T

# %% tags=["hide-input"]
# Compare the answer in networks with that of the theory.
times = dt * np.arange(steps + 1)
figure, (left, right) = plt.subplots(1, 2)
largest = np.argmax(np.abs(within[:, -1] - without[:, -1]))
shown = int(largest)  # of the samples the one with the largest answer
plotting.curve(
    left, times, without[shown], fmt="--", color="0.4", label="trained without it"
)
plotting.curve(left, times, within[shown], fmt="-", color=blue, label="trained with it")
plotting.curve(
    left,
    times[::3],
    (without + answer)[shown, ::3],
    fmt="o",
    color=red,
    label="without it, and the answer",
)
left.set(xlabel="time $t$", ylabel=r"field of one sample, $h_\mu(t)$")
left.legend()
last = (within - without)[:, -1]
plotting.curve(right, answer[:, -1], last, fmt="o", color=blue, name="samples")
ends = np.array([0.0, 1.05 * answer[:, -1].max()])
plotting.curve(right, ends, ends, fmt="-", color="0.6", zorder=0, name="equal")
right.set(
    xlabel="answer by the theory",
    ylabel="answer in the network",
    title=f"$t={dt * steps:g}$, all samples",
)
publish("answer", figure)
miss = np.sqrt(
    np.mean((within - without - answer)[:, -1] ** 2)
    / np.mean((within - without)[:, -1] ** 2)
)
glue("miss", f"{100 * miss:.0f}")
glue("largest", f"{np.abs(answer[:, -1]).max():.1f}")
glue("features", N)
glue("taken_out", size["taken_out"])

# %% [markdown]
# ```{glue:figure} answer
# ---
# name: fig-answer
# alt: >-
#   Left, the field of one sample against time: dashed when the network is trained without it, solid when it is trained
#   with it, and points for the first plus the answer by the theory. Right, the difference of the two fields in the
#   network against the answer by the theory for all samples that were taken out, with the diagonal.
# ---
# Left: the field of the sample with the largest answer in a network of {glue:}`features` features that was trained
# without the sample (dashed) and with it (line), and the first with the answer of {eq}`eq-cavity` added (points).
# Right: the answer at the end of training for {glue:}`taken_out` samples, by the theory and in the network; the line is
# equality. Gradient descent, $\alpha=3$, $\Delta=\lambda=\kappa=1$, $dt=0.1$.
# ```
#
# The answer is not small: a sample ends up to {glue:text}`largest` nearer to the margin than if it had not been trained
# on. Without the response term the theory would treat the training set as if it were unseen data. What is left between
# network and theory, {glue:text}`miss` per cent of the answer, is the finite size.
#
# ## What the kernels look like

# %%
algorithms = {
    "GD": sn.GD(),
    "SGD": sn.SGD(batch=batch),
    "p-SGD": sn.PersistentSGD(batch=batch, persistence=persistence),
}
unsat = sn.Problem(alpha=kernel_alpha, delta=delta, ridge=ridge)
length, wait = 80, 40
found = {
    name: kernels(unsat, algorithm, rate, length, size["paths"])
    for name, algorithm in algorithms.items()
}

# %% tags=["hide-input"]
# Draw the three kernels against the lag.
figure, panels = plt.subplots(1, 3, figsize=(7.4, 3.0))
lag = rate * np.arange(length - wait)
for (name, (R, Gamma, M)), color, style in zip(
    found.items(), (blue, red, green), ("-", "--", "-."), strict=True
):
    look = {"linestyle": style, "color": color, "label": name}
    plotting.curve(
        panels[0],
        lag + rate,
        R[wait + 1 :, wait][: lag.size],
        **look,
    )
    plotting.curve(panels[1], lag[1:], -Gamma[wait + 1 :, wait] / rate, **look)
    plotting.curve(panels[2], lag, M[wait:, wait] / M[wait, wait], **look)
panels[0].set(ylabel="response $R(t,t')$", ylim=(0, None))
panels[1].set(ylabel=r"memory $-\Gamma(t,t')/dt$")
panels[2].set(ylabel="forces $M(t,t')/M(t',t')$", ylim=(0, None))
for axes in panels:
    axes.set(xlabel="lag $t-t'$", xlim=(0, 3))
panels[0].legend()
publish("kernels", figure)
short, long = (
    float(found[name][2][wait + 1, wait] / found[name][2][wait, wait])
    for name in list(algorithms)[1:]
)
glue("noise_sgd", f"{short:.2f}")
glue("noise_psgd", f"{long:.2f}")

# %% [markdown]
# ```{glue:figure} kernels
# ---
# name: fig-kernels
# alt: >-
#   Three panels against the lag, each with a line for GD, SGD and persistent SGD: the response of the weights, the
#   memory kernel, and the covariance of the forces divided by its value at lag zero.
# ---
# The kernels of the theory from $t'=4$ on: response of the weights to a push, memory that the samples provide, and
# covariance of the forces divided by its value at lag zero. $\alpha=6$, $\Delta=\lambda=\kappa=1$, $dt=0.1$; SGD with
# $b=0.3$, p-SGD with $b=0.3$ and $\tau=2$.
# ```
#
# After one step the covariance of the forces of vanilla SGD has fallen to {glue:text}`noise_sgd`, close to $b$ (these
# curves come from one population of paths and are not exact): the samples are the same, but the batch is a new one. In
# p-SGD it is still {glue:text}`noise_psgd`, because the batch is nearly the same too, and it remains so for a time
# $b\tau$. Under gradient descent nothing changes at random from step to step; its forces are random only because the
# data are. The response decays more slowly with batches, because a batch pulls back with a fraction $b$ of the force.
#
# :::{admonition} What was found
# :class: found
# - Variables that are eliminated from a system come back as a memory of the past and as a noise.
# - A sample feels a Gaussian field and the answer to its own pulls. In real networks that answer is what the theory
#   says, to {glue:text}`miss` per cent at this size.
# - Everything that the theory needs is three functions of two times, $R$, $\Gamma$ and $M$, and one pass through time
#   gives them. {doc}`/book/dmft` writes the equations down.
# :::
