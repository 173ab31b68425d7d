"""A small S3 for tests: objects, uploads in parts, lists, with every signature worked out again, and faults on request.
What it does not do is refused, so that a client that asks for more is noticed."""
import datetime
import hashlib
import hmac
import http.server
import re
import socketserver
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape


def sign(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class Refused(Exception):
    def __init__(self, status, code):
        super().__init__(code)
        self.status, self.code = status, code


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def check_signature(self, body):
        s3 = self.server.s3
        about = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, *SignedHeaders=([^,]+), *Signature=([0-9a-f]{64})",
                             self.headers.get("Authorization", ""))
        if not about:
            raise Refused(403, "AccessDenied")
        access, day, region, names, signature = about.groups()
        if access != s3.access or region != s3.region:
            raise Refused(403, "InvalidAccessKeyId")
        if s3.session and self.headers.get("x-amz-security-token") != s3.session:
            raise Refused(400, "InvalidToken")
        if s3.expired:
            raise Refused(400, "ExpiredToken")
        claimed, stamp = self.headers.get("x-amz-content-sha256", ""), self.headers.get("X-Amz-Date", "")
        if "host" not in names.split(";") or "x-amz-content-sha256" not in names.split(";"):
            raise Refused(403, "AccessDenied")
        then = datetime.datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
        if abs(time.time() - then.timestamp()) > 900:
            raise Refused(403, "RequestTimeTooSkewed")
        path, _, query = self.path.partition("?")
        query = "&".join(sorted(part if "=" in part else part + "=" for part in query.split("&") if part))
        lines = "".join(f"{name}:{' '.join((self.headers.get(name) or '').split())}\n" for name in names.split(";"))
        request = f"{self.command}\n{path}\n{query}\n{lines}\n{names}\n{claimed}"
        scope = f"{day}/{region}/s3/aws4_request"
        text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
        key = sign(sign(sign(sign(b"AWS4" + s3.secret.encode(), day), region), "s3"), "aws4_request")
        if not hmac.compare_digest(hmac.new(key, text.encode(), hashlib.sha256).hexdigest(), signature):
            raise Refused(403, "SignatureDoesNotMatch")
        if hashlib.sha256(body).hexdigest() != claimed:
            raise Refused(400, "XAmzContentSHA256Mismatch")

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def handle_one(self):
        s3 = self.server.s3
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, query = self.path.partition("?")
        query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        _, bucket, *rest = path.split("/", 2)
        key = rest[0] if rest else None
        s3.asked.append((self.command, key, query, len(body)))
        fault = s3.fault(self.command, key, query) if s3.fault else None
        if fault == "cut":  # in the middle of the answer, or before it
            self.close_connection = True
            data = s3.objects.get(key, (b"", ""))[0] if self.command == "GET" else b""
            if data:
                offset = self.offset()
                self.send_response(206 if offset else 200)
                self.send_header("ETag", f'"{s3.objects[key][1]}"')
                self.send_header("Content-Length", str(len(data) - offset))
                self.end_headers()
                self.wfile.write(data[offset:offset + max(1, (len(data) - offset) // 2)])
                self.wfile.flush()
            self.connection.shutdown(2)
            return
        if isinstance(fault, tuple):
            status, text, *headers = fault
            self.answer(status, text if isinstance(text, bytes) else text.encode(), **(headers[0] if headers else {}))
            return
        self.check_signature(body)
        if bucket != s3.bucket:
            raise Refused(404, "NoSuchBucket")
        with s3.lock:
            getattr(self, "do_it_" + self.command)(s3, key, query, body)

    def offset(self):
        found = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        return int(found[1]) if found else 0

    def do_it_PUT(self, s3, key, query, body):
        etag = hashlib.md5(body).hexdigest()
        if "uploadId" in query:
            upload = s3.uploads.get(query["uploadId"])
            if not upload or upload["key"] != key:
                raise Refused(404, "NoSuchUpload")
            upload["parts"][int(query["partNumber"])] = (body, etag)
        else:
            s3.objects[key] = (body, etag)
        self.answer(200, ETag=f'"{etag}"')

    def do_it_POST(self, s3, key, query, body):
        if "uploads" in query:
            s3.count += 1
            s3.uploads[f"u/{s3.count}+="] = {"key": key, "parts": {}}
            self.answer(200, f"<?xml version='1.0'?>\n<InitiateMultipartUploadResult xmlns='http://s3'><Key>{key}</Key>"
                             f"<UploadId>u/{s3.count}+=</UploadId></InitiateMultipartUploadResult>".encode())
            return
        upload = s3.uploads.get(query.get("uploadId"))
        if not upload:
            raise Refused(404, "NoSuchUpload")
        data, numbers = b"", re.findall(rb"<PartNumber>(\d+)</PartNumber><ETag>&quot;([0-9a-f]+)&quot;</ETag>", body)
        for number, etag in numbers:
            part = upload["parts"].get(int(number))
            if not part or part[1].encode() != etag:
                raise Refused(400, "InvalidPart")
            data += part[0]
        del s3.uploads[query["uploadId"]]
        s3.objects[key] = (data, hashlib.md5(data).hexdigest() + f"-{len(numbers)}")
        self.answer(200, b"<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>")

    def do_it_GET(self, s3, key, query, body):
        if key is None and "uploads" in query:
            rows = "".join(f"<Upload><Key>{one['key']}</Key><UploadId>{name}</UploadId></Upload>" for name, one in s3.uploads.items()
                           if one["key"].startswith(query["prefix"]))
            self.answer(200, f"<ListMultipartUploadsResult>\n  {rows}\n</ListMultipartUploadsResult>".encode())
        elif key is None and query.get("list-type") == "2":
            keys = sorted(one for one in s3.objects if one.startswith(query["prefix"]) and one > query.get("continuation-token", ""))
            page = keys[:s3.page]
            more = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if len(keys) > len(page) else ""
            rows = "".join(f"<Contents><Key>{escape(one)}</Key><Size>1</Size></Contents>" for one in page)
            self.answer(200, f"<ListBucketResult><IsTruncated>{'true' if more else 'false'}</IsTruncated>{more}{rows}</ListBucketResult>".encode())
        elif "uploadId" in query:
            upload = s3.uploads.get(query["uploadId"])
            if not upload:
                raise Refused(404, "NoSuchUpload")
            rows = "".join(f"<Part><PartNumber>{number}</PartNumber><ETag>&quot;{etag}&quot;</ETag><Size>{len(data)}</Size></Part>"
                           for number, (data, etag) in upload["parts"].items())
            self.answer(200, f"<ListPartsResult><IsTruncated>false</IsTruncated>{rows}</ListPartsResult>".encode())
        elif key in s3.objects:
            data, etag = s3.objects[key]
            wanted = (self.headers.get("If-Match") or etag).strip('"')
            if wanted != etag:
                raise Refused(412, "PreconditionFailed")
            offset = self.offset()
            self.answer(206 if offset else 200, data[offset:], ETag=f'"{etag}"')
        else:
            raise Refused(404, "NoSuchKey")

    def do_it_DELETE(self, s3, key, query, body):
        if "uploadId" in query:
            s3.uploads.pop(query["uploadId"], None)
        else:
            s3.objects.pop(key, None)
        self.answer(204)

    def one(self):
        try:
            self.handle_one()
        except Refused as why:
            text = f"<?xml version='1.0'?><Error><Code>{why.code}</Code><Message>no &amp; never</Message></Error>"
            self.answer(why.status, text.encode())
        except (ConnectionError, OSError):
            self.close_connection = True

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = one


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # a client that went away


class FakeS3:
    access, secret, region, bucket = "AKEXAMPLE", "secret/with+signs=", "us-east-1", "bucket"

    def __init__(self):
        self.objects, self.uploads, self.asked, self.count, self.page = {}, {}, [], 0, 3
        self.session, self.expired, self.fault, self.lock = None, False, None, threading.Lock()
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.s3 = self
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def keys(self):
        return sorted(self.objects)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
