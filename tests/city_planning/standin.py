"""A stand-in for a language model's server on loopback: it answers out of the schema, or misbehaves as told."""

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def example(schema, root=None, pick=0):
    """A valid instance of the schemas that planning makes; `pick` varies the choice."""
    root = root or schema
    if "$ref" in schema:
        return example(root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root, pick)
    if "anyOf" in schema:
        return example(schema["anyOf"][pick % len(schema["anyOf"])], root, pick)
    if "enum" in schema:
        return schema["enum"][pick % len(schema["enum"])]
    kind = schema["type"]
    if kind == "object":
        made = {k: example(v, root, pick) for k, v in schema["properties"].items()}
        if set(made) == {"low", "default", "high"}:
            made = {"low": schema["properties"]["low"]["minimum"], "default": schema["properties"]["low"]["minimum"], "high": schema["properties"]["low"]["maximum"]}
        return made
    if kind == "array":
        variants = schema["items"].get("anyOf", [schema["items"]])
        return [example(v, root, pick) for v in variants[: schema.get("maxItems", 3)]]
    if kind == "number":
        return (schema["minimum"] + schema["maximum"]) / 2
    return "a plain text" if kind == "string" else None


def chat_reply(text, cut=False):
    usage = {"prompt_tokens": 100, "completion_tokens": 20}
    return 200, json.dumps({"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "length" if cut else "stop"}], "usage": usage})


def obedient(body, n):
    return chat_reply(json.dumps(example(body["response_format"]["json_schema"]["schema"])))


class StandIn:
    """`behave(body, n)` returns (status, text) for the n-th request, or a number of seconds to hang."""

    def __init__(self, behave: Callable):
        self.requests = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append((self.path, dict(self.headers), body))
                answer = behave(body, len(outer.requests) - 1)
                if isinstance(answer, (int, float)):
                    time.sleep(answer)
                    answer = (200, "{}")
                status, text = answer
                data = text.encode()
                try:
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    pass  # the client has given up

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
