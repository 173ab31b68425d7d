"""The binding: all that the headers declare and the library exports is there, errors are exceptions, threads run side by side."""
import errno
import glob
import os
import re
import shutil
import subprocess
import sys
import threading

import package

package.enter()
import strata  # noqa: E402
from strata import errors  # noqa: E402
from strata._call import call, ffi, lib, text  # noqa: E402

TOOL = os.path.join(package.SOURCE, "tools", "python-cdef")
ENGINE = ("engine.h", "language.h", "pipeline.h")
HEADERS = [path for path in sorted(glob.glob(os.path.join(package.SOURCE, "include", "strata", "*.h"))) if os.path.basename(path) not in ENGINE]


def tool(*words):
    return subprocess.run([sys.executable, TOOL, *words], check=True, capture_output=True, text=True).stdout


def inline_functions():
    found = set()
    for path in HEADERS:
        with open(path, encoding="utf-8") as file:
            found |= set(re.findall(r"^static inline [^(]*?(\w+)\(", file.read(), flags=re.M))
    return found


def the_binding_has_what_the_headers_declare():
    names = tool("names", *HEADERS).split()
    assert len(names) > 300, len(names)
    missing = [name for name in names if not hasattr(lib, name)]
    assert not missing, missing


def the_headers_declare_what_the_library_exports():
    path = os.path.join(package.BUILD, "libstrata.so")
    if not os.path.exists(path) or not shutil.which("nm"):
        return "not compared: there is no libstrata.so or no nm here"
    lines = subprocess.run(["nm", "-D", "--defined-only", path], check=True, capture_output=True, text=True).stdout.splitlines()
    exported = {line.split()[2] for line in lines}
    assert set(tool("names", *HEADERS).split()) - inline_functions() == exported


def every_constant_has_its_value():
    assert lib.STRATA_TIME_NONE == -2**63
    assert lib.STRATA_BATCH_BYTES == 320
    assert lib.STRATA_SHARE_WEIGHT_MIN == 1e-6
    assert lib.STRATA_TASK_PENDING == 0 and lib.STRATA_TASK_CANCELLED == 6


def a_declaration_is_read_as_c_has_it():
    sample = os.path.join(package.SOURCE, "python", "tests", "data", "sample.h")
    assert tool("cdef", sample).splitlines() == [
        "/* <strata/sample.h> */", "#define SAMPLE_LONG ...", "static const double SAMPLE_PART;",
        "enum sample_kind { SAMPLE_A = ..., SAMPLE_B = ... };",
        "struct sample {", "char name[...];", "union {", "int a;", "double b;", "};", "};",
        "int sample_print(const char *format, ...) ;", "int sample_twice(int value);",
        "void sample_fill(unsigned char ret_bytes[]);"]
    assert tool("names", sample).split() == ["sample_fill", "sample_print", "sample_twice"]


def types_are_those_of_the_binding():
    """_native.pyi names what the module has, and nothing else."""
    with open(os.path.join(os.path.dirname(strata.__file__), "_native.pyi"), encoding="utf-8") as file:
        body = file.read().split("class Lib:\n")[1]
    found = set(re.findall(r"^    (?:def )?(\w+)", body, flags=re.M))
    assert found == set(dir(lib)), found ^ set(dir(lib))


def an_error_has_the_sentence_of_the_library():
    def refused(name):
        try:
            call(lib.strata_solver_build, name, 5, ffi.new("struct strata_memory *"), ffi.new("struct strata_solver_table **"))
        except strata.Error as wrong:
            return wrong
        raise AssertionError("it was taken")
    wrong = refused(b"eular")
    assert isinstance(wrong, errors.NotFoundError) and isinstance(wrong, LookupError) and wrong.code == errno.ENOENT
    assert str(wrong) == "there is no solver 'eular'; did you mean 'euler'?"
    wrong = refused(b"ddim:beta_start=-1")
    assert isinstance(wrong, ValueError) and wrong.field == "beta_start", (wrong, wrong.field)


def every_kind_of_error_has_a_class():
    index = 0
    while (kind := lib.strata_error_kind_at(index)) != ffi.NULL:
        wrong = errors.of_code(kind.code, "x")
        assert type(wrong) is not strata.Error or text(kind.name) == "internal", (kind.code, text(kind.name))
        index += 1
    assert index > 20


def parts_are_imported_when_they_are_used():
    code = ("import sys, strata; assert 'numpy' not in sys.modules and 'strata._native' not in sys.modules;"
            "assert 'solver' in dir(strata); strata.Error\n"
            "try:\n    strata.nothing\nexcept AttributeError as wrong:\n    print(wrong)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
    assert done.stdout.strip() == "module 'strata' has no attribute 'nothing'", done


def what_is_missing_is_said_with_what_installs_it():
    code = ("import sys, importlib.util\nfind = importlib.util.find_spec\n"
            "importlib.util.find_spec = lambda name, *rest: None if name in ('numpy', 'torch', 'diffusers') else find(name, *rest)\n"
            "import strata\n"
            "for part in 'solver', 'diffusers', 'place':\n    try:\n        getattr(strata, part)\n    except ModuleNotFoundError as wrong:\n        print(wrong)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
    assert done.stdout.splitlines() == ["strata.solver needs numpy: pip install 'strata[numpy]'",
                                        "strata.diffusers needs diffusers: pip install 'strata[diffusers]'",
                                        "strata.place needs torch: pip install 'strata[place]'"], done


def threads_run_while_the_library_works():
    """Normals are drawn in one long call; another thread counts meanwhile, which it could not with the interpreter's lock held."""
    state, values = ffi.new("struct strata_torch *"), ffi.new("float[]", 8_000_000)
    lib.strata_torch_init(state, 1)
    counted, stop, inside = 0, threading.Event(), threading.Event()

    def draw():
        inside.set()
        lib.strata_torch_normal_f32(state, values, len(values))
        stop.set()
    thread = threading.Thread(target=draw)
    thread.start()
    inside.wait()
    while not stop.is_set():
        counted += 1
    thread.join()
    assert counted > 1, counted


package.run(the_binding_has_what_the_headers_declare, the_headers_declare_what_the_library_exports, every_constant_has_its_value,
            a_declaration_is_read_as_c_has_it, types_are_those_of_the_binding, an_error_has_the_sentence_of_the_library, every_kind_of_error_has_a_class,
            parts_are_imported_when_they_are_used, what_is_missing_is_said_with_what_installs_it, threads_run_while_the_library_works)
