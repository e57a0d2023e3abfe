"""One front for all tests that leave nothing behind in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.http.support import Front, fixture


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    """In front of the fixture server, in place, on loopback."""
    with Front(tmp_path_factory.mktemp("front") / "store", "--no-tools", "--", *fixture()) as one:
        yield one
