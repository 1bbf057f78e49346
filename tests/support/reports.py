"""reports - reads what the processes of a test build left behind and says what is wrong with it.

The files are written by tests/support/report and tests/support/report_static (the format stands in
report_static.h). A process is in order when its last word is that it ended of its own accord, or
when the warden's log names it as killed by it. Everything else is a problem: a sanitizer report, a
leak, a process that was there and is not any more.
"""

import argparse
import os
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

PROGRAMS = ("cellblock", "warden", "gateway", "init", "echo")
JAILED = ("init", "echo")

# Last words: each says that the process ended as it meant to.
ENDS = ("exit", "exec", "signal")

# What the warden says when it ends a tree or its gateway. Only whole lines of its own count:
# another may quote what a kernel said.
KILLED_TREE = re.compile(r"^warden: killed tree \d+ jail ([0-9a-f-]{36})$", re.MULTILINE)
KILLED_GATEWAY = re.compile(r"^warden: killed gateway: ", re.MULTILINE)


@dataclass
class Process:
    """One process of a test build, as its file tells it."""

    path: Path
    program: str
    tag: str
    pid: int
    events: list = field(default_factory=list)  # (word, rest of the line)

    @property
    def name(self):
        return f"{self.program} {self.tag} (pid {self.pid}, {self.path.name})"

    def rest_of(self, word):
        return [rest for found, rest in self.events if found == word]

    @property
    def ended(self):
        return any(word in ENDS for word, _ in self.events)


def read_process(path):
    """The process that wrote path; ValueError where it is not such a file."""
    lines = path.read_text(errors="replace").splitlines()
    if not lines and path.name.count(".") == 2:
        # Killed between making the file and writing to it; the name says who it was.
        program, tag, _ = path.name.split(".")
        return Process(path, program, tag, 0)
    start = lines[0].split(" ") if lines else []
    if len(start) != 4 or start[0] != "start" or not start[3].isdigit():
        raise ValueError(f"{path.name}: no start line")
    events = [tuple(line.partition(" ")[::2]) for line in lines[1:]]
    return Process(path, start[1], start[2], int(start[3]), events)


def is_sanitizer_report(path):
    return ".san" in path.name


def read_folder(folder):
    """(processes, sanitizer reports, sentences about what cannot be read)."""
    processes, reports, unreadable = [], [], []
    for path in sorted(Path(folder).iterdir()):
        if is_sanitizer_report(path):
            reports.append(path)
            continue
        try:
            processes.append(read_process(path))
        except ValueError as error:
            unreadable.append(str(error))
    return processes, reports, unreadable


def describe_sanitizer_report(path):
    text = path.read_text(errors="replace").strip()
    return f"{path.name}: sanitizer report\n{text.partition('Shadow bytes around')[0].strip()}"


def faults_of(process):
    for count in process.rest_of("leak"):
        yield f"{process.name}: {count} allocations alive at its end"
    for where in process.rest_of("undefined"):
        yield f"{process.name}: undefined behaviour at {where}"


def count_kills(log):
    """How many processes of each (program, tag) the warden's log accounts for: a tree has at most
    one of each program that lives in a jail."""
    kills = Counter({("gateway", "-"): len(KILLED_GATEWAY.findall(log))})
    for jail in KILLED_TREE.findall(log):
        kills.update((program, jail) for program in JAILED)
    return kills


def vanished(processes, kills):
    """Processes without a last word that no kill accounts for."""
    left = Counter(kills)
    for process in processes:
        if process.ended or process.rest_of("killed"):
            continue
        left[process.program, process.tag] -= 1
        if left[process.program, process.tag] < 0:
            yield f"{process.name}: started and never said how it ended"


def find_problems(folder, logs=(), expected=()):
    """Sentences, none where all is well. logs are texts of the warden's log; expected are programs
    of which at least one process must have ended of its own accord."""
    processes, reports, problems = read_folder(folder)
    problems += [describe_sanitizer_report(path) for path in reports]
    for process in processes:
        problems += faults_of(process)
    problems += vanished(processes, sum(map(count_kills, logs), Counter()))
    ended = {process.program for process in processes if process.ended}
    missing = [name for name in expected if name not in ended]
    problems += [f"{name}: no process of it ended by itself" for name in missing]
    return problems


def note_killed(folder, program, pid=None, tag=None):
    """For a test that kills a process itself: names it in the process's own file, so that its
    silence is no problem. Give the pid as the process saw it, or the tag. Returns how many."""
    processes, _, _ = read_folder(folder)
    count = 0
    for process in processes:
        if process.program != program or process.ended:
            continue
        if pid in (None, process.pid) and tag in (None, process.tag):
            with open(process.path, "a", encoding="utf-8") as file:
                file.write("killed by a test\n")
            count += 1
    return count


def prepare(folder):
    """Makes the folder and empties it. Every user that a jail may have writes there."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    os.chmod(folder, 0o1777)
    for path in folder.iterdir():
        path.unlink()


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        prog="check_reports",
        description="Checks the folder in which the processes of a test build say how they ended "
        "(CMake's CELLBLOCK_REPORT_DIR). Prints each problem; exits 1 where there is one.",
        epilog="A run: `check_reports --prepare DIR`; the tests; `check_reports DIR --log "
        "WARDEN_LOG ...` after each group, when all that the group started has ended; in the end "
        f"also `--expect {','.join(PROGRAMS)}`. A test that kills a process itself says so with "
        "reports.note_killed().",
    )
    parser.add_argument("folder", metavar="DIR")
    parser.add_argument("--prepare", action="store_true", help="make the folder, empty, and stop")
    parser.add_argument(
        "--log",
        action="append",
        default=[],
        metavar="FILE",
        help="a log of the warden, or a folder of them (every *.log in it and below); its lines "
        "`killed tree N jail UUID` and `killed gateway` account for processes that could not say "
        "how they ended",
    )
    parser.add_argument(
        "--expect",
        default="",
        metavar="PROGRAM,...",
        help="programs of which at least one process must have ended by itself",
    )
    return parser.parse_args(arguments)


def read_logs(names):
    for name in map(Path, names):
        for path in sorted(name.rglob("*.log")) if name.is_dir() else [name]:
            yield path.read_text(errors="replace")


def main(arguments=None):
    options = parse_arguments(arguments)
    if options.prepare:
        prepare(options.folder)
        return 0
    expected = [name for name in options.expect.split(",") if name]
    problems = find_problems(options.folder, list(read_logs(options.log)), expected)
    for problem in problems:
        print(problem, file=sys.stderr)
    count = len(read_folder(options.folder)[0])
    print(f"{count} processes reported, {len(problems)} problems")
    return 1 if problems else 0
