"""What tests/run counts: nothing that breaks, in whatever way, may look green."""

import sys

import groups
import pytest

CASE = '<testsuite><testcase classname="a" name="{name}">{inside}</testcase></testsuite>'
PASSED = CASE.format(name="good", inside="")
FAILED = CASE.format(name="bad", inside='<failure message="no"/>')
SKIPPED = CASE.format(name="off", inside='<skipped message="no such machine"/>')


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    for name in ("RESULTS", "LOGS", "REPORTS"):
        monkeypatch.setattr(groups, name, tmp_path / name.lower())


def run(junit, status=0, body="", **options):
    """The outcome of a group whose command writes this JUnit text and leaves with this status."""

    def command(path, _words):
        write = f"open({str(path)!r}, 'w').write({junit!r})" if junit else "pass"
        program = f"import sys, time; {write}; {body or 'pass'}; sys.exit({status})"
        return [sys.executable, "-c", program]

    return groups.run_group(groups.Group("made-up", "for this test", command, **options), "")


def test_green():
    outcome = run(PASSED)
    assert (outcome.passed, outcome.failed) == (
        2,
        [],
    )  # the test, and the reports' check


def test_a_failure_is_named():
    outcome = run(FAILED, status=1)
    assert outcome.failed == ["made-up: a.bad"]


def test_a_skip_counts_in_neither_number():
    outcome = run(PASSED.replace("</testsuite>", "") + SKIPPED.replace("<testsuite>", ""))
    assert (outcome.passed, outcome.failed) == (2, [])
    assert outcome.skipped == [("made-up: a.off", "no such machine")]


@pytest.mark.parametrize("junit", ["", PASSED])
def test_a_command_that_fails_without_a_name(junit):
    assert run(junit, status=5).failed == ["made-up: its command left with 5"]


@pytest.mark.parametrize("junit", ["", "<testsuite/>", SKIPPED])
def test_no_test_is_no_success(junit):
    assert run(junit).failed == ["made-up: no test ran"]


def test_a_command_without_an_end():
    outcome = run(PASSED, body="time.sleep(60)", limit_s=1)
    assert outcome.failed == ["made-up: not done within 1 s"]


def test_a_check_that_fails():
    outcome = run(PASSED, checks=(("walls", ["false"]),))
    assert outcome.failed == ["made-up: walls"]


def test_a_report_makes_a_green_group_red():
    path = groups.REPORTS / "gateway.x.1.san.7"
    outcome = run(PASSED, body=f"open({str(path)!r}, 'w').write('ERROR: AddressSanitizer')")
    assert outcome.failed == ["made-up: reports"]


def test_a_program_that_never_ended_by_itself_makes_it_red():
    assert run(PASSED, expects=("warden",)).failed == ["made-up: reports"]


def test_the_last_line(capsys):
    green, red = groups.Outcome(passed=3), groups.Outcome(passed=1, failed=["b: x"])
    assert groups.print_summary({"a": green}, []) is True
    assert capsys.readouterr().out.splitlines()[-1] == "3 passed, 0 failed"
    assert groups.print_summary({"a": green, "b": red}, [("install", 2.0)]) is False
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "FAILED   b: x"
    assert lines[-1] == "4 passed, 1 failed"


def test_every_command_of_a_group_counts():
    def second(path, _words):
        return [sys.executable, "-c", f"open({str(path)!r}, 'w').write({FAILED!r})"]

    assert run(PASSED, more=(second,)).failed == ["made-up: a.bad"]


def test_a_second_command_that_fails_without_a_name():
    def second(_path, _words):
        return [sys.executable, "-c", "import sys; sys.exit(5)"]

    assert run(PASSED, more=(second,)).failed == ["made-up: its command left with 5"]
