#!/usr/bin/env python3
"""A notebook in a real kernel of Jupyter's, beside a real service: python/examples/service.ipynb is run as it is; tables, progress and pictures show."""
import base64
import os
import re
import sys

import client_env

ENVIRONMENT = os.path.join(client_env.SOURCE, "build", "python-tools")
if os.path.realpath(sys.prefix) != os.path.realpath(ENVIRONMENT):
    if not os.path.exists(os.path.join(ENVIRONMENT, "pins")):
        print("1..0 # SKIP there is no build/python-tools; `make test T=python-tools` makes it")
        sys.exit(0)
    python = os.path.join(ENVIRONMENT, "bin", "python")
    os.execv(python, [python, *sys.argv])

from jupyter_client.manager import AsyncKernelManager  # noqa: E402
import nbformat  # noqa: E402
from nbclient import NotebookClient  # noqa: E402
from service import equal, run  # noqa: E402

NOTEBOOK = os.path.join(client_env.SOURCE, "python", "examples", "service.ipynb")


class Watched(NotebookClient):
    """Keeps what was shown in the same place one after another: a notebook has only the last."""

    def process_message(self, msg, cell, cell_index):
        if msg["msg_type"] in ("display_data", "update_display_data"):
            place = msg["content"].get("transient", {}).get("display_id")
            if place:
                self.drawn.setdefault(place, []).append((cell_index, msg["content"]["data"]["text/html"]))
        return super().process_message(msg, cell, cell_index)


def outputs(notebook, words, mime):
    """What the cell with these words shows, of one kind."""
    cell = next(cell for cell in notebook.cells if cell.cell_type == "code" and words in cell.source)
    return [one["data"][mime] for one in cell.outputs if one.output_type in ("display_data", "execute_result") and mime in one["data"]]


def text(notebook, words):
    cell = next(cell for cell in notebook.cells if words in cell.source and cell.cell_type == "code")
    return "".join(one["text"] for one in cell.outputs if one.output_type == "stream")


def bars(client, notebook, words):
    """Progress that the cell drew: values between 0 and 1, and the words."""
    index = next(index for index, cell in enumerate(notebook.cells) if words in cell.source and cell.cell_type == "code")
    places = [drawn for drawn in client.drawn.values() if drawn[0][0] == index]
    equal(len(places), 1)  # drawn over itself, not one below the other
    return [(float(re.search(r"value='([\d.]+)'", html)[1]), re.sub(r"<[^>]*>", "", html).strip()) for _, html in places[0]]


def the_notebook_shows_tables_and_progress(service):
    os.environ.update(STRATA_SOCKET=service.socket, XDG_CACHE_HOME=os.path.join(service.dir, "cache"), PYTHONPATH=os.path.abspath(client_env.PACKAGE),
                      IPYTHONDIR=os.path.join(service.dir, "ipython"), JUPYTER_RUNTIME_DIR=os.path.join(service.dir, "jupyter"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    kernel = AsyncKernelManager(kernel_name="python3", transport="ipc", connection_file=os.path.join(service.dir, "kernel.json"))
    client = Watched(notebook, km=kernel, timeout=240, resources={"metadata": {"path": service.dir}})
    client.drawn = {}
    client.execute()

    nodes, = outputs(notebook, "client.nodes()", "text/html")
    assert nodes.startswith("<table>") and all(f">{name}</td>" in nodes for name in ("n1", "n2", "n3")), nodes
    table, = [html for html in outputs(notebook, "strata.submit(square", "text/html") if html.startswith("<table>")]
    assert ">square</td>" in table and ">completed</td>" in table, table
    shown = bars(client, notebook, "strata.submit(square")
    values = [value for value, _ in shown]
    assert values == sorted(values) and values[-1] == 1 and "running" in " ".join(words for _, words in shown) and "completed" in shown[-1][1], shown
    equal(text(notebook, "future.logs()"), "squaring 12\n")
    equal(outputs(notebook, "future.logs()", "text/plain"), ["144"])

    shown = bars(client, notebook, "show_progress")
    assert shown[-1][0] == 1 and shown[-1][1].endswith("12/12 finished"), shown
    png, = outputs(notebook, "show_progress", "image/png")
    equal(base64.b64decode(png)[:8], b"\x89PNG\r\n\x1a\n")

    jobs, = outputs(notebook, "client.jobs()", "text/html")
    assert ">square</td>" in jobs, jobs
    tasks, = outputs(notebook, "AsyncClient", "text/html")
    assert "a seven" in tasks and ">finished</td>" in tasks, tasks
    assert "came back: KeyError('lost')" in text(notebook, "came back") and "from: Traceback" in text(notebook, "came back"), text(notebook, "came back")


run(the_notebook_shows_tables_and_progress)
