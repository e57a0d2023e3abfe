"""The keyring: made once by whoever comes first, refused when others could read it, rotated without losing the past."""

from __future__ import annotations

import base64
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crp_mcp import keys
from crp_mcp.errors import KeyringError
from crp_mcp.keys import files
from crp_mcp.proof.signed import key_id
from tests.proof.support import REPO, RING, profile, shared

POSIX = pytest.mark.skipif(os.name != "posix", reason="modes are a POSIX matter")
ROOT = pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may read everything")
SEED = "2a" * 32


def load(folder: Path, **more: Any) -> keys.Keyring:
    return keys.load_keyring(folder, **{"env": {}, **more})


def secret_file(folder: Path) -> Path:
    (path,) = folder.glob("signing-*.key")
    return path


def test_first_use_makes_a_key_and_later_uses_find_it(tmp_path: Path) -> None:
    """The same key comes back, and signs what it verifies."""
    folder = tmp_path / "deep" / "keys"
    first, again = load(folder), load(folder)
    assert first == again
    assert first.kid == key_id(first.public_key)
    assert first.public_keys() == {first.kid: first.public_key}
    signature = first.sign(b"message")
    assert again.verify(first.public_key, signature, b"message")
    assert not again.verify(first.public_key, signature, b"massage")


@POSIX
def test_modes_are_private(tmp_path: Path) -> None:
    """Folder 0700, files 0600, whatever the umask was; nothing temporary stays."""
    old = os.umask(0)
    try:
        load(tmp_path / "keys")
    finally:
        os.umask(old)
    folder = tmp_path / "keys"
    for path in (folder, folder / "public"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    found = [path for path in folder.rglob("*") if path.is_file()]
    assert len(found) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in found} == {0o600}


def test_many_processes_at_once_get_one_key(tmp_path: Path) -> None:
    """Eight processes that start on an empty folder agree on the key."""
    code = (
        "import sys; from pathlib import Path; from crp_mcp.keys import load_keyring; sys.stdin.readline();"
        "ring = load_keyring(Path(sys.argv[1]), env={}); print(ring.kid, ring.mac_key('s').hex())"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "keys")]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    children = [subprocess.Popen(command, cwd=REPO, text=True, **pipes) for _ in range(8)]
    answers = [child.communicate("go\n", timeout=60) for child in children]
    assert {answer[1] for answer in answers} == {""}
    assert len({answer[0] for answer in answers}) == 1
    assert len(list((tmp_path / "keys").glob("*.key"))) == 1


def test_secrets_are_never_shown(tmp_path: Path) -> None:
    """Neither the keyring nor the file's content prints a secret."""
    ring = load(tmp_path)
    document = json.loads(secret_file(tmp_path).read_text())
    shown = repr(ring) + repr(files.newest_secret(tmp_path))
    assert document["signing_seed"] not in shown
    assert repr(bytes.fromhex(document["signing_seed"]))[2:10] not in shown
    assert repr(bytes.fromhex(document["audit_key"]))[2:10] not in shown


@POSIX
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_key_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    """The error names the file, its mode and what to do."""
    load(tmp_path)
    secret_file(tmp_path).chmod(mode)
    with pytest.raises(KeyringError, match=f"mode {mode:04o}.*chmod 600.*keys rotate"):
        load(tmp_path)


@POSIX
def test_a_folder_others_can_write_is_refused(tmp_path: Path) -> None:
    """Whoever can replace a key need not read it."""
    folder = tmp_path / "keys"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(KeyringError, match="chmod 700"):
        load(folder)


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'{"v":1}', b"[]", b"x" * 100_000])
def test_a_damaged_key_is_an_error_and_stays(tmp_path: Path, content: bytes) -> None:
    """Never replaced by a new one behind the user's back."""
    load(tmp_path)
    path = secret_file(tmp_path)
    path.write_bytes(content)
    with pytest.raises(KeyringError, match="damaged"):
        load(tmp_path)
    assert path.read_bytes() == content


