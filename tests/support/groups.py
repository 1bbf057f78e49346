"""groups - runs groups of tests and counts: the table of what there is, seconds, and at the end
`N passed, N failed`. tests/run calls it when all is installed and built.

A group is one command that writes a JUnit file, and checks beside it, each of which counts as one
test by its exit status. Counts come from the JUnit files alone, but a command that fails without
naming a test counts as one that failed, so nothing that breaks early looks green. A group without a
single test is a failure too."""

import argparse
import dataclasses
import fcntl
import os
import pathlib
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

from cellblock import BUILD, LOGS, REPORTS, ROOT

SUPPORT = ROOT / "tests" / "support"
RESULTS = BUILD / "results"


def ctest(*select, jobs=2):
    def command(junit, words):
        command = ["ctest", "--test-dir", BUILD, "--output-on-failure", "--no-tests=error"]
        command += ["--timeout", "120", f"-j{jobs}", "--output-junit", junit, *select]
        return [*command, *(("-R", words) if words else ())]

    return command


def pytest(folder, prefix=sys.prefix):
    """prefix is the Python environment that runs it."""

    def command(junit, words):
        select = ("-k", words) if words else ()
        python = pathlib.Path(prefix, "bin", "python")
        command = [python, "-m", "pytest", ROOT / "tests" / folder]
        return [*command, f"--junitxml={junit}", *select]

    return command


def fuzz(junit, words):
    command = [ROOT / "tests" / "fuzz" / "run", "--seconds", "10", "--seed", "1", "--jobs", "2"]
    return [*command, "--junit", junit, *((words,) if words else ())]


@dataclasses.dataclass
class Group:
    """command(junit, words) makes the argument list; more are further such; checks are (name,
    argument list). expects names the programs of which at least one process must have ended by
    itself."""

    name: str
    doc: str
    command: object = None
    more: tuple = ()
    checks: tuple = ()
    expects: tuple = ()
    limit_s: int = 900


GROUPS = (
    Group("unit", "cmocka tests per room, fuzz corpora, walls between rooms",
          ctest("-LE", "escape"),
          checks=(("walls", [SUPPORT / "walls", BUILD]),)),
    Group("lint", "formatting, house rules, shell and Python checkers",
          checks=tuple((rule, [SUPPORT / "lint", rule])
                       for rule in ("format", "house", "shell", "python"))),
    Group("escape", "programs and cells in a jail that try to get out", ctest("-L", "escape"),
          more=(pytest("escape"),)),
    Group("conform", "the parts against their contracts, one by one", pytest("conform")),
    Group("clients", "real clients, unmodified, and what they rely on", pytest("clients"),
          limit_s=1800),
    Group("agents", "clients of agents and pipelines, unmodified, and other gateways' own tests",
          pytest("agents", os.environ.get("TEST_AGENTS_PYTHON", sys.prefix))),
    Group("openapi", "the description of the REST API against a live server, by schemathesis",
          pytest("openapi", os.environ.get("TEST_OPENAPI_PYTHON", sys.prefix))),
    Group("browser", "JupyterLab, unmodified, in headless Chromium",
          pytest("browser", os.environ.get("TEST_BROWSER_PYTHON", sys.prefix))),
    Group("abuse", "clients that leave, adversaries, and kernels that are hostile",
          pytest("abuse"), expects=("cellblock", "warden", "gateway", "init", "echo")),
    Group("suites", "CPython's and numpy's own tests in a jail and outside, in short form",
          pytest("suites"), limit_s=2400),
    Group("kernels", "kernels of other languages, as gateway/add-kernel installs them",
          pytest("kernels")),
    Group("bench", "measurements, in short form",
          checks=(("warm", [ROOT / "tests" / "bench" / "run", "warm", "--samples", "30"]),
                  ("overhead", [ROOT / "tests" / "bench" / "run", "overhead", "--samples", "1000"]),
                  ("deaf", [ROOT / "tests" / "bench" / "run", "deaf", "--mebibytes", "200"]),
                  ("large", [ROOT / "tests" / "bench" / "run", "large", "--mebibytes", "400"]),
                  ("many", [ROOT / "tests" / "bench" / "run", "many"]),
                  ("starts", [ROOT / "tests" / "bench" / "run", "starts", "--rounds", "20"]),
                  ("cycles", [ROOT / "tests" / "bench" / "run", "starts", "--kernel", "echo",
                              "--rounds", "60", "--refused", "200"]))),
    Group("variants", "every way to build: release, TSan, coverage", pytest("variants"),
          limit_s=3000),
    Group("fuzz", "what the fuzz corpora cover, and some seconds of fuzzing", fuzz,
          limit_s=2400),
    Group("bare", "a machine that has nothing, in short form",
          checks=(("bookworm", [ROOT / "tests" / "bare" / "run", "--short", "bookworm"]),),
          limit_s=2400),
    Group("docs", "what the pages generate, link and say to run", pytest("docs")),
)  # fmt: skip


