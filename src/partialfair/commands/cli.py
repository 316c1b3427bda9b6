"""The command line: the verbs of the library, and those that other distributions add to it."""

import os
import signal
import sys
import traceback
from importlib import metadata
from io import TextIOWrapper
from typing import Annotated

import typer

from partialfair.commands import audits
from partialfair.commands.options import Verbs
from partialfair.errors import PartialFairError
from partialfair.extensions import added
from partialfair.kernels import processor

EXAMPLES = """\b
Examples:
  partialfair audit scores.csv --score s --group sex --label y --out audit
  partialfair run demo && partialfair summary demo
  partialfair VERB --help
"""

FAULT = 3
"""Exit status where the program itself failed; 1 is that of a gate or a check which was judged, and not passed."""

FIRST_CRASHING = (2, 5, 2)
"""The first NumPy with OpenBLAS 0.3.34."""

app = typer.Typer(
    cls=Verbs,
    epilog=EXAMPLES,
    help="Partial fairness: data, training, evaluation, figures and tables; the workflow calls these verbs.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for add in added("verbs"):
    add(app)
app.add_typer(audits.app)  # without a name: its verbs are the program's own


def _version(requested: bool) -> None:
    if requested:
        from partialfair import __version__

        print(f"partialfair {__version__}")
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Partial fairness: data, training, evaluation, figures and tables; the workflow calls these verbs."""


def _open_streams() -> None:
    """Let the program write where its streams are closed, as some daemons start it: to nobody.

    Else the next files that it opens would have their numbers, and receive what is printed.
    """
    for number, name in ((0, "stdin"), (1, "stdout"), (2, "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # has the lowest number that is free: this one
            stream = os.fdopen(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False)
            setattr(sys, name, stream)


def _may_crash() -> bool:
    """Whether NumPy brings an OpenBLAS whose products crash on some processors under the settings of the workflow.

    Without them, results agree with committed ones to rounding alone. The extra ``workflow`` admits no such NumPy.
    """
    try:
        release = metadata.version("numpy").split(".")
    except metadata.PackageNotFoundError:
        return False
    return tuple(int("".join(filter(str.isdecimal, number)) or 0) for number in release[:3]) >= FIRST_CRASHING


def main() -> None:
    """Run the command line; an error that a person can act on is one sentence and exit status 2, any other 3."""
    _open_streams()
    if not _may_crash():
        processor.settle()  # before any verb imports NumPy
    if hasattr(signal, "SIGPIPE") and sys.argv[1:2] != ["data"]:  # of which some verbs read from the network
        # Else whoever reads only the first lines would make of a gate that was passed one that was not (status 1).
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names of groups in a terminal that lacks their letters
    try:
        app()
    except PartialFairError as error:
        message = str(error)
        for masked in added("masked"):
            message = masked(message)
        print(f"partialfair: {message}", file=sys.stderr)
        sys.exit(2)
    except Exception as error:
        from partialfair.plugins import machine_fault

        fault = machine_fault(error)
        if fault is None and isinstance(error, OSError) and error.filename is not None:
            fault = f"{error.filename}: {error.strerror}; choose another place, or check its permissions"
        if fault is None:
            traceback.print_exc()
            print("partialfair: the program failed; nothing was judged", file=sys.stderr)
            sys.exit(FAULT)
        print(f"partialfair: {fault}", file=sys.stderr)
        sys.exit(2)
