"""Payload bytes: any size, any pieces, any slice; damage is found; what belongs to no entry is swept."""

from __future__ import annotations

import hashlib
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crp_mcp.errors import NotFound, StoreError
from crp_mcp.store import SqliteStore, codec, lease, open_store
from crp_mcp.store.codec import CHUNK_BYTES
from tests.store.support import NOW, SCOPE, capture, draft, noise, noted, seal

SIZES = [0, 1, 2_048, 2_049, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES, 5 * CHUNK_BYTES + 77]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    with open_store(tmp_path_factory.mktemp("payloads")) as opened:
        yield opened


def text(size: int) -> bytes:
    """Bytes that compress, no two chunks alike."""
    return b"".join(b'{"row": %d, "city": "Berlin"}\n' % number for number in range(size // 28 + 1))[:size]


def chunk_rows(store: SqliteStore, payload_id: int) -> int:
    with sqlite3.connect(store.path) as db:
        count = db.execute("SELECT count(*) FROM chunk WHERE id >> 20 = ?", (payload_id,)).fetchone()[0]
    db.close()
    return int(count)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("make", [text, noise])
def test_every_size_comes_back_whole(store: SqliteStore, size: int, make: object) -> None:
    """Sizes around every boundary, compressible or not, come back byte for byte with the right hash."""
    data = make(size)  # type: ignore[operator]
    entry = capture(store, data)
    pieces = list(store.iter_payload(entry.payload_id))
    assert b"".join(pieces) == store.read(entry.payload_id, 0, size + 1) == data
    assert max(map(len, pieces), default=0) <= CHUNK_BYTES
    assert entry.provenance_hash == "sha256:" + hashlib.sha256(data).hexdigest()


@pytest.fixture(scope="module")
def long(store: SqliteStore) -> tuple[bytes, int]:
    """Three and a half chunks, the middle ones of noise: both codecs in one payload."""
    data = text(CHUNK_BYTES) + noise(CHUNK_BYTES) + text(CHUNK_BYTES) + noise(CHUNK_BYTES // 2)
    return data, capture(store, data).payload_id


@settings(max_examples=150, deadline=None)
@given(offset=st.integers(0, 4 * CHUNK_BYTES), length=st.integers(0, 2 * CHUNK_BYTES))
def test_a_slice_is_what_the_bytes_say(store: SqliteStore, long: tuple[bytes, int], offset: int, length: int) -> None:
    """Any slice equals the same slice of the whole, also across chunks and past the end."""
    data, payload_id = long
    assert store.read(payload_id, offset, length) == data[offset : offset + length]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(st.binary(max_size=50), st.sampled_from([CHUNK_BYTES, CHUNK_BYTES - 3, 100_000]).map(noise)),
        max_size=8,
    ),
    st.sampled_from([bytes, bytearray, memoryview]),
)
def test_pieces_do_not_matter(store: SqliteStore, pieces: list[bytes], kind: type) -> None:
    """However a payload is cut into pieces, it is the same payload."""
    with store.open_payload() as writer:
        for piece in pieces:
            writer.write(kind(piece))
        written = writer.close()
    entry = store.commit_capture(draft(), written, noted("TOOL_CALL"))
    whole = b"".join(pieces)
    assert (written.size, b"".join(store.iter_payload(entry.payload_id))) == (len(whole), whole)
    assert written.provenance_hash == "sha256:" + hashlib.sha256(whole).hexdigest()


def test_a_reader_remembers_its_chunk(store: SqliteStore, long: tuple[bytes, int]) -> None:
    """Many slices through one reader equal the same slices read one by one."""
    data, payload_id = long
    reader = store.open_reader(payload_id)
    assert reader.size == len(data)
    for offset in (0, 10, CHUNK_BYTES - 5, CHUNK_BYTES + 5, 3, len(data) - 4):
        assert reader.read(offset, 9) == data[offset : offset + 9]


@pytest.mark.parametrize(("offset", "length"), [(-1, 5), (0, -1)])
def test_a_negative_slice_is_refused(store: SqliteStore, long: tuple[bytes, int], offset: int, length: int) -> None:
    """Counting from the end is not a slice here."""
    with pytest.raises(ValueError):
        store.read(long[1], offset, length)


def test_only_the_chunks_needed_are_read(tmp_path: Path) -> None:
    """A slice is right even where every other chunk of the payload is damaged."""
    data = noise(4 * CHUNK_BYTES)
    with open_store(tmp_path) as store:
        entry = capture(store, data)
        store.append(
            lambda head: noted("EVICTED")(head, entry),
            lambda db: db.execute("UPDATE chunk SET data = x'00' WHERE id & 1048575 != 2").rowcount,
        )
        assert store.read(entry.payload_id, 2 * CHUNK_BYTES + 9, 4096) == data[2 * CHUNK_BYTES + 9 :][:4096]
        with pytest.raises(StoreError, match="damaged"):
            store.read(entry.payload_id, CHUNK_BYTES, 1)


@pytest.mark.parametrize(
    ("damage", "make"),
    [
        ("UPDATE chunk SET data = zeroblob(length(data)) WHERE id & 1048575 = 1", noise),
        ("UPDATE chunk SET data = zeroblob(length(data)) WHERE id & 1048575 = 1", text),
        ("UPDATE chunk SET data = substr(data, 1, length(data) - 1) WHERE id & 1048575 = 1", text),
        ("DELETE FROM chunk WHERE id & 1048575 = 1", text),
        ("UPDATE payload SET sha256 = zeroblob(32)", text),
        ("UPDATE payload SET data = zeroblob(length(data)) WHERE data IS NOT NULL", lambda _: noise(9_000)),
    ],
)
def test_damage_is_found_on_a_full_read(tmp_path: Path, damage: str, make: object) -> None:
    """A full read checks the hash, so no changed byte passes for the original."""
    with open_store(tmp_path) as store:
        entry = capture(store, make(3 * CHUNK_BYTES))  # type: ignore[operator]
        changed = store.append(lambda head: noted("EVICTED")(head, entry), lambda db: db.execute(damage).rowcount)
        assert changed == 1
        with pytest.raises(StoreError, match="damaged"):
            list(store.iter_payload(entry.payload_id))


def test_a_payload_is_kept_small(store: SqliteStore) -> None:
    """Rows compress to a quarter or less; noise costs nothing over its size."""
    rows, dense = store.write_payload(text(10**6)), store.write_payload(noise(10**6))
    assert rows.stored_bytes < 10**6 / 4
    assert dense.stored_bytes == 10**6


def test_small_payloads_need_no_chunk_rows(store: SqliteStore) -> None:
    """The only chunk of a payload stands in the payload's own row."""
    assert chunk_rows(store, capture(store, text(200_000)).payload_id) == 0
    assert chunk_rows(store, capture(store, text(2 * CHUNK_BYTES)).payload_id) == 2


def test_tiny_payloads_do_not_load_zstandard() -> None:
    """What the inline path stores does not pay for a compressor."""
    code = (
        "import sys; from crp_mcp.store import codec; codec.pack(b'x' * 2048); "
        "assert 'zstandard' not in sys.modules; codec.pack(b'x' * 2049); assert 'zstandard' in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_big_upload_is_written_as_it_comes(tmp_path: Path) -> None:
    """Long before the end most of it is on disk, readable by nobody; the entry makes it readable."""
    data = noise(5 * 2**20)
    with open_store(tmp_path) as store, store.open_payload() as writer:
        for start in range(0, len(data), 100_000):
            writer.write(data[start : start + 100_000])
        assert writer.payload_id is not None
        assert chunk_rows(store, writer.payload_id) >= 16
        with pytest.raises(NotFound):
            store.read(writer.payload_id, 0, 1)
        entry = store.commit_capture(draft(), writer.close(), seal)
        assert b"".join(store.iter_payload(entry.payload_id)) == data
        assert store.stats().open_uploads == 0


def test_a_payload_given_up_leaves_nothing(tmp_path: Path) -> None:
    """An exception while writing removes what was already written, and the writer takes no more."""
    with open_store(tmp_path) as store:
        writer = store.open_payload()

        def half() -> None:
            with writer:
                writer.write(noise(3 * 2**20))
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            half()
        assert writer.payload_id is not None
        assert (store.stats().open_uploads, chunk_rows(store, writer.payload_id)) == (0, 0)
        with pytest.raises(ValueError):
            writer.write(b"more")


def test_a_sweep_leaves_an_upload_in_progress_alone(tmp_path: Path) -> None:
    """Another store object, as another process would, sweeps; the upload goes on and ends well."""
    data = noise(3 * 2**20)
    with open_store(tmp_path) as mine, open_store(tmp_path) as other, mine.open_payload() as writer:
        writer.write(data[: 2 * 2**20])
        assert other.sweep_uploads() == 0
        writer.write(data[2 * 2**20 :])
        entry = mine.commit_capture(draft(), writer.close(), seal)
        assert other.read(entry.payload_id, 0, len(data)) == data


def test_an_upload_without_a_sign_of_life_is_swept_and_told_so(tmp_path: Path) -> None:
    """Past its lease an upload is removed; its writer finds that out instead of storing half a payload."""
    now = [NOW]
    with open_store(tmp_path, clock=lambda: now[0]) as store, store.open_payload() as writer:
        writer.write(noise(2 * 2**20))
        finished = store.open_payload()
        finished.write(noise(2 * 2**20))
        written = finished.close()
        now[0] += lease.LEASE_SECONDS
        assert store.sweep_uploads() == 2
        with pytest.raises(StoreError, match="given up"):
            writer.write(noise(2 * 2**20))
        with pytest.raises(StoreError, match="given up"):
            store.commit_capture(draft(), written, seal)
        assert store.list(SCOPE).entries == ()


def test_writing_renews_the_lease(tmp_path: Path) -> None:
    """A slow upload that keeps writing is never swept."""
    now = [NOW]
    with open_store(tmp_path, clock=lambda: now[0]) as store, store.open_payload() as writer:
        for _ in range(4):
            writer.write(noise(2 * 2**20))
            now[0] += lease.LEASE_SECONDS - 1
            assert store.sweep_uploads() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up on Linux; elsewhere the lease decides")
def test_the_upload_of_a_dead_process_is_swept_at_once(tmp_path: Path) -> None:
    """A process that ended left its uploads behind; nobody waits for their lease."""
    code = (
        "import os, sys; from crp_mcp.store import open_store; store = open_store(sys.argv[1]); "
        "writer = store.open_payload(); writer.write(os.urandom(3 << 20)); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    with open_store(tmp_path) as store:
        assert store.stats().open_uploads == 1
        assert (store.sweep_uploads(), store.stats().open_uploads) == (1, 0)


def test_an_owner_is_gone_only_for_certain() -> None:
    """Our own process is not gone; one that cannot be looked up is not called gone."""
    assert not lease.is_gone(lease.new_owner())
    for owner in ("", "other-boot/pid:[1]|1|1|x", "|1|1|x", "garbage"):
        assert not lease.is_gone(owner)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up on Linux")
def test_a_process_number_used_again_is_another_process() -> None:
    """Same number, other start: the owner is gone."""
    machine, pid, born, nonce = lease.new_owner().split("|")
    assert lease.is_gone(f"{machine}|{pid}|{int(born) + 1}|{nonce}")
    assert lease.is_gone(f"{machine}|4999999|{born}|{nonce}")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.data_too_large])
@given(st.one_of(st.binary(max_size=6_000), st.integers(0, 9_000).map(text), st.integers(0, 9_000).map(noise)))
def test_packing_is_undone_by_unpacking(data: bytes) -> None:
    """Whatever the codec chosen, the same bytes come back, and they never take more room."""
    how, packed = codec.pack(data)
    assert codec.unpack(how, packed, len(data), "it") == data
    assert len(packed) <= len(data)
