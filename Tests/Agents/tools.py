"""The tools of agents that have none of their own."""

import subprocess
from pathlib import Path


def read_file(path: str) -> str:
    """Reads a file."""
    return Path(path).read_text()


def replace(path: str, old: str, new: str) -> str:
    """Replaces text in a file."""
    text = Path(path).read_text()
    Path(path).write_text(text.replace(old, new))
    return f"{text.count(old)} replaced"


def run(command: str) -> str:
    """Runs a shell command and returns its output."""
    return subprocess.run(command, shell=True, text=True, capture_output=True).stdout
