"""Getting an extract from an Overpass server, and a place's position from a Nominatim server: both given by URL."""

from __future__ import annotations

import json
import math
import os
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flaneur import __version__
from flaneur.city.layout.osm import ATTRIBUTION, read_extract
from flaneur.errors import UserError

OVERPASS = "https://overpass-api.de/api/interpreter"
NOMINATIM = "https://nominatim.openstreetmap.org"
_AGAIN = (408, 429, 500, 502, 503, 504)  # worth another try
_MOST_BYTES = 300_000_000
_LARGEST_BOX = 25.0  # km2: more belongs into a download of a whole region
_METRES_PER_DEGREE = 111_320.0
_CHUNK = 1 << 20

Box = tuple[float, float, float, float]  # west, south, east, north in degrees


@dataclass(frozen=True)
class Server:
    """Where to ask and how patiently."""

    overpass: str = OVERPASS
    nominatim: str = NOMINATIM
    timeout: float = 90.0  # seconds for one answer
    retries: int = 3  # further tries after the first
    backoff: float = 5.0  # seconds before the second try, doubled for each further one
    longest_wait: float = 120.0  # seconds: what a server's Retry-After may ask of us
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True)
class Fetched:
    path: Path
    box: Box
    place: str  # as the server calls it; empty for a box
    streets: int
    areas: int
    attribution: str = ATTRIBUTION


def fetch_extract(out: Path | str, place: str = "", box: Box | None = None, extent: float = 600.0, server: Server = Server()) -> Fetched:
    """Save what lies around a named place (`extent` metres each way) or in a box as an .osm file.

    The file appears only when it is complete and can be read; one that was there before stays until then.
    """
    out = Path(out)
    if bool(place) == (box is not None):
        raise UserError("city fetch: give either --place NAME or --window W,S,E,N")
    if out.suffix != ".osm":
        raise UserError(f"--out {out}: the answer is OSM XML, give a name that ends in .osm")
    if not out.parent.is_dir():
        raise UserError(f"--out {out}: the folder {out.parent} does not exist")
    title = ""
    if box is None:
        title, lat, lon = _find(place, server)
        dy, dx = extent / 2 / _METRES_PER_DEGREE, extent / 2 / (_METRES_PER_DEGREE * math.cos(math.radians(lat)))
        box = (lon - dx, lat - dy, lon + dx, lat + dy)
    _check_box(box)
    data = _ask(urllib.request.Request(server.overpass, urllib.parse.urlencode({"data": query(box, server.timeout)}).encode(), _headers()), server, "--server")
    _refuse_remark(data, server.overpass)
    temporary = _write_beside(out, data)
    try:
        extract = read_extract(temporary)
        streets = sum("highway" in line.tags for line in extract.lines)
        if not streets:
            raise UserError(f"{server.overpass}: no street in {','.join(f'{v:.5f}' for v in box)}; choose another place")
        os.replace(temporary, out)
    except UserError as error:
        raise UserError(str(error).replace(str(temporary), server.overpass)) from None
    finally:
        temporary.unlink(missing_ok=True)
    return Fetched(out, box, title, streets, len(extract.shapes))


def query(box: Box, timeout: float) -> str:
    """Everything in the box; relations that are areas with all their members, ways with all their nodes."""
    west, south, east, north = box
    where = f"{south:.7f},{west:.7f},{north:.7f},{east:.7f}"
    return f'[out:xml][timeout:{int(timeout)}];(node({where});way({where});relation({where})["type"~"^(multipolygon|building)$"];);(._;>;);out body;'


def _find(place: str, server: Server) -> tuple[str, float, float]:
    url = f"{server.nominatim.rstrip('/')}/search?" + urllib.parse.urlencode({"q": place, "format": "jsonv2", "limit": 1})
    data = _ask(urllib.request.Request(url, headers=_headers()), server, "--place")
    try:
        found = json.loads(data)
        if not found:
            raise UserError(f"--place '{place}': {server.nominatim} knows no such place; try 'district, city, country' or --window W,S,E,N")
        return str(found[0].get("display_name", place)), float(found[0]["lat"]), float(found[0]["lon"])
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        raise UserError(f"--place '{place}': {server.nominatim} gave no Nominatim answer; check the server's URL") from None


