"""Source files against a list as sha256sum writes it: a download that was cut short is said so before it is read for minutes."""

from __future__ import annotations

import hashlib
from pathlib import Path

from flaneur.errors import UserError


def verify_files(files: list[Path], listing: Path) -> None:
    """Every file needs its line in the listing; folders do not count, only the files' own names."""
    known = read_listing(listing)
    for file in files:
        wanted = known.get(file.name)
        if wanted is None:
            raise UserError(f"{listing}: no line for {file.name}; add it with sha256sum, or leave --sha256 away")
        with file.open("rb") as opened:
            found = hashlib.file_digest(opened, "sha256").hexdigest()
        if found != wanted:
            raise UserError(f"{file}: its checksum {found[:12]}... does not match {wanted[:12]}... of {listing}; get the file again")


def read_listing(path: Path) -> dict[str, str]:
    """Checksum by file name."""
    known = {}
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not readable as a list of checksums ({error})") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        digest, _, name = line.strip().partition(" ")
        if len(digest) != 64 or not set(digest.lower()) <= set("0123456789abcdef") or not name.strip():
            raise UserError(f"{path}: line {number} is no line of sha256sum: 64 hexadecimal digits, a space and a file name")
        known[Path(name.strip().removeprefix("*")).name] = digest.lower()
    return known
