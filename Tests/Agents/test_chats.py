"""Programs that use /v1/chat/completions."""

from itertools import takewhile

import pytest

from conftest import ANSWER, COMMANDS, PRINTED, TASK, script
from scripted_model import call


def test_mini_swe_agent(workplace):
    submit = call("bash", command=f"echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo '{ANSWER}'")
    there = workplace(
        "mini-swe-agent", script([call("bash", command=each) for each in COMMANDS], [ANSWER, submit]))
    output = there.run(
        there.bin / "mini", "--yolo", "--exit-immediately", "--task", TASK, "--model", "openai/scripted",
        "--output", there.folder / "trajectory.json",
        OPENAI_API_BASE=there.url + "/v1", OPENAI_API_KEY="none", MSWEA_COST_TRACKING="ignore_errors",
        MSWEA_CONFIGURED="true", LITELLM_LOCAL_MODEL_COST_MAP="True")
    assert ANSWER in output
    there.check(*PRINTED)


def edit(old, new):
    """An edit as aider reads it."""
    return f"calc.py\n```python\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n```\n"


def test_aider(workplace):
    """It has no tools: it runs the test after each edit and sends what fails."""
    there = workplace("aider", [
        ["I multiply.\n\n", edit("    return a - b", "    return a * b")],
        ["I add.\n\n", edit("    return a * b", "    return a + b"), ANSWER],
    ])
    output = there.run(
        there.bin / "aider", "--model", "openai/scripted", "--edit-format", "diff", "--no-auto-commits",
        "--yes-always", "--no-check-update", "--no-show-model-warnings", "--analytics-disable", "--no-pretty",
        "--no-gitignore", "--auto-test", "--test-cmd", "python3 -c 'import calc; assert calc.add(2, 3) == 5'",
        "--message", TASK, "calc.py",
        OPENAI_API_BASE=there.url + "/v1", OPENAI_API_KEY="none", LITELLM_LOCAL_MODEL_COST_MAP="True")
    assert ANSWER in output
    there.check_file()
    there.check_nothing_refused()
    there.check_fields()
    there.check_results("2 + 3 = 6")
    # Its streams ask for no usage. The file, which has changed, is in the middle of the second prompt.
    first, second = ([message["content"] for message in turn.json["messages"]] for turn in there.turns)
    shared = sum(len(content.encode()) for content in takewhile(lambda each: each in first, second))
    assert there.metric("cached_tokens_total") >= shared - 64 > 5000


@pytest.mark.parametrize("form", ["tool", "markdown"])
def test_gptme(workplace, form):
    """Its tools are declared, or called by blocks of code. It asks for titles in between."""

    def use(tool, text):
        return call(tool, command=text) if form == "tool" else f"\n```{tool}\n{text}\n```"

    complete = call("complete") if form == "tool" else "\n```complete\n```"
    there = workplace(
        "gptme", script([use("shell", each) for each in COMMANDS], [ANSWER, complete]),
        aside="The sum" if form == "tool" else None)
    output = there.run(
        there.bin / "gptme", "--non-interactive", "--no-confirm", "--model", "local/scripted", "--tool-format", form,
        "--tools", "shell,complete", TASK, OPENAI_BASE_URL=there.url + "/v1", OPENAI_API_KEY="none")
    assert ANSWER in output
    # The file is in the first request, too, as the task names it.
    there.check(r"stdout\ndef add", *PRINTED[1:])


VIBE = """active_model = "local"
providers = [{{name = "local", api_base = "{url}/v1"}}]
models = [{{name = "scripted", provider = "local", alias = "local"}}]
"""


def test_mistral_vibe(workplace):
    there = workplace("mistral-vibe", script([
        call("read_file", path="calc.py"),
        call("edit", file_path="calc.py", old_string="a - b", new_string="a + b"),
        call("bash", command="python3 calc.py"),
    ]), aside="Mend the sum")
    if not (there.bin / "vibe").exists():
        pytest.skip("mistral-vibe needs Python 3.12: make agents PYTHON=python3.12")
    (there.home / ".vibe").mkdir()
    (there.home / ".vibe/config.toml").write_text(VIBE.format(url=there.url))
    output = there.run(there.bin / "vibe", "-p", TASK, "--auto-approve", "--trust")
    assert ANSWER in output
    there.check("return a - b", "lines_changed", "2 + 3 = 5")
