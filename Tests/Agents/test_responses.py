"""Programs that use /v1/responses."""

from conftest import ANSWER, COMMANDS, PRINTED, TASK, script
from scripted_model import call

CODEX = """model = "scripted"
model_provider = "local"

[model_providers.local]
name = "Local"
base_url = "{url}/v1"
wire_api = "responses"
"""


def test_codex(workplace):
    there = workplace(
        "codex", script([call("exec_command", cmd=each) for each in COMMANDS]), aside="Mend the sum")
    (there.home / ".codex").mkdir()
    (there.home / ".codex/config.toml").write_text(CODEX.format(url=there.url))
    output = there.run(there.bin / "codex", "exec", "--dangerously-bypass-approvals-and-sandbox", TASK)
    assert ANSWER in output
    there.check(*PRINTED)
