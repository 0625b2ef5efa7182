"""The simulator of the live page against the library: the same bits of randomness, the same trajectories."""

import numpy as np
import pytest
from conftest import watched
from simulated import weights_of

import sgdnoise as sn
from bookbuild import sphinx_ext
from bookbuild.paths import LIVE
from sgdnoise.random import normals, threefry
from sgdnoise.simulation import step as training

pytestmark = pytest.mark.endtoend

UNSAT = sn.Problem(alpha=6, delta=1.0, ridge=1.0)
SAT = sn.Problem(alpha=0.5, delta=0.5, ridge=0.0)
# Odd sizes too: a row is made of two halves.
SIZES = {UNSAT: {"features": 61, "rate": 0.1, "duration": 12.0, "wait": 6.0}}
SIZES[SAT] = {"features": 150, "rate": 0.2, "duration": 40.0, "wait": 20.0}
NAMES = {name: name for name in ("magnetization", "norm", "loss", "distance", "correlation")}
NAMES["response"] = "integrated_response"


@pytest.fixture(scope="module")
def scripts(browser):
    """An empty page with the scripts of the live page."""
    with watched(browser) as page:
        for name in sphinx_ext.LIVE_FILES:
            if name.endswith(".js"):
                page.add_script_tag(path=sphinx_ext.D3 if name == sphinx_ext.D3_NAME else LIVE.parent / name)
        yield page
        assert page.complaints == []


def key_of(seed, child):
    """Key of one of the streams of the first data set."""
    streams = training.streams(np.random.SeedSequence(seed).spawn(1)[0])
    return [streams.data, streams.start, *streams.batches, streams.probes][child]


def test_the_generator_gives_the_same_words(scripts):
    """Fails when the library's generator is changed and that of the page is not."""
    key = key_of(3, 0)
    first, second = np.empty((2, 200), np.uint32)
    with np.errstate(over="ignore"):
        threefry.words(key[0], key[1], np.uint32(17), first, second)
    found = scripts.evaluate(
        """key => {
            const words = [new Uint32Array(200), new Uint32Array(200)];
            sgdnoise.threefry.words(key, 17, ...words);
            return words.map(half => [...half]);
        }""",
        key.tolist(),
    )
    assert found == [first.tolist(), second.tolist()]


@pytest.mark.parametrize("seed", [0, 1, 12345, 2**32 - 1])
def test_a_seed_gives_the_same_keys(scripts, seed):
    found = scripts.evaluate(
        """seed => {
            const {data, start, batches, probes} = sgdnoise.seed.streams(seed);
            return [data, start, ...batches, probes].map(key => [...key]);
        }""",
        seed,
    )
    assert found == [key_of(seed, child).tolist() for child in range(5)]


@pytest.mark.parametrize("length", [300, 61])
def test_normals_are_the_same_bits(scripts, length):
    """Some 18,000 and 3,700 normals, as the data of the page: no bit differs."""
    mean, scale = 1 / length, np.sqrt(0.5 / length)
    expected = normals.fill_normal(key_of(5, 0), length, np.zeros((60, length)), mean, scale)
    found = scripts.evaluate(
        """([seed, length, mean, scale]) => {
            const key = sgdnoise.seed.streams(seed).data;
            const out = new Float64Array(60 * length);
            const buffers = sgdnoise.normals.buffers(length);
            for (let row = 0; row < 60; row++) {
                sgdnoise.normals.fillRow(key, row, length, buffers, mean, scale, out, row * length);
            }
            return [...out];
        }""",
        [5, length, mean, float(scale)],
    )
    assert np.array_equal(np.reshape(found, (60, length)), expected)
    assert np.unique(expected).size > 0.99 * expected.size


@pytest.mark.parametrize("algorithm", [sn.SGD(0.3), sn.PersistentSGD(0.3, 2.0), sn.PersistentSGD(0.8, 0.5), sn.GD()])
def test_batches_are_the_same(scripts, algorithm):
    samples, steps, rate = 151, 40, 0.1
    expected = weights_of(key_of(5, 2), algorithm.sampling(rate), samples, steps).tolist()
    found = scripts.evaluate(
        """([batch, persistence, rate, samples, steps]) => {
            const key = sgdnoise.seed.streams(5).batches[0];
            const limits = sgdnoise.batches.thresholds(sgdnoise.batches.chain(batch, persistence, rate));
            const buffers = sgdnoise.normals.buffers(samples);
            const s = new Uint8Array(samples);
            return Array.from({length: steps}, (_, step) => {
                sgdnoise.batches.advance(key, limits, step, buffers, s);
                return [...s];
            });
        }""",
        [algorithm.batch, getattr(algorithm, "persistence", None), rate, samples, steps],
    )
    assert found == expected


