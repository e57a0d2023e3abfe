"""A person logs in to a server: the browser's way there and back, and what is kept of it."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata
from pydantic import AnyUrl

from crp_mcp.errors import ConfigError
from crp_mcp.mcp.spec import OAuth, RemoteSpec

from .authorizing import Kept, authorize, obtain
from .faults import Fault
from .loopback import Loopback
from .renewing import ERRORS, Refused
from .tokens import Login, TokenFile


async def log_in(spec: RemoteSpec, show: Callable[[str], None]) -> Login:
    """Get a token and keep it. `show` gets the address that a person has to open.

    Raises:
        ConfigError: it did not come to a login; says why.
    """
    auth = spec.auth if isinstance(spec.auth, OAuth) else OAuth()
    file = TokenFile(spec.tokens, spec.url, spec.account)
    try:
        login = await (obtain(spec) if auth.grant == "client_credentials" else _with_person(spec, auth, file, show))
    except (Refused, Fault) as refusal:
        raise ConfigError(f"no login to {spec.name!r}: {refusal}") from None
    held = await file.alone()
    try:
        file.write(login)
    finally:
        file.unlock(held)
    return login


async def _with_person(spec: RemoteSpec, auth: OAuth, file: TokenFile, show: Callable[[str], None]) -> Login:
    loopback = Loopback()
    try:
        return await _through_browser(spec, auth, file, show, loopback)
    finally:
        await loopback.close()


async def _through_browser(
    spec: RemoteSpec, auth: OAuth, file: TokenFile, show: Callable[[str], None], loopback: Loopback
) -> Login:
    address, client = await _open(loopback, auth, file)
    kept = Kept(client)
    metadata = OAuthClientMetadata(
        redirect_uris=[AnyUrl(address)],
        client_name="crp-mcp",
        grant_types=["authorization_code", "refresh_token"],
        token_endpoint_auth_method="none",
    )

    async def redirect(url: str) -> None:
        loopback.state = parse_qs(urlsplit(url).query).get("state", [""])[0]
        show(url)

    async def come_back() -> AuthorizationCodeResult:
        answer = await loopback.answer()
        if "error" in answer:
            said = answer["error"]
            raise Refused(f"its authorization server said {said}" if said in ERRORS else "it was refused")
        return AuthorizationCodeResult(code=answer.get("code", ""), state=answer.get("state"), iss=answer.get("iss"))

    try:
        provider = OAuthClientProvider(spec.url, metadata, kept, redirect, come_back, auth.client_metadata_url)
    except ValueError:
        raise ConfigError("client_metadata_url must be an https URL with a path") from None
    return await authorize(spec, provider, kept, auth.scopes)


async def _open(loopback: Loopback, auth: OAuth, file: TokenFile) -> tuple[str, OAuthClientInformationFull | None]:
    """The address to come back to, and who we are to the authorization server, where that is known already.

    A registration holds for the address it was made with; so that one is taken again where it is free.
    """
    if auth.client_id:
        address = await loopback.open(auth.redirect_port)
        secret = auth.client_secret
        return address, OAuthClientInformationFull(
            redirect_uris=[AnyUrl(address)],
            client_id=auth.client_id,
            client_secret=secret,
            token_endpoint_auth_method="client_secret_basic" if secret else "none",
            issuer=auth.issuer,
        )
    earlier = _registered(file) if auth.redirect_port is None and not auth.client_metadata_url else None
    if earlier is not None:
        client, port = earlier
        try:
            return await loopback.open(port), client
        except ConfigError:
            # Taken: any other port, and a registration of its own.
            pass
    return await loopback.open(auth.redirect_port), None


def _registered(file: TokenFile) -> tuple[OAuthClientInformationFull, int] | None:
    try:
        login = file.read()
        client = OAuthClientInformationFull.model_validate(login.client) if login and login.client else None
    except (ConfigError, ValueError):
        return None
    if client is None or not client.redirect_uris or client.issuer is None:
        return None
    port = client.redirect_uris[0].port
    return (client, port) if port else None
