"""Random settings, run by diffusers and here: 0 differences.

    tests/diffusers/test_settings.py                       500 of seed 1; STRATA_SETTINGS=20000 and STRATA_SETTINGS_SEED=2 change that
    tests/diffusers/test_settings.py 'Setting("DDIMScheduler", steps=5)'    one, as a failure prints it
"""
import collections
import multiprocessing
import os
import re
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "python", "tests")]
import package  # noqa: E402

package.enter_torch()
package.enter("diffusers", "scipy", "torchsde")
import warnings  # noqa: E402

warnings.simplefilter("ignore")
import diffusers  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

diffusers.utils.logging.set_verbosity(50)
np.seterr(all="ignore")
torch.set_num_threads(1)
from compare import compare, judge, shrink  # noqa: E402
from strata._call import lib  # noqa: E402
from settings import CLASSES, Setting, draw_settings  # noqa: E402

COUNT = int(os.environ.get("STRATA_SETTINGS", "500"))
SEED = int(os.environ.get("STRATA_SETTINGS_SEED", "1"))
ONLY = os.environ.get("STRATA_SETTINGS_ONLY", "")  # a part of the names of the classes
SHOWN = int(os.environ.get("STRATA_SETTINGS_SHOWN", "12"))  # failures that are shrunk


def one(setting):
    return judge(setting)


def random_settings_are_the_same():
    settings = [setting for setting in draw_settings(SEED, COUNT) if ONLY in setting.name]
    with multiprocessing.get_context("fork").Pool(min(os.cpu_count() or 1, 8)) as pool:
        verdicts = []
        for setting, verdict in zip(settings, pool.imap(one, settings, chunksize=8)):
            verdicts.append(verdict)
            if not verdict.good:
                print(f"# {len(verdicts)}: {verdict.said}: {setting}"[:600], flush=True)
            if len(verdicts) % 1000 == 0:
                print(f"# {len(verdicts)} of {len(settings)}", flush=True)
    lines, kinds = [], collections.Counter((setting.name, verdict.said if verdict.good else "differs") for setting, verdict in zip(settings, verdicts))
    for name in CLASSES:
        same, refused, differ = (kinds[name, said] for said in ("same", "refused", "differs"))
        if same + refused + differ:
            worst = max((verdict.worst for setting, verdict in zip(settings, verdicts) if setting.name == name and verdict.good), default=0)
            lines.append(f"{name:<36} {same:>5} the same, {refused:>4} refused by both, {differ:>3} differ; nearest to the limit {worst:.2f}")
    bad = [(setting, verdict.said) for setting, verdict in zip(settings, verdicts) if not verdict.good]
    kernel = {lib.STRATA_ISA_SCALAR: "the scalar reference", lib.STRATA_ISA_AVX2: "AVX2", lib.STRATA_ISA_AVX512: "AVX-512"}[lib.strata_isa_best()]
    lines.append(f"rows in float32 were applied by the kernel for {kernel}" + ("" if "512" in kernel else "; this machine has no AVX-512"))
    edges, alone = (sum(getattr(verdict, field) for verdict in verdicts) for field in ("on_edge", "here_alone"))
    lines.append(f"seed {SEED}: {len(settings)} settings, {len(bad)} differences; in {edges} a timestep that is cut off lies on an edge and is its "
                 f"neighbour; {alone} are refused here alone (docs/solvers.md)")
    if bad:
        alike = {}  # one of each sort, the shortest
        for setting, said in sorted(bad, key=lambda pair: -len(str(pair[0]))):
            alike[setting.name, re.sub(r"[-+.\d]+(e[-+]\d+)?|[a-z]+_[a-z_]+", "N", said)] = setting, said
        with multiprocessing.get_context("fork").Pool(min(os.cpu_count() or 1, 8)) as pool:
            for small, said in pool.starmap(shrink, list(alike.values())[:SHOWN], chunksize=1):
                lines += [said, f"    {small}"]
        raise AssertionError("\n".join(lines))
    return "\n".join(lines)


if len(sys.argv) > 1:
    for line in sys.argv[1:]:
        print(compare(eval(line)))  # pylint: disable=eval-used
else:
    package.run(random_settings_are_the_same)
