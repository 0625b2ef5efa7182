# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Does the theory hold?
#
# Dynamical mean-field theory replaces a network of many features by a single sample in a self-consistent noise.
# Before we read anything off it, we hold it against what can be known in other ways: a case that random-matrix theory
# solves exactly, training runs of finite size, the paper's own iteration, and the effective temperature that the
# paper quotes.

# %% tags=["parameters"]
profile = "standard"
seed = 0

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np

import sgdnoise as sn

sizes = {
    "smoke": {"paths": 1000, "realisations": 4, "features": 150, "runs": 8},
    "standard": {"paths": 5000, "realisations": 8, "features": 500, "runs": 24},
    "paper": {"paths": 20_000, "realisations": 16, "features": 1500, "runs": 60},
}[profile]
population = {"paths": sizes["paths"], "realisations": sizes["realisations"], "seed": seed}
training = {"features": sizes["features"], "realisations": sizes["runs"], "seed": seed}


def band(axis, data, name, **style):
    """Draw the mean of a variable with a band of one standard error."""
    mean = data[name].mean("realisation")
    error = data[name].std("realisation", ddof=1) / np.sqrt(data.sizes["realisation"])
    (line,) = axis.plot(data.time, mean, **style)
    axis.fill_between(data.time, mean - error, mean + error, color=line.get_color(), alpha=0.3, lw=0)


# %% [markdown]
# ## A case that can be solved exactly
#
# With the square loss the weights follow a linear equation, and for gradient descent the Marchenko-Pastur law gives
# the response to a push: $R(t,t')$ is the mean of $(1-dt(x+\lambda))^{t-t'-1}$ over its eigenvalues $x$. Our population
# has exact second moments, so that no sampling error is left, and the two agree to rounding.

# %%
linear = sn.Problem(alpha=3, delta=0.7, ridge=0.3, loss=sn.square)
theory = sn.solve_dmft(linear, sn.GD(), 0.1, 5.0, paths=1000, realisations=1, waiting_times=[0.0])
root = np.sqrt(linear.alpha)
low, high = linear.delta * (root - 1) ** 2, linear.delta * (root + 1) ** 2
angle = np.pi * (np.arange(4000) + 0.5) / 4000
x = (low + high) / 2 + (high - low) / 2 * np.cos(angle)
weight = ((high - low) / 2 * np.sin(angle)) ** 2 / x
weight /= weight.sum()
decay = (1 - 0.1 * (x + linear.ridge)) ** np.arange(50)[:, None] @ weight
chi = 0.1 * np.concatenate([[0], np.cumsum(decay)])
response_error = float(np.max(np.abs(theory.integrated_response.values[0, 0] - chi)))
print(f"largest deviation of the integrated response: {response_error:.1e}")

# %% [markdown]
# ## Training at finite size
#
# Theory (lines, with bands of one standard error) and training runs (dots) for the three algorithms, where the data
# cannot be separated (top) and where they can (bottom).

# %%
algorithms = {"GD": sn.GD(), "SGD": sn.SGD(batch=0.3), "p-SGD": sn.PersistentSGD(batch=0.3, persistence=2.0)}
phases = {
    "UNSAT": (sn.Problem(alpha=6), 0.1, 6.0),
    "SAT": (sn.Problem(alpha=1.5, ridge=0, init_variance=0.3), 0.2, 12.0),
}
shown = ("magnetization", "error", "unsatisfied", "distance")
figure, axes = plt.subplots(2, 4, figsize=(12, 5.5), layout="constrained")
deviations = []
for row, (phase, (problem, dt, duration)) in zip(axes, phases.items(), strict=True):
    for colour, (name, algorithm) in enumerate(algorithms.items()):
        theory = sn.solve_dmft(problem, algorithm, dt, duration, replicas=2, waiting_times=[0.0], **population)
        run = sn.simulate(problem, algorithm, dt, duration, replicas=2, **training)
        for axis, quantity in zip(row, shown, strict=True):
            band(axis, theory, quantity, color=f"C{colour}", label=name)
            few = run.isel(time=slice(None, None, 6))
            mean = few[quantity].mean("realisation")
            error = few[quantity].std("realisation", ddof=1) / np.sqrt(run.sizes["realisation"])
            axis.errorbar(few.time, mean, error, fmt="o", ms=3, color=f"C{colour}")
            axis.set(xlabel="time", title=f"{quantity}, {phase}")
            gap = (mean - theory[quantity].mean("realisation").sel(time=few.time)).values[1:]
            deviations.append(np.max(np.abs(gap)))
axes[0, 0].legend()
plt.show()

# %% [markdown]
# What is left between lines and dots is the finite size of the runs, of order $1/N$.

# %%
largest_gap = float(np.max(deviations))
print(f"largest gap between theory and training with N = {sizes['features']}: {largest_gap:.3f}")

# %% [markdown]
# ## One pass, or many
#
# The paper iterates whole trajectories. With the same random numbers that iteration settles on the solution of the
# single causal pass.

# %%
options = population | {"paths": min(sizes["paths"], 2000), "realisations": 2}
causal = sn.solve_dmft(phases["UNSAT"][0], algorithms["SGD"], 0.1, 4.0, **options)
iterated = sn.solve_dmft(phases["UNSAT"][0], algorithms["SGD"], 0.1, 4.0, method="iterative", tolerance=1e-5, **options)
iteration_gap = float(np.abs(iterated.norm - causal.norm).max())
rounds = iterated.attrs["iterations"]
print(f"largest difference of the norm after {rounds} iterations: {iteration_gap:.1e}")

# %% [markdown]
# ## The temperature of the paper
#
# Vanilla SGD with $\alpha=6$, $b=0.1$, $dt=0.1$ and all other parameters one: the paper reads $T_\mathrm{eff}=0.015$
# off the slope of $C(t_w,t_w)-C(t,t_w)$ against the integrated response.

# %%
waiting = (8.0, 9.0, 10.0)
theory = sn.solve_dmft(sn.Problem(alpha=6), sn.SGD(batch=0.1), 0.1, 13.0, waiting_times=waiting, **population)
figure, axis = plt.subplots(figsize=(5, 4), layout="constrained")
slopes = []
for tw in waiting:
    late = theory.sel(waiting_time=tw, method="nearest").sel(time=slice(tw - 0.01, tw + 2.51))
    drop = late.correlation.isel(time=0) - late.correlation
    slopes.append([np.polyfit(x, y, 1)[0] for x, y in zip(late.integrated_response.values, drop.values, strict=True)])
    mean = late.integrated_response.mean("realisation"), drop.mean("realisation")
    axis.plot(*mean, "o", ms=3, label=f"$t_w={tw:g}$")
per_population = np.mean(slopes, axis=0)
temperature = float(per_population.mean())
temperature_error = float(per_population.std(ddof=1) / np.sqrt(per_population.size))
axis.axline((0, 0), slope=temperature, color="k", lw=1, label=f"$T = {temperature:.4f}\\pm{temperature_error:.4f}$")
axis.set(xlabel=r"$\chi(t,t_w)$", ylabel="$C(t_w,t_w)-C(t,t_w)$", xlim=(0, None), ylim=(0, None))
axis.legend()
plt.show()
