"""Every mutant can still be applied, and the runner tells a survivor from a killed one; the list is not run here."""

import ast
import re
from collections import Counter
from functools import cache

import pytest

from tests.mutation import run
from tests.mutation.catalogue import ROOT, Mutant, MutantError, mutants

PACKAGE = "src/partialfair"
MUTANTS = mutants()


def test_there_are_enough_and_their_names_differ():
    assert len(MUTANTS) >= 100
    assert [name for name, count in Counter(one.name for one in MUTANTS).items() if count > 1] == []


@cache
def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


@cache
def tree(source):
    return ast.dump(ast.parse(source))


@pytest.mark.parametrize("file", sorted({one.file for one in MUTANTS}))
def test_every_mutant_of_a_file_applies_and_its_tests_are_there(file):
    sound = text(file)
    for mutant in (one for one in MUTANTS if one.file == file):
        assert tree(mutant.applied(sound)) != tree(sound), mutant.name
        for test in mutant.tests:
            path, *names = test.split("::")
            assert all(re.search(rf"\b(def|class) {name}\b", text(path)) for name in names), (mutant.name, test)


@pytest.mark.parametrize("old", ["x / 2", "missing"])
def test_a_text_that_is_there_twice_or_not_at_all_is_refused(old):
    with pytest.raises(MutantError, match="times in half.py"):
        Mutant("a", "half.py", old, "x", ()).applied("x / 2 + x / 2")


def test_kept_results_are_of_mutants_in_the_list():
    """What was found of a mutant that is gone or has another name says nothing any more."""
    assert {*run.Results()._load()} <= {one.name for one in MUTANTS}


@pytest.fixture
def toy(tmp_path):
    """A project with one function and one test."""
    (tmp_path / PACKAGE).mkdir(parents=True)
    (tmp_path / PACKAGE / "__init__.py").touch()
    (tmp_path / PACKAGE / "half.py").write_text("def half(x):\n    return x / 2  # half\n")
    (tmp_path / "test_half.py").write_text(
        "from partialfair.half import half\n\ndef test_half():\n    assert half(4) == 2\n"
    )
    return tmp_path


def test_the_runner_tells_killed_from_survived_and_leaves_the_source_alone(toy, capsys):
    before = (toy / PACKAGE / "half.py").read_text()
    own = [
        Mutant(name, f"{PACKAGE}/half.py", "x / 2", new, ("test_half.py",))
        for name, new in (("equal", "x * 0.5"), ("wrong", "x / 3"), ("stops", "x / 2 +"))
    ]
    survivors = run.carry_out(own, toy, toy / "work", toy / "results.json")
    assert [one.name for one in survivors] == ["equal"]
    assert (
        (toy / PACKAGE / "half.py").read_text() == before == (toy / "work/project/src/partialfair/half.py").read_text()
    )
    assert run.score(own, survivors) == 1
    assert "2 of 3 mutants killed: 0.667" in capsys.readouterr().out
    assert run.carry_out(own, toy, toy / "work", toy / "results.json") == survivors
    assert capsys.readouterr().out.count("(known)") == 3
    (toy / "test_half.py").write_text((toy / "test_half.py").read_text() + "    assert half(1e308 * 1.5) < 1e308\n")
    run.carry_out(own[:1], toy, toy / "work", toy / "results.json")
    assert "(known)" not in capsys.readouterr().out  # the tests are others


def test_a_survivor_needs_a_reason_and_the_rest_a_score():
    own = [Mutant(str(k), "f", "a", "b", (), "it is equal" if k < 6 else "") for k in range(100)]
    assert (run.score(own, own[:5]), run.score(own, own[:6]), run.score(own, own[6:7])) == (0, 1, 1)


def test_tests_that_fail_without_a_fault_are_refused(toy):
    (toy / "test_half.py").write_text("def test():\n    assert False\n")
    with pytest.raises(SystemExit, match="do not pass on the sound source"):
        run.carry_out(
            [Mutant("a", "half.py", "x / 2", "x", ("test_half.py",))], toy, toy / "work", toy / "results.json"
        )


def test_comments_docstrings_and_layout_leave_a_result_valid():
    code = run.code_of("def f(x):\n    return x + 1\n")
    assert run.code_of('"""Module."""\n\n\ndef f(x):  # why\n    """F."""\n    return (x\n        + 1)\n') == code
    assert run.code_of("def f(x):\n    return x + 2\n") != code
