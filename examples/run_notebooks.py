"""Run the notebooks beside this file, cell by cell, and keep what they show.

    python examples/run_notebooks.py             # that they run
    python examples/run_notebooks.py --write     # also store what cells show, as Jupyter would

No kernel is needed: cells share one namespace, and the value of a cell's last line is shown. Charts
are stored as pictures, which are seen wherever a notebook is.
"""

import argparse
import ast
import base64
import contextlib
import io
import json
from pathlib import Path

FOLDER = Path(__file__).parent


def run_cell(source, namespace):
    """Run a cell; return what it prints, and the value of its last line (None if it has none)."""
    body = ast.parse(source).body
    last = ast.Expression(body.pop().value) if isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, type_ignores=[]), "<cell>", "exec"), namespace)
        value = None if last is None else eval(compile(last, "<cell>", "eval"), namespace)
    return printed.getvalue(), value


def shown(printed, value, number):
    """Return the outputs of a cell, as notebooks store them."""
    outputs = []
    if printed:
        text = printed.splitlines(keepends=True)
        outputs.append({"output_type": "stream", "name": "stdout", "text": text})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if type(value).__module__.startswith("altair"):
            import vl_convert

            png = vl_convert.vegalite_to_png(value.to_json(), scale=1)
            data = {"image/png": base64.b64encode(png).decode(), "text/plain": ["a chart"]}
        elif hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(keepends=True)
        outputs.append(
            {
                "output_type": "execute_result",
                "execution_count": number,
                "metadata": {},
                "data": data,
            }
        )
    return outputs


def executed(notebook):
    """Run all cells of a notebook, and return it with what they showed."""
    namespace, number = {"__name__": "__main__"}, 0
    cells = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number += 1
            printed, value = run_cell("".join(cell["source"]), namespace)
            outputs = shown(printed, value, number)
            cell = {**cell, "execution_count": number, "outputs": outputs}
        cells.append(cell)
    return {**notebook, "cells": cells}


def main(argv=None):
    """Run every notebook."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="store what cells show")
    options = parser.parse_args(argv)
    for file in sorted(FOLDER.glob("*.ipynb")):
        done = executed(json.loads(file.read_text(encoding="utf-8")))
        if options.write:
            file.write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(file.name)


if __name__ == "__main__":
    main()
