"""The house rules find what they are there for."""

import importlib.machinery
import importlib.util

import cellblock
import pytest

PATH = cellblock.ROOT / "tests" / "support" / "lint"
LOADER = importlib.machinery.SourceFileLoader("lint", str(PATH))
SPEC = importlib.util.spec_from_loader("lint", LOADER)
lint = importlib.util.module_from_spec(SPEC)
LOADER.exec_module(lint)

FIRST = "/* thing - a made-up file. */\n"


@pytest.mark.parametrize(
    "name, text, found",
    [
        ("gateway/x/a.c", FIRST, None),
        ("gateway/x/a.c", '#include "x.h"\n', "begin with"),
        ("tests/unit/a.c", "int x;\n", None),
        ("gateway/x/a.c", FIRST + "void *p = malloc(3);\n", "2: use base/mem.h"),
        ("gateway/x/a.c", FIRST + "free(p);\n", "2: use base/mem.h"),
        ("gateway/x/a.c", FIRST + "free(p); /* libseccomp's own */\n", None),
        ("gateway/x/a.c", FIRST + "mem_free(p); x->free(p); /* free(p) */\n", None),
        ("gateway/x/a.c", FIRST + 'say("free(p)");\n', None),
        ("protocol/base/mem.c", FIRST + "free(p);\n", None),
        ("gateway/x/a.c", FIRST + "int x;\n" * 600, "more than 600 lines"),
        ("gateway/x/a.c", FIRST + "/* TO" + "DO */\n", "TO" + "DO"),
        ("gateway/x/a.h", FIRST, "#pragma once"),
        ("gateway/x/a.h", FIRST + "#pragma once\n", None),
    ],
)
def test_rules(tmp_path, name, text, found):
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    problems = lint.check_house(tmp_path)
    if found is None:
        assert problems == []
    else:
        assert len(problems) == 1 and problems[0].startswith(name) and found in problems[0]


def test_a_source_leaves_saying_to_its_header(tmp_path):
    for name, text in (("a.h", FIRST + "#pragma once\n"), ("a.c", '#include "x/a.h"\n')):
        path = tmp_path / "gateway" / "x" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert lint.check_house(tmp_path) == []
