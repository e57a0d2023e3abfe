"""A bench with a few stored results, shared by the tests of a file; each test reads only."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.query.support import Room, open_room


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    with open_room(tmp_path_factory.mktemp("query")) as made:
        yield made
