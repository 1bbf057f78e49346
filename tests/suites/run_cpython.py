"""run_cpython - runs suites of CPython's own tests: `run_cpython.py JOBS SUITE ...`. It runs inside
a jail and outside, so it is one file of the standard library.

Each suite has a process of its own, JOBS of them at a time. A word like `test_pty` is a whole
suite; longer ones (`test_pty.PtyTest.test_openpty`) are tests of it, run by themselves. Left in the
current folder: SUITE.json, by test its end ("passed", "failed", "skipped") and the sentence of what
did not pass, and SUITE.log, all that was said.

Not regrtest, whose results do not name a test of which only a subtest failed.
"""

import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import traceback
import unittest

# A suite that hangs is told as one, before the one who asked loses patience.
LIMIT_S = 1200


class Ends(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.ends = {}

    def startTest(self, test):
        super().startTest(test)
        print(test.id(), flush=True)
        self.ends[name_of(test)] = ["passed", ""]

    def note(self, test, end, sentence):
        self.ends[name_of(test)] = [end, sentence]

    def note_error(self, test, error):
        lines = traceback.format_exception(*error)
        print("".join(lines), flush=True)
        self.note(test, "failed", lines[-1].strip()[:300])

    def addFailure(self, test, error):
        self.note_error(test, error)

    def addError(self, test, error):
        self.note_error(test, error)

    def addSubTest(self, test, subtest, error):
        if error:
            self.note_error(test, error)

    def addSkip(self, test, reason):
        self.note(test, "skipped", reason)

    def addUnexpectedSuccess(self, test):
        self.note(test, "failed", "unexpected success")


def name_of(test):
    """A subtest counts as the test that it is part of, a module that is skipped as one test."""
    name = getattr(test, "test_case", test).id()
    return name.removeprefix("unittest.loader.ModuleSkipped.").replace("test.test_", "test_", 1)


def run_suite(names):
    """Runs them in this process; the JSON is written whatever they do."""
    from test import support

    # As regrtest does where no `-u` is given: tests that need much of the machine are not run.
    support.use_resources = []
    result = Ends()
    suite = unittest.defaultTestLoader.loadTestsFromNames([f"test.{name}" for name in names])
    folder = os.getcwd()
    with tempfile.TemporaryDirectory(dir=folder) as own:
        os.chdir(own)
        try:
            suite.run(result)
        finally:
            os.chdir(folder)
            with open(f"{suite_of(names[0])}.json", "w") as file:
                json.dump(result.ends, file)


def suite_of(name):
    return name.partition(".")[0]


def run_in_process(names):
    suite = suite_of(names[0])
    with open(f"{suite}.log", "w") as log:
        command = [sys.executable, "-X", "faulthandler", os.path.abspath(__file__), "0", *names]
        try:
            subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                timeout=LIMIT_S,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired:
            log.write(f"not done within {LIMIT_S} s")


def main():
    jobs, *names = sys.argv[1:]
    if jobs == "0":
        return run_suite(names)
    suites = {}
    for name in names:
        suites.setdefault(suite_of(name), []).append(name)
    with concurrent.futures.ThreadPoolExecutor(int(jobs)) as pool:
        list(pool.map(run_in_process, suites.values()))


if __name__ == "__main__":
    main()
