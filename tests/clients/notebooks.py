"""notebooks - what real notebooks do, in cells whose outputs are the same at every run.

NOTEBOOKS: name -> sources of the code cells. A source may be a pair with the cell's tags.
"""

import json
import os
import subprocess
import sys

import nbformat

RUN_NOTEBOOKS = os.path.join(os.path.dirname(__file__), "run_notebooks.py")

NOTEBOOKS = {
    "state": [
        "import math\nx = 6",
        "def twice(n):\n    return 2 * n",
        "class Point:\n    def __init__(self, x):\n        self.x = x\np = Point(twice(x))",
        "p.x, _, __, Out",
        "%%capture captured\nprint('hidden')",
        "captured.stdout, In[1]",
        "import asyncio\nawait asyncio.sleep(0, 'awaited')",
    ],
    "streams": [
        "print('one')\nprint('two')",
        "import sys\nprint('to stderr', file=sys.stderr)",
        "for n in range(3):\n"
        "    print('out', n, flush=True)\n"
        "    print('err', n, file=sys.stderr, flush=True)",
        "for n in range(20_000):\n    print(n, 'x' * 20)",
        "print('x' * 2_000_000)",
        "sys.stdout.write('no newline'); sys.stdout.flush()",
        "print('é 漢字 \U0001f40d \\x1b[31mred\\x1b[0m \\x00 end')",
    ],
    "rich": [
        "from IPython.display import HTML, JSON, Latex, Markdown, clear_output, display",
        "display(HTML('<b>bold</b>'), Markdown('*text*'), Latex('$x^2$'))",
        "display({'application/json': {'a': [1, None, 1e300, 10**70]}}, raw=True)",
        "handle = display('first', display_id='fixed')",
        "handle.update('second')",
        "print('gone')\nclear_output()\nprint('stays')",
        "print('goes later')\nclear_output(wait=True)\nprint('came')",
        "JSON({'nested': {'list': [1, 2, 3]}})",
        "display('metadata', metadata={'text/plain': {'isolated': True}})",
    ],
    "figure": [
        "%matplotlib inline\nimport matplotlib.pyplot as plt\nimport numpy as np",
        "t = np.linspace(0, 6, 200)\nplt.plot(t, np.sin(t))\nplt.title('a sine')\nplt.show()",
        "figure, axes = plt.subplots(1, 2)\naxes[0].imshow(np.arange(16).reshape(4, 4))\nfigure",
    ],
    "table": [
        "import pandas as pd\nframe = pd.DataFrame({'n': range(4), 'name': list('abcd')})",
        "frame",
        "frame.groupby(frame.n % 2).n.sum()",
        "frame.to_csv('frame.csv', index=False)",
        "pd.read_csv('frame.csv').equals(frame)",
        "frame.style.format({'n': '{:.1f}'}).to_html(table_uuid='fixed').count('<td')",
    ],
    "files": [
        "import pathlib\npathlib.Path('folder/below').mkdir(parents=True)",
        "%%writefile folder/module.py\nVALUE = 42",
        "import sys; sys.path.insert(0, 'folder')\nimport module\nmodule.VALUE",
        "!ls folder/*.py\n!cat folder/module.py",
        "lines = !echo one; echo two\nlist(lines)",
        "%%bash\nexport WORD=shell\necho $WORD > folder/word\ncat folder/word >&2",
        "%cd -q folder\nopen('word').read()",
        "open('big', 'wb').write(bytes(10_000_000)), pathlib.Path('big').stat().st_size",
    ],
    "children": [
        "import subprocess\nsubprocess.run(['echo', 'child'], capture_output=True).stdout",
        "import threading\nt = threading.Thread(target=print, args=('thread',))\n"
        "t.start()\nt.join()",
        "import multiprocessing\nwith multiprocessing.get_context('fork').Pool(2) as pool:\n"
        "    values = pool.map(abs, range(-3, 3))\nvalues",
        "!exit 3",
        "_exit_code",
    ],
    "input refused": [("input('name? ')", ["raises-exception"]), "print('goes on')"],
    "errors allowed": [
        ("undefined_name", ["raises-exception"]),
        ("def f():\n    raise ValueError('deep')\nf()", ["raises-exception"]),
        ("raise SystemExit('leaving')", ["raises-exception"]),
        ("1 +", ["raises-exception"]),
        "print('goes on')",
    ],
    "an error": ["kept = 1", "kept / 0", "print('never')"],
}


def make_cell(source):
    if isinstance(source, str):
        return nbformat.v4.new_code_cell(source)
    return nbformat.v4.new_code_cell(source[0], metadata={"tags": source[1]})


def make_notebook(sources):
    cells = [nbformat.v4.new_markdown_cell("# A notebook"), *map(make_cell, sources)]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def execute(folder, where, names, **environment):
    """name -> (error or None, the executed notebook) of each NAME.ipynb in the folder, run there by
    run_notebooks.py in a process of its own, "gateway" or "local"."""
    done = subprocess.run(
        [sys.executable, RUN_NOTEBOOKS, where, *names],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        timeout=150,
        check=True,
    )
    errors = json.loads(done.stdout)
    read = {name: nbformat.read(folder / f"{name}.out.ipynb", as_version=4) for name in names}
    return {name: (errors[name], read[name]) for name in names}


def run_notebooks(folder, where, notebooks, **environment):
    """The same of notebooks made of these: name -> sources."""
    for name, sources in notebooks.items():
        nbformat.write(make_notebook(sources), folder / f"{name}.ipynb")
    return execute(folder, where, notebooks, **environment)


def join_streams(outputs):
    """How often a kernel flushed is no part of a result."""
    joined = []
    for output in outputs:
        last = joined[-1] if joined else {}
        is_more = output["output_type"] == "stream" and output.get("name") == last.get("name")
        if is_more:
            last["text"] += output["text"]
        else:
            joined.append(dict(output))
    return joined


def results(notebook):
    """(execution count, outputs) of every code cell."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [(cell.execution_count, join_streams(cell.outputs)) for cell in cells]
