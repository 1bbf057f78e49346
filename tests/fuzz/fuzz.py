"""fuzz - the program behind tests/fuzz/run. For each target two questions, each a test: does the
replay of its committed corpus alone run enough of the lines of the files that it attacks
(targets.txt), and does fuzzing from there find nothing?

What fuzzing found interesting stays in build/fuzz/found, and --merge takes the smallest part of it
and of the corpus that covers as much. A finding is written to build/fuzz/findings: it belongs into
the corpus, with a fix and a unit test."""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["FUZZ_BUILD"])
FINDINGS = BUILD / "findings"

LEAST_PERCENT = 85
# Of a single input; a machine may be busy.
INPUT_S = 60
# The last lines of a finding that are shown.
SHOWN_LINES = 60


@dataclasses.dataclass
class Target:
    name: str
    files: list  # paths that it attacks, below ROOT

    def __post_init__(self):
        (source,) = (ROOT / "tests" / "fuzz").rglob(f"{self.name}.c")
        self.corpus = source.with_suffix(".corpus")
        self.program = BUILD / "tests" / self.name
        self.found = BUILD / "found" / self.name

    def run(self, *arguments, profile=os.devnull):
        command = [self.program, f"-timeout={INPUT_S}", *arguments]
        return subprocess.run(
            [str(word) for word in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "LLVM_PROFILE_FILE": str(profile)},
            cwd=BUILD,
            text=True,
            errors="replace",
        )


def read_targets():
    lines = (ROOT / "tests" / "fuzz" / "targets.txt").read_text().splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    targets = [Target(name, files) for name, *files in rows]
    there = {path.stem for path in (ROOT / "tests" / "fuzz").rglob("fuzz_*.c")}
    missing = there - {target.name for target in targets}
    assert not missing, f"targets.txt has no row for {', '.join(sorted(missing))}"
    return targets


@dataclasses.dataclass
class Result:
    name: str
    seconds: float = 0
    failure: str = ""
    shown: list = dataclasses.field(default_factory=list)  # rows of the table
    output: str = ""


def timed(question, target, *arguments):
    start = time.monotonic()
    result = question(target, *arguments)
    result.seconds = time.monotonic() - start
    return result


# -- coverage -------------------------------------------------------------------------------------


def lines_of(target, folder):
    """What llvm-cov says of the lines of each attacked file that the target was linked with."""
    data = folder / "merged.profdata"
    profiles = folder.glob("*.profraw")
    subprocess.run(["llvm-profdata", "merge", "-o", data, *profiles], check=True)
    command = ["llvm-cov", "export", "-summary-only", f"-instr-profile={data}", target.program]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    files = json.loads(done.stdout)["data"][0]["files"]
    # ccache compiles with paths that are relative to the build folder, whichever that was.
    names = {os.path.normpath(entry["filename"]): entry["summary"]["lines"] for entry in files}
    return {
        path: lines
        for path in target.files
        for name, lines in names.items()
        if name.endswith(f"/{path}")
    }


def measure(target):
    """Whether the corpus alone runs enough of what the target attacks."""
    result = Result(f"{target.name} coverage")
    with tempfile.TemporaryDirectory(prefix="fuzz-coverage-") as folder:
        folder = pathlib.Path(folder)
        done = target.run("-runs=0", target.corpus, profile=folder / "%p.profraw")
        if done.returncode:
            result.failure = f"the replay of {target.corpus} fails"
            result.output = done.stdout
            return result
        lines = lines_of(target, folder)
    for path in target.files:
        if path not in lines:
            result.failure = f"{path} is not part of {target.name}"
            continue
        count, percent = lines[path]["count"], lines[path]["percent"]
        result.shown.append(f"{target.name:24}{path:44}{count:>6}{percent:>9.1f}%")
        if percent < LEAST_PERCENT:
            result.failure = f"{percent:.1f}% of the lines of {path}: less than {LEAST_PERCENT}%"
    return result


