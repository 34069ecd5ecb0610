"""Answers to `resources/read`, `prompts/get` and `completion/complete`, in the envelope of each version."""

from __future__ import annotations

from typing import Any

from api.access.values import Answer, Call, Refusal
from api.mcp import completions, prompts, resources
from api.mcp.arguments import BadArguments
from api.mcp.completions import UnknownReference
from api.mcp.protocol import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    LIMIT_REACHED,
    MODERN,
    RESOURCE_NOT_FOUND,
    CheckedRequest,
    RpcError,
)
from api.mcp.resources import UnknownResource
from api.mcp.results import StaticResults
from api.service import Service
from warehouse.errors import StorageError

_LONGEST = 200
"""Characters of an address or of what was typed so far."""


def resource(service: Service, rpc: CheckedRequest, static: StaticResults, client: str) -> bytes:
    """The contents of a resource, counted as a free call of the client's address. Raises RpcError."""
    uri = _text(rpc.params, "uri")
    entry = service.gate.admit(Call("/mcp", "", client))
    if isinstance(entry, Refusal):
        raise RpcError(LIMIT_REACHED, f"{entry.title}: {entry.detail}")
    if isinstance(entry, Answer):  # only what is paid for is given again
        raise RpcError(INTERNAL_ERROR, "A free call was answered as a paid one")
    try:
        contents = resources.read(service.catalogue, uri)
    except UnknownResource:
        entry.release()
        code = INVALID_PARAMS if rpc.version == MODERN else RESOURCE_NOT_FOUND
        raise RpcError(code, "Resource not found; resources/list has those there are", {"uri": uri}) from None
    except StorageError as error:
        entry.release()
        raise RpcError(INTERNAL_ERROR, str(error)) from None
    entry.settle(Answer(200, 1))
    return static.enveloped({"contents": [contents]}, rpc.version, stable=True)


def prompt(rpc: CheckedRequest, static: StaticResults) -> bytes:
    """The messages of a prompt. Raises RpcError."""
    known = prompts.PROMPTS.get(_text(rpc.params, "name"))
    if known is None:
        raise RpcError(INVALID_PARAMS, f"Unknown prompt; prompts are {', '.join(prompts.PROMPTS)}")
    try:
        filled = prompts.filled(known, _texts(rpc.params, "arguments"))
    except BadArguments as fault:
        raise RpcError(INVALID_PARAMS, f"Invalid arguments: {fault}") from None
    return static.enveloped(filled, rpc.version)


def completion(rpc: CheckedRequest, static: StaticResults) -> bytes:
    """Words for an argument. Raises RpcError."""
    reference, argument = (_object(rpc.params, name) for name in ("ref", "argument"))
    name, typed = (_text(argument, member) for member in ("name", "value"))
    context = _texts(_object(rpc.params, "context", optional=True), "arguments")
    try:
        words = completions.completed(reference, name, typed, context)
    except UnknownReference as fault:
        raise RpcError(INVALID_PARAMS, f"Cannot complete: {fault}") from None
    return static.enveloped({"completion": words}, rpc.version)


def _text(params: dict[str, Any], name: str) -> str:
    text = params.get(name)
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise RpcError(INVALID_PARAMS, f"params.{name} is a text of at most {_LONGEST} characters")
    return text


def _object(params: dict[str, Any], name: str, optional: bool = False) -> dict[str, Any]:
    given = params.get(name)
    if optional and given is None:
        return {}
    if not isinstance(given, dict):
        raise RpcError(INVALID_PARAMS, f"params.{name} is an object")
    return given


def _texts(params: dict[str, Any], name: str) -> dict[str, str]:
    """An object of texts, empty where absent."""
    given = _object(params, name, optional=True)
    if not all(isinstance(text, str) and len(text) <= _LONGEST for text in given.values()):
        raise RpcError(INVALID_PARAMS, f"params.{name} holds texts of at most {_LONGEST} characters")
    return given
