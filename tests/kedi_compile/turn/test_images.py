"""Images: which ones may be sent, told from their text alone."""

import pytest

from kedi_compile import TurnCompileError
from kedi_compile.turn.images import as_uri, image_part

PNG = "data:image/png;base64,iVBORw0KGgo="


@pytest.mark.parametrize(
    "image",
    [
        PNG,
        "data:image/jpeg;base64,/9j/4AAQ",
        "data:image/jpg;base64,AAAA",
        "data:image/gif;base64,AA==",
        "data:image/webp;base64,AA==",
        "DATA:IMAGE/PNG;BASE64,AA==",
        "http://example.com/a.png",
        "https://example.com:8443/a.png?size=1#top",
        "HTTPS://EXAMPLE.COM/a.png",
        "https://8.8.8.8/a.png",
        "https://[2001:4860:4860::8888]/a.png",
        "https://[2002:808:808::]/a.png",
        "https://[64:ff9b::808:808]/a.png",
        "https://example.com/a%20b\\c.png?q=%25",
        "https://localhost.example.com/a.png",
        "https://exämple.com/ä.png",
    ],
)
def test_a_public_url_and_a_known_data_uri_may_be_sent(image: str) -> None:
    """The part holds the image as it was given."""
    assert image_part(image, "auto", "images[0]") == {
        "type": "image_url",
        "image_url": {"url": image, "detail": "auto"},
    }


def test_base64_text_is_sent_as_a_jpeg() -> None:
    """Text without a scheme is taken for the bytes of an image."""
    assert as_uri("/9j/4AAQ") == "data:image/jpeg;base64,/9j/4AAQ"
    assert image_part("AAAA", "low", "images[0]")["image_url"]["url"] == "data:image/jpeg;base64,AAAA"


@pytest.mark.parametrize("image", [PNG, "https://example.com/a.png", "ftp://example.com/a.png"])
def test_text_with_a_scheme_stays_as_it_is(image: str) -> None:
    """What names its scheme is no base64 text, whether it may be sent or not."""
    assert as_uri(image) == image


def test_a_detail_that_is_not_set_is_sent_as_none() -> None:
    """Only the factory of an instruction has a default; a part shows what the record holds."""
    assert image_part(PNG, None, "images[0]")["image_url"] == {"url": PNG, "detail": None}


