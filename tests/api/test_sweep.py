#!/usr/bin/env python3
"""Every route with good and bad values for every parameter and field, as /openapi.json describes them. What is answered is described there too: its
status, its body. Nothing is a 5xx, and what the document rules out is refused.

STRATA_SWEEP_SECONDS says for how long, STRATA_SEED where chance begins. All nodes are drained, so that nothing that is taken is run."""
import http.client
import json
import os
import random
import time
import urllib.parse

from service import Connection, equal, printable, run

SECONDS = float(os.environ.get("STRATA_SWEEP_SECONDS", "5"))
SEED = int(os.environ.get("STRATA_SEED", "1"))
TEXTS = ["", "a", "größe", "日本", "a b", "a|b", "a/b", "..", "x" * 200, "x" * 5000, "true", "null", "-1", "1", "99999999999999999999", "1e400", "%00", "%",
         "'", '"', "\\", "=", ":", ",", "a,b", "1-3", "afterok:1", "afterany:1:2", "now", "now+1hour", "2099-01-01T00:00:00Z", "2G", "1:00", "10%", "{}", "[]"]
HIDDEN = ["\x1b[2J", "a\nb", "a\rb", "a\tb", "\x07", "\x7f", "\x9b31m", "\u202e", "\u2066", "\u200b", "\u2028", "\u2029", "\ufeff", "\x00"]
NUMBERS = [0, 1, 2, -1, 3, 1.5, 1e300, -1e300, 2**31, 2**63 - 1, -2**63]
OTHERS = [None, True, False, [], {}, [[]], [None], {"a": {}}, "a", 1, 1.5]
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "NONSENSE"]


def resolve(document, schema):
    while "$ref" in schema:
        target = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        schema = target
    return schema


def types_of(schema):
    kinds = schema.get("type", [])
    return [kinds] if isinstance(kinds, str) else kinds


def is_type(value, kind):
    return {"string": isinstance(value, str), "boolean": isinstance(value, bool), "null": value is None,
            "integer": isinstance(value, int) and not isinstance(value, bool),
            "number": isinstance(value, (int, float)) and not isinstance(value, bool),
            "array": isinstance(value, list), "object": isinstance(value, dict)}[kind]


def faults(document, schema, value, where="answer"):
    """What is wrong with a value by its schema: sentences."""
    schema = resolve(document, schema)
    kinds = types_of(schema)
    if kinds and not any(is_type(value, kind) for kind in kinds):
        yield f"{where} is {str(value)[:60]!r}, expected {kinds}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} is {value!r}, expected one of {schema['enum']}"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            yield f"{where} is {value}, out of range"
    if isinstance(value, str) and len(value.encode(errors="surrogatepass")) > schema.get("maxLength", 1 << 30):
        yield f"{where} is {len(value)} long"
    if isinstance(value, list):
        if len(value) > schema.get("maxItems", 1 << 30):
            yield f"{where} has {len(value)} items"
        for number, item in enumerate(value):
            yield from faults(document, schema.get("items", {}), item, f"{where}[{number}]")
    if isinstance(value, dict):
        known, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
        for name in schema.get("required", []):
            if name not in value:
                yield f"{where} has no {name}"
        for name, item in value.items():
            if name in known:
                yield from faults(document, known[name], item, f"{where}.{name}")
            elif rest is False:
                yield f"{where} has {name}, which is not described"
            elif isinstance(rest, dict):
                yield from faults(document, rest, item, f"{where}.{name}")


