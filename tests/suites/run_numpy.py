"""run_numpy - runs numpy's own fast tests: `run_numpy.py JOBS [PACKAGE ...]`, numpy.test("fast") of
these or of all. Left in the current folder: numpy.json, as run_cpython does. It is its own plugin
of pytest, so its folder must be on the path.
"""

import json
import pathlib
import sys

ends = {}


def pytest_runtest_logreport(report):
    """Of setup, test and teardown the worst counts. What numpy expects to fail has passed."""
    test = report.nodeid.replace(" ", "_")
    if report.failed:
        ends[test] = ["failed", str(report.longrepr).strip().splitlines()[-1][:300]]
    elif report.skipped and not hasattr(report, "wasxfail"):
        ends[test] = ["skipped", str(report.longrepr[-1])]
    else:
        ends.setdefault(test, ["passed", ""])


def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput"):  # a worker of pytest-xdist
        with open("numpy.json", "w") as file:
            json.dump(ends, file)


def main():
    import numpy

    jobs, *packages = sys.argv[1:]
    extra = ["-p", "run_numpy", "-p", "no:cacheprovider", "-n", jobs, "--timeout", "300"]
    # Tests are named by their whole path, whichever packages are asked for.
    extra += ["--rootdir", str(pathlib.Path(numpy.__file__).parents[1])]
    numpy.test("fast", verbose=0, tests=packages or None, extra_argv=extra)


if __name__ == "__main__":
    main()
