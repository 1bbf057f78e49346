"""differences - the committed lists of what ends otherwise inside a jail than outside, and whether
two runs differ by exactly that.

A line is `OUTSIDE INSIDE TEST REASON`: the ends there and here (passed, failed, skipped, absent),
the test, in which `*` stands for anything, and why. A line holds for every test that it names: one
that does not differ any more is told as well as one that differs and has no line. `any any` is a
test that ends sometimes so, sometimes so, outside too.
"""

import dataclasses
import re

ENDS = ("passed", "failed", "skipped", "absent")


@dataclasses.dataclass(frozen=True)
class Line:
    outside: str
    inside: str
    test: str
    reason: str

    @property
    def is_flaky(self):
        return self.outside == "any"

    def names(self, test):
        return re.fullmatch(re.escape(self.test).replace(r"\*", ".*"), test) is not None


def read(text):
    """Lines that are empty or begin with # say nothing."""
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split(None, 3)
        assert len(words) == 4, f"line {number}: OUTSIDE INSIDE TEST REASON"
        ends = tuple(words[:2])
        is_difference = set(ends) <= set(ENDS) and ends[0] != ends[1]
        assert is_difference or ends == ("any", "any"), f"line {number}: ends {' '.join(ends)}"
        lines.append(Line(*words))
    return lines


def compare_one(lines, test, outside, inside):
    """What is wrong with one test, or None."""
    named = [line for line in lines if line.names(test)]
    if any(line.is_flaky for line in named):
        return None
    if any((line.outside, line.inside) == (outside, inside) for line in named):
        return None
    if outside != inside:
        return f"new: {outside} outside, {inside} inside: {test}"
    if named:
        return f"gone: {outside} outside and inside: {test}"
    return None


def compare(lines, outside, inside):
    """Sentences about every difference (test -> end on both sides) that is not as the lines say."""
    tests = sorted({*outside, *inside})
    said = [
        compare_one(lines, test, outside.get(test, "absent"), inside.get(test, "absent"))
        for test in tests
    ]
    said += [
        f"no such test: {line.test}"
        for line in lines
        if not any(line.names(test) for test in tests)
    ]
    return [sentence for sentence in said if sentence]


def explain(problems, sentences):
    """For people: each problem with what the test said inside."""
    said = [f"{problem}\n    {sentences.get(problem.split()[-1], '')}" for problem in problems]
    return "\n".join([f"{len(problems)} differences are not as listed:", *said])