DRAW_EPOCHS = """([batch, samples, steps]) => {
    const key = sgdnoise.seed.streams(5).batches[0];
    const batches = sgdnoise.batches.epoch(batch);
    const buffers = sgdnoise.batches.epochBuffers(samples);
    const [slots, s] = [new Uint16Array(samples), new Uint8Array(samples)];
    return Array.from({length: steps}, (_, step) => {
        sgdnoise.batches.shuffle(key, batches, step, buffers, slots, s);
        return [...s];
    });
}"""


@pytest.mark.parametrize(("batches", "samples"), [(10, 600), (4, 151), (3, 150), (2, 7), (1, 20)])
def test_an_epoch_is_an_exact_partition_and_that_of_the_library(scripts, batches, samples):
    epochs = 5
    found = np.array(scripts.evaluate(DRAW_EPOCHS, [1 / batches, samples, epochs * batches]))
    by_epoch = found.reshape(epochs, batches, samples)
    assert (by_epoch.sum(axis=1) == 1).all(), "each sample once an epoch"
    sizes = by_epoch.sum(axis=2)
    assert sizes.max() - sizes.min() <= (samples % batches > 0), "batches are equal, but for a sample where they must"
    if batches > 1:
        assert not np.array_equal(by_epoch[0], by_epoch[1]), "every epoch is split anew"
    expected = weights_of(key_of(5, 2), sn.ShuffledSGD(1 / batches).sampling(0.1), samples, epochs * batches)
    assert np.array_equal(found, expected)


def test_an_epoch_of_another_seed_would_be_noticed(scripts):
    """Negative control."""
    found = np.array(scripts.evaluate(DRAW_EPOCHS, [0.25, 151, 8]))
    assert not np.array_equal(found, weights_of(key_of(6, 2), sn.ShuffledSGD(0.25).sampling(0.1), 151, 8))


@pytest.mark.parametrize("batch", [0.3, 0.7, 0.9, 2, 0, -0.5])
def test_an_epoch_that_is_no_whole_number_of_batches_is_refused(scripts, batch):
    assert scripts.evaluate(
        """batch => {
            const settings = {problem: {alpha: 1, delta: 1, ridge: 0, margin: 1, init_variance: 1}, persistence: null};
            Object.assign(settings, {batch, sampling: "shuffled", rate: 0.1, duration: 1, wait: 0});
            Object.assign(settings, {features: 9, seed: 0});
            try {
                new sgdnoise.simulate.Run(settings);
            } catch (error) {
                return error instanceof RangeError;
            }
            return false;
        }""",
        batch,
    )
    with pytest.raises(ValueError, match="batch"):
        sn.ShuffledSGD(batch)


def train_in_browser(scripts, problem, algorithm, seed):
    size = SIZES[problem]
    parts = {name: getattr(problem, name) for name in ("alpha", "delta", "ridge", "margin", "init_variance")}
    settings = {"problem": parts, "batch": algorithm.batch, "persistence": getattr(algorithm, "persistence", None)}
    settings["momentum"] = algorithm.momentum
    settings["sampling"] = "shuffled" if isinstance(algorithm, sn.ShuffledSGD) else "random"
    found = scripts.evaluate(
        """settings => {
            const run = new sgdnoise.simulate.Run(settings);
            while (run.work());
            return {...run.series, verdict: run.verdict};
        }""",
        settings | size | {"seed": seed},
    )
    assert found.pop("verdict") == "finished"
    return {name: np.array(values, dtype=float) for name, values in found.items()}


def train_in_python(scripts, problem, algorithm, seed):
    size = SIZES[problem]
    return sn.simulate(
        problem,
        algorithm,
        size["rate"],
        size["duration"],
        features=size["features"],
        replicas=2,
        realisations=1,
        seed=seed,
        waiting_times=(size["wait"],),
        probes=scripts.evaluate("sgdnoise.simulate.PROBES"),
        precision="double",
        progress=False,
    ).squeeze()


