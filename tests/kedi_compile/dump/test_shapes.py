"""The known shapes: each finds its secret, leaves what only looks like one, and takes linear time."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from canaries import CANARIES, Canary, remains_of
from kedi_compile.dump.redaction import Redactor
from kedi_compile.dump.shapes import SHAPES, Shape

HARMLESS = (
    "max_tokens=4096 and tokens: 12, token=7, total_tokens: 1,234",
    '{"token": "authentication", "logprob": -0.31}',
    '{"usage": {"input_tokens": 120034, "cache_read_token": 9999999}}',
    "SyntaxError: Unexpected token: identifier",
    "commit 89afcaaf5b7d1e2c3a4b5c6d7e8f901234567890",
    "run 123e4567-e89b-12d3-a456-426614174000 of task-1234",
    "task-0123456789abcdef0123456789abcdef",
    "sk-learn, scikit-learn, sk-toggleable__label-arrow, sk-container-id-1",
    "https://host/path?x=1 and http://localhost:8080/a@b and ssh://git@host/repo",
    "git@host:owner/repo.git",
    "the bearer of good news; bearer tokens are refused; a basic understanding",
    "password: str = Field(min_length=8)",
    "session_id=conversation-1234 of session 7f3a9c21, <key>name</key>",
    "password=None, secret=null, api_key: Optional[str] = None",
    "password = getpass()\napi_key=os.environ['KEY']\nsecret = load_secret(\"name\")",
    "client = Client(password=password, api_key=self.settings.api_key, token=token)",
    "export TOKEN=${{ env.TOKEN }} PASSWORD=${PASSWORD} PGPASSWORD=$PGPASSWORD",
    "PWD=/home/me OLDPWD=/tmp",
    "if '-----BEGIN " + "PRIVATE KEY-----' in text: refuse()",
    "Keys are sorted; key: value; primary key: id; the key=lambda item: item.rank",
    "cookie: a small file that a browser keeps",
    "Authorization: required for every call",
    "for token in tokens:\n    total += len(token)",
    "passwords are hashed, and nobody knows the secret",
    "sha256:9f3c7a1e5b8d2064af17c3e95d80b26c4e9a1f7d3b5c8e02",
    "high_resolution_timestamps_are_enabled and shelf_0123456789abcdef0123456789abcdef",
    "",
)

HOSTILE = (
    *(
        "-----BEGIN ",
        "-----BEGIN " + "PRIVATE KEY-----",
        "-----END " + "PRIVATE KEY-----",
        "a",
        "A1",
        " ",
        "\\",
        "\\n",
        '"',
    ),
    *("eyJ", "eyJaaaaaaaaa.", "sk-", "sk-a1", "sk-ant-", "://", "://a:b", "://:p@", "://a:b@@", "[redacted: "),
    *("password=", "password='", "password='a\\", "password=a)", "secret:a&", "secret:a,", "password=a.a.a.", "pass"),
    *(
        "token=",
        "token: a1",
        "bearer a",
        "Basic aA",
        "authorization: ",
        "authorization: a ",
        "cookie=a=",
        "cookie: 'a=",
    ),
    *(
        "auth=('",
        "<a-",
        "password is ",
        "token aA",
        "cookies={",
        "SG.",
        "SG.aaaaaaaaaaaaaaaa.",
        "AKIA",
        "1234567:AA",
        "--password ",
        "--a-a-a-",
        "x-a-",
        "pwd",
    ),
)


def longest(shape: Shape, texts: Iterator[str]) -> float:
    """Return the seconds that the slowest text takes, of processor time."""
    seconds = []
    for text in texts:
        before = time.process_time()
        shape.pattern.sub("", text)
        seconds.append(time.process_time() - before)
    return max(seconds)


@pytest.mark.parametrize("canary", CANARIES, ids=lambda canary: f"{canary.name}:{canary.text[:12]!r}")
def test_every_known_shape_is_replaced(canary: Canary) -> None:
    """What stands in the secret's place says what it was, and nothing of the secret remains."""
    redacted = Redactor().redact(canary.text)

    before, _, after = canary.text.partition(canary.secret)
    assert redacted == f"{before}[redacted: {canary.name}]{after}"
    assert remains_of(canary, redacted) == set()


def test_every_shape_has_a_canary() -> None:
    """A shape that nothing is found by is not in the table."""
    found = {shape for shape in SHAPES for canary in CANARIES if shape.pattern.search(canary.text)}

    assert {shape.name for shape in SHAPES} == {canary.name for canary in CANARIES}
    assert found == set(SHAPES)


@pytest.mark.parametrize("canary", CANARIES, ids=lambda canary: f"{canary.name}:{canary.text[:12]!r}")
def test_a_shape_is_looked_for_where_its_words_are(canary: Canary) -> None:
    """The words of a shape that finds a secret are in the text."""
    finding = [shape for shape in SHAPES if shape.name == canary.name and shape.pattern.search(canary.text)]

    assert all(any(word in canary.text.lower() for word in shape.words) for shape in finding)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    """Counts, hashes, ids, names of things, and program text that names a secret stay as they are."""
    assert Redactor().redact(text) == text


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("postgres://u:s3cret@h/db?to=a@b", "postgres://u:[redacted: password]@h/db?to=a@b"),
        ("?token=abc123def456&page=2", "?token=[redacted: token]&page=2"),
        ("connect(password='x y', port=1)", "connect(password='[redacted: secret]', port=1)"),
        ("Password=hunter2;Database=app", "Password=[redacted: secret];Database=app"),
        ("--password hunter2 --max-tokens 9", "--password [redacted: secret] --max-tokens 9"),
        ("Cookie: a=b; c=d\nAccept: */*", "Cookie: [redacted: cookie]\nAccept: */*"),
    ],
)
def test_what_stands_around_a_secret_stays(text: str, redacted: str) -> None:
    """Only the value is replaced: its name, the host and the next setting stay."""
    assert Redactor().redact(text) == redacted


def test_a_value_that_was_cut_off_is_replaced_to_its_end() -> None:
    """Without the closing quote a value ends with its line."""
    assert Redactor().redact('{"password": "hunter2 and mo') == '{"password": "[redacted: secret]'


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape.name}:{shape.words[0]}")
def test_a_hostile_text_takes_linear_time(shape: Shape) -> None:
    """A text that begins a secret again and again, or never ends one, is gone through once."""
    size = 100_000
    texts = (text for part in HOSTILE for text in ((part * size)[:size], part + "a" * size))

    assert longest(shape, texts) < 0.2
