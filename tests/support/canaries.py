"""Secrets that open nothing, one for each known shape, and dumps that hold a text wherever a text can be.

Each is put together here, so that the source holds nothing that looks like a secret.
"""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from kedi_compile.dump.schema import RequestDump

M = TypeVar("M", bound=BaseModel)

LETTERS = "q7Zk3Vx9Rw2Jt5Yb8Nd4Hm6Lc1Pf0Gs7Ua3Ke9Tz5Wv2Xr8B"
CAPITALS = "Q7ZK3VX5RW2JT5YB"
HEX = "9f3c7a1e5b8d2064af17c3e95d80b26c4e9a1f7d3b5c8e02"
DIGITS = "73920518462"
KEY_LINES = f"MIIE{LETTERS}\n{LETTERS[::-1]}\n{LETTERS[5:30]}=="


class Canary(NamedTuple):
    """A text that holds a secret, and the name that is to stand in the secret's place."""

    name: str
    text: str
    secret: str


def _key(name: str, *parts: str) -> Canary:
    return Canary(name, "".join(parts), "".join(parts))


def _named(name: str, before: str, secret: str, after: str = "") -> Canary:
    return Canary(name, before + secret + after, secret)


def _pem(kind: str, line_break: str = "\n") -> str:
    lines = (f"-----BEGIN {kind}PRIVATE " + "KEY-----", *KEY_LINES.split("\n"), f"-----END {kind}PRIVATE " + "KEY-----")
    return line_break.join(lines)


KEYS = (
    _key("private key", _pem("")),
    _key("private key", _pem("RSA ")),
    _key("private key", _pem("OPENSSH ", r"\n")),
    _key("private key", _pem("ENCRYPTED ", "\r\n")),
    _key("private key", _pem("EC ")[:90]),
    _key("private key", _pem("EC ", r"\n")[:100]),
    _key("private key", _pem("RSA ")[60:]),
    _key("private key", _pem("RSA ", r"\n")[70:]),
    _key("Anthropic key", "sk-", "ant-", "api03-", LETTERS, "-", LETTERS[:9], "_AA"),
    _key("OpenRouter key", "sk-", "or-", "v1-", HEX),
    _key("OpenAI key", "sk-", "proj-", LETTERS, "_", LETTERS[3:20], "-x"),
    _key("OpenAI key", "sk-", "svcacct-", LETTERS),
    _key("API key", "sk-", LETTERS[:48]),
    _key("API key", "sk-", HEX[:32]),
    _key("API key", "sk-", "lf-", HEX[:8], "-", HEX[8:12], "-", HEX[12:16]),
    _key("Google key", "AI", "za", LETTERS[:35]),
    _key("AWS key id", "AK", "IA", CAPITALS),
    _key("AWS key id", "AS", "IA", CAPITALS),
    *(_key("GitHub token", "gh", kind, "_", LETTERS[:36]) for kind in "pousr"),
    _key("GitHub token", "github", "_pat_", LETTERS[:22], "_", LETTERS),
    *(_key("Slack token", "xo", f"x{kind}-", DIGITS, "-", DIGITS[::-1], "-", LETTERS[:24]) for kind in "abeprs"),
    _key("Slack token", "xa", "pp-1-", "A0", DIGITS, "-", LETTERS[:40]),
    _named(
        "Slack webhook", "https://hooks." + "slack.com/services/", f"T0{CAPITALS[:9]}/B0{CAPITALS[4:13]}/{LETTERS[:24]}"
    ),
    _named("Discord webhook", "https://discord.com" + "/api/webhooks/", f"{DIGITS}{DIGITS[:7]}/{LETTERS}"),
    _key("Telegram token", DIGITS[:10], ":A", "A", LETTERS[:33]),
    _key("Stripe key", "sk", "_live_", LETTERS[:24]),
    _key("Stripe key", "rk", "_live_", LETTERS[:24]),
    _key("Stripe key", "sk", "_test_", LETTERS[:24]),
    _key("Hugging Face token", "h", "f_", LETTERS[:34]),
    _key("PyPI token", "py", "pi-", "AgEI", LETTERS, "-", LETTERS[:9]),
    _key("SendGrid key", "S", "G.", LETTERS[:22], ".", LETTERS[:43]),
    _key("Twilio key", "S", "K", HEX[:32]),
    _key("API key", "gs", "k_", LETTERS),
    _key("API key", "xa", "i-", LETTERS, LETTERS[:20]),
    _key("API key", "np", "m_", LETTERS[:36]),
    _key("API key", "gl", "pat-", LETTERS[:20]),
    _key("JSON web token", "ey", f"JhbGciOiJIUzI1NiJ9.eyJ{LETTERS}.{LETTERS[2:40]}"),
    _key("JSON web token", "ey", f"JhbGciOiJIUzI1NiJ9.eyJ{LETTERS[:20]}"),
)
"""Secrets that are known by their own shape."""

