"""Decisions with OpenAI's SDK: typed questions, probabilities as answers."""

import asyncio

import openai
import pytest

TEXT = "The kitchen is closed today, since the oven is broken. Cold dishes are served in the garden."


@pytest.fixture(scope="session")
def client(base_url):
    return openai.OpenAI(base_url=base_url, api_key="none")


def test_all_kinds_of_questions(client, model):
    decision = client.decisions.create(
        model=model,
        input=TEXT,
        questions=[
            {"type": "predicate", "name": "broken", "instructions": "The oven is broken."},
            {
                "type": "choice",
                "instructions": [{"type": "input_text", "text": "Where are dishes served?"}],
                "choices": [{"value": "in the garden"}, {"value": "inside", "description": "in a room"}],
            },
            {
                "type": "score",
                "name": "bad",
                "instructions": "How bad is it?",
                "levels": [{"label": "fine"}, {"label": "bad"}, {"label": "terrible"}],
            },
        ],
    )
    predicate, choice, score = decision.answers
    assert predicate.type == "predicate" and predicate.name == "broken" and 0 <= predicate.probability <= 1
    assert choice.type == "choice" and choice.name is None and choice.choice in ("in the garden", "inside")
    assert [share.value for share in choice.probabilities] == ["in the garden", "inside"]
    assert abs(sum(share.probability for share in choice.probabilities) - 1) < 1e-9
    assert choice.choice == max(choice.probabilities, key=lambda share: share.probability).value
    assert [(share.value, share.label) for share in score.probabilities] == [(0, "fine"), (1, "bad"), (2, "terrible")]
    assert abs(score.score - sum(share.value * share.probability for share in score.probabilities)) < 1e-9
    assert 0 <= choice.confidence <= 1 and 0 <= score.confidence <= 1
    assert decision.usage.output_tokens == 0 and decision.usage.total_tokens == decision.usage.input_tokens
    assert decision.usage.input_tokens_details.cached_tokens + decision.usage.input_tokens_details.cache_write_tokens > 0


def test_booleans_are_no_strings(client, model):
    choices = [{"value": True}, {"value": "true"}, {"value": False}]
    answer = client.decisions.create(
        model=model, input=TEXT, questions=[{"type": "choice", "instructions": "Is it open?", "choices": choices}]
    ).answers[0]
    assert [type(share.value) for share in answer.probabilities] == [bool, str, bool]


def test_conversations(client, model):
    items = [
        {"role": "system", "content": "You open doors."},
        {"role": "user", "content": [{"type": "input_json", "data": [{"door": 1, "open": None}]}]},
        {"type": "function_call", "call_id": "c", "name": "open", "arguments": '{"door": 1}'},
        {"type": "function_call_output", "call_id": "c", "output": "The door is open."},
        {"role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
    ]
    question = {"type": "predicate", "instructions": "The door is open."}
    first = client.decisions.create(model=model, input=items, questions=[question])
    again = client.decisions.create(model=model, input=items, questions=[question] * 400)
    # The same answer however many are asked, and the input is computed once.
    assert {answer.probability for answer in again.answers} == {first.answers[0].probability}
    assert len(again.answers) == 400
    assert again.usage.input_tokens_details.cached_tokens > 0


def test_errors_name_the_field(client, model):
    with pytest.raises(openai.BadRequestError) as error:
        client.decisions.create(
            model=model,
            input=TEXT,
            questions=[{"type": "choice", "instructions": "Which?", "choices": [{"value": "a"}, {"value": "a"}]}],
        )
    assert error.value.param == "questions[0].choices[1].value"


def test_async(base_url, model):
    async def ask():
        async with openai.AsyncOpenAI(base_url=base_url, api_key="none") as client:
            question = {"type": "predicate", "instructions": "The oven is broken."}
            return await client.decisions.create(model=model, input=TEXT, questions=[question])

    assert asyncio.run(ask()).answers[0].type == "predicate"
