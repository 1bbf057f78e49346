"""routes - gateway/jupyter/routes.def, read."""

import re

from cellblock import ROOT

TABLE = ROOT / "gateway" / "jupyter" / "routes.def"
ROW = re.compile(r'^ROUTE\((\w+), "([^"]+)", (\w+), (\w+)\)$', re.MULTILINE)


def rows():
    """(method, path, handler, access) of each."""
    found = ROW.findall(TABLE.read_text())
    assert len(found) == TABLE.read_text().count("\nROUTE("), "a row that is not understood"
    return found
