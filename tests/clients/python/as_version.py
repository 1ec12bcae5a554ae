"""A plugin of pytest: the tests of redis-py believe that the server has the version AS_VERSION (own_suites)."""
import os

import pytest


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session):
    from tests import conftest
    conftest.REDIS_INFO["version"] = os.environ["AS_VERSION"]
