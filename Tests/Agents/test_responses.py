"""Programs that use /v1/responses."""

from conftest import ANSWER, TASK
from scripted_model import call

CODEX = """model = "scripted"
model_provider = "local"

[model_providers.local]
name = "Local"
base_url = "{url}/v1"
wire_api = "responses"
"""


def test_codex(workplace):
    there = workplace("codex", [
        ["I read the file.", call("exec_command", cmd="cat calc.py")],
        [call("exec_command", cmd="sed -i 's/a - b/a + b/' calc.py && git diff --stat")],
        [call("exec_command", cmd="python3 calc.py")],
        [ANSWER],
    ], aside="Mend the sum")
    (there.home / ".codex").mkdir()
    (there.home / ".codex/config.toml").write_text(CODEX.format(url=there.url))
    output = there.run(there.bin / "codex", "exec", "--dangerously-bypass-approvals-and-sandbox", TASK)
    assert ANSWER in output
    there.check("return a - b", "1 insertion", "2 + 3 = 5")
