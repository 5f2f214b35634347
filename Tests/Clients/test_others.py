"""Clients built by others, each as its own documentation shows it."""

import os
import subprocess
import sys

QUESTION = "What is the capital of France?"


def test_langchain(base_url, model):
    from langchain_openai import ChatOpenAI, OpenAI

    chat = ChatOpenAI(model=model, base_url=base_url, api_key="any", temperature=0)
    answer = chat.invoke([("system", "Be brief."), ("human", QUESTION)])
    assert answer.content and answer.usage_metadata["total_tokens"] > 0
    assert "Paris" in "".join(chunk.content for chunk in chat.stream(QUESTION))
    assert chat.bind(logprobs=True).invoke(QUESTION).response_metadata["logprobs"]["content"]
    assert "Paris" in ChatOpenAI(
        model=model, base_url=base_url, api_key="any", temperature=0, use_responses_api=True).invoke(QUESTION).text
    assert OpenAI(model=model, base_url=base_url, api_key="any", max_tokens=4).invoke("Hello")


def test_langchain_embeddings(base_url, model):
    from langchain_openai import OpenAIEmbeddings

    # Without the check it would count tokens with a tokenizer of OpenAI's, which it fetches.
    embeddings = OpenAIEmbeddings(
        model=model, base_url=base_url, api_key="any", check_embedding_ctx_length=False)
    vectors = embeddings.embed_documents(["one", "two"])
    assert len(vectors) == 2 and len(vectors[0]) == len(embeddings.embed_query("one"))


def test_pydantic_ai(base_url, model):
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=base_url, api_key="any")
    for kind in (OpenAIChatModel, OpenAIResponsesModel):
        agent = Agent(kind(model, provider=provider), model_settings={"temperature": 0})
        first = agent.run_sync(QUESTION)
        assert "Paris" in first.output
        assert first.usage.output_tokens > 0
        assert agent.run_sync("Hello", message_history=first.all_messages()).output


def test_litellm(base_url, model):
    import litellm

    options = dict(model=f"openai/{model}", api_base=base_url, api_key="any", temperature=0)
    messages = [{"role": "user", "content": QUESTION}]
    assert "Paris" in litellm.completion(messages=messages, **options).choices[0].message.content
    stream = litellm.completion(messages=messages, stream=True, **options)
    assert "Paris" in "".join(chunk.choices[0].delta.content or "" for chunk in stream)


def test_llm(base_url, model, tmp_path):
    (tmp_path / "extra-openai-models.yaml").write_text(
        f"- model_id: local\n  model_name: {model}\n  api_base: {base_url}\n")
    environment = dict(os.environ, LLM_USER_PATH=str(tmp_path), OPENAI_API_KEY="any")
    for extra in ([], ["--no-stream"]):
        command = [sys.executable, "-m", "llm", "-m", "local", "-o", "temperature", "0", *extra, QUESTION]
        result = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        assert "Paris" in result.stdout
