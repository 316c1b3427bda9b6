"""The invented project of ``tests/reporting``, which these tests only read."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "reporting"))

from tests.reporting.conftest import FAILING, project  # noqa: F401
