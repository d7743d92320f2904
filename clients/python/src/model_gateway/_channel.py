"""Channels to a gateway, which send the key with each call and bound its time."""

import collections
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

import grpc
import grpc.aio

ApiKey = str | Callable[[], str]
"""A key, or what returns the key of each call: one that rotates is read anew."""

Options = Sequence[tuple[str, str | int]]

_LARGEST = 64 * 1024 * 1024
"""The largest message that is read, in bytes. gRPC's own limit of 4 MiB is below what long answers have."""


def connect(
    address: str, api_key: ApiKey | None = None, *, timeout: float | None = 600, options: Options = ()
) -> grpc.Channel:
    """Returns a channel to the gateway at `http://host:port` or, by TLS, `https://host`. Connects with the first call.

    `timeout` bounds each call that names none of its own, in seconds, a stream until its end; None sets no bound.
    `options` are gRPC's. Raises ValueError for an address or a key that cannot be right.
    """
    target, is_secure = _target_of(address)
    _check_key(api_key)
    arguments = _options_with(options)
    if is_secure:
        channel = grpc.secure_channel(target, grpc.ssl_channel_credentials(), arguments)
    else:
        channel = grpc.insecure_channel(target, arguments)
    return grpc.intercept_channel(channel, _Caller(api_key, timeout))


def connect_async(
    address: str, api_key: ApiKey | None = None, *, timeout: float | None = 600, options: Options = ()
) -> grpc.aio.Channel:
    """Returns the same for asyncio."""
    target, is_secure = _target_of(address)
    _check_key(api_key)
    arguments = _options_with(options)
    keeping = (api_key, timeout)
    interceptors: list[grpc.aio.ClientInterceptor] = [_AsyncUnaryCaller(*keeping), _AsyncStreamCaller(*keeping)]
    if is_secure:
        credentials = grpc.ssl_channel_credentials()
        return grpc.aio.secure_channel(target, credentials, arguments, interceptors=interceptors)
    return grpc.aio.insecure_channel(target, arguments, interceptors=interceptors)


def _target_of(address: str) -> tuple[str, bool]:
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"The address of the gateway is http://host:port or https://host, not {address!r}.")
    if parts.path.strip("/"):
        raise ValueError(f'The address of the gateway is needed without "{parts.path}".')
    is_secure = parts.scheme == "https"
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{host}:{parts.port or (443 if is_secure else 80)}", is_secure


def _check_key(api_key: ApiKey | None) -> None:
    if isinstance(api_key, str):
        _read_key(api_key)


def _read_key(api_key: str) -> str:
    """Returns a key without the spaces and line breaks around it, as a file has them. gRPC's own errors would quote it."""
    key = api_key.strip()
    if not key:
        raise ValueError("The API key is empty. Leave it out, or read it from where it is kept.")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError("The API key has a space, a line break or a sign that no key has. Copy it anew.")
    return key


def _options_with(options: Options) -> list[tuple[str, str | int]]:
    return [("grpc.max_receive_message_length", _LARGEST), ("grpc.max_send_message_length", _LARGEST), *options]


class _Details(
    collections.namedtuple("_Details", ["method", "timeout", "metadata", "credentials", "wait_for_ready", "compression"]),
    grpc.ClientCallDetails,
):
    """What gRPC knows of a call before it is sent."""


class _Keeper:
    """Adds key and deadline to the details of a call."""

    def __init__(self, api_key: ApiKey | None, timeout: float | None) -> None:
        self._api_key = api_key
        self._timeout = timeout

    def _kept(self, details) -> dict:
        metadata = list(details.metadata or ())
        has_credential = any(name in ("authorization", "x-api-key") for name, _ in metadata)
        if self._api_key is not None and not has_credential:
            key = self._api_key if isinstance(self._api_key, str) else self._api_key()
            metadata.append(("authorization", f"Bearer {_read_key(key)}"))
        return {"metadata": metadata, "timeout": self._timeout if details.timeout is None else details.timeout}


class _Caller(_Keeper, grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):
    def intercept_unary_unary(self, continuation, details, request):
        return continuation(self._details(details), request)

    def intercept_unary_stream(self, continuation, details, request):
        return continuation(self._details(details), request)

    def _details(self, details) -> _Details:
        names = ("credentials", "wait_for_ready", "compression")
        others = {name: getattr(details, name, None) for name in names}
        return _Details(method=details.method, **self._kept(details), **others)


class _AsyncKeeper(_Keeper):
    def _details(self, details) -> grpc.aio.ClientCallDetails:
        kept = self._kept(details)
        metadata = grpc.aio.Metadata(*kept["metadata"])
        others = {"credentials": details.credentials, "wait_for_ready": details.wait_for_ready}
        return grpc.aio.ClientCallDetails(details.method, kept["timeout"], metadata, **others)


class _AsyncUnaryCaller(_AsyncKeeper, grpc.aio.UnaryUnaryClientInterceptor):
    async def intercept_unary_unary(self, continuation, details, request):
        return await continuation(self._details(details), request)


class _AsyncStreamCaller(_AsyncKeeper, grpc.aio.UnaryStreamClientInterceptor):
    async def intercept_unary_stream(self, continuation, details, request):
        return await continuation(self._details(details), request)