class Sweep:
    def __init__(self, service, document, names):
        self.service, self.document, self.names = service, document, names
        self.chance = random.Random(SEED)
        self.counts, self.connection = {}, None

    def good(self, schema, depth=0):
        """A value that the schema allows, as far as it tells."""
        schema, chance = resolve(self.document, schema), self.chance
        if "enum" in schema:
            return chance.choice(schema["enum"])
        kind = chance.choice(types_of(schema) or ["string"])
        if kind == "boolean":
            return chance.random() < 0.5
        if kind in ("integer", "number"):
            low, high = schema.get("minimum", -5), schema.get("maximum", 2**40)
            value = chance.choice([low, high, max(low, min(1, high)), schema.get("default", low)])
            return int(value) if kind == "integer" and isinstance(value, (int, float)) else value
        if kind == "array":
            return [self.good(schema.get("items", {}), depth + 1) for _ in range(chance.choice((0, 1, 2)))] if depth < 4 else []
        if kind == "object":
            required = schema.get("required", [])
            chosen = {name: self.good(part, depth + 1) for name, part in schema.get("properties", {}).items()
                      if name in required or chance.random() < 0.15}
            rest = schema.get("additionalProperties")
            if isinstance(rest, dict):
                chosen["A"] = self.good(rest, depth + 1)
            return chosen
        if schema.get("format") == "date-time":
            return "2099-01-01T00:00:00Z"
        return chance.choice(TEXTS)[:schema.get("maxLength", 100)]

    def bad(self, schema):
        """A value that the schema rules out, or one that is odd."""
        return self.chance.choice([*TEXTS, *HIDDEN, *NUMBERS, *OTHERS, [self.good(schema)] * 2, {"x": 1}])

    def body(self, schema):
        whole = self.good(schema)
        if not isinstance(whole, dict) or self.chance.random() < 0.4:
            return whole
        properties = resolve(self.document, schema).get("properties", {})
        for _ in range(self.chance.choice((1, 1, 1, 2, 3))):
            name = self.chance.choice([*properties, "nonsense"])
            whole[name] = self.bad(properties.get(name, {}))
        if self.chance.random() < 0.05:
            whole.pop(self.chance.choice(list(whole)), None)
        return whole

    def text_of(self, body):
        text = json.dumps(body, ensure_ascii=self.chance.random() < 0.5).encode(errors="surrogatepass")
        if self.chance.random() < 0.08:  # bytes that are no JSON, no UTF-8
            at = self.chance.randrange(len(text) + 1)
            text = text[:at] + self.chance.choice((b"\xff", b"\x00", b"{", b"\xed\xa0\x80", b"\\ud800", b"")) + text[at + 1:]
        return text

    def part(self, name):
        """A part of a path: one that is there, or anything."""
        known = self.names.get(name, [])
        text = self.chance.choice(known) if known and self.chance.random() < 0.6 else self.chance.choice([*TEXTS, *HIDDEN])
        raw = self.chance.random() < 0.05
        return text.replace("/", "x") if raw and text.isascii() and text.isalnum() else urllib.parse.quote_from_bytes(
            text.encode(errors="surrogatepass") + self.chance.choice((b"", b"", b"", b"", b"\xff")), safe="") or "x"

    def query(self, parameters):
        pairs = []
        for parameter in parameters:
            if self.chance.random() < 0.4:
                value = self.good(parameter["schema"]) if self.chance.random() < 0.5 else self.bad(parameter["schema"])
                value = ",".join(map(str, value)) if isinstance(value, list) else str(value).lower() if isinstance(value, bool) else str(value)
                pairs.append((parameter["name"], value))
        if self.chance.random() < 0.05:
            pairs.append(("nonsense", "1"))
        if pairs and self.chance.random() < 0.05:
            pairs.append(pairs[0])
        text = "&".join(f"{name}={urllib.parse.quote(value, safe='', errors='surrogatepass')}" for name, value in pairs)
        if self.chance.random() < 0.05:
            text += self.chance.choice(("&", "&limit", "%ff", "=%ff", "&%ff=1", "%00", "&&", "=", "?"))
        return "?" + text if text else ""

    def ask(self, method, url, body):
        if self.connection is None:
            self.connection = Connection(self.service.socket)
        connection = self.connection
        connection.request(method, url, body, {"Content-Type": "application/json"} if body is not None else {})
        answer = connection.getresponse()
        is_json = "json" in (answer.getheader("Content-Type") or "")
        data = answer.read() if is_json or answer.getheader("Content-Length") else b""
        if not is_json or answer.will_close:  # a stream, which does not end
            connection.close()
            self.connection = None
        return answer.status, json.loads(data) if is_json and data else None

    def check(self, about, method, url, body):
        try:
            status, answer = self.ask(method, url, body)
        except (OSError, http.client.HTTPException) as trouble:
            raise AssertionError(f"{method} {url} {str(body)[:500]}: {trouble!r}") from trouble
        self.counts[status] = self.counts.get(status, 0) + 1
        what = f"{method} {url} {str(body)[:500]} gave {status} {str(answer)[:500]}"
        assert status < 500, what
        if status < 400:
            assert about and str(status) in about["responses"], what + ", which is not described"
            response = about["responses"][str(status)]
        else:
            response = self.document["components"]["responses"]["error"]
            assert answer or method == "HEAD", what
            error = (answer or {"error": {"message": "x"}})["error"]
            assert error["message"] and not error["message"].rstrip().endswith("expected"), what
            assert printable(error["message"]), what
        content = response.get("content", {}).get("application/json")
        wrong = list(faults(self.document, content["schema"], answer)) if content and answer is not None else []
        assert not wrong, what + f": {wrong}"
        return status

    def one(self, path, method, about):
        parameters = about.get("parameters", [])
        url = "/".join(self.part(piece.strip("{}") + path) if piece.startswith("{") else piece for piece in path.split("/"))
        url += self.query([one for one in parameters if one["in"] == "query"])
        schema = about.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        body = self.body(schema) if schema and self.chance.random() < 0.95 else None
        text = None if body is None else self.text_of(body)
        status = self.check(about, method.upper(), url, text)
        if schema and body is not None and text == json.dumps(body).encode() and status < 300:
            wrong = list(faults(self.document, schema, without_nulls(body), "body"))
            assert not wrong, f"{method} {url} {text[:500]} was taken although {wrong}"


