"""Fixtures of the experiments' tests."""

import pytest
from smoke_runs import SmokeRuns


@pytest.fixture(scope="session")
def smoke(tmp_path_factory) -> SmokeRuns:
    return SmokeRuns(tmp_path_factory.mktemp("smoke"))
