"""A table in LaTeX."""

from __future__ import annotations

from lightning_renyicl.tables.scores import Table
from lightning_renyicl.tables.writing.footer import footer
from lightning_renyicl.tables.writing.printed import rows


def latex(table: Table) -> str:
    """A ``table`` environment with booktabs' rules."""
    import pandas as pd

    printed = rows(table)
    levels = [label.split(" / ") for label in table.spec.columns]
    depth = max(map(len, levels))
    heads = [tuple(map(tex, [""] * (depth - len(level)) + level)) for level in levels]
    cells = [[rf"\textbf{{{tex(c.text)}}}" if c.bold else tex(c.text) for c in row.cells] for row in printed]
    frame = pd.DataFrame(
        cells,
        index=pd.MultiIndex.from_tuples([(tex(row.label), row.source) for row in printed]),
        columns=pd.MultiIndex.from_tuples(heads) if depth > 1 else [head for (head,) in heads],
    )
    text = frame.style.to_latex(
        hrules=True,
        sparse_index=False,
        multicol_align="c",
        column_format="ll" + "c" * len(heads),
        position="t",
        position_float="centering",
        caption=tex(table.spec.title),
        label=f"tab:{table.spec.name}",
    )
    below = "\n".join(rf"\par\footnotesize {tex(line)}" for line in footer(table))
    return text.replace(r"\end{table}", f"{below}\n\\end{{table}}")


_TEX = {
    "\\": r"\textbackslash{}",
    **{sign: rf"\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "α": r"$\alpha$",
    "γ": r"$\gamma$",
    "τ": r"$\tau$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "−": "$-$",
    "²": "$^2$",
    "†": r"$^\dag$",
    "‡": r"$^\ddag$",
    "ρ": r"$\rho$",
    "—": "---",
    "é": r"\'e",
    "…": r"\dots{}",
    "`": "",
}


def tex(text: str) -> str:
    """Text as LaTeX, whatever its input encoding."""
    return "".join(_TEX.get(sign, sign) for sign in text)
