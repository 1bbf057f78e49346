"""examples - reads the notebooks of notebooks/examples: their cells by id, and what came out of
them as text, as rows of a table, and as pictures."""

import base64
import contextlib
import html.parser
import struct
import sys

import cellblock
import nbformat

FOLDER = cellblock.ROOT / "notebooks" / "examples"
NAMES = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
PNG = b"\x89PNG\r\n\x1a\n"


def read(name):
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


class Rows(html.parser.HTMLParser):
    """The cells' texts of a table, row by row, headings too."""

    def __init__(self, text):
        super().__init__()
        self.rows = []
        self.is_cell = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")
            self.is_cell = True

    def handle_endtag(self, tag):
        if tag in ("th", "td"):
            self.is_cell = False

    def handle_data(self, data):
        if self.is_cell:
            self.rows[-1][-1] += data


class Executed:
    """An executed notebook. A cell is named by its id."""

    def __init__(self, notebook):
        self.cells = {cell.id: cell for cell in notebook.cells if cell.cell_type == "code"}

    def outputs(self):
        return [output for cell in self.cells.values() for output in cell.outputs]

    def text(self, cell_id):
        """What the cell printed."""
        outputs = self.cells[cell_id].outputs
        return "".join(output.text for output in outputs if output.output_type == "stream")

    def table(self, cell_id):
        """Rows of the cell's one HTML table."""
        (table,) = self.mime("text/html", self.cells[cell_id].outputs)
        return Rows(table).rows

    def mime(self, kind, outputs=None):
        """Everything of this type, in order."""
        outputs = self.outputs() if outputs is None else outputs
        bundles = [output.data for output in outputs if "data" in output]
        return [bundle[kind] for bundle in bundles if kind in bundle]

    def pictures(self):
        """(bytes, width, height) of each PNG."""
        for data in map(base64.b64decode, self.mime("image/png")):
            assert data.startswith(PNG)
            # The first chunk is IHDR: length, name, width, height.
            yield len(data), *struct.unpack(">II", data[16:24])


def run_cell(name, cell_id, folder):
    """The names that a cell leaves which uses the standard library alone, run here, in the folder,
    behind the notebook's imports of it: an example's data, for a test that computes by itself."""
    cells = {cell.id: cell.source for cell in read(name).cells}
    imports = [line for line in cells["setup"].splitlines() if line.startswith(("import", "from"))]
    standard = [
        line for line in imports if line.split()[1].split(".")[0] in sys.stdlib_module_names
    ]
    names = {}
    with contextlib.chdir(folder):
        exec("\n".join([*standard, cells[cell_id]]), names)
    return names
