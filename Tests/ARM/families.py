"""Compares logits of `bench` with those of the reference families: Tests/ARM/families.py FOLDER

Calls the shell's function `arm`. The limit is that of ReferenceFamilyTests; phimoe's reference computes another norm.
"""
import array
import json
import pathlib
import subprocess
import sys
import tempfile

LIMIT = 1e-5


def floats(path):
    values = array.array("f")
    values.frombytes(pathlib.Path(path).read_bytes())
    return values


folder = pathlib.Path(sys.argv[1])
cases = json.loads((folder / "index.json").read_text())["cases"]
failed = compared = 0
largest = 0.0
with tempfile.NamedTemporaryFile() as out:
    for name, case in sorted(cases.items()):
        if name == "phimoe-moe":
            continue
        expected = floats(folder / f"{name}.logits.f32")
        tokens = ",".join(map(str, case["token_ids"]))
        for chunk in (512, 5, 1):
            command = 'arm bench logits -m "$1" --tokens "$2" --chunk "$3" -t 2 -o "$4"'
            run = subprocess.run(
                ["bash", "-c", command, "_", folder / f"{name}.gguf", tokens, str(chunk), out.name],
                capture_output=True, text=True)
            error = float("inf")
            if run.returncode == 0:
                found = floats(out.name)
                if len(found) == len(expected):
                    error = sum((a - b) ** 2 for a, b in zip(found, expected)) / sum(b * b for b in expected)
            if not error <= LIMIT:
                print(f"{name}, chunks of {chunk}: {error:.2g} {run.stderr.strip()[:200]}")
                failed += 1
            compared += 1
            largest = max(largest, error)
print(f"{compared - failed} of {compared} comparisons within {LIMIT}; largest error {largest:.2g}")
sys.exit(failed > 0 or compared == 0)
