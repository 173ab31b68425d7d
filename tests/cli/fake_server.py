#!/usr/bin/env python3
"""A stand-in for `strata serve`, for tests of the client: answers from a table, and writes down what it was asked.

    fake_server.py SOCKET|PORT ROUTES REQUESTS

SOCKET is a path; a number is a TCP port of the loopback (0: any; the port goes to the file port). ROUTES is a JSON object: "GET /api/v1/queue" (without
the query) → an answer, or a list of answers, one per request, the last one again and again; "*" is for all others. An answer is {"status": 200, "body": any JSON} or
{"text": "…"} or {"hex": "89504e"}; a body that is not JSON is written down in hex; {"chunks": ["…", …]} is sent piece by piece, with "break" true the connection ends in the middle; {"drop": true} closes without
answering. REQUESTS gets one line of JSON per request.
"""
import http.server
import json
import os
import socket
import socketserver
import sys
import threading

ROUTES, REQUESTS = {}, None
COUNTS, LOCK = {}, threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def address_string(self):
        return "client"

    def log_message(self, *args):
        pass

    def answer_of(self, path):
        route = f"{self.command} {path}"
        answers = ROUTES.get(route, ROUTES.get("*"))
        if answers is None:
            return {"status": 404, "body": {"error": {"code": "not_found", "message": f"no route {route}", "field": None}}}
        if isinstance(answers, dict):
            return answers
        with LOCK:
            number = COUNTS.get(route, 0)
            COUNTS[route] = number + 1
        return answers[min(number, len(answers) - 1)]

    def handle_any(self):
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length) if length else b""
        json_body = raw and (self.headers.get("Content-Type") or "").startswith("application/json")
        path, _, query = self.path.partition("?")
        with LOCK:
            REQUESTS.write(json.dumps({"method": self.command, "path": path, "query": query,
                                       "headers": {key.lower(): value for key, value in self.headers.items()},
                                       "body": json.loads(raw) if json_body else raw.hex() or None}) + "\n")
            REQUESTS.flush()
        answer = self.answer_of(path)
        if answer.get("drop"):
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        if "chunks" in answer:
            self.send_chunks(answer)
            return
        data = (bytes.fromhex(answer["hex"]) if "hex" in answer else
                (answer["text"] if "text" in answer else json.dumps(answer.get("body"))).encode())
        self.send_response(answer.get("status", 200))
        self.send_header("Content-Type", "text/plain" if "text" in answer else "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def send_chunks(self, answer):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for chunk in answer["chunks"]:
            data = chunk.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        if answer.get("break"):
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = handle_any


class UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class TcpServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    allow_reuse_address = True


def main():
    global REQUESTS
    place, routes, requests = sys.argv[1:]
    with open(routes, encoding="utf-8") as file:
        ROUTES.update(json.load(file))
    REQUESTS = open(requests, "a", encoding="utf-8")
    if place.isdigit():
        server = TcpServer(("127.0.0.1", int(place)), Handler)
        with open("port.new", "w", encoding="utf-8") as file:
            file.write(str(server.server_address[1]))
        os.rename("port.new", "port")
    else:
        server = UnixServer(place + ".new", Handler)
        os.rename(place + ".new", place)  # there once it listens
    server.serve_forever()


if __name__ == "__main__":
    main()
