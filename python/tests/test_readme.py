"""The first program of python/README.md runs as it is printed, with nothing but numpy, and prints what the page says."""
import os
import subprocess
import sys
import tempfile

import package

package.enter("numpy")
import readme  # noqa: E402


def the_first_program_prints_what_the_page_says():
    program, said = readme.blocks()[0]
    assert said, program
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "first.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(program)
        done = subprocess.run([sys.executable, path], capture_output=True, text=True, cwd=folder, timeout=300,
                              env={**os.environ, "PYTHONPATH": "" if os.environ.get("STRATA_PYTHON_INSTALLED") else os.path.abspath(package.PACKAGE)})
    assert (done.stdout, done.stderr) == (said, ""), done


package.run(the_first_program_prints_what_the_page_says)
