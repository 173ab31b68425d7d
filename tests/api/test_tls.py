#!/usr/bin/env python3
"""Callers from elsewhere, by TLS: what is spoken and what is refused, whom `strata login` believes and what it keeps,
certificates that are exchanged, and a second host."""
import http.client
import json
import os
import re
import shutil
import signal
import ssl
import stat
import subprocess
import time

from service import PATIENCE_S, STRATA, Service, Skip, arguments, equal, run

AUTO = arguments("--listen", "127.0.0.1:0", "--tls", "auto")
ADDRESS = re.compile(r"https://([^:\s]+):(\d+)")


def told(service):
    """Port and fingerprint, as the log says them."""
    deadline = time.time() + PATIENCE_S
    while True:
        said = service.said()[service.before:]
        if (at := ADDRESS.search(said)) and (pin := re.search(r"sha256//[A-Za-z0-9+/]{43}=", said)):
            return int(at[2]), pin[0]
        assert time.time() < deadline, said
        time.sleep(0.02)


def home(service, name="home"):
    path = os.path.join(service.dir, name)
    os.makedirs(path, exist_ok=True)
    return path


def strata(service, *words, text="", where="home", netns=None, authority=None, **env):
    """A command of a user on another machine: no socket, a home of its own."""
    inside = {"PATH": os.environ["PATH"], "HOME": home(service, where), "LC_ALL": "C.UTF-8", **env}
    before = ["ip", "netns", "exec", netns] if netns else []
    if authority:  # of the machine, in a view of its files that this command alone has
        before = ["unshare", "-m", "sh", "-c", f'mount --bind {authority} /etc/ssl/certs/ca-certificates.crt && exec "$@"', "sh"]
    return subprocess.run([*before, STRATA, *words], input=text,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=inside, timeout=PATIENCE_S)


def token(service, **fields):
    return service.api("POST", "/tokens", fields, 201)["token"]


def log_in(service, *words, **more):
    port, pin = told(service)
    done = strata(service, "login", f"https://127.0.0.1:{port}", "--fingerprint", pin, *words, text=token(service) + "\n", **more)
    equal((done.returncode, done.stdout), (0, ""))
    return done.stderr


def secure(service, path="/healthz", headers=None):
    port, _ = told(service)
    context = ssl._create_unverified_context()
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=PATIENCE_S)
    connection.request("GET", path, headers=headers or {})
    return connection, connection.getresponse()


def handshake(service, *words):
    port, _ = told(service)
    return subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", *words], input="", stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S).stdout


def certificate(service, name, days, key=None):
    """A certificate that signs itself: good for so many days, or over for so many."""
    place = os.path.join(service.dir, name)
    key = key or place + ".key"
    if not os.path.exists(key):
        subprocess.run(["openssl", "ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", key], check=True)
        os.chmod(key, 0o600)
    subprocess.run(["openssl", "req", "-new", "-key", key, "-subj", "/CN=gpu.lab", "-out", place + ".csr"], check=True)
    lines = f"[ca]\ndefault_ca=own\n[own]\ndatabase={place}.db\nserial={place}.serial\nnew_certs_dir={service.dir}\ndefault_md=sha256\npolicy=any\n[any]\ncommonName=supplied\n[names]\nsubjectAltName=DNS:gpu.lab,IP:127.0.0.1\n"
    for path, text in ((place + ".cnf", lines), (place + ".db", ""), (place + ".serial", "01\n")):
        with open(path, "w") as file:
            file.write(text)
    form = "%y%m%d%H%M%SZ"
    now = time.time()
    start = time.strftime(form, time.gmtime(now - 400 * 86400))
    end = time.strftime(form, time.gmtime(now + days * 86400))
    subprocess.run(["openssl", "ca", "-batch", "-selfsign", "-config", place + ".cnf", "-keyfile", key, "-in", place + ".csr", "-out",
                    place + ".crt", "-notext", "-startdate", start, "-enddate", end, "-extensions", "names"], check=True,
                   stderr=subprocess.DEVNULL)
    return place + ".crt", key


