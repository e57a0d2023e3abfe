"""Opening a store: where it is, who may read it, and what is not a store is left exactly as it is."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest

from crp_mcp.errors import StoreBusy, StoreError
from crp_mcp.store import Sealed, default_folder, open_store, schema, store_file
from crp_mcp.store.connection import PAGE_SIZE
from tests.store.support import REPO, SCOPE, capture, noise

NOTHING = Sealed()

POSIX = pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")


@pytest.mark.parametrize(
    ("platform", "env", "expected"),
    [
        ("linux", {"HOME": "/home/ada"}, PurePosixPath("/home/ada/.local/share/crp-mcp")),
        ("linux", {"HOME": "/home/ada", "XDG_DATA_HOME": "/data"}, PurePosixPath("/data/crp-mcp")),
        ("linux", {"HOME": "/home/ada", "XDG_DATA_HOME": "rel"}, PurePosixPath("/home/ada/.local/share/crp-mcp")),
        ("linux", {"HOME": "/home/ada", "XDG_DATA_HOME": ""}, PurePosixPath("/home/ada/.local/share/crp-mcp")),
        ("freebsd14", {"HOME": "/home/ada"}, PurePosixPath("/home/ada/.local/share/crp-mcp")),
        ("darwin", {"HOME": "/Users/ada"}, PurePosixPath("/Users/ada/Library/Application Support/crp-mcp")),
        (
            "win32",
            {"LOCALAPPDATA": r"C:\Users\ada\AppData\Local"},
            PureWindowsPath(r"C:\Users\ada\AppData\Local\crp-mcp"),
        ),
        ("win32", {"USERPROFILE": r"C:\Users\ada"}, PureWindowsPath(r"C:\Users\ada\AppData\Local\crp-mcp")),
        ("linux", {"HOME": "/home/ada", "CRP_MCP_STORE": "/srv/crp"}, PurePosixPath("/srv/crp")),
        ("linux", {"HOME": "/home/ada", "CRP_MCP_STORE": "~/crp"}, PurePosixPath("/home/ada/crp")),
        ("win32", {"CRP_MCP_STORE": r"D:\crp"}, PureWindowsPath(r"D:\crp")),
    ],
)
def test_the_default_folder_follows_the_platform(platform: str, env: dict[str, str], expected: object) -> None:
    """Each platform's own place for data; the environment may name another."""
    assert default_folder(env, platform) == expected


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_without_a_home_the_folder_must_be_named(platform: str) -> None:
    """No place to choose is an error that says how to give one."""
    with pytest.raises(StoreError, match="--store"):
        default_folder({}, platform)


def test_a_folder_or_a_file_can_be_named(tmp_path: Path) -> None:
    """A folder holds `scratch.db`; a name with a database suffix, or a file that exists, is the file."""
    odd = tmp_path / "odd"
    odd.touch()
    assert store_file(tmp_path / "new") == tmp_path / "new" / "scratch.db"
    assert store_file(tmp_path) == tmp_path / "scratch.db"
    assert store_file(tmp_path / "mine.DB") == tmp_path / "mine.DB"
    assert store_file(odd) == odd
    (tmp_path / "folder.db").mkdir()
    assert store_file(tmp_path / "folder.db") == tmp_path / "folder.db" / "scratch.db"


@POSIX
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_nobody_else_may_read_it(tmp_path: Path, umask: int) -> None:
    """Folder 0700, file and its -wal and -shm 0600, whatever the umask."""
    before = os.umask(umask)
    try:
        store = open_store(tmp_path / "deep" / "store" if umask != 0o777 else tmp_path / "store")
        capture(store)
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in store.path.parent.iterdir()}
        folder = stat.S_IMODE(store.path.parent.stat().st_mode)
        store.close()
    finally:
        os.umask(before)
    assert modes == {"scratch.db": 0o600, "scratch.db-wal": 0o600, "scratch.db-shm": 0o600}
    assert folder == 0o700


@POSIX
def test_a_folder_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    """A folder someone else made is not ours to change; the files in it are closed all the same."""
    folder = tmp_path / "shared"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    with open_store(folder) as store:
        store.path.chmod(0o644)
    with open_store(folder) as store:
        assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755


def test_a_path_may_hold_anything(tmp_path: Path) -> None:
    """Spaces, quotes, percent and question marks, other scripts."""
    with open_store(tmp_path / "mein Ordner %41 ?x=1#é' ; 北京") as store:
        entry = capture(store)
    with open_store(store.path, create=False) as again:
        assert again.get(SCOPE, entry.scratch_id) == entry


