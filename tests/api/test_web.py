#!/usr/bin/env python3
"""The files of the page: what a browser gets, how long it may keep it, and what it is forbidden to do with it."""
import gzip
import http.client
import re

from service import PATIENCE_S, arguments, equal, run

TCP = arguments("--listen", "127.0.0.1:0")
FIRST_VIEW_BYTES_MAX = 150_000


def get(service, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", service.port(), timeout=PATIENCE_S)
    connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, answer.headers, data


def files_of(page):
    return re.findall(r'(?:src|href)="(/web/[^"]+)"', page.decode())


@TCP
def the_page_comes_compressed_and_is_small(service):
    status, headers, page = get(service, "/", Accept_Encoding="gzip, br")
    equal((status, headers["Content-Encoding"], headers["Vary"]), (200, "gzip", "Accept-Encoding"))
    plain = get(service, "/")
    equal((plain[1]["Content-Encoding"], plain[2]), (None, gzip.decompress(page)))
    total = len(page)
    paths = set(files_of(plain[2]))
    assert len(paths) > 10, paths
    for path in paths:
        status, headers, data = get(service, path, Accept_Encoding="gzip")
        equal((path, status, headers["Cache-Control"]), (path, 200, "public, max-age=31536000, immutable"))
        equal(gzip.decompress(data), get(service, path)[2])
        total += len(data)
    print(f"# first view: {total} bytes in {len(paths) + 1} files")
    assert total < FIRST_VIEW_BYTES_MAX, total


@TCP
def what_a_browser_has_is_not_sent_again(service):
    for path in ["/", files_of(get(service, "/")[2])[0]]:
        etag = get(service, path)[1]["ETag"]
        status, _, data = get(service, path, If_None_Match=etag)
        equal((status, data), (304, b""))
        equal(get(service, path, If_None_Match='"other"')[0], 200)


@TCP
def nothing_but_its_own_files_may_run(service):
    policy = get(service, "/")[1]["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy, policy
    page = get(service, "/")[2].decode()
    assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|https?://", page.replace("http://www.w3.org", "")), page
    for path in ("/", "/healthz", "/api/v1/queue"):
        headers = get(service, path)[1]
        equal((headers["X-Content-Type-Options"], headers["Referrer-Policy"]), ("nosniff", "no-referrer"))
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"], path


@TCP
def there_are_no_other_files(service):
    version = files_of(get(service, "/")[2])[0].split("/")[2]
    for path in (f"/web/{version}/nosuch.js", f"/web/{version}/index.htm", "/web/0123/main.js", f"/web/{version}/..%2F..%2Fetc%2Fpasswd", f"/web/{version}",
                 "/index.html"):
        status, headers, _ = get(service, path)
        assert status in (401, 404), (path, status)


run(the_page_comes_compressed_and_is_small, what_a_browser_has_is_not_sent_again, nothing_but_its_own_files_may_run, there_are_no_other_files)