def with_files(service, *pair, **more):
    service.kill(signal.SIGTERM)
    service.args = [word for word in service.args if word not in ("--tls", "auto")] + ["--tls-cert", pair[0], "--tls-key", pair[1]]
    service.start(**more)


@AUTO
def only_versions_that_are_good_are_spoken(service):
    for version, spoken in (("-tls1", False), ("-tls1_1", False), ("-tls1_2", True), ("-tls1_3", True)):
        said = handshake(service, version, "-cipher", "ALL:@SECLEVEL=0")
        assert ("Cipher is (NONE)" not in said and "Cipher is" in said) == spoken, (version, said)
    for cipher in ("kRSA", "ECDHE-ECDSA-AES128-SHA", "NULL", "aNULL"):  # no forward secrecy, old hashes, no secrecy, nobody's key
        assert "Cipher is (NONE)" in handshake(service, "-tls1_2", "-cipher", cipher + ":@SECLEVEL=0"), cipher
    port, _ = told(service)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        connection.request("GET", "/healthz")
        raise AssertionError(f"answered without TLS: {connection.getresponse().status}")
    except (http.client.HTTPException, ConnectionError):
        pass
    equal(secure(service)[1].status, 200)
    equal(secure(service, "/api/v1/queue")[1].status, 401)


@AUTO
def the_key_stays_over_restarts_and_is_nobody_elses(service):
    _, pin = told(service)
    path = os.path.join(service.state, "tls.pem")
    done = subprocess.run([STRATA, "doctor", "--socket", service.socket, "--json"], stdout=subprocess.PIPE, text=True, timeout=PATIENCE_S)
    row = next(one for one in json.loads(done.stdout)["checks"] if one["check"] == "TLS")
    assert row["result"] == "ok" and pin in row["message"], row
    equal(stat.S_IMODE(os.stat(path).st_mode), 0o600)
    service.kill()
    service.start()
    equal(told(service)[1], pin)
    service.kill(signal.SIGTERM)
    os.chmod(path, 0o644)
    try:
        service.start()
        raise AssertionError("a key that others can read was taken")
    except AssertionError as why:
        assert f"others can read the key {path}; `chmod 600 {path}` mends it" in str(why), why
    os.chmod(path, 0o600)
    service.start()


@AUTO
def signing_in_keeps_what_is_needed_where_nobody_reads_it(service):
    port, pin = told(service)
    said = log_in(service)
    assert f"signed in to strata at https://127.0.0.1:{port} as root (user)" in said, said
    place = os.path.join(home(service), ".config", "strata")
    with open(os.path.join(place, "contexts", "127.0.0.1.json")) as file:
        kept = json.load(file)
    equal((kept["server"], kept["fingerprint"]), (f"https://127.0.0.1:{port}", pin))
    equal([stat.S_IMODE(os.stat(os.path.join(place, name)).st_mode) for name in ("contexts", "contexts/127.0.0.1.json")], [0o700, 0o600])
    service.submit("sleep", "60", name="seen")
    done = strata(service, "queue", "--json")
    equal((done.returncode, [job["name"] for job in json.loads(done.stdout)["jobs"]]), (0, ["seen"]))
    assert kept["token"] not in service.said() and kept["token"] not in said
    os.chmod(os.path.join(place, "contexts", "127.0.0.1.json"), 0o640)
    done = strata(service, "queue")
    equal(done.returncode, 4)
    assert "others can read the token" in done.stderr and "chmod 600" in done.stderr, done.stderr
    os.chmod(os.path.join(place, "contexts", "127.0.0.1.json"), 0o600)
    equal(strata(service, "logout").returncode, 0)
    equal(os.listdir(os.path.join(place, "contexts")), [])
    assert "no context is in use" in strata(service, "context").stderr


