"""One text for one value, whatever file it comes from."""

from __future__ import annotations

import re

NUMERAL = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
WHOLE = re.compile(r"[+-]?[0-9]+(?:\.0*)?")


def text_form(value: object, decimals: bool = True) -> str:
    """The text that stands for a value: whole numbers and truth values have one, however they are written.

    So 1, 1.0, "+1" and "1." are the same, and so are true, "TRUE" and "True"; "01" is a name of its own.

    Args:
        value: text, or what ``str`` makes text of.
        decimals: whether other numbers have one text too: "0.10", "1e-1" and 0.1.

    >>> [text_form(value) for value in (True, "TRUE", 1.0, "+1", "-0.0", "0.10", "1e-3", "01", " a b ", "1.2.3")]
    ['True', 'True', '1', '1', '0', '0.1', '0.001', '01', 'a b', '1.2.3']
    >>> text_form("0.10", decimals=False)
    '0.10'
    """
    text = str(value).strip()
    if text.lower() in ("true", "false"):
        return text.capitalize()
    if not NUMERAL.fullmatch(text):
        return text
    if WHOLE.fullmatch(text):  # of any length
        digits = text.lstrip("+").partition(".")[0]
        return "0" if digits == "-0" else digits
    number = float(text)
    if not decimals or not abs(number) < float("inf"):
        return text
    return str(int(number)) if number.is_integer() and abs(number) < 2**63 else repr(number)
