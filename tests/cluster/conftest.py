"""One Ray cluster of two processors for all tests of this folder."""

from collections.abc import Iterator

import pytest
from ray_cluster import RayCluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[RayCluster]:
    cluster = RayCluster(2)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in cluster.environment.items():
            patch.setenv(name, value)
        yield cluster
    cluster.kill()
