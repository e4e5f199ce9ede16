"""Images of an instruction: which ones may be sent, and the part a message shows them as.

Checked by their text alone: nothing is looked up or fetched. A host name that stands for an inner address is for the
caller's network to refuse; an address that says so itself is refused here. Source: Turn specification, D2.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any
from unicodedata import normalize
from urllib.parse import urlsplit

from kedi_compile.errors import TurnCompileError

from .contents import exact

_DATA_URI = re.compile(r"data:image/(?:png|jpe?g|gif|webp);base64,[A-Za-z0-9+/]+={0,2}", re.IGNORECASE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")
_AROUND_IPV4 = frozenset({0, 0xFFFF, 0xFFFF_0000, 0x64_FF9B << 64})
"""The upper 96 bits of IPv6 addresses that stand for an IPv4 one: compatible, mapped, or translated in two ways."""
_DETAILS = (None, "low", "high", "auto")
_LOCAL_NAT64 = 0x64_FF9B_0001
_SHOWN = 80


def as_uri(image: str) -> str:
    """Return an image as a URI: base64 text becomes a JPEG data URI, all else stays as it is."""
    return image if _SCHEME.match(image) else f"data:image/jpeg;base64,{image}"


def image_part(image: object, detail: object, path: str) -> dict[str, Any]:
    """Return the part of a message that shows an image.

    Raises:
        TurnCompileError: the image is no http(s) URL with an outer host and no data URI of a PNG, JPEG, GIF or WebP.
    """
    if detail not in _DETAILS:
        raise TurnCompileError(f"`image_detail` is {detail!r}; it must be one of {_DETAILS}", path="image_detail")
    if not isinstance(image, str):
        raise TurnCompileError(f"{path} is a {type(image).__name__}; an image is a URL or base64 text", path=path)
    uri = as_uri(exact(image))
    if (flaw := _flaw(uri)) is not None:
        raise TurnCompileError(f"{path} cannot be sent: {flaw}. Got {uri[:_SHOWN]!r}", path=path)
    return {"type": "image_url", "image_url": {"url": uri, "detail": detail}}


def _flaw(uri: str) -> str | None:
    if uri.lower().startswith("data:"):
        return None if _is_image(uri) else "it must be a URL, or a PNG, JPEG, GIF or WebP in base64"
    if any(char.isspace() or not char.isprintable() for char in uri):
        return "a URL holds no blanks, control characters or halves of surrogate pairs"
    try:
        parts = urlsplit(uri)
        host = parts.hostname
        _ = parts.port
    except ValueError as exc:
        return f"it is no URL ({exc})"
    if parts.scheme not in {"http", "https"}:
        return f"the scheme {parts.scheme!r} is not allowed; http, https and data are"
    return _flaw_of_host(host or "", parts.netloc)


def _is_image(uri: str) -> bool:
    return _DATA_URI.fullmatch(uri) is not None and len(uri.partition(",")[2]) % 4 == 0


def _flaw_of_host(host: str, netloc: str) -> str | None:
    if set(netloc) & set("\\%"):
        return "the host is written with escapes"
    name = normalize("NFKC", host).replace("\u3002", ".").strip(".").lower()
    if not name:
        return "the URL names no host"
    try:
        address = ip_address(name.partition("%")[0])
    except ValueError:
        return _flaw_of_name(name)
    return None if _is_outer(address) else f"the host {host!r} is an inner address"


def _flaw_of_name(name: str) -> str | None:
    """A name may lead anywhere, which is not asked here; one that ends in a number is an address all the same."""
    if name == "localhost" or name.endswith(".localhost"):
        return f"the host {name!r} is an inner address"
    return (
        f"the host {name!r} is an address in an unusual notation"
        if _NUMBER.fullmatch(name.rpartition(".")[2])
        else None
    )


def _is_outer(address: IPv4Address | IPv6Address) -> bool:
    inside = _ipv4_inside(address) if isinstance(address, IPv6Address) else None
    return _is_outer(inside) if inside else address.is_global and not (address.is_multicast or _is_local(address))


def _is_local(address: IPv4Address | IPv6Address) -> bool:
    """Ranges for local use that Python's tables call global: site-local addresses, and NAT64's own."""
    return isinstance(address, IPv6Address) and (address.is_site_local or int(address) >> 80 == _LOCAL_NAT64)


def _ipv4_inside(address: IPv6Address) -> IPv4Address | None:
    if address.sixtofour is not None:
        return address.sixtofour
    return IPv4Address(int(address) & 0xFFFF_FFFF) if int(address) >> 32 in _AROUND_IPV4 else None
