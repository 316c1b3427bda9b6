"""Command-line options that the command-line library does not offer itself."""

from itertools import zip_longest
from typing import Any

from typer.core import TyperCommand, TyperGroup

from partialfair.errors import ConfigError
from partialfair.extensions import has_workbench

SCORES, PROJECT, RESULTS = "Scores of any model", "The project", "Results"
STEPS = "Steps of the workflow, which calls them itself"
"""Titles under which the verbs are listed, in this order."""
PAIRED = "--interval"
WORKBENCH = "partialfair-reproduction"
"""Distribution that adds the verbs of the workflow."""


class Verbs(TyperGroup):
    """A program whose verbs are listed by title, in plain text."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the verbs under the titles that they name, each with the first sentence of its help."""
        width = max(map(len, self.commands))
        for title in (SCORES, PROJECT, RESULTS, STEPS):
            verbs = [(name, verb) for name, verb in self.commands.items() if verb.rich_help_panel == title]  # type: ignore[attr-defined]
            if not verbs:
                continue
            with formatter.section(title):
                texts = [
                    (name.ljust(width), verb.get_short_help_str(formatter.width - 6 - width)) for name, verb in verbs
                ]
                formatter.write_dl(texts)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the verb that the arguments begin with; without the workbench, say what brings the others."""
        if self.get_command(ctx, args[0]) is None and not has_workbench():
            raise ConfigError(
                f"there is no verb {args[0]!r} here; the verbs of the workflow come with the distribution {WORKBENCH}: "
                f"install it, or run `pip install src/reproduction` in a checkout"
            )
        return super().resolve_command(ctx, args)


MAY_BE_EMPTY = ("--by", "--owner")
"""Options whose empty text says that nobody is named."""


class OnceCommand(TyperCommand):
    """A command that refuses an option given twice, of which the last would count, and one without a value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Look through the arguments before they are parsed."""
        once = {
            name for parameter in self.params if not getattr(parameter, "multiple", False) for name in parameter.opts
        }
        valued = {
            name for parameter in self.params if not getattr(parameter, "is_flag", True) for name in parameter.opts
        }
        seen: set[str] = set()
        for argument, after in zip_longest(args, args[1:]):
            name = argument.partition("=")[0]
            if argument == "--":
                break
            if name in seen:
                raise ConfigError(f"{name} is given twice; give it once")
            is_empty = argument == f"{name}=" if "=" in argument else name in valued and after == ""
            if argument.startswith("--") and is_empty and name not in MAY_BE_EMPTY:
                remedy = "name a file or folder" if name == "--out" else "give a value, or leave the option out"
                raise ConfigError(f"{name} is empty; {remedy}")  # as of an unset variable
            seen |= {name} & once if name.startswith("--") else set()
        return list(super().parse_args(ctx, args))


class PairCommand(OnceCommand):
    """A command whose option ``--interval`` takes two numbers and can be repeated."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Join the two numbers after each ``--interval`` into one text, which the option takes."""
        return list(super().parse_args(ctx, joined_pairs(args)))


def joined_pairs(args: list[str]) -> list[str]:
    """Arguments with ``--interval a b`` written as ``--interval a,b``; other arguments unchanged."""
    out, unread = [], list(args)
    while unread:
        argument = unread.pop(0)
        out.append(argument)
        if argument == PAIRED and len(unread) > 1 and _is_number(unread[0]) and _is_number(unread[1]):
            out.append(f"{unread.pop(0)},{unread.pop(0)}")
    return out


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