@AUTO
def whom_nobody_vouches_for_is_not_believed(service):
    port, pin = told(service)
    secret = token(service)
    url = f"https://127.0.0.1:{port}"
    done = strata(service, "login", url, text=secret)
    assert done.returncode and f"add --fingerprint {pin}" in done.stderr, done.stderr
    wrong = pin[:10] + ("A" if pin[10] != "A" else "B") + pin[11:]
    done = strata(service, "login", url, "--fingerprint", wrong, text=secret)
    assert done.returncode and "not the one that was given" in done.stderr and "nothing was sent" in done.stderr, done.stderr
    for bad in ("sha256//abc", "AB:CD", pin + "="):
        assert "is no fingerprint" in strata(service, "login", url, "--fingerprint", bad, text=secret).stderr
    done = strata(service, "login", url, "--fingerprint", pin, text="strata_wrong\n")
    assert done.returncode and "token is not known" in done.stderr, done.stderr
    for words in (["login", url, "--fingerprint", pin], ["login", f"http://192.0.2.1:{port}"], ["login", url + "/page"],
                  ["login", f"https://ann@127.0.0.1:{port}"]):
        assert strata(service, *words).returncode, words
    assert not os.path.exists(os.path.join(home(service), ".config")), "something was kept"
    done = strata(service, "queue", STRATA_SERVER=url, STRATA_TOKEN=secret)
    assert done.returncode and "is not trusted" in done.stderr and "`strata login" in done.stderr, done.stderr


@AUTO
def an_authority_of_the_machine_is_enough_unless_the_key_is_pinned(service):
    port, pin = told(service)
    secret, url = token(service), f"https://127.0.0.1:{port}"
    pem = os.path.join(service.dir, "authority.pem")
    with open(os.path.join(service.state, "tls.pem")) as file, open(pem, "w") as out:
        out.write(file.read().split("-----END PRIVATE KEY-----\n")[1])
    trusting = {"authority": pem}
    if subprocess.run(["unshare", "-m", "mount", "--bind", pem, "/etc/ssl/certs/ca-certificates.crt"], stderr=subprocess.DEVNULL).returncode:
        raise Skip("the machine's authorities cannot be exchanged for a while here")
    done = strata(service, "login", url, text=secret, **trusting)
    equal((done.returncode, done.stdout), (0, ""))
    equal(json.loads(strata(service, "context", "list", "--json").stdout)["contexts"][0]["fingerprint"], None)
    equal(strata(service, "queue", **trusting).returncode, 0)
    assert "is not trusted" in strata(service, "queue").stderr
    equal(strata(service, "login", url, "--pin", text=secret, **trusting).returncode, 0)
    equal(json.loads(strata(service, "context", "list", "--json").stdout)["contexts"][0]["fingerprint"], pin)
    equal(strata(service, "queue").returncode, 0)


