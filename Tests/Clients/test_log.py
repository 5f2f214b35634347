"""What the log keeps to itself: every route is asked, rightly and wrongly, and then the log is read."""

import json

import pytest

from conftest import PRODUCT, SECRETS, start_with_clients
from fake_upstream import CHAT, KEY, FakeUpstream, failure, whole
from support import MODEL_NAME, App, bearer, partner_headers

PROMPT = "Words of a prompt"
MESSAGES = [{"role": "user", "content": PROMPT}]
ROUTES = [
    "/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/embeddings", "/v1/images/generations",
    "/tokenize", "/detokenize", "/apply-template", "/chatgpt", "/chatgpt-simple", "/dalle", "/vision", "/api/suggest",
    "/api/auth/token", "/auth_token", "/nowhere"]
BODIES = [
    {"messages": MESSAGES, "max_tokens": 2}, {"messages": MESSAGES, "model": "big-one"}, MESSAGES,
    {"prompt": PROMPT, "max_tokens": 2}, {"prompt": PROMPT, "model": "big-one"},
    {"input": PROMPT, "max_output_tokens": 2}, {"input": PROMPT, "model": "big-one"},
    {"text": PROMPT}, {"content": PROMPT}, {"prompt": PROMPT, "image": "https://images.example/a.png"},
    {"messages": PROMPT}, {"messages": [{"role": PROMPT, "content": PROMPT}]},
    {"messages": [{"role": "user", "content": [{"type": PROMPT}]}]}, {"messages": MESSAGES, "stop": [PROMPT] * 9},
    {"messages": MESSAGES, "logit_bias": {PROMPT: 1}}, {"text": PROMPT, "max_suggestions": PROMPT},
    {"tokens": PROMPT}, {"product_id": PROMPT}]


@pytest.mark.parametrize("words", [None, "400 No", "422 No", "429 No", "500 No"])
def test_neither_secrets_nor_prompts(tmp_path, words):
    api_key = SECRETS["LOCALLLM_API_KEY"]
    with FakeUpstream() as upstream, start_with_clients(
            tmp_path, "--upstream", upstream.url, "--upstream-model", "big-one",
            environment={"LOCALLLM_UPSTREAM_KEY": KEY}) as shim:
        upstream.answer = failure(words, f"{KEY} cannot answer '{PROMPT}'") if words else whole(CHAT)
        app = App(shim, SECRETS["APP_KEY"])
        granted = shim.post("/api/auth/token", {"product_id": PRODUCT}, bearer(SECRETS["SECRET_KEY"]))
        access = granted.json["access_token"]
        signed = partner_headers(SECRETS["PARTNER_SECRET"], "/chatgpt", json.dumps(MESSAGES).encode())
        for _ in range(2):
            shim.post("/chatgpt", MESSAGES, signed)
        for route in ROUTES:
            for body in BODIES:
                fields = {"model": MODEL_NAME} | body if isinstance(body, dict) else body
                shim.post(route, fields, bearer(api_key, Cookie=PROMPT))
            shim.post(f"{route}?q={PROMPT.replace(' ', '%20')}", PROMPT.encode(), bearer(api_key))
            shim.post(route, json.dumps(PROMPT).encode() + b"x", bearer(api_key))
            app.post(route, {"prompt": PROMPT})
            for each in (access, SECRETS["PUBLIC_KEY"], SECRETS["SECRET_KEY"], "wrong-key"):
                shim.post(route, {"text": PROMPT}, bearer(each))
    # It has stopped, and has written all of it.
    log = shim.log
    assert log.count('"path":') > len(ROUTES) * len(BODIES)
    secrets = [*SECRETS.values(), app.token, access, signed["X-Signature"], KEY, "wrong-key"]
    for secret in [*secrets, PROMPT, "From above"]:
        assert secret not in log, [line for line in log.splitlines() if secret in line][:3]