def test_a_swapped_seed_is_damage(tmp_path: Path) -> None:
    """A seed that does not belong to the kid beside it is noticed."""
    load(tmp_path)
    path = secret_file(tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), "signing_seed": SEED}))
    with pytest.raises(KeyringError, match="damaged"):
        load(tmp_path)


def test_a_lost_key_is_an_error_not_a_new_key(tmp_path: Path) -> None:
    """Where there was a key before, a missing one must be restored or replaced knowingly."""
    old = load(tmp_path)
    secret_file(tmp_path).unlink()
    with pytest.raises(KeyringError, match="missing, though there was one"):
        load(tmp_path)
    new = keys.rotate(tmp_path, env={})
    assert new.kid != old.kid
    assert old.kid in new.own
    assert load(tmp_path) == new


def test_a_missing_key_is_an_error_without_create(tmp_path: Path) -> None:
    """Who only reads never makes a key."""
    with pytest.raises(KeyringError, match="no signing key"):
        load(tmp_path / "none", create=False)
    assert not (tmp_path / "none").exists()


@POSIX
@ROOT
def test_an_unreadable_key_is_an_error(tmp_path: Path) -> None:
    """What the system refuses is passed on with the file's name."""
    load(tmp_path)
    secret_file(tmp_path).chmod(0)
    with pytest.raises(KeyringError, match="cannot read the key"):
        load(tmp_path)


def test_a_folder_that_cannot_be_one_is_an_error(tmp_path: Path) -> None:
    """A file where the folder should be: named, not a traceback."""
    (tmp_path / "keys").write_text("")
    with pytest.raises(KeyringError, match="keys"):
        load(tmp_path / "keys")