@AUTO
def another_key_is_refused_before_the_token_is_sent(service):
    log_in(service)
    port, _ = told(service)
    service.args = [word if word != "127.0.0.1:0" else f"127.0.0.1:{port}" for word in service.args]
    with_files(service, *certificate(service, "other", 30))
    done = strata(service, "queue")
    assert done.returncode and "is not the one that was pinned" in done.stderr and "strata login" in done.stderr, done.stderr
    assert "/api/v1/queue" not in service.said()
    listener = subprocess.Popen(["openssl", "s_server", "-accept", "0", "-cert", os.path.join(service.dir, "other.crt"), "-key",
                                 os.path.join(service.dir, "other.key"), "-naccept", "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)
    try:
        while not (at := re.search(r"ACCEPT (?:\S*:)?(\d+)", listener.stdout.readline())):
            pass
        path = os.path.join(home(service), ".config", "strata", "contexts", "127.0.0.1.json")
        with open(path) as file:
            kept = json.load(file)
        with open(path, "w") as file:
            json.dump({**kept, "server": f"https://127.0.0.1:{at[1]}"}, file)
        assert strata(service, "queue").returncode
    finally:
        listener.kill()
    assert kept["token"] not in listener.stdout.read()


@AUTO
def a_certificate_that_has_ended_is_refused_and_a_new_one_for_the_key_is_not(service):
    port, _ = told(service)
    service.args = [word if word != "127.0.0.1:0" else f"127.0.0.1:{port}" for word in service.args]
    path, key = certificate(service, "own", 30)
    with_files(service, path, key)
    log_in(service)
    certificate(service, "own", -1, key)
    service.process.send_signal(signal.SIGHUP)
    wait_for(service, "the certificate for TLS has expired")
    wait_for(service, "the settings were read again")
    done = strata(service, "queue")
    assert done.returncode and "has ended" in done.stderr, done.stderr
    certificate(service, "own", 60, key)
    service.api("POST", "/reload", {}, 202)
    wait_for(service, "the settings were read again", 2)
    equal(strata(service, "queue").returncode, 0)


def wait_for(service, words, times=1):
    deadline = time.time() + PATIENCE_S
    while service.said().count(words) < times:
        assert time.time() < deadline, service.said()
        time.sleep(0.02)


@AUTO
def a_new_certificate_drops_no_connection(service):
    path, key = certificate(service, "own", 30)
    with_files(service, path, key)
    secret = {"Authorization": "Bearer " + token(service)}
    connection, stream = secure(service, "/api/v1/events", secret)
    equal(stream.status, 200)
    before = handshake(service)
    certificate(service, "own", 90)
    with open(path) as file:
        kept = file.read()
    service.process.send_signal(signal.SIGHUP)
    wait_for(service, "the settings were read again")
    assert before.split("-----")[2] not in handshake(service), "the old certificate is shown"
    service.submit("true", name="later")
    while "job.submitted" not in (line := stream.readline().decode()):
        assert line, "the stream has ended"
    connection.close()
    for text, words in (("nothing\n", "the certificate cannot be used"), (kept + kept * 16, "certificate")):
        with open(path, "w") as file:
            file.write(text)
        service.process.send_signal(signal.SIGHUP)
        wait_for(service, "the settings stay as they were")
        equal(secure(service)[1].status, 200)
    shutil.copy(certificate(service, "third", 30)[0], path)
    service.process.send_signal(signal.SIGHUP)
    wait_for(service, "the key is not that of the (first) certificate")
    equal(secure(service)[1].status, 200)


@AUTO
def several_servers_have_names(service):
    other = Service("--listen", "127.0.0.1:0", "--tls", "auto", "--cluster-name", "other")
    try:
        log_in(service, "--name", "one")
        port, pin = told(other)
        done = strata(service, "login", f"https://127.0.0.1:{port}", "--name", "two", "--fingerprint", pin, text=token(other))
        equal(done.returncode, 0)
        service.submit("sleep", "60", name="here")
        other.submit("sleep", "60", name="there")

        def names(*words, **env):
            done = strata(service, "queue", "--json", *words, **env)
            assert done.returncode == 0, done.stderr
            return [job["name"] for job in json.loads(done.stdout)["jobs"]]

        equal(names(), ["there"])
        equal(names("--context", "one"), ["here"])
        equal(names(STRATA_CONTEXT="one"), ["here"])
        equal(strata(service, "context", "use", "one").returncode, 0)
        equal(names(), ["here"])
        equal(strata(service, "context").stdout, "one\n")
        rows = strata(service, "context", "list").stdout.splitlines()
        equal([row.split()[:2] for row in rows[1:]], [["*", "one"], ["two", f"https://127.0.0.1:{port}"]])
        done = strata(service, "login", f"https://127.0.0.1:{told(service)[0]}", "--fingerprint", told(service)[1], text=token(service))
        equal(done.returncode, 0)  # named after its host
        done = strata(service, "login", f"https://127.0.0.1:{port}", "--fingerprint", pin, text=token(other))
        assert done.returncode and "is the name of https://127.0.0.1:" in done.stderr and "--name" in done.stderr, done.stderr
        equal(strata(service, "context", "remove", "127.0.0.1").returncode, 0)
        assert "`strata context list`" in strata(service, "context", "use", "gone").stderr
        assert strata(service, "queue", "--context", "../one").returncode == 2
        equal(strata(service, "logout", "two").returncode, 0)
        equal(len(json.loads(strata(service, "context", "list", "--json").stdout)["contexts"]), 1)
    finally:
        other.end()
        other.close()


@AUTO
def a_page_has_its_cookie_by_tls_only(service):
    port, _ = told(service)
    context = ssl._create_unverified_context()

    def sign_in(host):
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=PATIENCE_S)
        connection.request("POST", "/api/v1/session", headers={"Host": host, "Authorization": "Bearer " + token(service)})
        answer = connection.getresponse()
        answer.read()
        return answer

    answer = sign_in(f"localhost:{port}")
    equal(answer.status, 201)
    assert "; Secure" in answer.headers["Set-Cookie"], answer.headers
    equal(sign_in(os.uname().nodename + f":{port}").status, 201)  # the certificate has the name
    equal(sign_in(f"evil.example:{port}").status, 403)
    link = service.api("POST", "/session-link", status=201)["link"]
    assert link.startswith("http://127.0.0.1:") and f":{port}/" not in link, link  # on the loopback, without a warning of the browser


@AUTO
def a_page_that_came_without_tls_is_not_ours(service):
    port, _ = told(service)
    host = f"localhost:{port}"
    for origin, status in ((f"http://{host}", 403), ("https://evil.example", 403), (f"https://{host}", 201)):
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=ssl._create_unverified_context(), timeout=PATIENCE_S)
        connection.request("POST", "/api/v1/session", headers={"Host": host, "Origin": origin, "Authorization": "Bearer " + token(service)})
        equal((origin, connection.getresponse().status), (origin, status))


