"""What the script of the first hour reads off a run."""

from dataclasses import replace

from reproduction.grid.config import load_config
from tests.benchmarks.first_hour import EXHIBITS, Timed, forecast
from tests.workflow.project import ROOT


def test_the_forecast_is_in_processor_minutes_of_this_machine():
    said = "about 4.5 minutes on 2 cores (1,003.9 processor minutes as recorded; this machine is 0.50 times as fast)"
    assert forecast(said) == 2007.8 and forecast("no cost was said") is None


def test_a_run_is_good_in_time_with_a_clean_checkout():
    one = Timed(0, 9.0, 1.5, 1.0, "All 2 runs have the committed metrics to the last bit.", "")
    assert one.is_good
    for fault in ({"processor": 1.51}, {"status": 2}, {"changed": " M reports/a.csv"}, {"forecast": None}):
        assert not replace(one, **fault).is_good


def test_every_paper_has_its_exhibit():
    config = load_config(ROOT / "params.yaml")
    shown = [config.params.exhibits[name].experiments or [] for name in EXHIBITS]
    assert {config.experiment(names[0]).paper for names in shown} == set(config.papers)