def test_rotation_keeps_the_past_verifiable(tmp_path: Path) -> None:
    """A new kid signs; old signatures and old MACs still verify; the old seed is gone."""
    old = load(tmp_path)
    old_seed = json.loads(secret_file(tmp_path).read_text())["signing_seed"]
    signature = old.sign(b"before")
    new = keys.rotate(tmp_path, env={})
    again = keys.rotate(tmp_path, env={})
    assert len({old.kid, new.kid, again.kid}) == 3
    assert set(again.own) == {old.kid, new.kid, again.kid}
    assert again.verify(again.public_keys()[old.kid], signature, b"before")
    assert again.mac_key("s") == old.mac_key("s")
    assert all(old_seed not in path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    assert [info.role for info in keys.list_keys(tmp_path, env={})] == ["current", "retired", "retired"]
    assert keys.list_keys(tmp_path, env={})[0].kid == again.kid


def test_rotations_at_once_never_fork(tmp_path: Path) -> None:
    """Of several rotations one at a time succeeds; the rest say so; everyone then sees one current key."""
    load(tmp_path)
    code = (
        "import sys; from pathlib import Path; from crp_mcp.keys import rotate\n"
        "from crp_mcp.errors import KeyringError\n"
        "sys.stdin.readline()\n"
        "try: print(rotate(Path(sys.argv[1]), env={}).kid)\n"
        "except KeyringError as error: print('refused', error)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    children = [subprocess.Popen(command, cwd=REPO, text=True, **pipes) for _ in range(4)]
    answers = [child.communicate("go\n", timeout=60) for child in children]
    assert {answer[1] for answer in answers} == {""}
    made = {answer[0].strip() for answer in answers if not answer[0].startswith("refused")}
    assert made
    ring = load(tmp_path)
    assert ring.kid in made
    assert made <= set(ring.own)
    assert len(list(tmp_path.glob("*.key"))) == 1


def test_nothing_to_rotate_is_an_error(tmp_path: Path) -> None:
    """Rotation does not stand in for first use."""
    with pytest.raises(KeyringError, match="no key"):
        keys.rotate(tmp_path, env={})


def test_a_crash_between_the_steps_of_a_rotation_is_harmless(tmp_path: Path) -> None:
    """Both secrets on disk: the newer signs, and the next rotation clears up."""
    old = load(tmp_path)
    audit = bytes.fromhex(json.loads(secret_file(tmp_path).read_text())["audit_key"])
    assert files.create_secret(tmp_path, 2, seed=b"\x07" * 32, audit_key=audit)
    ring = load(tmp_path)
    assert (ring.kid != old.kid, set(ring.own)) == (True, {old.kid, ring.kid})
    last = keys.rotate(tmp_path, env={})
    assert len(list(tmp_path.glob("*.key"))) == 1
    assert set(last.own) == {old.kid, ring.kid, last.kid}


def test_trusted_keys_are_believed_but_are_not_ours(tmp_path: Path) -> None:
    """Another's receipts verify; another's checkpoints of our chain would not."""
    mine, other = load(tmp_path / "mine"), load(tmp_path / "other")
    for spelling in (other.public_key, other.public_key.hex(), base64.b64encode(other.public_key).decode()):
        assert keys.trust(tmp_path / "mine", spelling) == other.kid
    ring = load(tmp_path / "mine")
    assert set(ring.public_keys()) == {mine.kid, other.kid}
    assert set(ring.own) == {mine.kid}
    assert set(ring.trusted) == {other.kid}
    keys.trust(tmp_path / "mine", mine.public_key)
    assert set(load(tmp_path / "mine").own) == {mine.kid}


@pytest.mark.parametrize("bad", ["", "00" * 32, "01" + "00" * 31, b"short", "zz" * 32, "ff" * 32, "é" * 43])
def test_no_usable_public_key_is_refused(tmp_path: Path, bad: bytes | str) -> None:
    """Small-order points, too: no signature under them means anything."""
    with pytest.raises(KeyringError, match="usable Ed25519"):
        keys.trust(tmp_path, bad)


@pytest.mark.parametrize(
    "text",
    [
        SEED,
        SEED.upper(),
        base64.b64encode(b"\x2a" * 32).decode(),
        base64.urlsafe_b64encode(b"\x2a" * 32).decode().rstrip("="),
        f"  {SEED}\n",
        f"{SEED},{'2b' * 32}",
    ],
)
def test_a_key_from_the_environment(tmp_path: Path, text: str) -> None:
    """The draft's test seed gives the draft's kid, in every spelling, from the variable and from a file."""
    ring = load(tmp_path / "keys", env={"CRP_MCP_KEY": text})
    assert ring.kid == profile()["kid"]
    path = tmp_path / "secret"
    path.write_text(text)
    path.chmod(0o444)
    same = load(tmp_path / "keys", env={"CRP_MCP_KEY_FILE": str(path)})
    assert (same.kid, same.mac_key("s")) == (ring.kid, ring.mac_key("s"))
    assert not list((tmp_path / "keys").glob("*.key"))


def test_former_keys_of_the_environment_still_verify(tmp_path: Path) -> None:
    """A new seed put before the old one: the old receipts and MACs remain checkable, and a folder's own key too."""
    folder_ring = load(tmp_path)
    old = load(tmp_path, env={"CRP_MCP_KEY": SEED})
    new = load(tmp_path, env={"CRP_MCP_KEY": f"{'2b' * 32} {SEED}"})
    assert set(new.own) == {folder_ring.kid, old.kid, new.kid}
    assert new.mac_keys("s") == (new.mac_key("s"), old.mac_key("s"), folder_ring.mac_key("s"))
    with pytest.raises(KeyringError, match="CRP_MCP_KEY"):
        keys.rotate(tmp_path, env={"CRP_MCP_KEY": SEED})


@pytest.mark.parametrize(
    "env",
    [
        {"CRP_MCP_KEY": ""},
        {"CRP_MCP_KEY": "hunter2secret"},
        {"CRP_MCP_KEY": SEED + ",hunter2secret"},
        {"CRP_MCP_KEY": SEED[:-2]},
        {"CRP_MCP_KEY": SEED, "CRP_MCP_KEY_FILE": "x"},
        {"CRP_MCP_KEY_FILE": "no-such-file"},
        {"CRP_MCP_KEY_FILE": ""},
    ],
)
def test_a_bad_key_from_the_environment_is_an_error(tmp_path: Path, env: dict[str, str]) -> None:
    """It says which variable, never the value; no other key is used instead."""
    with pytest.raises(KeyringError, match="CRP_MCP_KEY") as caught:
        load(tmp_path, env=env)
    assert "hunter2" not in str(caught.value)
    assert SEED[:-2] not in str(caught.value)


def test_the_process_environment_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `env` the variables of the process count."""
    monkeypatch.setenv("CRP_MCP_KEY", SEED)
    assert keys.load_keyring(tmp_path).kid == profile()["kid"]


def test_hkdf_vectors() -> None:
    """RFC 5869, appendix A.1, A.2 and A.3."""
    first = keys.hkdf_sha256(b"\x0b" * 22, salt=bytes(range(13)), info=bytes(range(0xF0, 0xFA)), length=42)
    assert first.hex() == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
    second = keys.hkdf_sha256(
        bytes(range(0x50)), salt=bytes(range(0x60, 0xB0)), info=bytes(range(0xB0, 0x100)), length=82
    )
    assert second.hex().startswith("b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c")
    assert second.hex().endswith("cc30c58179ec3e87c14c01d5c1f3434f1d87")
    third = keys.hkdf_sha256(b"\x0b" * 22, salt=b"", info=b"", length=42)
    assert third.hex() == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
    for length in (0, 8161):
        with pytest.raises(ValueError):
            keys.hkdf_sha256(b"k", salt=b"", info=b"", length=length)


@given(st.text(), st.text())
def test_each_conversation_has_its_own_mac_key(a: str, b: str) -> None:
    """Equal ids give equal keys, others do not, whatever characters an id has."""
    assert (RING.mac_key(a) == RING.mac_key(b)) is (a == b)


def test_session_key_is_the_specified_derivation(tmp_path: Path) -> None:
    """HKDF of the master key, salted by the session, with the info of version 3."""
    ring = load(tmp_path)
    master = files.newest_secret(tmp_path)
    assert master is not None
    expected = keys.hkdf_sha256(master.audit_key, salt=b"session-1", info=b"crp-session-hmac-v3", length=32)
    assert ring.mac_key("session-1") == expected


@given(st.binary(max_size=40), st.binary(max_size=70), st.binary(max_size=20))
def test_verification_never_raises(public_key: bytes, signature: bytes, message: bytes) -> None:
    """Made-up keys and signatures of any length are simply false."""
    assert keys.verify_signature(public_key, signature, message) is False


def test_rfc_8032_vector(tmp_path: Path) -> None:
    """Test 2 of RFC 8032 §7.1 signs and verifies."""
    ring = load(tmp_path, env={"CRP_MCP_KEY": "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"})
    assert ring.public_key.hex() == "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
    signature = ring.sign(b"\x72")
    assert signature.hex().startswith("92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da")
    assert ring.verify(ring.public_key, signature, b"\x72")


def test_wycheproof() -> None:
    """All 151 published verification cases."""
    document = json.loads(shared("ed25519", "wycheproof_ed25519_test.json").read_bytes())
    count = 0
    for group in document["testGroups"]:
        public_key = bytes.fromhex(group["publicKey"]["pk"])
        for case in group["tests"]:
            accepted = keys.verify_signature(public_key, bytes.fromhex(case["sig"]), bytes.fromhex(case["msg"]))
            assert accepted is (case["result"] == "valid"), case["tcId"]
            count += 1
    assert count == 151


def test_small_order_and_non_canonical_points() -> None:
    """CCTV's 914 cases: the same 43 are accepted as by libsodium."""
    cases = json.loads(shared("ed25519", "cctv_ed25519vectors.json").read_bytes())
    accepted = sum(
        keys.verify_signature(bytes.fromhex(case["key"]), bytes.fromhex(case["sig"]), case["msg"].encode())
        for case in cases
    )
    assert (len(cases), accepted) == (914, 43)


def test_import_loads_no_crypto() -> None:
    """Importing the room costs no start-up time: PyNaCl comes with the first key."""
    code = "import sys, crp_mcp.keys; sys.exit('nacl' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=REPO, check=False).returncode == 0
