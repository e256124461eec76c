"""What a wheel with machine code must do at once: a first simulation and a first gradient without any compilation.

    python tools/check_wheel.py [NAME]      in an environment that has the wheel, outside of a checkout's src

NAME: what the processor is to call itself, "btver2" for instance; machine code of a wheel asks what it can do, not what
it is called. Seconds count from before the import. The last line is a JSON object; the exit status is 1 if anything was
compiled or if there is no pack that fits.
"""

from __future__ import annotations

import json
import sys
import time

begin = time.perf_counter()

import llvmlite.binding as llvm  # noqa: E402

if len(sys.argv) > 1:
    llvm.get_host_cpu_name = lambda: sys.argv[1]

import mechgrad as mg  # noqa: E402
from mechgrad.gallery import five_bar, five_bar_start  # noqa: E402
from mechgrad.kernels import jit  # noqa: E402

imported = time.perf_counter()
motion = mg.simulate(five_bar(), five_bar_start(), 1.0, step=1e-3)
simulated = time.perf_counter()
mg.gradient(motion, mg.AtEnd(mg.measures.PointVelocity("P2")), ["A1.mass", "S1.stiffness"], method="adjoint")
differentiated = time.perf_counter()

compiled = sorted(name for name, kernel in jit.ENTRIES.items() if sum(kernel.stats.cache_misses.values()))
print(
    json.dumps(
        {
            "python": sys.version.split()[0],
            "processor": llvm.get_host_cpu_name(),
            "pack": str(jit.PACK.folder.name) if jit.PACK else jit.NO_PACK,
            "import_s": round(imported - begin, 2),
            "first_simulation_s": round(simulated - begin, 2),
            "first_gradient_s": round(differentiated - begin, 2),
            "compiled": compiled,
        }
    )
)
sys.exit(1 if compiled or jit.PACK is None else 0)
