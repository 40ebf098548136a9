"""What the documentation makes of the code: help of commands, fields of config.toml, formulas.

Formulas become MathML, which browsers draw themselves: pages need no network.
"""

import inspect
import re

import click
import latex2mathml.converter
from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList


class Commands(Directive):
    """``{lincat-commands}``: a section for each command, with what its ``--help`` prints."""

    def run(self):
        """Return the sections."""
        from lincat.cli.main import cli

        parent = click.Context(cli, info_name="lincat")
        sections = []
        for name in cli.list_commands(parent):
            command = cli.get_command(parent, name)
            context = click.Context(command, info_name=name, parent=parent, max_content_width=88)
            text = command.get_help(context)
            section = nodes.section(ids=[f"lincat-{name}"], names=[f"lincat-{name}"])
            section += nodes.title(text=f"lincat {name}")
            section += nodes.literal_block(text, text, language="none")
            sections.append(section)
        return sections


class ConfigFields(Directive):
    """``{lincat-config}``: the fields of config.toml, their defaults, and what they mean."""

    def run(self):
        """Return a table, from the comments above the fields."""
        from lincat.runs.config import EvaluationConfig

        lines = ["| field | default | |", "|---|---|---|"]
        comment = []
        for line in inspect.getsource(EvaluationConfig).splitlines():
            line = line.strip()
            if line.startswith("# ---"):
                comment = []
            elif line.startswith("#"):
                comment.append(line.removeprefix("#").strip())
            elif found := re.fullmatch(r"(\w+): (.+)", line):
                default = found[2].rpartition(" = ")[2] if " = " in found[2] else "needed"
                lines.append(f"| `{found[1]}` | `{default}` | {' '.join(comment)} |")
                comment = []
        holder = nodes.section()
        self.state.nested_parse(StringList(lines), self.content_offset, holder)
        return holder.children


def _inline(writer, node):
    writer.body.append(latex2mathml.converter.convert(node.astext()))
    raise nodes.SkipNode


def _display(writer, node):
    made = latex2mathml.converter.convert(node.astext(), display="block")
    writer.body.append(f"<div class='math'>{made}</div>")
    raise nodes.SkipNode


def setup(app):
    """Register all of it."""
    app.add_directive("lincat-commands", Commands)
    app.add_directive("lincat-config", ConfigFields)
    app.add_html_math_renderer(
        "mathml", inline_renderers=(_inline, None), block_renderers=(_display, None)
    )
    return {"parallel_read_safe": True}
