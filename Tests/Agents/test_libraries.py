"""Libraries for agents, over /v1/chat/completions: each runs a program of this folder."""

from pathlib import Path

from conftest import ANSWER, TASK
from scripted_model import call

TURNS = [
    ["I read the file.", call("read_file", path="calc.py")],
    [call("replace", path="calc.py", old="a - b", new="a + b")],
    [call("run", command="python3 calc.py")],
]
RESULTS = ["return a - b", "1 replaced", "2 + 3 = 5"]


def run(there, program):
    return there.run(there.bin / "python", Path(__file__).parent / program, there.url + "/v1", TASK)


def test_langgraph(workplace):
    there = workplace("langgraph", [*TURNS, [ANSWER]])
    assert ANSWER in run(there, "langgraph_agent.py")
    there.check(*RESULTS)


def test_pydantic_ai_which_requires_a_call(workplace):
    """Its answer is the call of a tool, so that each turn must be one."""
    turns = [[answer[-1]] for answer in TURNS]
    there = workplace("pydantic-ai", [*turns, [call("final_result", sum=5, text=ANSWER)]])
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
