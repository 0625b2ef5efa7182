"""pyproject.toml, requirements.lock and environment.yml say the same."""

import re
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from bookbuild.paths import LOCK, ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
# What conda calls by another name, and what its channel does not have (pip takes that from the project's extras).
CONDA_NAMES = {"matplotlib": "matplotlib-base", "dask": "dask-core"}
NOT_ON_CONDA = {"math-core", "playwright", "axe-playwright-python"}
PYTHONS = ("3.11", "3.12", "3.13")


def direct(*extras):
    lists = [PROJECT["dependencies"], *(EXTRAS[extra] for extra in extras)]
    return {canonicalize_name(r.name): r for r in (Requirement(text) for names in lists for text in names)}


BENCH_LOCK = ROOT / "requirements-bench.lock"


def locked(python, lock=LOCK):
    """What an installation of a lock gives on this Python."""
    environment = {"python_version": python, "python_full_version": f"{python}.0", "extra": ""}
    environment |= {"sys_platform": "linux", "platform_system": "Linux", "platform_python_implementation": "CPython"}
    found = {}
    for line in re.findall(r"^[A-Za-z0-9].*", lock.read_text(), flags=re.MULTILINE):
        requirement = Requirement(line.removesuffix("\\").strip())
        if requirement.marker is None or requirement.marker.evaluate(environment):
            (pin,) = requirement.specifier
            assert pin.operator == "=="
            name = canonicalize_name(requirement.name)
            assert name not in found, f"{name} is pinned twice for Python {python}"
            found[name] = Version(pin.version)
    return found


@pytest.mark.parametrize("python", PYTHONS)
def test_lock_satisfies_the_project(python):
    pins = locked(python)
    for name, requirement in direct("book", "test", "cluster").items():
        assert name in pins, f"{name} is not in requirements.lock; run `make lock`"
        assert pins[name] in requirement.specifier


@pytest.mark.parametrize("python", PYTHONS)
def test_the_benchmarks_are_pinned_apart_and_leave_all_others_as_they_are(python):
    pins, others = locked(python, BENCH_LOCK), locked(python)
    assert "jax" not in others
    for name, requirement in direct("bench").items():
        assert pins[name] in requirement.specifier
    assert {name: version for name, version in pins.items() if name in others}.items() <= others.items()


@pytest.mark.parametrize(("lock", "least"), [(LOCK, 100), (BENCH_LOCK, 20)])
def test_every_pin_has_hashes_and_no_address(lock, least):
    text = lock.read_text()
    assert "://" not in text
    assert "index" not in text
    blocks = re.findall(r"^[A-Za-z0-9].*?(?=^[A-Za-z0-9]|\Z)", text, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) > least
    assert all("--hash=sha256:" in block for block in blocks)


def test_environment_has_the_same_requirements():
    dependencies = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    conda = {}
    for line in (line for line in dependencies if isinstance(line, str)):
        name, specifier = re.fullmatch(r"([a-z0-9-]+)(.*)", line).groups()
        conda[name] = SpecifierSet(specifier)
    assert conda.pop("python") == SpecifierSet(PROJECT["requires-python"])
    assert conda.pop("pip") == conda.pop("make") == SpecifierSet()
    wanted = {CONDA_NAMES.get(n, n): r.specifier for n, r in direct("book", "test", "cluster").items()}
    assert conda == {name: spec for name, spec in wanted.items() if name not in NOT_ON_CONDA}
    assert dependencies[-1] == {"pip": ["-e .[book,test,cluster]"]}


def test_supported_pythons_agree():
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    assert tuple(workflow["jobs"]["test"]["strategy"]["matrix"]["python"]) == PYTHONS
    for minor in range(9, 16):
        assert (f"3.{minor}" in SpecifierSet(PROJECT["requires-python"])) == (f"3.{minor}" in PYTHONS)
