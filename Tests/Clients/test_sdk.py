"""The autocomplete SDK and the server that gets its tokens, written from their contracts."""

import base64
import threading

import pytest

from conftest import OTHER_PRODUCT, PRODUCT, SECRETS
from support import bearer, now, wait_until

PUBLIC, SECRET, OTHER_SECRET, API_KEY = (
    SECRETS[name] for name in ("PUBLIC_KEY", "SECRET_KEY", "OTHER_SECRET_KEY", "LOCALLLM_API_KEY"))
APP = {"X-App-Identifier": "org.example.notes"}
TEXT = {"text": "The capital of"}


def suggest(shim, headers, **fields):
    return shim.post("/api/suggest", TEXT | fields, headers)


def token(shim, key=SECRET, product=PRODUCT):
    return shim.post("/api/auth/token", {"product_id": product}, bearer(key))


@pytest.mark.parametrize("value", [
    f"Bearer {PUBLIC}", f"bearer {PUBLIC}", f"Basic {PUBLIC}", "Basic " + base64.b64encode(PUBLIC.encode()).decode(),
    "Basic " + base64.b64encode(f"{PUBLIC}:".encode()).decode()])
def test_public_key(shim, value):
    answer = suggest(shim, {"Authorization": value} | APP)
    assert answer.status == 200 and answer.headers["x-engine"] == "local"
    texts = [suggestion["text"] for suggestion in answer.json["suggestions"]]
    assert len(texts) == len(set(texts)) == 3, texts


@pytest.mark.parametrize("headers", [
    bearer(PUBLIC), bearer(PUBLIC) | {"X-App-Identifier": "org.example.other"}, bearer(PUBLIC[:-1]) | APP,
    bearer(PUBLIC + "x") | APP, bearer("") | APP, {"Authorization": PUBLIC} | APP, APP, {"x-api-key": PUBLIC} | APP,
    [*bearer(PUBLIC).items(), *APP.items(), *APP.items()],
    [*bearer(PUBLIC).items(), *bearer(PUBLIC).items(), *APP.items()],
    bearer("at_v1_") | APP, bearer("at_v1_1_2_3_4") | APP])
def test_wrong_keys(shim, headers):
    answer = suggest(shim, headers)
    assert answer.status == 401 and answer.error["code"] == "invalid_api_key", answer


def test_keys_of_the_sdk_open_nothing_else(shim):
    access = token(shim).json["access_token"]
    for key in (PUBLIC, SECRET, access):
        for path in ("/v1/chat/completions", "/chatgpt", "/dalle", "/tokenize"):
            assert shim.post(path, TEXT, bearer(key) | APP).status == 401, path
    for scheme in ("Bearer", "Basic"):
        answer = suggest(shim, {"Authorization": f"{scheme} {SECRET}"} | APP)
        assert answer.status == 401 and answer.error["code"] == "secret_key_refused"
        assert SECRET.encode() not in answer.body


def test_access_token(shim):
    answer = token(shim)
    assert answer.status == 200 and set(answer.json) == {"access_token", "expires_at", "token_type"}
    access = answer.json["access_token"]
    assert access.startswith("at_v1_") and answer.json["token_type"] == "Bearer"
    assert answer.json["expires_at"] - now() == pytest.approx(3600, abs=60)
    for headers in (bearer(access), bearer(access) | {"X-App-Identifier": "any"}, {"Authorization": f"Basic {access}"}):
        assert suggest(shim, headers).status == 200
    for index in range(len("at_v1_"), len(access)):
        altered = access[:index] + ("a" if access[index] != "a" else "b") + access[index + 1:]
        assert suggest(shim, bearer(altered)).status == 401, altered
    for altered in (access[:-1], access + "0", access.upper(), "at_v1_" + access):
        assert suggest(shim, bearer(altered)).status == 401, altered


def test_expired_token(shim):
    granted = token(shim, OTHER_SECRET, OTHER_PRODUCT).json
    assert suggest(shim, bearer(granted["access_token"])).status == 200
    wait_until(lambda: now() >= granted["expires_at"])
    assert suggest(shim, bearer(granted["access_token"])).status == 401


@pytest.mark.parametrize("key", ["sk_v1_wrong", PUBLIC, API_KEY, SECRET[:-1], ""])
def test_wrong_secret_key(shim, key):
    answer = token(shim, key)
    assert (answer.status, answer.json) == (
        401, {"error": {"code": "INVALID_SECRET_KEY", "message": "The provided secret key is invalid"}})


@pytest.mark.parametrize("body", [{}, [], {"product_id": 1}, {"product_id": OTHER_PRODUCT}, b"", b"\xff"])
def test_token_for_nothing(shim, body):
    assert shim.post("/api/auth/token", body, bearer(SECRET)).status == 400


@pytest.mark.parametrize("text", [
    "Once upon a time", " ", "\n", "She said: \"", "日本語", "x" * 20000, "a\0b", "e\u0301"])
def test_suggestions_are_distinct(shim, text):
    for count in (1, 8):
        answer = suggest(shim, bearer(API_KEY), text=text, max_suggestions=count)
        texts = [suggestion["text"] for suggestion in answer.json["suggestions"]]
        assert 0 < len(texts) == len(set(texts)) <= count and all(texts)
        assert "\ufffd" not in "".join(texts)


@pytest.mark.parametrize("fields, param", [
    ({"max_suggestions": 0}, "max_suggestions"), ({"max_suggestions": 9}, "max_suggestions"),
    ({"max_suggestions": 1.5}, "max_suggestions"), ({"max_suggestions": "3"}, "max_suggestions"),
    ({"text": ""}, "text"), ({"text": None}, "text"), ({"text": ["a"]}, "text")])
def test_wrong_fields(shim, fields, param):
    answer = suggest(shim, bearer(API_KEY), **fields)
    assert answer.status == 400 and answer.error["param"] == param


@pytest.mark.parametrize("body", [b'{"text":"\xff\xfe"}', b'{"text":"\xed\xa0\x80"}', b'{"text":"\\ud800"}', b""])
def test_text_that_is_none(shim, body):
    assert shim.post("/api/suggest", body, bearer(API_KEY)).status == 400


def test_the_next_keystroke_ends_the_one_before(shim):
    long = "The cat sat on the mat, and the dog. " * 60
    answers = {}

    def ask(number, user):
        answers[number] = suggest(shim, bearer(API_KEY), text=f"{number} {long}", max_suggestions=8, user=user)

    threads = [threading.Thread(target=ask, args=(number, "me")) for number in range(12)]
    threads.append(threading.Thread(target=ask, args=("other", "you")))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers.pop("other").status == 200
    ended = [answer for answer in answers.values() if answer.status != 200]
    assert 0 < len(ended) < len(answers)
    assert all(answer.status == 409 and answer.error["code"] == "superseded" for answer in ended)
