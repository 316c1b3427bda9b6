"""Which commands a warm process takes."""

import shlex
import subprocess

import pytest

from snakemake_executor_plugin_warm.command import Command, parse


def test_a_command_with_all_that_is_understood() -> None:
    arguments = """run --kappa=0.1 'a "b" {c}' "d'e" 'f'"'"'g'"""
    text = f" A_NUM_THREADS=2 B='x y' python -m toy.part {arguments} > logs/a=1/x.log 2>&1\n"
    found = parse(text, {"toy.part"})
    variables = (("A_NUM_THREADS", "2"), ("B", "x y"))
    assert found == Command(
        "python", "toy.part", ("run", "--kappa=0.1", 'a "b" {c}', "d'e", "f'g"), "logs/a=1/x.log", variables
    )


@pytest.mark.parametrize("python", ["python", "python3", "python3.11", "/opt/env/bin/python", "./env-1/bin/python3"])
def test_any_python(python: str) -> None:
    found = parse(f"{python} -m toy > log 2>&1", {"toy"})
    assert found is not None and found.python == python and found.arguments == ()


@pytest.mark.parametrize(
    "value", ["plain", "two words", "it's", 'say "so"', "{a} $b `c` *?[!d] ~ # & | ; < > ( ) \\", "é"]
)
def test_what_snakemake_quotes_arrives_as_in_the_shell(value: str) -> None:
    text = f"python -m toy {shlex.quote(value)} > log 2>&1"
    found = parse(text, {"toy"})
    shell = subprocess.run(
        ["bash", "-c", f"printf %s {shlex.quote(value)}"], capture_output=True, text=True, check=True
    )
    assert found is not None and found.arguments == (shell.stdout,) == (value,)


@pytest.mark.parametrize(
    "text",
    [
        "python -m other a > log 2>&1",
        "python -m toy a",
        "python -m toy a > log",
        "python -m toy a >> log 2>&1",
        "python -m toy a 2> log 2>&1",
        "python -m toy a1> log 2>&1",
        "python -u -m toy a > log 2>&1",
        "python toy.py a > log 2>&1",
        "python -m toy a > log 2>&1 && touch b",
        "python -m toy a > log 2>&1\ntouch b",
        "python -m toy a\n > log 2>&1",
        "cd b; python -m toy a > log 2>&1",
        "python -m toy $A > log 2>&1",
        'python -m toy "$A" > log 2>&1',
        "python -m toy `a` > log 2>&1",
        "python -m toy *.txt > log 2>&1",
        "python -m toy {a,b} > log 2>&1",
        "python -m toy ~/a > log 2>&1",
        "python -m toy a # > log 2>&1",
        "python -m toy a | tee > log 2>&1",
        "python -m toy a < in > log 2>&1",
        "python -m toy a & > log 2>&1",
        "python -m toy (a) > log 2>&1",
        "python -m toy a\\ b > log 2>&1",
        "python -m toy 'a > log 2>&1",
        "PYTHONPATH=x python -m toy a > log 2>&1",
        "PYTHONHASHSEED=0 python -m toy a > log 2>&1",
        "PATH=x python -m toy a > log 2>&1",
        "LD_PRELOAD=x python -m toy a > log 2>&1",
    ],
)
def test_everything_else_is_for_the_shell(text: str) -> None:
    assert parse(text, {"toy"}) is None
