"""A table in Markdown."""

from __future__ import annotations

from lightning_renyicl.tables.scores import Table
from lightning_renyicl.tables.writing.footer import footer
from lightning_renyicl.tables.writing.printed import rows


def markdown(table: Table) -> str:
    """GitHub's Markdown."""
    heads = ["", "", *table.spec.columns]
    lines = [f"# {table.spec.name}: {table.spec.title}", "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows(table):
        cells = [f"**{cell.text}**" if cell.bold else cell.text for cell in row.cells]
        lines.append(f"| {' | '.join([row.label, row.source, *cells])} |")
    return "\n".join([*lines, "", *(f"{line}\n" for line in footer(table))])
