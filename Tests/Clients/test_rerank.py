"""Reranking, scores and classes, by clients of Cohere's and vLLM's APIs."""

import math

import pytest

import tiny_reranker
from support import Shim

DOCUMENTS = ["a panda is a bear", "hi", "the weather"]


@pytest.fixture(scope="module")
def reranker(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reranker")
    tiny_reranker.write(folder / "tiny-reranker.gguf")
    with Shim(folder, model=folder / "tiny-reranker.gguf") as shim:
        yield shim


def post(shim, path, body):
    answer = shim.request("POST", path, body)
    assert answer.status == 200, answer
    return answer.json


def scores(results):
    return {result["index"]: result["relevance_score"] for result in results}


def test_litellm(reranker):
    import litellm

    query = dict(query="what is a panda", documents=DOCUMENTS)
    plain = post(reranker, "/v1/rerank", query)["results"]
    assert len(plain) == 3 and sorted(plain, key=lambda each: -each["relevance_score"]) == plain
    for provider in ("cohere", "hosted_vllm"):
        answer = litellm.rerank(
            model=f"{provider}/tiny-reranker", api_base=reranker.url.removesuffix("/v1"), api_key="any", top_n=2, return_documents=False, **query)
        assert [each["index"] for each in answer.results] == [each["index"] for each in plain[:2]], provider
        assert scores(answer.results).items() <= scores(plain).items(), provider


def test_scores_and_classes_are_those_of_ranks(reranker):
    query = dict(query="what is a panda", documents=DOCUMENTS)
    ranked = scores(post(reranker, "/v1/rerank", query)["results"])
    pairs = dict(text_1=query["query"], text_2=DOCUMENTS)
    scored = post(reranker, "/score", pairs)
    assert [each["object"] for each in scored["data"]] == ["score"] * 3
    for each in scored["data"]:
        assert math.isclose(each["score"], 1 / (1 + math.exp(-ranked[each["index"]])), rel_tol=1e-5)
    raw = post(reranker, "/v1/score", {**pairs, "use_activation": False})["data"]
    assert [each["score"] for each in raw] == [ranked[index] for index in range(3)]
    classes = post(reranker, "/classify", {"input": DOCUMENTS})["data"]
    pooled = post(reranker, "/pooling", {"input": DOCUMENTS})["data"]
    assert [each["probs"] for each in classes] == [each["data"] for each in pooled]
    assert all(each["num_classes"] == 1 and 0 < each["probs"][0] < 1 for each in classes)
