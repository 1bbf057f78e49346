"""run_notebooks - executes notebooks with nbclient as it comes, in a process of its own (its
gateway client is a process-wide singleton that reads the environment once).

    run_notebooks.py gateway|local NAME ...

Reads NAME.ipynb in the current folder and writes NAME.out.ipynb however it ends. Prints one line of
JSON: by name, the class and text of the error, or null.
"""

import json
import sys

import nbclient
import nbformat
from nbclient.exceptions import CellExecutionError, DeadKernelError

MANAGERS = {
    "gateway": "jupyter_server.gateway.managers.GatewayKernelManager",
    "local": "jupyter_client.manager.AsyncKernelManager",
}


def run(name, manager):
    notebook = nbformat.read(f"{name}.ipynb", as_version=4)
    client = nbclient.NotebookClient(
        notebook, kernel_name="python3", timeout=120, kernel_manager_class=manager
    )
    try:
        client.execute()
    except (CellExecutionError, DeadKernelError) as error:
        return {"class": type(error).__name__, "text": str(error)}
    finally:
        nbformat.write(notebook, f"{name}.out.ipynb")
    return None


def main():
    where, *names = sys.argv[1:]
    print(json.dumps({name: run(name, MANAGERS[where]) for name in names}))


if __name__ == "__main__":
    main()