def without_nulls(value):
    """null means the default everywhere."""
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value if item is not None] if isinstance(value, list) else value


def every_answer_is_described_and_none_is_5xx(service):
    for name in ("n1", "n2", "n3"):
        service.api("PATCH", f"/nodes/{name}", {"state": "drained"})
    held = service.submit("true", hold=True)["id"]
    gone = service.submit("true", hold=True)["id"]
    service.api("DELETE", f"/jobs/{gone}")
    service.api("POST", "/tokens", {"comment": "a"}, 201)
    jobs = [str(held), str(gone), service.job(held)["uuid"], f"{held}_1"]
    document = service.ask("GET", "/openapi.json")[1]
    names = {}
    for path in document["paths"]:
        for field in ("id", "name", "job_id"):
            names[field + path] = (jobs if "/jobs/" in path else ["n1"] if "/nodes/" in path else ["1"] if "/tokens/" in path
                                   else ["ann", "root"])
    sweep = Sweep(service, document, names)
    operations = [(path, method, about) for path, methods in document["paths"].items() for method, about in methods.items()]
    for path in document["paths"]:  # methods that are not there, too
        for method in METHODS:
            if method.lower() not in document["paths"][path]:
                equal(sweep.check(None, method, path.replace("{", "").replace("}", ""), None), 405)
    deadline, count = time.time() + SECONDS, 0
    while time.time() < deadline:
        for operation in operations:
            sweep.one(*operation)
            count += 1
        assert service.process.poll() is None, service.said()
    print(f"# seed {SEED}: {count} requests to {len(operations)} operations: {dict(sorted(sweep.counts.items()))}", flush=True)
    assert sweep.counts.get(200, 0) > count / 20, sweep.counts
    assert "runtime error" not in service.said(), service.said()[-2000:]
    equal(service.job(held)["id"], held)


run(every_answer_is_described_and_none_is_5xx)
