"""`discreet ask` and `discreet explain`: answer one or several questions, or explain their cost."""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.answers.formats import answer_csv, answer_json, answer_stream, explanation_json
from discreet.cli.terminal import counting, percent, say, send, ticking
from discreet.core.loss import Loss
from discreet.core.values.dates import iso
from discreet.errors import NotUnderstood

if TYPE_CHECKING:
    from discreet.answers.answer import Answer
    from discreet.answers.explanation import Explanation, Explanations
    from discreet.curator.curator import Curator

__all__ = ["add", "load"]

PICTURES = (".png", ".svg", ".pdf")
MAX_INPUT_CHARS = 1 << 20  # characters taken from standard input; a question is far shorter
FORMATS = """\
formats:
  table   for people: every number with its ± margin, the cost, and what is left
  csv     the rows; after each noisy number NAME a column NAME_margin, empty where no margin is known
  json    the same rows, with confidence, cost and left, in words and as exact fractions
  arrow   the same rows as an Arrow stream, to a file or a pipe

The same question again costs nothing and gets the same numbers. Several questions share what is said of the cost.
Exit status: 0 an answer, 2 a refusal (it costs nothing), 1 something broken.
"""


def add(commands: Any) -> None:
    """Add both commands to the command line."""
    ask = commands.add_parser(
        "ask",
        help="ask a question in SQL, for a cost or for a margin",
        epilog=FORMATS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _question(ask)
    ask.add_argument("--format", choices=("table", "csv", "json", "arrow"), default="table", help="default: table")
    ask.add_argument("--simultaneous", action="store_true", help="margins that hold for all numbers together")
    ask.add_argument("--reuse", action="store_true", help="for nothing, where it follows from earlier answers")
    ask.add_argument("--plot", metavar="FILE", help="draw the answer into a .png, .svg or .pdf as well")
    ask.set_defaults(run=_ask)
    explain = commands.add_parser(
        "explain", help="what a question would cost and how exact it would be; free, and sees no data"
    )
    _question(explain)
    explain.add_argument("--format", choices=("table", "json"), default="table", help="default: table")
    explain.set_defaults(run=_explain)


def _question(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("catalogue", metavar="CATALOGUE", help="a .toml file; discreet init writes one")
    parser.add_argument(
        "question",
        metavar="SELECT…",
        nargs="+",
        help="a SELECT statement, - reads it from standard input; or several, each in quotes, answered for one cost",
    )
    parser.add_argument(
        "--param",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="the value of $NAME or :NAME, or of the N-th ? as N=VALUE: a number, a date, or a text, perhaps in quotes",
    )
    parser.add_argument("--epsilon", metavar="ε", help="what it may cost, for example 0.5; with --within, at most")
    parser.add_argument("--within", metavar="MARGIN", help="how exact: 25 is ±25 for every number, 2%% is relative")
    parser.add_argument("--confidence", metavar="C", default="0.95", help="of the margins; default: 0.95")
    parser.add_argument(
        "--delta", metavar="δ", help="what naming private keys may cost; default: its share, as ε is of the budget's"
    )
    parser.add_argument("--analyst", metavar="NAME", default="", help="who asks, where the catalogue names analysts")
    parser.add_argument("--marks", metavar="FOLDER", help="where this machine keeps its high-water marks")


def _ask(options: argparse.Namespace) -> None:
    texts = [_text(each) for each in options.question]
    unsaid = options.epsilon is None and options.within is None and not options.reuse
    if unsaid and len(texts) > 1:
        raise _no_terms()
    _alone(options, "reuse", "delta", "plot")
    if len(texts) > 1 and options.format in ("csv", "arrow"):
        raise NotUnderstood(
            f"several answers are not one table of {options.format}.", code="wrong-option", instead="--format json"
        )
    if options.format == "arrow" and sys.stdout.isatty():
        raise NotUnderstood(
            "Arrow is not for reading on a terminal.",
            code="wrong-option",
            instead="send it on: … --format arrow > a.arrow",
        )
    if options.plot:
        _drawable(options.plot)
    with load(options.catalogue, options.marks) as curator:
        if unsaid and curator.explain(texts[0], **_wanted(options), analyst=options.analyst).cost != Loss.ZERO:
            raise _no_terms()  # only what public tables alone answer needs no cost
        if options.plot and not curator.explain(texts[0], **_wanted(options), analyst=options.analyst).rows():
            raise NotUnderstood(
                "there would be no number to draw.", code="no-number", instead="leave --plot out, or add COUNT(*)"
            )
        with ticking("asking the data"):
            answers = (
                [curator.ask(texts[0], **_wanted(options), analyst=options.analyst, reuse=options.reuse)]
                if len(texts) == 1
                else curator.ask_many(texts, **_wanted(options), analyst=options.analyst)
            )
        _print(answers, options)
    if options.plot:
        _draw(answers[0], options.plot)


def _no_terms() -> NotUnderstood:
    return NotUnderstood(
        "say what the answer may cost (epsilon), or how exact it must be (within).",
        code="no-terms",
        instead="--epsilon 0.5, or --within 25 for ±25 at 95 %, or --within 2%",
    )


def _explain(options: argparse.Namespace) -> None:
    texts = [_text(each) for each in options.question]
    _alone(options, "delta")
    with load(options.catalogue, options.marks) as curator, ticking("planning"):
        found: Explanation | Explanations = (
            curator.explain(texts[0], **_wanted(options), analyst=options.analyst)
            if len(texts) == 1
            else curator.explain_many(texts, **_wanted(options), analyst=options.analyst)
        )
    send(explanation_json(found) if options.format == "json" else f"{found}\n")


def _alone(options: argparse.Namespace, *names: str) -> None:
    """Refuse options that only a single question can have."""
    said = [each for each in names if getattr(options, each)]
    if len(options.question) > 1 and said:
        raise NotUnderstood(
            f"--{said[0]} is for one question.", code="wrong-option", instead="leave it out, or ask one by one"
        )


def load(catalogue: str, marks: str | None) -> Curator:
    """Open the curator of a catalogue, and show the progress."""
    from discreet.curator.curator import Curator  # noqa: PLC0415

    with percent("reading the data") as data, counting("opening the ledger", "entries") as entries:
        return Curator.load(catalogue, marks=marks, progress=entries, reading=data)


def _wanted(options: argparse.Namespace) -> dict[str, Any]:
    said = ("epsilon", "within", "confidence", *(["delta"] if len(options.question) == 1 else []))
    wanted = {each: getattr(options, each) for each in said}
    return {**wanted, "params": dict(map(_param, options.param)) or None}


def _param(said: str) -> tuple[str, Any]:
    """Read a parameter as it is typed: whole numbers, decimals and dates are such, and anything else is text."""
    name, equals, value = said.partition("=")
    if not equals or not name:
        raise NotUnderstood(
            f"{said!r} gives no parameter a value.",
            code="wrong-parameter",
            instead="--param age=65, --param name=\"'F'\"",
        )
    if re.fullmatch(r"'.*'", value, re.S):
        return name, value[1:-1].replace("''", "'")
    if re.fullmatch(r"-?(0|[1-9]\d{0,39})", value, re.ASCII):
        return name, int(value)
    if re.fullmatch(r"-?\d{1,30}\.\d{1,30}", value, re.ASCII):
        return name, Fraction(value)
    words = {"true": True, "false": False, "null": None}
    return name, words[value.lower()] if value.lower() in words else iso(value) or value


def _text(said: str) -> str:
    """Return the question, from the command line or from standard input."""
    try:
        text = sys.stdin.read(MAX_INPUT_CHARS) if said == "-" else said
        text.encode()
    except UnicodeError:
        raise NotUnderstood(
            "the question is not text in UTF-8.", code="not-sql", instead="SELECT COUNT(*) FROM visits"
        ) from None
    return text


def _print(answers: list[Answer], options: argparse.Namespace) -> None:
    together = options.simultaneous
    if options.format == "arrow":
        sys.stdout.buffer.write(answer_stream(answers[0], simultaneous=together))
    elif options.format == "json":
        send(answer_json(answers, simultaneous=together))
    elif options.format == "csv":
        send(answer_csv(answers[0], simultaneous=together))
    else:
        for n, answer in enumerate(answers):
            say(answer if n == 0 else f"\n{answer}")
            if together:
                say(f"\nMargins that hold for all numbers together:\n{answer.margin(simultaneous=True)}")


# ── pictures ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _drawable(path: str) -> None:
    """Refuse a picture that cannot be written, before anything is paid."""
    if Path(path).suffix.lower() not in PICTURES:
        raise NotUnderstood(
            f"the picture cannot be written to {path}.", code="cannot-write", instead="name a .png, .svg or .pdf"
        )
    if not Path(path).parent.is_dir():
        raise NotUnderstood(
            f"there is no folder {Path(path).parent}.", code="cannot-write", instead="make it, or name another"
        )
    if importlib.util.find_spec("matplotlib") is None:
        raise NotUnderstood("pictures need matplotlib.", code="not-installed", instead='pip install "discreet[report]"')


def _draw(answer: Answer, path: str) -> None:
    figure = answer.plot()
    try:
        figure.savefig(path, dpi=150)
    except (ValueError, OSError):
        raise NotUnderstood(
            f"the picture cannot be written to {path}.", code="cannot-write", instead="name another file"
        ) from None
