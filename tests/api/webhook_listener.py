"""Somebody who gets messages: an HTTP server on loopback that keeps what came and answers as it is told."""
import hashlib
import hmac
import http.server
import json
import threading
import time

from service import PATIENCE_S

LOOPBACK = ("--webhook-allow", "127.0.0.1", "--webhook-retry", "2s")


class Listener:
    def __init__(self, *answers):
        """Statuses, one for each message; the last is the answer to all others."""
        self.messages, self.answers = [], list(answers) or [204]
        listener = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                listener.messages.append((self.path, dict(self.headers), body))
                status = listener.answers.pop(0) if len(listener.answers) > 1 else listener.answers[0]
                self.send_response(status)
                if status in (301, 302):
                    self.send_header("Location", f"http://127.0.0.1:{listener.port}/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 128

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path="/done"):
        return f"http://127.0.0.1:{self.port}{path}"

    def wait(self, count=1):
        deadline = time.time() + PATIENCE_S
        while len(self.messages) < count:
            assert time.time() < deadline, f"{len(self.messages)} messages came, not {count}"
            time.sleep(0.02)
        return [json.loads(body) for _, _, body in self.messages]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def check_signature(secret, headers, body):
    time_text, _, value = headers["Strata-Signature"].partition(",v1=")
    want = hmac.new(secret.encode(), time_text.removeprefix("t=").encode() + b"." + body, hashlib.sha256).hexdigest()
    assert hmac.compare_digest(value, want), "the signature is wrong"
    assert abs(int(time_text.removeprefix("t=")) - time.time()) < PATIENCE_S
