"""A running shim for the tests of this folder, which drive it with real clients from PyPI, and with clients written
from their contracts.

They are run by `make clients`, with the environment variables SHIM (the program) and MODEL (a GGUF file).
"""

import itertools
import json

import pytest

from fake_upstream import CHAT, KEY, FakeUpstream, ask, whole
from support import MODEL_NAME, Shim

PRODUCT = "5b1e4f0a-6f0c-4b8e-9a53-0f2f3f1f7a10"
OTHER_PRODUCT = "6c2f5e1b-7a1d-4c9f-8b64-1a3a4a2a8b21"
SECRETS = {
    "APP_KEY": "app-key-0123456789abcdef", "OTHER_APP_KEY": "other-app-key-0123456789",
    "PUBLIC_KEY": "pk_v1_public", "SECRET_KEY": "sk_v1_secret", "OTHER_SECRET_KEY": "sk_v1_other",
    "PARTNER_SECRET": "partner-secret-0123456789", "LOCALLLM_API_KEY": "sk-plain-key",
}


@pytest.fixture(autouse=True)
def own_address(addresses=itertools.count(256)):
    """Each test is a client of its own: after many wrong signatures an address is checked less."""
    number = next(addresses)
    Shim.client = f"127.0.{number >> 8}.{number & 255}"


@pytest.fixture(scope="session")
def base_url(tmp_path_factory):
    """The address of a shim that has loaded the model, with the path that OpenAI's clients expect in it."""
    with Shim(tmp_path_factory.mktemp("plain")) as shim:
        yield shim.url


@pytest.fixture(scope="session")
def model():
    """The model's name for clients: its file's."""
    return MODEL_NAME


def write_clients(folder, state_file="state", **app):
    """A configuration with each kind of client; more members of the first app."""
    configuration = {
        "apps": [
            {"id": "chat", "auth_key": {"env": "APP_KEY"}, **app},
            {"id": "other", "auth_key": {"env": "OTHER_APP_KEY"}}],
        "products": [
            {"id": PRODUCT, "public_key": {"env": "PUBLIC_KEY"}, "secret_key": {"env": "SECRET_KEY"},
             "app_identifiers": ["org.example.notes"]},
            {"id": OTHER_PRODUCT, "secret_key": {"env": "OTHER_SECRET_KEY"}, "token_seconds": 2}],
        "partners": [{"id": "acme", "secret": {"env": "PARTNER_SECRET"}}],
    }
    if state_file:
        configuration["state_file"] = state_file
    (folder / "clients.json").write_text(json.dumps(configuration))


def start_with_clients(folder, *options, environment=None, **configuration):
    write_clients(folder, **configuration)
    return Shim(folder, "--auth-config", "clients.json", *options, environment=SECRETS | (environment or {}))


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    """One that each kind of client may use."""
    with start_with_clients(tmp_path_factory.mktemp("clients")) as shim:
        yield shim


def start_with_upstream(folder, url, *options, **environment):
    environment["LOCALLLM_UPSTREAM_KEY"] = KEY
    options = ["--upstream", url, "--upstream-model", "big-one", "--upstream-timeout", "2", *options]
    return Shim(folder, *options, environment=environment)


@pytest.fixture(scope="session")
def below(tmp_path_factory):
    """A shim with an upstream, and that upstream."""
    with FakeUpstream() as upstream, start_with_upstream(tmp_path_factory.mktemp("below"), upstream.url) as shim:
        yield shim, upstream


@pytest.fixture
def pair(below):
    """The same, with failures forgotten and nothing noted."""
    shim, upstream = below
    upstream.answer = whole(CHAT)
    # Failures of the test before must not open the circuit for this one.
    assert ask(shim).status == 200
    upstream.requests.clear()
    upstream.has_been_left.clear()
    return shim, upstream
