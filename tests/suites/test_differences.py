"""The comparison itself sees what is new and what is gone."""

import differences
import pytest

LIST = """
# a remark
passed skipped test_a.One.*  no such device
passed failed  test_a.Two.x  not allowed
any any        test_a.Flaky  depends on the weather
"""
OUTSIDE = dict.fromkeys(("test_a.One.a", "test_a.One.b", "test_a.Two.x", "test_a.Flaky"), "passed")
INSIDE = OUTSIDE | {"test_a.One.a": "skipped", "test_a.One.b": "skipped", "test_a.Two.x": "failed"}


def problems(outside=OUTSIDE, inside=INSIDE, text=LIST):
    return differences.compare(differences.read(text), outside, inside)


def test_as_listed():
    assert problems() == []
    assert problems(inside=INSIDE | {"test_a.Flaky": "failed"}) == []


def test_new():
    said = problems(OUTSIDE | {"test_a.New": "passed"}, INSIDE | {"test_a.New": "failed"})
    assert said == ["new: passed outside, failed inside: test_a.New"]


def test_otherwise_than_listed():
    said = problems(inside=INSIDE | {"test_a.One.b": "failed"})
    assert said == ["new: passed outside, failed inside: test_a.One.b"]


def test_gone():
    said = problems(inside=INSIDE | {"test_a.One.b": "passed"})
    assert said == ["gone: passed outside and inside: test_a.One.b"]


def test_absent():
    said = problems(OUTSIDE | {"test_a.New": "passed"})
    assert said == ["new: passed outside, absent inside: test_a.New"]


def test_a_line_for_nothing():
    said = problems(text=f"{LIST}passed failed test_a.Never reason")
    assert said == ["no such test: test_a.Never"]


@pytest.mark.parametrize(
    "line", ["passed failed test", "passed passed test why", "any passed t why"]
)
def test_refuses(line):
    with pytest.raises(AssertionError):
        differences.read(line)
