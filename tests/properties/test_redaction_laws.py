"""The laws of redaction, over random texts: no secret gets through, twice is once, and the rest stays."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from canaries import CANARIES, Canary, full_dump, remains_of
from kedi_compile.dump.file import DumpFile
from kedi_compile.dump.redaction import Redactor
from kedi_compile.dump.shapes import SHAPES

WORDS = (
    *(
        "the",
        "model",
        "said",
        "max_tokens=4096",
        "tokens: 12",
        "task-1234",
        "sk-learn",
        "scikit-learn",
        "token",
        "a secret is",
    ),
    *(
        "https://host/path?x=1",
        "http://host:8080/a",
        "89afcaaf5b7d1e2c3a4b5c6d7e8f901234567890",
        "def f(x):",
        "return x[0]",
    ),
    *(
        "123e4567-e89b-12d3-a456-426614174000",
        "passwords",
        "a bearer token is",
        "basic",
        "cookie",
        "key: value",
        '{"a": [1, 2]}',
    ),
    *("self.password", "a@b.example", "sha256:9f3c7a1e", "Authorization", "private key", "-----BEGIN CERTIFICATE-----"),
)
BREAKS = (" ", "\n", "\t", ", ", " (", ") ", "\r\n")

around = st.text(max_size=40)
breaks = st.sampled_from(BREAKS)
prose = st.lists(st.sampled_from(WORDS), max_size=30).flatmap(
    lambda words: st.lists(st.sampled_from((" ", "\n", ". ")), min_size=len(words), max_size=len(words)).map(
        lambda gaps: "".join(word + gap for word, gap in zip(words, gaps, strict=True))
    )
)
pieces = st.lists(
    st.one_of(
        st.sampled_from([word for shape in SHAPES for word in shape.words]),
        st.sampled_from([canary.text for canary in CANARIES]),
        st.sampled_from(
            ['"', "'", "\\", "=", ": ", "@", "/", "[redacted: secret]", " ", "\n", "&", ";", "a1b2c3d4e5f6"]
        ),
        st.text(max_size=8),
    ),
    max_size=12,
).map("".join)


@given(st.sampled_from(CANARIES), around, breaks, breaks, around)
def test_no_secret_gets_through_whatever_stands_around_it(
    canary: Canary, before: str, first: str, last: str, after: str
) -> None:
    """A secret is found in any text that does not run into it."""
    redacted = Redactor().redact(before + first + canary.text + last + after)

    assert remains_of(canary, redacted) == set()


@given(st.sampled_from(CANARIES), around, breaks, breaks, around)
def test_no_secret_reaches_the_file(canary: Canary, before: str, first: str, last: str, after: str) -> None:
    """The bytes of the file hold nothing of a secret, from whatever place of a dump it came."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "dump.jsonl")
        DumpFile(path).write(full_dump(before + first + canary.text + last + after))

        written = path.read_bytes().decode()

    assert remains_of(canary, written) == set()


@given(pieces)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    """What stands in a secret's place is no secret, and leads to none."""
    once = Redactor().redact(text)

    assert Redactor().redact(once) == once


@given(prose)
def test_a_text_without_secrets_stays_as_it_is(text: str) -> None:
    """Words that secrets are named by, counts, hashes, ids and addresses are no secrets."""
    assert Redactor().redact(text) == text


@given(pieces)
def test_a_dump_is_redacted_as_its_texts_are(text: str) -> None:
    """That texts are looked through together, and remembered, changes nothing."""
    redactor = Redactor()

    assert redactor.redact_dump(full_dump(text)) == full_dump(redactor.redact(text))