def _check_box(box: Box) -> None:
    west, south, east, north = box
    text = ",".join(f"{v:g}" for v in box)
    if not (all(map(math.isfinite, box)) and -180 <= west < east <= 180 and -85 <= south < north <= 85):
        raise UserError(f"--window {text}: give W,S,E,N in degrees, west before east and south before north")
    area = (east - west) * math.cos(math.radians((south + north) / 2)) * (north - south) * (_METRES_PER_DEGREE / 1000) ** 2
    if area > _LARGEST_BOX:
        raise UserError(f"--window {text}: {area:.0f} km2 is too much for an Overpass server; stay under {_LARGEST_BOX:.0f} km2 or download a regional extract")


def _headers() -> dict[str, str]:
    return {"User-Agent": f"flaneur/{__version__} (city fetch)", "Accept": "*/*"}


def _ask(request: urllib.request.Request, server: Server, option: str) -> bytes:
    """The whole answer, asked for again with growing pauses while the server is busy or out of reach."""
    host = request.full_url.split("?")[0]
    if urllib.parse.urlsplit(host).scheme not in ("http", "https"):
        raise UserError(f"{option} {host}: give a URL that starts with http:// or https://")
    reason = ""
    for attempt in range(server.retries + 1):
        wait = min(server.backoff * 2**attempt, server.longest_wait)
        try:
            with urllib.request.urlopen(request, timeout=server.timeout) as answer:
                return _read(answer, host)
        except urllib.error.HTTPError as error:
            reason = f"HTTP {error.code} {error.reason}"
            if error.code not in _AGAIN:
                raise UserError(f"{host}: {reason}; check the server's URL and the request") from None
            asked = error.headers.get("Retry-After", "")
            if asked.isdigit():
                wait = min(max(wait, float(asked)), server.longest_wait)
        except (urllib.error.URLError, TimeoutError, ConnectionError, OSError, EOFError) as error:
            reason = str(getattr(error, "reason", "") or error) or type(error).__name__
        if attempt < server.retries:
            server.sleep(wait)
    raise UserError(f"{host}: no answer after {server.retries + 1} tries ({' '.join(reason.split())[:120]}); try later or another --server URL")


def _read(answer, host: str) -> bytes:
    parts, total = [], 0
    expected = answer.headers.get("Content-Length")
    while chunk := answer.read(_CHUNK):
        total += len(chunk)
        if total > _MOST_BYTES:
            raise UserError(f"{host}: the answer is larger than {_MOST_BYTES // 1_000_000} MB; ask for a smaller window")
        parts.append(chunk)
    if expected and expected.isdigit() and total < int(expected):
        raise EOFError(f"the answer broke off after {total} of {expected} bytes")
    return b"".join(parts)


def _refuse_remark(data: bytes, host: str) -> None:
    """Overpass reports time-outs and lack of memory in the body of a successful answer."""
    at = data.find(b"<remark>")
    if at >= 0:
        text = data[at + 8 : data.find(b"</remark>", at)].decode("utf-8", "replace")
        raise UserError(f"{host}: {' '.join(text.split())[:160]}; ask for a smaller window or try later")
    if b"<osm" not in data[:2000]:
        raise UserError(f"{host}: the answer is no OSM XML; check that --server is an Overpass interpreter")


def _write_beside(out: Path, data: bytes) -> Path:
    try:
        handle, name = tempfile.mkstemp(prefix=f".{out.stem}.", suffix=".osm", dir=out.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, 0o644)
    except OSError as error:
        raise UserError(f"{out}: cannot write ({error.strerror}); nothing was changed") from None
    return Path(name)
