"""What the cassettes hold, and that the emulator's can be recorded again, byte for byte."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from vcr import VCR

import harbour_langchain
from cassette import EMULATOR, KEPT_HEADERS, VCR_CONFIG
from harbour import CASSETTES, LANES, MOOR, MOORED, Harbour
from recording import VENDORS, Lane, Provider
from recording_langchain import ChatProvider

SECRETS: Final = re.compile(
    r"sk-[A-Za-z0-9_-]{8}|bearer |api[-_]key|cookie|__cf_bm|organi[sz]ation|\borg-|openai-project|cf-ray|request-id",
    re.IGNORECASE,
)
FILES: Final = sorted(CASSETTES.parent.glob("*/*.yaml"))
ADDRESSES: Final = (EMULATOR, *(address for _, address in VENDORS.values()))


def interactions() -> list[dict[str, Any]]:
    """Read all that was recorded."""
    return [one for file in FILES for one in yaml.safe_load(file.read_text(encoding="utf-8"))["interactions"]]


def test_both_adapters_have_cassettes() -> None:
    """What the tests below read is there."""
    assert Counter(file.parent.name for file in FILES).keys() == {"langchain", "pydantic_ai"}


def test_no_header_but_the_listed_ones_is_recorded() -> None:
    """Keys, cookies, organisations, dates and request ids travel in headers, and those are left out."""
    messages = [message for one in interactions() for message in (one["request"], one["response"])]

    assert {name.lower() for message in messages for name in message["headers"]} <= KEPT_HEADERS


def test_no_cassette_holds_what_looks_like_a_secret() -> None:
    """Nor is anything of the kind in a body or an address."""
    assert [file.name for file in FILES if SECRETS.search(file.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    "leak",
    ["x-api-key: abc", "authorization: Bearer abc", "sk-ant-api03-abcdef", "set-cookie: a=b", "openai-organization: x"],
)
def test_a_secret_would_be_found(leak: str) -> None:
    """The pattern knows the forms in which the vendors' secrets travel."""
    assert SECRETS.search(leak)


def test_every_address_says_what_was_recorded() -> None:
    """A recording comes from the emulator, whose name cannot be looked up, or from a vendor."""
    assert [one for one in interactions() if not one["request"]["uri"].startswith(ADDRESSES)] == []


@pytest.mark.parametrize("lane", LANES, ids=str)
@pytest.mark.parametrize(
    "told",
    [(CASSETTES, Provider, Harbour), (harbour_langchain.CASSETTES, ChatProvider, harbour_langchain.Office)],
    ids=["pydantic_ai", "langchain"],
)
async def test_recording_from_the_emulator_gives_the_same_bytes(
    lane: Lane, told: tuple[Path, Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The emulator reads no clock and draws no lots, so `make record` changes nothing that did not change."""
    folder, provider, story = told
    stored = (folder / f"unedited-{lane}.yaml").read_text(encoding="utf-8")
    if EMULATOR not in stored:
        pytest.skip("this cassette was recorded from the vendor")
    for variable, _ in VENDORS.values():
        monkeypatch.delenv(variable, raising=False)

    with VCR(record_mode="all").use_cassette(str(tmp_path / "again.yaml"), **VCR_CONFIG):
        async with provider(lane, recording=True) as recording:
            harbour = story(recording)
            await harbour.talk()
            await harbour.ask(MOOR, MOORED)

    assert (tmp_path / "again.yaml").read_text(encoding="utf-8") == stored


@pytest.mark.parametrize("lane", LANES, ids=str)
async def test_with_a_key_the_vendor_itself_is_asked(lane: Lane, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recording with the vendor's key in the environment goes to the vendor; replaying never does."""
    variable, vendor = VENDORS[lane.vendor]
    monkeypatch.setenv(variable, "a key")

    async with Provider(lane, recording=True) as recording, Provider(lane, recording=False) as replaying:
        addresses = [str(provider.model().base_url) for provider in (recording, replaying)]

    assert addresses[0].startswith(vendor)
    assert addresses[1].startswith(EMULATOR)
