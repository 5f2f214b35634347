"""What is left of clients, sessions and signatures when the server is killed, started again, or told to reload."""

import json
import os
import threading

import pytest

from conftest import SECRETS, start_with_clients, write_clients
from support import MODEL_NAME, App, Shim, app_headers, is_refused, now, partner_headers, unique, wait_until

KEY = SECRETS["APP_KEY"]


@pytest.mark.parametrize("kill", [True, False])
def test_nothing_is_answered_twice(tmp_path, kill):
    with start_with_clients(tmp_path) as shim:
        app, body = App(shim, KEY), unique()
        requests = [
            ("POST", "/chatgpt-simple", body, app_headers(app.token, "/chatgpt-simple", body)),
            ("POST", "/auth_token", body, app_headers(KEY, "/auth_token", body)),
            ("GET", "/v1/models", b"", partner_headers(SECRETS["PARTNER_SECRET"], "/v1/models", method="GET"))]
        for request in requests:
            assert shim.request(*request).status == 200
        shim.stop(kill)
        shim.start()
        for request in requests:
            assert is_refused(shim.request(*request))
        assert os.stat(tmp_path / "state").st_mode & 0o777 == 0o600
        assert app.post("/chatgpt-simple").status == 200


def test_without_a_state_file(tmp_path):
    """A session ends with its process, and devices with slow clocks are served after it as before."""
    with start_with_clients(tmp_path, state_file=None) as shim:
        assert "state_file" in shim.log
        app = App(shim, KEY)
        shim.stop(kill=True)
        shim.start()
        assert is_refused(app.post("/chatgpt-simple"))
        app.sign_in()
        body = unique()
        slow = app_headers(app.token, "/chatgpt-simple", body, timestamp=now() - 200)
        assert shim.post("/chatgpt-simple", body, slow).status == 200


def test_killed_amid_requests(tmp_path):
    """Whatever was answered before the kill is refused after it, and every session that was granted goes on."""
    with start_with_clients(tmp_path) as shim:
        answered = []

        def sign_in_until_killed():
            while True:
                body = unique()
                headers = app_headers(KEY, "/auth_token", body)
                try:
                    token = shim.post("/auth_token", body, headers).json["token"]
                except (OSError, ValueError):
                    return
                answered.append((body, headers, token))

        threads = [threading.Thread(target=sign_in_until_killed) for _ in range(8)]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(answered) > 200)
        shim.stop(kill=True)
        for thread in threads:
            thread.join()
        shim.start()
        app = App(shim, KEY)
        for body, headers, app.token in answered[-100:]:
            assert is_refused(shim.post("/auth_token", body, headers))
            assert app.get("/v1/models").status == 200


def test_reload(tmp_path):
    with start_with_clients(tmp_path) as shim:
        app, other = App(shim, KEY), App(shim, SECRETS["OTHER_APP_KEY"])
        (tmp_path / "clients.json").write_text("nonsense")
        shim.reload()
        wait_until(lambda: "could not be read as JSON" in shim.log)
        assert app.post("/chatgpt-simple").status == 200

        write_clients(tmp_path, tokens_valid_from=now() + 1)
        shim.reload()
        wait_until(lambda: is_refused(app.post("/chatgpt-simple")))
        assert other.post("/chatgpt-simple").status == 200
        revoked = now()
        wait_until(lambda: now() > revoked + 1)
        app.sign_in()
        assert app.post("/chatgpt-simple").status == 200

        configuration = json.loads((tmp_path / "clients.json").read_text())
        configuration["apps"].pop()
        (tmp_path / "clients.json").write_text(json.dumps(configuration))
        shim.reload()
        wait_until(lambda: is_refused(other.post("/chatgpt-simple")))
        assert app.post("/chatgpt-simple").status == 200


def test_told_to_stop_amid_templates(tmp_path):
    """Templates that are being rendered, and those that wait for it, are given up when the time to drain is over."""
    endless = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    body = {"model": MODEL_NAME, "messages": [{"role": "user", "content": "x" * 1_000_000}], "chat_template": endless}
    answers = []
    with Shim(tmp_path, "--drain", "1") as shim:
        threads = [threading.Thread(target=lambda: answers.append(shim.post("/v1/chat/completions", body)))
                   for _ in range(40)]
        before = shim.processor_seconds
        for thread in threads:
            thread.start()
        wait_until(lambda: shim.processor_seconds > before + 1)
    for thread in threads:
        thread.join()
    assert shim.process.returncode == 0
    statuses = [answer.status for answer in answers]
    assert len(statuses) == len(threads) and 503 in statuses, statuses
    # A template that came to its own end before that says which limit it met.
    assert set(statuses) <= {400, 503}, statuses
