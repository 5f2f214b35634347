"""Libraries for agents: each runs a program of this folder."""

from pathlib import Path

import pytest

from conftest import ANSWER, TASK, script
from scripted_model import call

CALLS = [
    call("read_file", path="calc.py"),
    call("replace", path="calc.py", old="a - b", new="a + b"),
    call("run", command="python3 calc.py"),
]
RESULTS = ["return a - b", "1 replaced", "2 + 3 = 5"]


def run(there, program, *arguments):
    return there.run(there.bin / "python", Path(__file__).parent / program, there.url + "/v1", *arguments, TASK)


@pytest.mark.parametrize("api", ["chats", "responses"])
def test_openai_agents_with_an_MCP_server(workplace, api):
    there = workplace("openai-agents", script(CALLS))
    assert ANSWER in run(there, "openai_agents.py", api)
    there.check(*RESULTS)
    assert {turn.api for turn in there.turns} == {api}


def test_langgraph(workplace):
    there = workplace("langgraph", script(CALLS))
    assert ANSWER in run(there, "langgraph_agent.py")
    there.check(*RESULTS)


def test_pydantic_ai_which_requires_a_call(workplace):
    """Its answer is the call of a tool, so that each turn must be one."""
    calls = [*CALLS, call("final_result", sum=5, text=ANSWER)]
    there = workplace("pydantic-ai", [[each] for each in calls])
    assert f"Report(sum=5, text={ANSWER!r})" in run(there, "pydantic_agent.py")
    there.check(*RESULTS)
    assert {turn.json["tool_choice"] for turn in there.turns} == {"required"}


def test_instructor(workplace):
    """An answer of a type: as the call of a tool that is named, and by a JSON schema."""
    there = workplace("instructor", [[call("Report", sum=5, text=ANSWER)]], aside=f'{{"sum":5,"text":"{ANSWER}"}}')
    assert run(there, "instructor_program.py").count(f"Report(sum=5, text={ANSWER!r})") == 2
    there.check_nothing_refused()
    there.check_fields()
    assert [each.json.get("tool_choice") is None for each in there.recorder.exchanges] == [False, True]