def test_a_new_store_is_set_up_as_decided(tmp_path: Path) -> None:
    """Log, page size, vacuum mode and marks are as docs/decisions/0002 says."""
    with open_store(tmp_path) as store:
        capture(store)
        asked = ("journal_mode", "page_size", "auto_vacuum", "application_id", "user_version")
        with sqlite3.connect(store.path) as db:
            found = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in asked]
        db.close()
    assert found == ["wal", PAGE_SIZE, 2, schema.APPLICATION_ID, schema.VERSION]


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    """A file of no bytes, as `mktemp` makes, holds nothing that could be lost."""
    path = tmp_path / "empty.db"
    path.touch()
    with open_store(path) as store:
        capture(store)


def test_creation_that_died_half_way_is_finished(tmp_path: Path) -> None:
    """Laid out, but without tables: the next one to open it goes on."""
    path = tmp_path / "half.db"
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        db.execute("PRAGMA journal_mode = WAL")
    db.close()
    with open_store(path) as store:
        capture(store)


def test_without_create_a_missing_store_is_an_error(tmp_path: Path) -> None:
    """Commands that only read make nothing."""
    with pytest.raises(StoreError, match="none yet"):
        open_store(tmp_path / "no", create=False)
    assert not (tmp_path / "no").exists()


def good_store(path: Path) -> None:
    with open_store(path) as store:
        for _ in range(20):
            capture(store, noise(20_000))


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE entry (id)")
    db.close()


def foreign_with_log(path: Path) -> None:
    other = path.with_name("other.db")
    db = sqlite3.connect(other)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE entry (id)")
    db.execute("PRAGMA user_version = 1")
    db.commit()
    for suffix in ("", "-wal"):
        shutil.copy(f"{other}{suffix}", f"{path}{suffix}")
    db.close()


def newer(path: Path) -> None:
    good_store(path)
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    db.close()


def newer_in_its_log(path: Path) -> None:
    """A newer version migrated it and was killed: the file's own header still says the old version."""
    made = path.with_name("made.db")
    good_store(made)
    db = sqlite3.connect(made)
    db.execute("PRAGMA wal_autocheckpoint = 0")
    db.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    db.commit()
    for suffix in ("", "-wal"):
        shutil.copy(f"{made}{suffix}", f"{path}{suffix}")
    db.close()