DATA = "it must be a URL, or a PNG, JPEG, GIF or WebP in base64"
ESCAPED = "the host is written with escapes"
REFUSED = [
    ("data:image/svg+xml;base64,PHN2Zy8+", DATA),
    ("data:text/html;base64,AAAA", DATA),
    ("data:image/png,AAAA", DATA),
    ("data:image/png;base64,", DATA),
    ("data:image/png;base64,AA==\n", DATA),
    ("data:image/png;base64,A A=", DATA),
    ("data:image/png;base64,AA===", DATA),
    ("data:image/png;base64,AAA", DATA),
    ("data:image/png;base64,AA=", DATA),
    ("data:image/png;base64,A", DATA),
    ("AAAAA", DATA),
    ("", DATA),
    ("www.example.com/a.png", DATA),
    ("ftp://example.com/a.png", "the scheme 'ftp' is not allowed; http, https and data are"),
    ("file:///etc/passwd", "the scheme 'file' is not allowed; http, https and data are"),
    ("javascript:alert(1)", "the scheme 'javascript' is not allowed; http, https and data are"),
    ("https:///a.png", "the URL names no host"),
    ("https:a.png", "the URL names no host"),
    ("https://example.com/a b.png", "a URL holds no blanks, control characters or halves of surrogate pairs"),
    ("https://example.com/a\n.png", "a URL holds no blanks, control characters or halves of surrogate pairs"),
    *(
        (f"https://example.com/{char}", "a URL holds no blanks, control characters or halves of surrogate pairs")
        for char in "\x7f\xa0\u2028\u3000\ud800"
    ),
    ("https://example.com:port/", "it is no URL (Port could not be cast to integer value as 'port')"),
    ("https://[::1/a.png", "it is no URL (Invalid IPv6 URL)"),
    ("http://localhost/a.png", "the host 'localhost' is an inner address"),
    ("http://LOCALHOST./a.png", "the host 'localhost' is an inner address"),
    ("http://api.localhost:80/a.png", "the host 'api.localhost' is an inner address"),
    ("http://127.0.0.1/a.png", "the host '127.0.0.1' is an inner address"),
    ("http://10.1.2.3/a.png", "the host '10.1.2.3' is an inner address"),
    ("http://169.254.169.254/latest", "the host '169.254.169.254' is an inner address"),
    ("http://0.0.0.0/", "the host '0.0.0.0' is an inner address"),
    ("http://[::1]/a.png", "the host '::1' is an inner address"),
    ("http://[::ffff:127.0.0.1]/", "the host '::ffff:127.0.0.1' is an inner address"),
    ("http://[fe80::1]/", "the host 'fe80::1' is an inner address"),
    ("http://[fe80::1%25eth0]/", ESCAPED),
    ("https://127%2e0.0.1/", ESCAPED),
    ("https://example.com\\@127.0.0.1/", ESCAPED),
    ("http://me%40home@example.com/", ESCAPED),
    ("http://[2002:7f00:1::]/", "the host '2002:7f00:1::' is an inner address"),
    ("http://[2002:a00:1::1]/", "the host '2002:a00:1::1' is an inner address"),
    ("http://[64:ff9b:1::7f00:1]/", "the host '64:ff9b:1::7f00:1' is an inner address"),
    ("http://[::ffff:0:7f00:1]/", "the host '::ffff:0:7f00:1' is an inner address"),
    ("http://[fd00::1]/", "the host 'fd00::1' is an inner address"),
    ("http://[ff0e::1]/", "the host 'ff0e::1' is an inner address"),
    ("http://①②⑦.0.0.1/", "the host '①②⑦.0.0.1' is an inner address"),
    ("http://\uff11\uff12\uff17.0.0.1/", "the host '\uff11\uff12\uff17.0.0.1' is an inner address"),
    ("http://127\u30020\u30020\u30021/", "the host '127\u30020\u30020\u30021' is an inner address"),
    ("http://ⓛocalhost/", "the host 'localhost' is an inner address"),
    ("http://example.0x/", "the host 'example.0x' is an address in an unusual notation"),
    ("http://[::127.0.0.1]/", "the host '::127.0.0.1' is an inner address"),
    ("http://[64:ff9b::7f00:1]/", "the host '64:ff9b::7f00:1' is an inner address"),
    ("http://224.0.0.1/", "the host '224.0.0.1' is an inner address"),
    ("http://2130706433/", "the host '2130706433' is an address in an unusual notation"),
    ("http://127.1/", "the host '127.1' is an address in an unusual notation"),
    ("http://0x7f.0.0.0x1/", "the host '0x7f.0.0.0x1' is an address in an unusual notation"),
    ("http://0177.0.0.1/", "the host '0177.0.0.1' is an address in an unusual notation"),
    ("http://\u3002/", "the URL names no host"),
    ("http://[64:ff9b:1:a00::1]/", "the host '64:ff9b:1:a00::1' is an inner address"),
    ("http://[fec0::1]/", "the host 'fec0::1' is an inner address"),
    ("http://me:secret@192.168.0.1/", "the host '192.168.0.1' is an inner address"),
]
"""Images that are refused, and the flaw each is refused for."""


@pytest.mark.parametrize(("image", "flaw"), REFUSED)
def test_any_other_image_is_refused_with_its_flaw(image: str, flaw: str) -> None:
    """Schemes, formats and inner addresses that no provider should fetch are named before anything is sent."""
    with pytest.raises(TurnCompileError) as caught:
        image_part(image, "auto", "images[3]")

    assert str(caught.value).startswith(f"images[3] cannot be sent: {flaw}. Got ")
    assert caught.value.path == "images[3]"


def test_a_long_image_is_shown_in_part() -> None:
    """A message is no place for a megabyte of base64."""
    with pytest.raises(TurnCompileError) as caught:
        image_part("data:image/bmp;base64," + "A" * 1_000_000, "auto", "images[0]")

    assert str(caught.value).endswith(f"Got {'data:image/bmp;base64,' + 'A' * 58!r}")


def test_an_image_that_is_no_text_is_refused() -> None:
    """Bytes are not guessed to be an image."""
    with pytest.raises(TurnCompileError) as caught:
        image_part(b"\x89PNG", "auto", "images[0]")

    assert str(caught.value) == "images[0] is a bytes; an image is a URL or base64 text"
    assert caught.value.path == "images[0]"


@pytest.mark.parametrize("detail", [None, "low", "high", "auto"])
def test_a_detail_is_one_of_three_words_or_none(detail: object) -> None:
    """It is sent as the record holds it."""
    assert image_part(PNG, detail, "images[0]")["image_url"]["detail"] == detail


@pytest.mark.parametrize("detail", ["medium", "", "LOW", 7, ["low"], {}])
def test_another_detail_is_refused(detail: object) -> None:
    """The field of the record is named, and not the image."""
    with pytest.raises(TurnCompileError) as caught:
        image_part(PNG, detail, "images[0]")

    assert str(caught.value) == f"`image_detail` is {detail!r}; it must be one of (None, 'low', 'high', 'auto')"
    assert caught.value.path == "image_detail"
