"""One build of the site for all tests of this folder."""

from pathlib import Path

import pytest

from tests.docs import built


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    return built.build(tmp_path_factory.mktemp("site"))