def truncated(path: Path) -> None:
    good_store(path)
    os.truncate(path, path.stat().st_size // 2)


def only_a_header(path: Path) -> None:
    good_store(path)
    os.truncate(path, 100)


def scrambled_schema(path: Path) -> None:
    good_store(path)
    with path.open("r+b") as file:
        file.seek(100)
        file.write(noise(PAGE_SIZE - 100))


def broken_page_size(path: Path) -> None:
    good_store(path)
    with path.open("r+b") as file:
        file.seek(16)
        file.write(b"\x00\x03")


BAD: list[Callable[[Path], object]] = [
    foreign,
    foreign_with_log,
    newer,
    newer_in_its_log,
    truncated,
    only_a_header,
    scrambled_schema,
    broken_page_size,
    lambda path: path.write_bytes(b"not a database, a letter"),
    lambda path: path.write_bytes(b"SQLite format 3\x00"),
    lambda path: path.write_bytes(noise(50_000)),
    lambda path: path.write_bytes(b"x"),
]


@pytest.mark.parametrize("make", BAD, ids=lambda make: getattr(make, "__name__", "bytes").strip("<>"))
def test_what_is_no_store_of_ours_is_left_untouched(tmp_path: Path, make: Callable[[Path], object]) -> None:
    """A clear error names the file; not a byte, not even a time of the file or its log changes."""
    path = tmp_path / "scratch.db"
    make(path)
    path.chmod(0o640)
    files = [path, path.with_name("scratch.db-wal")]
    before = [(file.read_bytes(), file.stat().st_mtime_ns, file.stat().st_mode) for file in files if file.exists()]
    with pytest.raises(StoreError, match=r"scratch\.db") as caught:
        open_store(path)
    after = [(file.read_bytes(), file.stat().st_mtime_ns, file.stat().st_mode) for file in files if file.exists()]
    assert after == before
    assert not isinstance(caught.value, StoreBusy)


def test_damage_deep_inside_is_found_when_met_and_by_a_check(tmp_path: Path) -> None:
    """Payload bytes changed on disk are a StoreError when read; a broken page is one too, and the check names it."""
    path = tmp_path / "scratch.db"
    data = noise(20_000, seed=3)
    with open_store(path) as store:
        entry = capture(store, data)
    whole = path.read_bytes()
    place = whole.index(data[4_000:4_020])
    path.write_bytes(whole[:place] + b"other bytes entirely" + whole[place + 20 :])
    with open_store(path) as store, pytest.raises(StoreError, match="damaged"):
        list(store.iter_payload(entry.payload_id))
    page = place // PAGE_SIZE * PAGE_SIZE
    path.write_bytes(whole[:page] + b"\xff" * PAGE_SIZE + whole[page + PAGE_SIZE :])
    with open_store(path) as store:
        with pytest.raises(StoreError, match="damaged"):
            list(store.iter_payload(entry.payload_id))
        assert store.stats(check=True).integrity != "ok"


def test_a_folder_in_the_way_is_an_error(tmp_path: Path) -> None:
    """A file where the folder should be is named."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="--store"):
        open_store(tmp_path / "file" / "store")


LOCKED_OUT = """
import os, sys
import sqlite_utils, zstandard
from crp_mcp.errors import StoreError
from crp_mcp.store import open_store
if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
try:
    open_store(sys.argv[1]).reserve_id("local", "sql")
except StoreError as error:
    print(error)
"""


@POSIX
@pytest.mark.parametrize("store_mode", [None, 0o444, 0o400])
@pytest.mark.parametrize("folder_mode", [0o555, 0o700])
def test_a_folder_that_cannot_be_written_is_an_error(store_mode: int | None, folder_mode: int) -> None:
    """Read-only and closed folders say what to do, with or without a store in them (root gives its rights up)."""
    with tempfile.TemporaryDirectory() as outer:
        folder = Path(outer) / "locked"
        folder.mkdir()
        if store_mode is not None:
            good_store(folder / "scratch.db")
            (folder / "scratch.db").chmod(store_mode)
        Path(outer).chmod(0o755)
        folder.chmod(folder_mode if os.geteuid() == 0 or folder_mode != 0o700 else 0o000)
        run = [sys.executable, "-c", LOCKED_OUT, str(folder)]
        out = subprocess.run(run, cwd=REPO, capture_output=True, text=True, check=False)
        folder.chmod(0o700)
    assert "--store" in out.stdout, out.stderr


def test_a_full_disk_is_an_error_and_nothing_is_half_stored(tmp_path: Path) -> None:
    """SQLite's own page limit stands in for the disk: the error says what to do, and what was there stays."""
    with open_store(tmp_path) as store:
        kept = capture(store)
        pages = store.append(lambda head: NOTHING, lambda db: db.execute("PRAGMA page_count").fetchone()[0])
        store.append(lambda head: NOTHING, lambda db: db.execute(f"PRAGMA max_page_count = {pages + 20}").fetchone())
        with pytest.raises(StoreError, match="disk is full"):
            capture(store, noise(200_000))
        with pytest.raises(StoreError, match="disk is full"):
            store.write_payload(noise(5 * 2**20))
        assert store.list(SCOPE).entries == (kept,)
        assert store.read(kept.payload_id, 0, 100) == b"[1, 2, 3]"
        store.append(lambda head: NOTHING, lambda db: db.execute("PRAGMA max_page_count = 1000000").fetchone())
        assert capture(store).scratch_id == "scratch_sql_002"


def test_a_current_store_is_opened_without_the_migration_library(tmp_path: Path) -> None:
    """sqlite-utils costs 0.2 s and 13 MB: only a store that is new or behind pays for it."""
    good_store(tmp_path / "scratch.db")
    code = (
        "import sys; from crp_mcp.store import open_store; store = open_store(sys.argv[1]); "
        "store.reserve_id('local', 'sql'); "
        "print([name for name in ('sqlite_utils', 'zstandard', 'nacl') if name in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=REPO, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"


def test_a_store_that_is_behind_is_migrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of the release before gets what is new, keeps what it has, and is then current."""
    good_store(tmp_path / "scratch.db")

    def second(db: object) -> None:
        db.execute("ALTER TABLE stream ADD COLUMN note TEXT")  # type: ignore[attr-defined]

    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, second))
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    with open_store(tmp_path) as store:
        assert (store.stats().schema, store.counters(None).entries) == (schema.VERSION, 20)
    with open_store(tmp_path) as store:
        assert store.stats().schema == schema.VERSION


def test_a_migration_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a migration is none: the store stays at its version and works with the program that made it."""
    good_store(tmp_path / "scratch.db")

    def broken(db: object) -> None:
        db.execute("ALTER TABLE stream ADD COLUMN note TEXT")  # type: ignore[attr-defined]
        db.execute("no such statement")  # type: ignore[attr-defined]

    with monkeypatch.context() as patched:
        patched.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, broken))
        patched.setattr(schema, "VERSION", schema.VERSION + 1)
        with pytest.raises(StoreError):
            open_store(tmp_path)
    with open_store(tmp_path) as store:
        assert (store.stats().schema, store.counters(None).entries) == (schema.VERSION, 20)
        assert capture(store).scratch_id == "scratch_sql_021"


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    """Using a store after its end is an error, not a new connection."""
    store = open_store(tmp_path)
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.reserve_id("local", "sql")
