"""A running shim for the tests of this folder, which drive it with real clients from PyPI.

They are run by `make clients`, with the environment variables SHIM (the program) and MODEL (a GGUF file).
"""

import os
import re
import subprocess
import time
import urllib.error
import urllib.request

import pytest


def is_ready(address):
    try:
        return urllib.request.urlopen(f"{address}/health").status == 200
    except urllib.error.HTTPError:  # 503 while the model loads
        return False


@pytest.fixture(scope="session")
def base_url():
    """The address of a shim that has loaded the model, with the path that OpenAI's clients expect in it."""
    command = [os.environ["SHIM"], "--model", os.environ["MODEL"], "--port", "0"]
    shim = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        address = re.search(r"http://127\.0\.0\.1:\d+", shim.stdout.readline()).group()
        while shim.poll() is None and not is_ready(address):
            time.sleep(0.1)
        yield f"{address}/v1"
    finally:
        shim.terminate()
        shim.wait(timeout=30)


@pytest.fixture(scope="session")
def model():
    """The model's name for clients: its file's."""
    return os.path.basename(os.environ["MODEL"]).removesuffix(".gguf")