def settings_that_make_no_sense_are_refused(service):
    for words, why in ((("--tls", "auto"), "there is nothing to encrypt"),
                       (("--listen", "0.0.0.0:0"), "nothing is encrypted; add `--tls auto`"),
                       (("--listen", "127.0.0.1:0", "--tls-cert", "/x"), "tls_cert and tls_key belong together"),
                       (("--listen", "127.0.0.1:0", "--tls", "auto", "--tls-cert", "/x", "--tls-key", "/y"), "leave out one of them"),
                       (("--listen", "127.0.0.1:0", "--tls-cert", "/nosuch.crt", "--tls-key", "/nosuch.key"), "/nosuch.key")):
        done = subprocess.run([STRATA, "serve", "--state", os.path.join(service.dir, "s2"), *words], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S)
        assert done.returncode and why in done.stdout, (words, done.stdout)


@arguments("--listen", "0.0.0.0:0", "--tls", "auto")
def another_host_signs_in_and_works(service):
    space, inside, outside = (f"s{what}{os.getpid()}" for what in ("ns", "in", "out"))
    net = f"10.211.{os.getpid() % 250}"
    if subprocess.run(["ip", "netns", "add", space], stderr=subprocess.DEVNULL).returncode:
        raise Skip("network namespaces cannot be made here")
    try:
        for words in (f"link add {outside} type veth peer name {inside} netns {space}", f"addr add {net}.1/24 dev {outside}",
                      f"link set {outside} up", f"-n {space} addr add {net}.2/24 dev {inside}", f"-n {space} link set {inside} up",
                      f"-n {space} link set lo up"):
            if subprocess.run(["ip", *words.split()], stderr=subprocess.DEVNULL).returncode:
                raise Skip("a link between two network namespaces cannot be made here")
        port, pin = told(service)
        url = f"https://{net}.1:{port}"
        done = strata(service, "login", url, "--name", "lab", "--fingerprint", pin, text=token(service), netns=space)
        assert done.returncode == 0 and "signed in to strata" in done.stderr, done.stderr
        done = strata(service, "submit", "--output", "/dev/null", "--chdir", "/tmp", "--quiet", "--", "true", netns=space)
        equal((done.returncode, done.stderr), (0, ""))
        service.wait(int(done.stdout), "completed")
        assert strata(service, "login", f"http://{net}.1:{port}", text=token(service), netns=space).returncode == 2
    finally:
        subprocess.run(["ip", "netns", "del", space])


run(only_versions_that_are_good_are_spoken, the_key_stays_over_restarts_and_is_nobody_elses,
    signing_in_keeps_what_is_needed_where_nobody_reads_it, whom_nobody_vouches_for_is_not_believed,
    an_authority_of_the_machine_is_enough_unless_the_key_is_pinned, another_key_is_refused_before_the_token_is_sent,
    a_certificate_that_has_ended_is_refused_and_a_new_one_for_the_key_is_not, a_new_certificate_drops_no_connection,
    several_servers_have_names, a_page_has_its_cookie_by_tls_only, a_page_that_came_without_tls_is_not_ours,
    settings_that_make_no_sense_are_refused,
    another_host_signs_in_and_works)
