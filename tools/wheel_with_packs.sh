#!/usr/bin/env bash
# One wheel with machine code, for one Python: tools/wheel_with_packs.sh python3.12
# Compiles every kernel for two levels of processors (some minutes), builds dist/*.whl, and checks it: a new environment,
# an empty cache, a processor by another name, and not one compilation.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=$1
work="build/packs/$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')"
rm -rf "$work"
mkdir -p "$work"
"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check build .
for level in x86-64-v3 x86-64-v4; do
    PYTHONPATH=src "$work/venv/bin/python" tools/build_packs.py "$work/packs" --level "$level"
done
MECHGRAD_PACKS="$work/packs" "$work/venv/bin/python" -m build --wheel --outdir dist
"$python" -m venv "$work/fresh"
"$work/fresh/bin/python" -m pip install --quiet --disable-pip-version-check dist/*"$(basename "$work")"*.whl
MECHGRAD_CACHE_DIR="$work/empty" "$work/fresh/bin/python" tools/check_wheel.py btver2
