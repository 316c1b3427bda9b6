"""``partialfair list``: every plug-in by name, with the first sentence of its file."""

import json

import pytest
from typer.testing import CliRunner

from partialfair import plugins
from partialfair.commands.cli import app
from partialfair.metrics.registry import on_request, registry
from reproduction.commands import listing
from reproduction.commands.project import Plugin


@pytest.mark.parametrize("kind", listing.FOLDERS)
def test_every_plugin_is_listed_with_words_of_its_own(kind: str):
    found = listing.listed(kind)
    assert tuple(found) == plugins.names(listing.FOLDERS[kind])
    assert all(found.values())
    assert len(set(found.values())) == len(found)


def test_a_member_of_a_family_is_listed_with_its_option_and_what_it_means():
    words = listing.listed("constraints")["auc_gap_group"]
    assert (
        words
        == "AUC gaps: one group ranks above the rest as often as below (Example 1); {name: auc_gap, between: group}"
    )


def test_metrics_of_every_run_and_on_request_are_listed():
    assert listing.listed("metrics") == {name: m.title for name, m in {**registry(), **on_request()}.items()}


def test_the_verb_knows_every_kind_and_prints_a_line_each():
    assert {kind.value for kind in Plugin} == set(listing.KINDS)
    done = CliRunner().invoke(app, ["list", "losses"])
    assert done.exit_code == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(plugins.names("constraints/losses"))
    machine = json.loads(CliRunner().invoke(app, ["list", "constraints", "--json"]).stdout)
    assert "Partial statistical parity" in machine["partial_statistical_parity"]


def test_an_unknown_kind_names_those_there_are():
    done = CliRunner().invoke(app, ["list", "models"])
    assert done.exit_code == 2
    assert "algorithms" in done.output
