"""papermill_runs - papermill.execute_notebook, unmodified, over GatewayKernelManager and told by
its environment alone. In a process of its own: its gateway client reads that environment once."""

import dataclasses
import json
import os
import subprocess
import sys

import nbformat

# Prints by name what was raised, [ename, evalue] or null.
PAPERMILL = """
import json, sys
import papermill
from papermill.exceptions import PapermillExecutionError
manager = "jupyter_server.gateway.managers.GatewayKernelManager"
options = {"kernel_manager_class": manager, "progress_bar": False}
ends = {}
for name, parameters in json.loads(sys.argv[1]).items():
    try:
        papermill.execute_notebook(f"{name}.ipynb", f"{name}.out.ipynb", parameters, **options)
        ends[name] = None
    except PapermillExecutionError as error:
        ends[name] = [error.ename, error.evalue]
print(json.dumps(ends))
"""


@dataclasses.dataclass(frozen=True)
class Notebook:
    """The first of the sources is the cell of parameters."""

    parameters: dict
    sources: tuple
    kernel: str = "python3"
    language: str = "python"

    def write(self, path):
        cells = [nbformat.v4.new_code_cell(source) for source in self.sources]
        cells[0].metadata["tags"] = ["parameters"]
        kernel = {"name": self.kernel, "display_name": "", "language": self.language}
        nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)


def printed(path):
    """What each cell printed that printed something."""
    cells = nbformat.read(path, as_version=4).cells
    outputs = (
        [output.text for output in cell.get("outputs", ()) if output.output_type == "stream"]
        for cell in cells
    )
    return ["".join(texts) for texts in outputs if texts]


def execute(folder, notebooks, **environment):
    """name -> ([ename, evalue] or None, texts that the cells printed) of name -> Notebook."""
    for name, notebook in notebooks.items():
        notebook.write(folder / f"{name}.ipynb")
    parameters = {name: notebook.parameters for name, notebook in notebooks.items()}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PAPERMILL, json.dumps(parameters)],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        timeout=170,
        check=True,
    )
    ends = json.loads(done.stdout)
    return {name: (ends[name], printed(folder / f"{name}.out.ipynb")) for name in notebooks}
