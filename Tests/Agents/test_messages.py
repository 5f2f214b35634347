"""Programs that use /v1/messages."""

from conftest import ANSWER, TASK, script
from scripted_model import call


def test_claude_code(workplace):
    there = workplace("claude-code", script([
        call("Read", file_path="calc.py"),
        call("Edit", file_path="calc.py", old_string="a - b", new_string="a + b"),
        call("Bash", command="python3 calc.py"),
    ]), aside="Mend the sum")
    (claude,) = there.bin.parent.glob("lib/python*/site-packages/claude_agent_sdk/_bundled/claude")
    output = there.run(
        claude, "-p", TASK, "--allowedTools", "Read,Edit,Bash", "--model", "scripted",
        ANTHROPIC_BASE_URL=there.url, ANTHROPIC_AUTH_TOKEN="none", ANTHROPIC_DEFAULT_HAIKU_MODEL="scripted",
        CLAUDE_CODE_MAX_CONTEXT_TOKENS="262144", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1")
    assert ANSWER in output
    there.check("return a - b", "has been updated", "2 + 3 = 5")