def misfit(found, run, name):
    """Largest difference, over the largest value."""
    expected = run[NAMES[name]].values
    assert found[name].shape == expected.shape
    assert np.array_equal(np.isnan(found[name]), np.isnan(expected))
    return np.nanmax(np.abs(found[name] - expected)) / np.nanmax(np.abs(expected))


@pytest.mark.parametrize("problem", [UNSAT, SAT], ids=["UNSAT", "SAT"])
@pytest.mark.parametrize(
    "algorithm",
    [sn.SGD(0.3), sn.PersistentSGD(0.3, 2.0), sn.SGD(0.3, momentum=0.5), sn.ShuffledSGD(0.25)],
    ids=["vanilla", "persistent", "momentum", "shuffled"],
)
def test_trajectories_agree_with_the_library(scripts, problem, algorithm):
    """Sums run in another order, so that rounding differs; training contracts, and does not make it grow."""
    found, run = (train(scripts, problem, algorithm, 11) for train in (train_in_browser, train_in_python))
    assert found["time"].size > 100
    for name in NAMES:
        assert misfit(found, run, name) < 1e-11, name
    assert np.nanmax(found["response"]) > 0.1
    assert found["distance"].max() > 0.02


def test_another_seed_would_be_noticed(scripts):
    """Negative control: runs of two seeds have nothing in common but their parameters."""
    algorithm = sn.SGD(0.3)
    found, run = train_in_browser(scripts, SAT, algorithm, 12), train_in_python(scripts, SAT, algorithm, 11)
    for name in NAMES:
        assert misfit(found, run, name) > 1e-3, name


def test_the_page_refuses_what_the_library_refuses(scripts):
    for batch in (0.05, 0.3, 0.8, 1.0):
        for persistence in (0.25, 1.0, 8.0):
            limit = scripts.evaluate("pair => sgdnoise.batches.largestRate(...pair)", [batch, persistence])
            sn.PersistentSGD(batch, persistence).sampling(limit)
            with pytest.raises(ValueError, match=f"at most {limit:g}"):
                sn.PersistentSGD(batch, persistence).sampling(1.001 * limit)


@pytest.mark.parametrize(("cost", "pieces"), [(0.5, 24), (5, 2), (7, 1), (80, 1)])
def test_no_frame_computes_for_longer_than_its_budget(scripts, cost, pieces):
    """A clock that only work moves: as many pieces as fit are done, or one where none does."""
    done, budget = scripts.evaluate(
        """cost => {
            let now = 0, done = 0;
            const pace = new sgdnoise.pace.Pace(() => now);
            const run = {steps: 1e9, step: 0, work() { now += cost; done += 1; return true; }};
            pace.frame(run);
            return [done, sgdnoise.pace.BUDGET];
        }""",
        cost,
    )
    assert done == pieces
    assert done == 1 or done * cost <= budget < 33


def test_quick_work_is_spread_over_the_time_of_a_run(scripts):
    """Steps that cost next to nothing still take the seconds that a run is meant to take, frame by frame."""
    counts, seconds, rate = scripts.evaluate(
        """() => {
            let now = 0;
            const pace = new sgdnoise.pace.Pace(() => now);
            const run = {steps: 480, step: 0, work() { this.step += 1; return this.step < this.steps; }};
            const counts = [];
            for (let before = 0; ; before = run.step) {
                const goes = pace.frame(run);
                counts.push(run.step - before);
                if (!goes) return [counts, sgdnoise.pace.SECONDS, pace.framesPerSecond];
                now += 20;
            }
        }"""
    )
    assert sum(counts) == 480
    assert abs(len(counts) * 0.02 - seconds) < 0.1
    assert max(counts) - min(counts[1:]) <= 1
    assert rate == pytest.approx(50)


def test_ticks_are_round_and_cover_the_axis(scripts):
    for largest in (1e-4, 0.0123, 0.05, 1.0, 12.72, 42.4):
        ticks = scripts.evaluate("largest => sgdnoise.plot.ticks(largest)", largest)
        assert ticks[0] == 0
        assert 3 <= len(ticks) <= 7
        assert 0.7 * largest < ticks[-1] <= largest
        assert all(len(f"{tick:g}") <= 7 for tick in ticks)
