"""Refusals: the errors that the gateway itself answers with, each with its reason."""

import dataclasses

import grpc
from google.rpc.status_pb2 import Status

from .v1.errors_pb2 import ErrorDetail, Reason


@dataclasses.dataclass(frozen=True)
class Refusal:
    """What the gateway says of a call that it did not answer."""

    reason: int
    """The cause, for programs to compare: `refusal.reason == Reason.REASON_RATE_LIMITED`."""
    name: str
    """The same as its name, without `REASON_`, for logs."""
    message: str
    """What is wrong and what to do, for people."""
    code: grpc.StatusCode
    status: int
    """The HTTP status of the same refusal on the public API."""
    param: str
    """The path of the request's field at fault, as `messages[0].role`; empty where none is."""
    request_id: str
    """The call's id in the gateway's logs."""
    retry_after: float | None
    """Seconds to wait before another attempt; None where the gateway does not say."""
    is_final: bool
    """Whether the gateway says that the same request would be refused again."""
    upstream_body: str
    """The upstream's own error body, where the refusal is the upstream's and of the caller's family; else empty."""


def refusal_of(error: BaseException) -> Refusal | None:
    """Returns the refusal in an error; None for every other one, as of a broken connection or a deadline that passed."""
    if not isinstance(error, grpc.RpcError):
        return None
    metadata = [*(_of(error, "initial_metadata") or ()), *(_of(error, "trailing_metadata") or ())]
    values = {str(name): value for name, value in metadata}
    detail = _detail_in(values.get("grpc-status-details-bin"))
    if detail is None:
        return None
    return Refusal(
        reason=detail.reason,
        name=_name_of(detail.reason),
        message=_of(error, "details") or "",
        code=_of(error, "code"),
        status=detail.http_status,
        param=detail.param,
        request_id=detail.request_id,
        retry_after=_seconds_in(values.get("retry-after")),
        is_final=values.get("x-should-retry") == "false",
        upstream_body=detail.upstream_body,
    )


def _of(error: grpc.RpcError, name: str):
    """An error of a call has these as methods, synchronous and asynchronous ones alike."""
    member = getattr(error, name, None)
    return member() if callable(member) else None


def _detail_in(status: str | bytes | None) -> ErrorDetail | None:
    if not isinstance(status, bytes):
        return None
    for packed in Status.FromString(status).details:
        detail = ErrorDetail()
        if packed.Unpack(detail):
            return detail
    return None


def _name_of(reason: int) -> str:
    """A reason newer than this package is its number."""
    known = Reason.DESCRIPTOR.values_by_number.get(reason)
    return known.name.removeprefix("REASON_") if known else str(reason)


def _seconds_in(text: str | bytes | None) -> float | None:
    try:
        return float(text) if isinstance(text, str) else None
    except ValueError:
        return None
