#!/bin/sh
# Makes models/hearth-4m.gguf from nothing: vocabulary, training, export, measurement.
# Usage: build.sh [minutes]   (Python 3.11 with requirements.txt, and a C++ compiler for torch.compile)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out="$here/out"
cd "$here"
python3 train.py "$out" --minutes "${1:-80}"
python3 export.py "$out" ../hearth-4m.gguf
python3 evaluate.py "$out" ../hearth-4m.gguf --cases ../hearth-4m.cases.json
