"""Every way to build but tests/fuzz's: each option configures, compiles without a warning, and what
can run runs. Tests of jails stay out: there TSan's thread and a coverage file have no place."""

import os
import subprocess
import tempfile

import cellblock
import pytest

VARIANTS = {
    "release": [],
    "thread": ["-DCELLBLOCK_TESTS=ON", "-DCELLBLOCK_SANITIZE=thread"],
    "coverage": ["-DCELLBLOCK_TESTS=ON", "-DCELLBLOCK_COVERAGE=ON", "-DCMAKE_C_COMPILER=clang"],
}

BUILD_S = 1500


def run(*command, **options):
    result = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,
    )
    assert result.returncode == 0, result.stdout[-8000:]
    return result.stdout


def build(name):
    """Beside the tests' own build folder, whose CMake options it shares; kept for the next time."""
    folder = cellblock.BUILD.parent / "variants" / name
    llhttp = [
        f"-D{line}"
        for line in (cellblock.BUILD / "CMakeCache.txt").read_text().splitlines()
        if line.startswith("LLHTTP_ROOT:")
    ]
    options = [*llhttp, "-DCELLBLOCK_WERROR=ON", *VARIANTS[name]]
    run("cmake", "-S", cellblock.ROOT, "-B", folder, "-G", "Ninja", *options)
    run("ninja", "-C", folder)
    return folder


def run_units(folder, environment):
    select = ("-LE", "escape", "--no-tests=error")
    run("ctest", "--test-dir", folder, "--output-on-failure", *select, env=environment)


@pytest.mark.timeout(BUILD_S)
def test_release():
    folder = build("release")
    for program in ("cellblock", "cellblock-warden", "cellblock-gateway", "cellblock-init"):
        assert (folder / program).exists()


@pytest.mark.timeout(BUILD_S)
def test_thread():
    folder = build("thread")
    suppressions = cellblock.ROOT / "tests" / "support" / "tsan.supp"
    environment = {**os.environ, "TSAN_OPTIONS": f"suppressions={suppressions}"}
    run_units(folder, environment)


@pytest.mark.timeout(BUILD_S)
def test_coverage():
    folder = build("coverage")
    # Whoever runs, a gateway without privileges among them, writes its counts here.
    with tempfile.TemporaryDirectory(prefix="test-coverage-") as profiles:
        os.chmod(profiles, 0o1777)
        environment = {**os.environ, "LLVM_PROFILE_FILE": f"{profiles}/%p.profraw"}
        run_units(folder, environment)
        assert any(entry.stat().st_size for entry in os.scandir(profiles))
