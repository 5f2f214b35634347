"""The partner client, written from its contract; and OpenAI's clients, whose keys go on beside it."""

import json

import pytest

from conftest import SECRETS
from support import MODEL_NAME, bearer, is_refused, now, partner_headers, unique

SECRET = SECRETS["PARTNER_SECRET"]
PATH = "/chatgpt-simple"


def test_partner(shim):
    for path in (PATH, PATH + "/more", PATH + "/%e4%b8%ad"):
        body = unique()
        assert shim.post(path + "?x=1", body, partner_headers(SECRET, path, body)).status == 200
    body = json.dumps({"model": MODEL_NAME, "messages": [{"role": "user", "content": "Hi"}]}).encode()
    assert shim.post("/v1/chat/completions", body, partner_headers(SECRET, "/v1/chat/completions", body)).status == 200
    headers = partner_headers(SECRET, "/v1/models", method="GET")
    assert shim.request("GET", "/v1/models?limit=2", b"", headers).status == 200
    assert is_refused(shim.request("GET", "/v1/models", b"", headers))


@pytest.mark.parametrize("how", [
    {"identity": "nobody"}, {"identity": "ACME"}, {"identity": ""}, {"timestamp": now() - 86400}, {"timestamp": "x"},
    {"timestamp": f"{now()}000"}, {"path": PATH + "?x=1"}, {"path": PATH[1:]}, {"method": "GET"}, {"body": b""},
    {"secret": "wrong"}])
def test_refused(shim, how):
    body = unique()
    headers = partner_headers(**{"secret": SECRET, "path": PATH, "body": body} | how)
    assert is_refused(shim.post(PATH + "?x=1", body, headers))


def test_altered(shim):
    body = unique()
    good = partner_headers(SECRET, PATH, body)
    nonce = good["X-Nonce"]
    assert is_refused(shim.post("/auth_token", b"", partner_headers(SECRET, "/auth_token")))
    # The parts have no borders: a byte may move from one to the next, and the signature stays the same.
    assert is_refused(shim.post(PATH, body + nonce[:1].encode(), good | {"X-Nonce": nonce[1:]}))
    for name, value in good.items():
        assert is_refused(shim.post(PATH, body, [*good.items(), (name, value)]))
        assert shim.post(PATH, body, [pair for pair in good.items() if pair[0] != name]).status == 401
    assert shim.post(PATH, body, good).status == 200
    assert is_refused(shim.post(PATH, body, good))
    assert is_refused(shim.post(PATH[:-1], PATH[-1:].encode() + body, good))


def test_api_keys(shim):
    key = SECRETS["LOCALLLM_API_KEY"]
    for headers in (bearer(key), {"x-api-key": key}):
        assert shim.request("GET", "/v1/models", b"", headers).status == 200
        assert shim.post(PATH, unique(), headers).status == 200
    for headers in ({}, bearer("wrong"), {"x-api-key": "wrong"}):
        answer = shim.request("GET", "/v1/models", b"", headers)
        assert answer.status == 401 and answer.error["code"] == "invalid_api_key"
    assert shim.request("GET", "/health").status == 200
    # A wrong signature is not made good by a key beside it.
    assert is_refused(shim.post(PATH, unique(), bearer(key) | {"x-signature": "0" * 64, "x-timestamp": str(now())}))