NAMED = (
    _named("bearer token", "Authorization: Bearer ", LETTERS),
    _named("bearer token", '{"authorization": "Bearer ', "abc-" + LETTERS[:8], '"}'),
    _named("bearer token", "('authorization', 'Bearer ", LETTERS[:12], "')"),
    _named("bearer token", "the header bearer ", LETTERS[:20]),
    _named("query parameter", "https://host.test/a?token=", "zzzzsecretzz", "&page=2"),
    _named("basic credentials", "Authorization: Basic ", "dXNlcjpwYXNzd29yZA=="),
    _named("basic credentials", "with Basic ", "dXNlcjpwYXNzd29yZDE="),
    _named("authorization", "authorization: ", LETTERS[:20]),
    _named("authorization", "Authorization: AWS4-HMAC-SHA256 ", f"Credential=x/20260101, Signature={HEX}"),
    _named("password", "postgres://app:", LETTERS[:12], "@db.internal:5432/app"),
    _named("password", "redis://:", f"p@{LETTERS[:7]}$x", "@cache:6379/0"),
    _named("cookie", "Cookie: ", f"sid={LETTERS[:20]}; theme=dark"),
    _named("cookie", "Set-Cookie: ", f"session={LETTERS[:20]}; Path=/; HttpOnly"),
    _named("cookie", '"cookie": "', f"a={LETTERS[:16]}", '"'),
    _named("cookie", "cookies=", f"{{'sid': '{LETTERS[:16]}'}}"),
    _named("secret", "password=", LETTERS[:9]),
    _named("secret", "DB_PASSWORD=", f"{LETTERS[:5]}&{LETTERS[5:12]};{LETTERS[12:20]}"),
    _named("secret", "passwd: ", "hunter22hunter"),
    _named("secret", '"api_key": "', f"some words {LETTERS[:9]}", '"'),
    _named("secret", r"{\"apiKey\": \"", LETTERS[:12], r"\"}"),
    _named("secret", "'client_secret' : '", rf"it\'s {LETTERS[:9]}", "'"),
    _named("secret", "secret: ", LETTERS[:9]),
    _named("secret", "aws_secret_access_key = ", f"{LETTERS[:20]}/{LETTERS[20:38]}+"),
    _named("secret", "AccountKey=", f"{LETTERS}=="),
    _named("secret", "os.environ['APP_SECRET'] = '", LETTERS[:9], "'"),
    _named("secret", "--password ", LETTERS[:9]),
    _named("token", "token=", LETTERS[:12]),
    _named("token", "https://host/path?access_token=", LETTERS[:30], "&page=2"),
    _named("token", '"refresh_token": "', LETTERS[:30], '"'),
    _named("token", "//registry.example/:_authToken=", LETTERS[:30]),
    _named("secret", "--token ", LETTERS[:20]),
    _named("secret", 'PASSWORD = """', LETTERS[:9], '"""'),
    _named("secret", "password := '", LETTERS[:9], "'"),
    _named("secret", "password==", LETTERS[:9]),
    _named("secret", "password=", "(" + LETTERS[:9]),
    _named("secret", "passwords: {password: ['", LETTERS[:9], "']}"),
    _named("secret", "password: |\n  ", LETTERS[:9]),
    _named("secret", "the password is ", LETTERS[:9]),
    _named("secret", "with API key '", LETTERS[:20], "'"),
    _named("password", "auth=('user', '", LETTERS[:9], "')"),
    _named("secret", "<SecretAccessKey>", LETTERS[:40], "</SecretAccessKey>"),
    _named("API key", "('x-goog-api-key', '", LETTERS[:9], "')"),
)
"""Secrets that are known by what stands before them."""

CANARIES = (*KEYS, *NAMED)


def remains_of(canary: Canary, text: str) -> set[str]:
    """Return the pieces of a secret, six characters each, that are in a text."""
    secret = canary.secret
    pieces = {secret[start : start + 6] for start in range(len(secret) - 5)}
    return {piece for piece in pieces if piece in text}


def full_dump(text: str) -> RequestDump:
    """Return a dump that has every field, with `text` at every place that takes any text."""
    return _filled_model(RequestDump, text).model_copy(update={"version": 1})


def _filled_model(kind: type[M], text: str) -> M:
    hints = get_type_hints(kind)
    values = {name: _filled(hints[name], text) for name in kind.model_fields}
    return kind.model_validate(values)


def _filled(kind: Any, text: str) -> Any:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return _filled_model(kind, text)
    if get_origin(kind) is Literal:
        return get_args(kind)[0]
    if get_origin(kind) is tuple:
        return (_filled(get_args(kind)[0], text),)
    if get_origin(kind) is dict:
        return {text: _filled(get_args(kind)[1], text)}
    if isinstance(kind, UnionType):
        return _filled(next(one for one in get_args(kind) if one is not NoneType), text)
    return {str: text, int: 1, float: 1.0, bool: True}[kind]