# -- fuzzing --------------------------------------------------------------------------------------


def statistic(output, name):
    found = re.search(rf"stat::{name}: +(\d+)", output)
    return int(found[1]) if found else 0


def fuzz(target, options):
    result = Result(target.name)
    target.found.mkdir(parents=True, exist_ok=True)
    limits = [f"-max_total_time={options.seconds}", "-print_final_stats=1"]
    if options.seed:
        limits.append(f"-seed={options.seed}")
    place = f"-artifact_prefix={FINDINGS}/{target.name}-"
    done = target.run(*limits, place, target.found, target.corpus)
    runs, new = (statistic(done.stdout, f"{name}_units{end}") for name, end in FINAL)
    result.shown.append(f"{target.name:24}{options.seconds:>8}{runs:>12}{new:>8}")
    if done.returncode:
        result.failure = f"a finding; inputs are in {FINDINGS}"
        result.output = done.stdout
    return result


FINAL = (("number_of_executed", ""), ("new", "_added"))


def merge(target):
    """The smallest corpus that covers what this one and all that was found cover."""
    target.found.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fuzz-merge-") as folder:
        done = target.run("-merge=1", folder, target.corpus, target.found)
        assert done.returncode == 0, done.stdout
        shutil.rmtree(target.corpus)
        target.corpus.mkdir()
        for path in pathlib.Path(folder).iterdir():
            shutil.copy(path, target.corpus)
    sizes = [path.stat().st_size for path in target.corpus.iterdir()]
    print(f"{target.name:24}{len(sizes):>6} inputs{sum(sizes):>9} bytes", flush=True)


# -- all of them ----------------------------------------------------------------------------------


def ask_all(question, targets, options, *arguments):
    """Asks about as many targets at once as options.jobs says; prints each answer as it comes."""
    results = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(lambda target: timed(question, target, *arguments), targets):
            results.append(result)
            print(*result.shown, sep="\n", flush=True)
            if result.failure:
                print(f"FAILED   {result.name}: {result.failure}", flush=True)
                print("\n".join(result.output.splitlines()[-SHOWN_LINES:]), flush=True)
    return results


def write_junit(path, results):
    suite = xml.etree.ElementTree.Element("testsuite", name="fuzz", tests=str(len(results)))
    for result in results:
        attributes = {"classname": "fuzz", "name": result.name, "time": f"{result.seconds:.1f}"}
        case = xml.etree.ElementTree.SubElement(suite, "testcase", attributes)
        if result.failure:
            xml.etree.ElementTree.SubElement(case, "failure", message=result.failure)
    xml.etree.ElementTree.ElementTree(suite).write(path)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tests/fuzz/run", description=__doc__.split("\n")[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="part of a target's name")
    parser.add_argument("--seconds", type=int, default=600, help="of fuzzing per target (600)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="targets at once")
    parser.add_argument("--seed", type=int, default=0, help="of libFuzzer; 0: another each time")
    parser.add_argument("--merge", action="store_true", help="only make the corpora smaller")
    parser.add_argument("--junit", help="a file to write the results to")
    return parser.parse_args()


def main():
    options = parse_arguments()
    chosen = [
        target
        for target in read_targets()
        if not options.targets or any(word in target.name for word in options.targets)
    ]
    if options.merge:
        for target in chosen:
            merge(target)
        return 0
    FINDINGS.mkdir(parents=True, exist_ok=True)
    print(f"{'target':24}{'attacks':44}{'lines':>6}{'covered':>10}", flush=True)
    results = ask_all(measure, chosen, options)
    if options.seconds:
        print(f"\n{'target':24}{'seconds':>8}{'inputs':>12}{'new':>8}", flush=True)
        results += ask_all(fuzz, chosen, options, options)
    if options.junit:
        write_junit(options.junit, results)
    failed = sum(bool(result.failure) for result in results)
    print(f"{len(results) - failed} passed, {failed} failed", flush=True)
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