@dataclasses.dataclass
class Outcome:
    passed: int = 0
    failed: list = dataclasses.field(default_factory=list)
    skipped: list = dataclasses.field(default_factory=list)  # (name, reason)
    seconds: float = 0

    def count(self):
        return self.passed + len(self.failed) + len(self.skipped)


def read_junit(path, group, outcome):
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        name = f"{group}: {case.get('classname')}.{case.get('name')}"
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            outcome.failed.append(name)
        elif skipped is not None:
            outcome.skipped.append((name, skipped.get("message") or "no reason given"))
        else:
            outcome.passed += 1


def run(command, limit_s):
    """The exit status; None where the command had to be ended at its time limit."""
    process = subprocess.Popen(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        cwd=ROOT,
        start_new_session=True,
    )
    try:
        return process.wait(limit_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def run_command(group, command, junit, words, outcome):
    junit.unlink(missing_ok=True)
    failed, all_before = len(outcome.failed), outcome.count()
    status = run(command(junit, words), group.limit_s)
    if junit.exists():
        read_junit(junit, group.name, outcome)
    # One of several commands may have no test that matches.
    is_empty = bool(words and group.more) and outcome.count() == all_before
    if status is None:
        outcome.failed.append(f"{group.name}: not done within {group.limit_s} s")
    elif status != 0 and len(outcome.failed) == failed and not is_empty:
        outcome.failed.append(f"{group.name}: its command left with {status}")


def run_tests(group, words, outcome):
    for number, command in enumerate((group.command, *group.more)):
        suffix = f"-{number}" if number else ""
        run_command(group, command, RESULTS / f"{group.name}{suffix}.xml", words, outcome)
    if not outcome.passed and not outcome.failed:
        outcome.failed.append(f"{group.name}: no test ran")


def check_reports(group):
    expects = ("--expect", ",".join(group.expects)) if group.expects else ()
    command = [sys.executable, SUPPORT / "check_reports", REPORTS, "--log", LOGS]
    return ("reports", [*command, *expects])


def prepare():
    RESULTS.mkdir(parents=True, exist_ok=True)
    LOGS.mkdir(parents=True, exist_ok=True)
    for path in LOGS.iterdir():
        path.unlink()
    subprocess.run([sys.executable, SUPPORT / "check_reports", "--prepare", REPORTS], check=True)


def run_group(group, words):
    print(f"\n== {group.name}: {group.doc}", flush=True)
    prepare()
    outcome, start = Outcome(), time.monotonic()
    checks = list(group.checks)
    if group.command:
        run_tests(group, words, outcome)
        checks.append(check_reports(group))
    for name, command in checks:
        print(f"-- {name}", flush=True)
        if run(command, group.limit_s) == 0:
            outcome.passed += 1
        else:
            outcome.failed.append(f"{group.name}: {name}")
    outcome.seconds = time.monotonic() - start
    return outcome


def print_summary(outcomes, spent):
    for outcome in outcomes.values():
        for name, reason in outcome.skipped:
            print(f"skipped  {name}: {reason}")
    for outcome in outcomes.values():
        for name in outcome.failed:
            print(f"FAILED   {name}")
    print(f"\n{'':12}{'seconds':>8}{'passed':>8}{'failed':>8}{'skipped':>8}")
    for name, seconds in spent:
        print(f"{name:12}{seconds:>8.1f}")
    for name, outcome in outcomes.items():
        counts = (outcome.passed, len(outcome.failed), len(outcome.skipped))
        print(f"{name:12}{outcome.seconds:>8.1f}" + "".join(f"{count:>8}" for count in counts))
    passed = sum(outcome.passed for outcome in outcomes.values())
    failed = sum(len(outcome.failed) for outcome in outcomes.values())
    print(f"{passed} passed, {failed} failed", flush=True)
    return failed == 0


def parse_arguments():
    names = [group.name for group in GROUPS]
    parser = argparse.ArgumentParser(prog="tests/run", description="Installs, builds and tests.")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(names)}")
    parser.add_argument("-k", dest="words", default="", help="only tests that match")
    parser.add_argument("--list", action="store_true", help="say which groups there are, and stop")
    parser.add_argument("--no-install", action="store_true", help="take what is there")
    parser.add_argument("--chosen", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--spent", action="append", default=[], help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = set(options.groups) - set(names)
    if unknown:
        parser.error(f"no group {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    return options


def main():
    options = parse_arguments()
    if options.list:
        for group in GROUPS:
            print(f"{group.name:10} {group.doc}")
        return 0
    chosen = [group for group in GROUPS if not options.groups or group.name in options.groups]
    if options.chosen:
        print("\n".join(group.name for group in chosen))
        return 0
    BUILD.mkdir(parents=True, exist_ok=True)
    with open(BUILD / ".run.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        outcomes = {group.name: run_group(group, options.words) for group in chosen}
    spent = (word.partition("=") for word in options.spent)
    spent = [(name, float(seconds)) for name, _, seconds in spent]
    return 0 if print_summary(outcomes, spent) else 1


if __name__ == "__main__":
    sys.exit(main())
