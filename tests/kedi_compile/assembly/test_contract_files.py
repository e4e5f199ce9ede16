"""Contracts as markdown files with front matter, and every way to write one wrong."""

from pathlib import Path

import pytest

from kedi_compile.assembly import Contract, ContractRegistry
from kedi_compile.assembly.contract_files import read_contract, read_folder
from kedi_compile.errors import AssemblyError


def write(folder: Path, text: str | bytes, name: str = "a.md") -> Path:
    """Write a file and return its path."""
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def test_a_file_is_a_contract(tmp_path: Path) -> None:
    """Front matter, then the body."""
    text = '---\nid: verification\nversion: "2"\nphases: [verify, mixed]\n---\n\nRun the checks.\n'

    contract = read_contract(write(tmp_path, text))

    assert contract == Contract("verification", "2", "Run the checks.", frozenset({"verify", "mixed"}))


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff---\nid: a\nversion: 1\n---\nx",
        "---\r\nid: a\r\nversion: 1\r\n---\r\nx\r\n",
        "---  \nid: a\nversion: '1'\n---\t\nx\n\n",
    ],
)
def test_platforms_write_files_differently(text: str, tmp_path: Path) -> None:
    """A byte-order mark, carriage returns and whole numbers make no difference."""
    assert read_contract(write(tmp_path, text)) == Contract("a", "1", "x")


def test_a_rule_in_the_body_ends_nothing(tmp_path: Path) -> None:
    """Front matter ends at its first line of dashes."""
    assert read_contract(write(tmp_path, "---\nid: a\nversion: 1\n---\nx\n---\ny")).body == "x\n---\ny"


def test_a_folder_is_a_registry_in_the_order_of_its_names(tmp_path: Path) -> None:
    """Other files are none of its business."""
    write(tmp_path, "---\nid: second\nversion: 1\n---\nx", "b.md")
    write(tmp_path, "---\nid: first\nversion: 1\nexplicit_only: true\n---\nx", "a.md")
    write(tmp_path, "no contract", "README.txt")

    registry = ContractRegistry.from_folder(tmp_path)

    assert [(one.id, one.explicit_only) for one in registry] == [("first", True), ("second", False)]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "it must begin with front matter between two lines of ---"),
        ("Run the checks.", "it must begin with front matter between two lines of ---"),
        ("---\nid: a\nversion: 1\n", "it must begin with front matter between two lines of ---"),
        ("\n---\nid: a\nversion: 1\n---\nx", "it must begin with front matter between two lines of ---"),
        ("---\n---\nx", "the front matter is NoneType, and must be a mapping with id and version"),
        ("---\n- id\n---\nx", "the front matter is list, and must be a mapping with id and version"),
        ("---\njust words\n---\nx", "the front matter is str, and must be a mapping with id and version"),
        ("---\nid: [\n---\nx", "the front matter is no YAML"),
        ("---\nid: !!python/name:os.system\n---\nx", "the front matter is no YAML"),
        ("---\n? [a]\n: b\n---\nx", "the front matter is no YAML"),
        ("---\nid: a\nid: b\nversion: 1\n---\nx", "the front matter gives id more than once"),
        ("---\nversion: 1\n---\nx", "the front matter lacks id"),
        ("---\nid: a\n---\nx", "the front matter lacks version"),
        ("---\nphases: []\n---\nx", "the front matter lacks id and version"),
        (
            "---\nid: a\nversion: 1\nphase: plan\n---\nx",
            "the front matter has the unknown field 'phase'; known are id, version, phases, explicit_only",
        ),
        ("---\nid: a\nversion: 1\n7: x\n---\nx", "the front matter has the unknown field 7"),
        ("---\nid: 5\nversion: 1\n---\nx", "id is 5, and must be text"),
        ("---\nid:\nversion: 1\n---\nx", "id is None, and must be text"),
        ("---\nid: a\nversion: 1.5\n---\nx", "version is 1.5, and must be text or a whole number"),
        ("---\nid: a\nversion: true\n---\nx", "version is True, and must be text or a whole number"),
        ("---\nid: a\nversion: 2026-01-02\n---\nx", "and must be text or a whole number"),
        ("---\nid: a\nversion: 1\nphases: plan\n---\nx", "phases is 'plan', and must be a list of names"),
        ("---\nid: a\nversion: 1\nphases: [deploy]\n---\nx", "Contract 'a' names the phase 'deploy'"),
        ("---\nid: a\nversion: 1\nphases: [[plan]]\n---\nx", "phases is [['plan']], and must be a list of names"),
        ("---\nid: a\nversion: 1\nexplicit_only: 1\n---\nx", "explicit_only is 1, and must be true or false"),
        (
            "---\nid: a\nversion: 1\nphases: [plan]\nexplicit_only: true\n---\nx",
            "Contract 'a' is explicit-only and names phases",
        ),
        ("---\nid: two words\nversion: 1\n---\nx", "it must be one word without commas"),
        ("---\nid: a\nversion: 1\n---\n \n", "The body of contract 'a' is blank"),
        (b"---\nid: a\nversion: 1\n---\nx\xff", "it is no UTF-8 at byte 26"),
    ],
)
def test_a_file_that_is_no_contract_is_refused(text: str | bytes, fault: str, tmp_path: Path) -> None:
    """The message names the file and what is wrong with it."""
    file = write(tmp_path, text)

    with pytest.raises(AssemblyError) as raised:
        list(read_folder(tmp_path))

    assert str(raised.value).startswith(f"{file}: ")
    assert fault in str(raised.value)


def test_two_files_of_one_id_are_refused(tmp_path: Path) -> None:
    """Both are named."""
    one = write(tmp_path, "---\nid: a\nversion: 1\n---\nx", "a.md")
    other = write(tmp_path, "---\nid: a\nversion: 2\n---\ny", "b.md")

    with pytest.raises(AssemblyError) as raised:
        ContractRegistry.from_folder(tmp_path)

    assert str(raised.value) == f"{other}: the id 'a' is that of {one} too; ids name one contract each"


def test_a_folder_without_contracts_is_refused(tmp_path: Path) -> None:
    """So is one that is not there, and a folder that is named like a file."""
    with pytest.raises(AssemblyError, match=r"holds no \*.md file; contracts are markdown files"):
        ContractRegistry.from_folder(tmp_path)
    with pytest.raises(AssemblyError, match=r"is no folder; contracts are markdown files"):
        ContractRegistry.from_folder(tmp_path / "missing")

    (tmp_path / "a.md").mkdir()

    with pytest.raises(AssemblyError, match=r"it cannot be read: Is a directory"):
        ContractRegistry.from_folder(str(tmp_path))
