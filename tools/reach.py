"""Which functions each test enters, from gcc's coverage counts, so that a mutant is shown only to tests that could notice it.

A build with --coverage writes, when a process ends, how often each branch of each function was taken (.gcda); the compiler wrote the names beside the
objects (.gcno). Both are short binary records: a tag, a length, words. Only "was anything of this function counted" is read here. What a process that
was killed would have counted is lost, so that the answer is a little too small; `tools/mutate` asks everybody about a function that nobody entered.
"""
import os
import struct

FUNCTION, ARCS = 0x01000000, 0x01A10000


def records(data, at):
    """(tag, first byte, length) of each record; a negative length means that many bytes of zeros, which are not there."""
    while at + 8 <= len(data):
        tag, length = struct.unpack_from("<Ii", data, at)
        if tag == 0:
            return
        yield tag, at + 8, length
        at += 8 + max(length, 0)


def text_at(data, at):
    """A text and the byte behind it."""
    length, = struct.unpack_from("<I", data, at)
    return data[at + 4:at + 4 + length].split(b"\0")[0].decode(), at + 4 + length


def names(gcno):
    """{identity: (source, function)} of the functions of one object."""
    data, found = gcno, {}
    _, at = text_at(data, 16)  # behind magic, version, stamp, checksum: the directory
    for tag, start, _ in records(data, at + 4):
        if tag == FUNCTION:
            name, behind = text_at(data, start + 12)
            source, _ = text_at(data, behind + 4)
            found[struct.unpack_from("<I", data, start)[0]] = (source, name)
    return found


def entered(gcda):
    """The identities of the functions of which anything was counted."""
    identity, found = None, set()
    for tag, start, length in records(gcda, 16):
        if tag == FUNCTION:
            identity = struct.unpack_from("<I", gcda, start)[0] if length > 0 else None
        elif tag == ARCS and length > 0 and identity is not None and any(gcda[start:start + length]):
            found.add(identity)
    return found


def below(folder, ending):
    for place, _, files in os.walk(folder):
        for name in files:
            if name.endswith(ending):
                yield os.path.join(place, name)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def all_names(build, tree):
    """{object without its ending, from the build directory: {identity: 'source function'}} for the sources of the product."""
    found = {}
    for path in below(build, ".gcno"):
        of_object = {identity: f"{os.path.relpath(os.path.join(build, source), tree)} {function}"
                     for identity, (source, function) in names(read(path)).items()}
        found[os.path.relpath(path, build)[:-len(".gcno")]] = {key: name for key, name in of_object.items() if name.startswith("src/")}
    return found


def of_test(folder, build, known):
    """The 'source function' entries that the counts below a folder (GCOV_PREFIX) show as entered."""
    inside = os.path.join(folder, build.lstrip("/"))
    found = set()
    for path in below(inside, ".gcda"):
        of_object = known.get(os.path.relpath(path, inside)[:-len(".gcda")], {})
        found.update(of_object[identity] for identity in entered(read(path)) if identity in of_object)
    return sorted(found)
