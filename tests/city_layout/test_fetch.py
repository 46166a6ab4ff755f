"""Fetching against a stand-in for Overpass and Nominatim on the loopback."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from osm_text import LAT, LON, OsmText, rectangle

from flaneur.city.layout import read_extract, window_graph, windows_auto
from flaneur.city.layout.fetch import Server, fetch_extract
from flaneur.errors import UserError

BOX = (LON - 0.003, LAT - 0.002, LON + 0.003, LAT + 0.002)


class StandIn:
    """Answers in the order of `answers`: (status, body, headers); the last one is repeated."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, bytes, dict[str, str]]] = []
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                outer.requests.append((self.path, body, dict(self.headers)))
                status, data, headers = outer.answers.pop(0) if len(outer.answers) > 1 else outer.answers[0]
                self.send_response(status)
                for key, value in {"Content-Length": str(len(data)), **headers}.items():
                    self.send_header(key, value)
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = _answer

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"

    def server(self, sleep: Callable[[float], None] = lambda _: None, **options) -> Server:
        return Server(overpass=f"{self.url}/api/interpreter", nominatim=self.url, sleep=sleep, **{"timeout": 5.0, **options})


@pytest.fixture
def stand_in():
    server = StandIn()
    yield server
    server.http.shutdown()
    server.http.server_close()


def town() -> bytes:
    osm = OsmText().cross()
    for k in range(8):
        osm.way(rectangle(10 + 20 * (k % 4), 20 + 90 * (k // 4), 14, 14), closed=True, building="house")
    return osm.text().replace("<osm ", "<osm ", 1).replace("\n<node", "\n<note>The data included in this document is from www.openstreetmap.org.</note>\n<node", 1).encode()


def test_box(stand_in, tmp_path):
    stand_in.answers = [(200, town(), {})]
    got = fetch_extract(tmp_path / "a.osm", box=BOX, server=stand_in.server())
    assert got.streets == 2 and got.areas == 8 and "OpenStreetMap" in got.attribution
    query = parse_qs(stand_in.requests[0][1])["data"][0]
    assert f"{BOX[1]:.7f},{BOX[0]:.7f},{BOX[3]:.7f},{BOX[2]:.7f}" in query and "flaneur" in stand_in.requests[0][2]["User-Agent"]
    extract = read_extract(got.path)
    assert window_graph(extract, windows_auto(extract, 1)[0]).streets
    assert [p.name for p in tmp_path.iterdir()] == ["a.osm"]


def test_place(stand_in, tmp_path):
    found = json.dumps([{"lat": str(LAT), "lon": str(LON), "display_name": "Testville"}]).encode()
    stand_in.answers = [(200, found, {}), (200, town(), {})]
    got = fetch_extract(tmp_path / "a.osm", place="Testville & more", server=stand_in.server())
    assert got.place == "Testville" and got.box[0] < LON < got.box[2]
    assert parse_qs(urlsplit(stand_in.requests[0][0]).query)["q"] == ["Testville & more"]


def test_busy_server_is_asked_again_with_growing_pauses(stand_in, tmp_path):
    pauses: list[float] = []
    stand_in.answers = [(429, b"", {"Retry-After": "7"}), (504, b"", {}), (200, town(), {})]
    fetch_extract(tmp_path / "a.osm", box=BOX, server=stand_in.server(pauses.append, backoff=1.0))
    assert pauses == [7.0, 2.0]


@pytest.mark.parametrize(("answer", "words"), [
    ((503, b"", {}), "no answer after 3 tries"),
    ((400, b"", {}), "HTTP 400"),
    ((200, b"<osm><remark> runtime error: Query timed out </remark></osm>", {}), "Query timed out"),
    ((200, b"<html>hello</html>", {}), "no OSM XML"),
    ((200, b'<?xml version="1.0"?><osm version="0.6"><node id="1" lat="1" lon="1"', {}), "damaged"),
    ((200, b'<?xml version="1.0"?><osm version="0.6"><node id="1" version="1" lat="1" lon="1"/></osm>', {}), "no street"),
    ((200, town(), {"Content-Length": "99999999"}), "no answer after"),
])  # fmt: skip
def test_bad_answers_leave_what_was_there(stand_in, tmp_path, answer, words):
    out = tmp_path / "a.osm"
    out.write_text("before")
    stand_in.answers = [answer]
    with pytest.raises(UserError, match=words) as error:
        fetch_extract(out, box=BOX, server=stand_in.server(retries=2))
    assert "\n" not in str(error.value)
    assert out.read_text() == "before" and [p.name for p in tmp_path.iterdir()] == ["a.osm"]


def test_nobody_listens(tmp_path):
    server = Server(overpass="http://127.0.0.1:9/api", timeout=0.5, retries=1, sleep=lambda _: None)
    with pytest.raises(UserError, match="no answer after 2 tries"):
        fetch_extract(tmp_path / "a.osm", box=BOX, server=server)


def test_unknown_place(stand_in, tmp_path):
    stand_in.answers = [(200, b"[]", {})]
    with pytest.raises(UserError, match="knows no such place"):
        fetch_extract(tmp_path / "a.osm", place="Nowhere", server=stand_in.server())
    stand_in.answers = [(200, b"oops", {})]
    with pytest.raises(UserError, match="no Nominatim answer"):
        fetch_extract(tmp_path / "a.osm", place="Nowhere", server=stand_in.server())


@pytest.mark.parametrize("request_", [{}, {"place": "A", "box": BOX}, {"box": (2, 1, 1, 2)}, {"box": (0, 0, 5, 5)}])
def test_bad_requests(tmp_path, request_):
    with pytest.raises(UserError):
        fetch_extract(tmp_path / "a.osm", **request_)
    with pytest.raises(UserError, match=r"\.osm"):
        fetch_extract(tmp_path / "a.pbf", box=BOX)
    with pytest.raises(UserError, match="http"):
        fetch_extract(tmp_path / "a.osm", box=BOX, server=Server(overpass="file:///etc/passwd"))
