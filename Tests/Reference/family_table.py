"""The cases of families.py: one tiny model a line, with what is special about it."""

import re
import statistics

import numpy as np
import torch

from families import IGNORED, REMOVED, SEQUENCES, TOKENS, VOCABULARY, Case, unpaired

# MARK: Families whose folders are read directly

Case("llama", "LlamaForCausalLM", kind="folder", rope_parameters={
    "rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64})
Case("qwen2", "Qwen2ForCausalLM", kind="folder", head_dim=REMOVED, hidden_size=128)
Case("qwen3", "Qwen3ForCausalLM", kind="folder")
Case("gemma3", "Gemma3ForCausalLM", kind="folder", shift=1, num_hidden_layers=7, sliding_window=8, tie_word_embeddings=True,
     query_pre_attn_scalar=24)
Case("phi3", "Phi3ForCausalLM", kind="folder", head_dim=REMOVED, hidden_size=128)
Case("mistral", "MistralForCausalLM", architecture="llama", kind="folder", sliding_window=9)
Case("mixtral", "MixtralForCausalLM", architecture="llama", kind="folder", num_local_experts=4, num_experts_per_tok=2,
     sliding_window=None, head_dim=REMOVED, hidden_size=128)
Case("ministral3", "Ministral3ForCausalLM", architecture="mistral3", kind="folder", rope_parameters={
    "rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 16, "beta_fast": 32.0,
    "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.3})
Case("smollm3", "SmolLM3ForCausalLM", kind="folder", num_hidden_layers=4, head_dim=REMOVED, hidden_size=128)
Case("granite", "GraniteForCausalLM", kind="folder", head_dim=REMOVED, hidden_size=128, attention_multiplier=0.11,
     embedding_multiplier=3.0, residual_multiplier=0.4, logits_scaling=2.0)
Case("qwen3moe", "Qwen3MoeForCausalLM", kind="folder", num_experts=6, num_experts_per_tok=2, moe_intermediate_size=32,
     norm_topk_prob=True)
QWEN35 = dict(
    kind="folder", shift=1, num_hidden_layers=4, linear_conv_kernel_dim=4, linear_key_head_dim=16, linear_value_head_dim=16,
    linear_num_key_heads=2, linear_num_value_heads=4, layer_types=["linear_attention"] * 3 + ["full_attention"],
    rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5, "mrope_section": [3, 3, 2],
                     "mrope_interleaved": True},
    ranges=[("A_log", (0, 0.7)), ("conv1d", (0, 0.8))])
Case("qwen35", "Qwen3_5ForCausalLM", **QWEN35)
Case("qwen35moe", "Qwen3_5MoeForCausalLM", **QWEN35, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=32,
     shared_expert_intermediate_size=48)
Case("gemma4", "Gemma4ForCausalLM", kind="folder", num_hidden_layers=6, sliding_window=8,
     layer_types=["sliding_attention", "sliding_attention", "full_attention"] * 2,
     global_head_dim=64, num_kv_shared_layers=2, hidden_size_per_layer_input=16, vocab_size_per_layer_input=VOCABULARY,
     tie_word_embeddings=True, final_logit_softcapping=20.0, ranges=[("layer_scalar", (0.9, 0.3))])
Case("gemma4-moe", "Gemma4ForCausalLM", architecture="gemma4", kind="folder", num_hidden_layers=6, sliding_window=8,
     global_head_dim=64, num_kv_shared_layers=0, hidden_size_per_layer_input=0, tie_word_embeddings=True,
     enable_moe_block=True, num_experts=4, top_k_experts=2, moe_intermediate_size=32, attention_k_eq_v=True,
     num_global_key_value_heads=1, final_logit_softcapping=None,
     ranges=[("layer_scalar", (0.9, 0.3)), ("router.scale", (1, 0.5)), ("per_expert_scale", (1, 0.5))])
Case("gpt-oss", "GptOssForCausalLM", kind="folder", num_local_experts=4, num_experts_per_tok=2, sliding_window=8,
     rope_parameters={"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 512,
                      "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False})
Case("glm4", "Glm4ForCausalLM", kind="folder", partial_rotary_factor=0.5)
Case("glm4moe", "Glm4MoeForCausalLM", kind="folder", num_hidden_layers=3, n_routed_experts=6, num_experts_per_tok=2,
     moe_intermediate_size=32, n_shared_experts=1, first_k_dense_replace=1, routed_scaling_factor=1.7, norm_topk_prob=True,
     partial_rotary_factor=0.5, use_qk_norm=True, attention_bias=True)

# MARK: Families whose published files are GGUF, or whose folders this engine does not read


def windows(config):
    """The window, and which layers have it."""
    return {
        "attention.sliding_window": config.sliding_window,
        "attention.sliding_window_pattern": [kind == "sliding_attention" for kind in config.layer_types]}


def mixture(config):
    """Keys of mixtures of experts."""
    keys = {"expert_feed_forward_length": config.moe_intermediate_size}
    if getattr(config, "norm_topk_prob", None) is not None:
        keys["expert_weights_norm"] = bool(config.norm_topk_prob)
    if getattr(config, "routed_scaling_factor", None) is not None:
        keys["expert_weights_scale"] = float(config.routed_scaling_factor)
    shared = getattr(config, "n_shared_experts", None)
    if shared:
        keys["expert_shared_count"] = shared
        keys["expert_shared_feed_forward_length"] = shared * config.moe_intermediate_size
    dense = getattr(config, "first_k_dense_replace", None)
    if dense:
        keys["leading_dense_block_count"] = dense
    return keys


def merged(*parts):
    """A function of the configuration that joins keys; each part is a function or a dictionary."""
    return lambda config: {key: value for part in parts for key, value in (part(config) if callable(part) else part).items()}


def yarn(config):
    """Keys of YaRN's scaling."""
    rope = config.rope_parameters.get("full_attention", config.rope_parameters)
    keys = {"rope.scaling.type": "yarn", "rope.scaling.factor": float(rope["factor"]),
            "rope.scaling.original_context_length": rope["original_max_position_embeddings"]}
    if rope.get("mscale_all_dim"):
        keys["rope.scaling.yarn_log_multiplier"] = 0.1 * rope["mscale_all_dim"]
    return keys


def part_of_layer(name, pattern):
    """GGUF's prefix of the layer and what the pattern's group matches; (None, None) for another tensor."""
    match = re.fullmatch(r".*layers\.(\d+)\." + pattern, name)
    return (f"blk.{match[1]}.", match[2]) if match else (None, None)


def state_space(name, shape, made):
    """Mamba's tensors: GGUF has -exp(A_log), and vectors of heads as columns."""
    layer, part = part_of_layer(name, r"(?:mixer|mamba|linear_attn)\.(.*)")
    if part is None:
        return None
    if part == "A_log":
        return np.log(-made.get(layer + "ssm_a", shape if len(shape) == 2 else (*shape, 1), -1, 0.7).reshape(shape))
    if part == "D":
        return made.get(layer + "ssm_d", shape, 0.5, 0.5)
    if part == "dt_bias":
        return made.get(layer + "ssm_dt.bias", shape)
    if part == "conv1d.weight":
        return made.get(layer + "ssm_conv1d.weight", (shape[0], shape[2]), 0, 0.8).reshape(shape)
    other = {"conv1d.bias": "ssm_conv1d.bias", "in_proj.weight": "ssm_in.weight", "x_proj.weight": "ssm_x.weight",
             "dt_proj.weight": "ssm_dt.weight", "dt_proj.bias": "ssm_dt.bias", "out_proj.weight": "ssm_out.weight",
             "dt_layernorm.weight": "ssm_dt_norm.weight", "b_layernorm.weight": "ssm_b_norm.weight",
             "c_layernorm.weight": "ssm_c_norm.weight"}.get(part)
    return made.get(layer + other, shape) if other else None


def grouped_norm(groups):
    """Mamba 2, whose norm has a vector for each group."""
    def fill(name, shape, made):
        if re.fullmatch(r".*layers\.\d+\.(mixer|mamba)\.norm\.weight", name):
            layer = re.search(r"layers\.(\d+)", name)[1]
            return made.get(f"blk.{layer}.ssm_norm.weight", (groups, shape[0] // groups)).reshape(shape)
        return state_space(name, shape, made)
    return fill


WIDE = dict(head_dim=REMOVED, hidden_size=128)
S, F = "sliding_attention", "full_attention"

Case("gemma", "GemmaForCausalLM", shift=1, tie_word_embeddings=True)
Case("gemma2", "Gemma2ForCausalLM", shift=1, tie_word_embeddings=True, sliding_window=8, query_pre_attn_scalar=32,
     num_hidden_layers=3, keys=lambda c: {
         "attention.sliding_window": 8, "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0})
Case("qwen2moe", "Qwen2MoeForCausalLM", seed=1, **WIDE, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=32,
     shared_expert_intermediate_size=48, norm_topk_prob=True,
     keys=merged(mixture, {"expert_shared_feed_forward_length": 48}))
Case("qwen2moe-not-normalized", "Qwen2MoeForCausalLM", architecture="qwen2moe", **WIDE, num_experts=6, num_experts_per_tok=2,
     moe_intermediate_size=32, shared_expert_intermediate_size=48, norm_topk_prob=False,
     keys=merged(mixture, {"expert_shared_feed_forward_length": 48}))
Case("olmo", "OlmoForCausalLM", **WIDE, pairs=True, clip_qkv=1.5, keys={"attention.clamp_kqv": 1.5, "attention.layer_norm_epsilon": 1e-5})
Case("olmo2", "Olmo2ForCausalLM", **WIDE)
Case("olmo3", "Olmo3ForCausalLM", architecture="olmo2", **WIDE, num_hidden_layers=4, layer_types=[S, S, S, F],
     sliding_window=8, rope_parameters={S: {"rope_type": "default", "rope_theta": 10000.0}, F: {
         "rope_type": "yarn", "rope_theta": 10000.0, "factor": 8.0, "original_max_position_embeddings": 512,
         "beta_fast": 32.0, "beta_slow": 1.0}},
     keys=merged(windows, {"rope.scaling.type": "yarn", "rope.scaling.factor": 8.0,
                           "rope.scaling.original_context_length": 512}))
Case("olmoe", "OlmoeForCausalLM", **WIDE, num_experts=6, num_experts_per_tok=2, norm_topk_prob=False,
     keys={"expert_weights_norm": False})
Case("exaone4", "Exaone4ForCausalLM", sliding_window=None, **WIDE, layer_types=[F, F])
Case("command-r", "CohereForCausalLM", **WIDE, logit_scale=0.3, tie_word_embeddings=True, keys={"logit_scale": 0.3})
Case("cohere2", "Cohere2ForCausalLM", logit_scale=0.3, tie_word_embeddings=True, num_hidden_layers=4, sliding_window=8,
     layer_types=[S, S, S, F], keys=merged(windows, {"logit_scale": 0.3}))
Case("granitemoe", "GraniteMoeForCausalLM", **WIDE, pairs=True, num_local_experts=6, num_experts_per_tok=2,
     attention_multiplier=0.11, embedding_multiplier=3.0, residual_multiplier=0.4, logits_scaling=2.0, keys={
         "attention.scale": 0.11, "embedding_scale": 3.0, "residual_scale": 0.4, "logit_scale": 2.0})
Case("starcoder2", "Starcoder2ForCausalLM", **WIDE, keys={"attention.layer_norm_epsilon": 1e-5})
Case("stablelm", "StableLmForCausalLM", **WIDE, use_qkv_bias=True, partial_rotary_factor=0.5,
     keys={"use_parallel_residual": False})
def stacked_norms(name, shape, made):
    if "layernorm.norms." in name:
        parts = name.split(".")
        heads = 4 if "q_layernorm" in name else 2
        return made.get(f"blk.{parts[2]}.attn_{parts[4][0]}_norm.weight", (heads, 32))[int(parts[6])]


Case("stablelm-parallel", "StableLmForCausalLM", architecture="stablelm", fill=stacked_norms, **WIDE, use_parallel_residual=True,
     qk_layernorm=True, partial_rotary_factor=0.25, keys={"use_parallel_residual": True})
Case("phi2", "PhiForCausalLM", **WIDE, num_key_value_heads=4, partial_rotary_factor=0.5)
Case("phimoe", "PhimoeForCausalLM", seed=4, **WIDE, num_local_experts=6, num_experts_per_tok=2, attention_bias=True, lm_head_bias=True)
Case("nemotron", "NemotronForCausalLM", shift=1, partial_rotary_factor=0.5)
Case("arcee", "ArceeForCausalLM", pairs=True)
Case("seed_oss", "SeedOssForCausalLM", attention_bias=True)
XIELU = {"alpha_p": [0.7, -0.3], "alpha_n": [-0.4, 0.6], "beta": [0.5, 0.5], "eps": [-1e-6, -1e-6]}


def xielu(name, shape, made):
    if ".act_fn." in name:
        return np.full(shape, np.float64(XIELU[name.split(".")[-1]][int(name.split(".")[2])]))


Case("apertus", "ApertusForCausalLM", **WIDE, rope_parameters={"rope_type": "default", "rope_theta": 10000.0}, fill=xielu, raw_keys={f"xielu.{key}": value for key, value in XIELU.items()})
Case("hunyuan-dense", "HunYuanDenseV1ForCausalLM")
Case("hunyuan-moe", "HunYuanMoEV1ForCausalLM", num_experts=6, moe_topk=2)
Case("ernie4_5", "Ernie4_5ForCausalLM")
Case("ernie4_5-moe", "Ernie4_5_MoeForCausalLM", **WIDE, moe_num_experts=6, moe_k=2, moe_intermediate_size=32,
     moe_num_shared_experts=2, moe_layer_start_index=1, keys={
         "expert_feed_forward_length": 32, "expert_shared_count": 2, "expert_shared_feed_forward_length": 64,
         "leading_dense_block_count": 1, "interleave_moe_layer_step": 1})
GPT = dict(head_dim=REMOVED, num_key_value_heads=REMOVED, hidden_size=128)
NO_MLP = dict(intermediate_size=REMOVED)


def transposed(name, shape, made):
    """GPT-2's linear layers are stored [inputs, outputs]."""
    if len(shape) == 2 and ".h." in name and name.endswith("weight"):
        layer, part = name.split(".h.")[1].split(".", 1)
        other = {"attn.c_attn.weight": "attn_qkv", "attn.c_proj.weight": "attn_output", "mlp.c_fc.weight": "ffn_up",
                 "mlp.c_fc2.weight": "ffn_gate", "mlp.c_proj.weight": "ffn_down"}[part]
        return made.get(f"blk.{layer}.{other}.weight", shape[::-1]).T


def fused_by_head(heads):
    """Query, key and value of a head follow each other in transformers; GGUF has all queries first."""
    def fill(name, shape, made):
        if "query_key_value" in name:
            layer = name.split("layers." if "layers." in name else "h.")[1].split(".")[0]
            values = made.get(f"blk.{layer}.attn_qkv." + name.split(".")[-1], shape)
            return values.reshape(3, heads, shape[0] // 3 // heads, -1).swapaxes(0, 1).reshape(shape)
    return fill


Case("gpt2", "GPT2LMHeadModel", **GPT, **NO_MLP, n_positions=2048, fill=transposed, keys={"feed_forward_length": 512})
Case("gptneox", "GPTNeoXForCausalLM", **GPT, rotary_pct=0.25, fill=fused_by_head(4),
     keys={"attention.layer_norm_epsilon": 1e-5, "use_parallel_residual": True})
Case("gptneox-serial", "GPTNeoXForCausalLM", architecture="gptneox", **GPT, rotary_pct=0.5, use_parallel_residual=False,
     fill=fused_by_head(4), keys={"attention.layer_norm_epsilon": 1e-5, "use_parallel_residual": False})
Case("bloom", "BloomForCausalLM", **GPT, n_layer=2, n_head=4, fill=fused_by_head(4), keys={"feed_forward_length": 512}, names={
    r"transformer\.word_embeddings_layernorm\.(\w+)": r"token_embd_norm.\1",
    r"transformer\.h\.(\d+)\.post_attention_layernorm\.(\w+)": r"blk.\1.ffn_norm.\2"})
Case("falcon", "FalconForCausalLM", **GPT, **NO_MLP, ffn_hidden_size=256, keys={"attention.head_count_kv": 1})
def falcon_groups(name, shape, made):
    if "query_key_value" in name:
        layer = name.split("h.")[1].split(".")[0]
        values = made.get(f"blk.{layer}.attn_qkv.weight", shape)
        query, key, value = np.split(values.reshape(8, 32, -1), [4, 6])
        return np.concatenate([query.reshape(2, 2, 32, -1), key[:, None], value[:, None]], 1).reshape(shape)


Case("falcon-groups", "FalconForCausalLM", architecture="falcon", **GPT, **NO_MLP, new_decoder_architecture=True, num_kv_heads=2,
     ffn_hidden_size=256, fill=falcon_groups, keys={"attention.head_count_kv": 2}, names={
         r"transformer\.h\.(\d+)\.ln_attn\.(\w+)": r"blk.\1.attn_norm_2.\2",
         r"transformer\.h\.(\d+)\.ln_mlp\.(\w+)": r"blk.\1.attn_norm.\2"})
Case("mpt", "MptForCausalLM", d_model=128, n_heads=4, n_layers=2, hidden_size=REMOVED, head_dim=REMOVED,
     num_key_value_heads=REMOVED, keys={"attention.max_alibi_bias": 8.0, "feed_forward_length": 512})
Case("gptj", "GPTJForCausalLM", **GPT, rotary_dim=16, keys={"rope.dimension_count": 16, "feed_forward_length": 512})


# MARK: Mixtures


Case("afmoe", "AfmoeForCausalLM", num_hidden_layers=4, num_dense_layers=1, layer_types=[S, S, S, F], sliding_window=8,
     num_experts=6, num_experts_per_tok=2, moe_intermediate_size=32, num_shared_experts=1, mup_enabled=True, route_scale=1.7,
     keys=merged(windows, {
         "expert_feed_forward_length": 32, "expert_weights_scale": 1.7, "leading_dense_block_count": 1, "expert_shared_count": 1,
         "expert_weights_norm": True, "expert_gating_func": 2}))
SPARSE = dict(n_routed_experts=6, num_experts_per_tok=2, moe_intermediate_size=32, n_shared_experts=1, num_hidden_layers=3,
              first_k_dense_replace=1, norm_topk_prob=True, routed_scaling_factor=1.7)
Case("dots1", "Dots1ForCausalLM", **SPARSE, seed=1, keys=merged(mixture, {"expert_gating_func": 2}))
Case("exaone-moe", "ExaoneMoeForCausalLM", seed=1, **{**SPARSE, "num_hidden_layers": 4}, num_experts=6, num_shared_experts=1,
     layer_types=[S, S, S, F], sliding_window=8, keys=merged(mixture, windows, {"expert_gating_func": 2, "expert_shared_count": 1}))
Case("minimax-m2", "MiniMaxM2ForCausalLM", num_local_experts=6, num_experts_per_tok=2, rope_parameters={
    "rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5},
     keys={"expert_feed_forward_length": 96, "expert_gating_func": 2})
def transposed_experts(name, shape, made):
    """Llama 4's experts are stored [experts, inputs, outputs]."""
    match = re.fullmatch(r".*layers\.(\d+)\.feed_forward\.experts\.(\w+)", name)
    if match and match[2] == "gate_up_proj":
        half = (shape[0], shape[2] // 2, shape[1])
        parts = [made.get(f"blk.{match[1]}.ffn_{part}_exps.weight", half) for part in ["gate", "up"]]
        return np.concatenate(parts, 1).swapaxes(1, 2)
    if match:
        return made.get(f"blk.{match[1]}.ffn_down_exps.weight", (shape[0], shape[2], shape[1])).swapaxes(1, 2)


Case("llama4", "Llama4ForCausalLM", fill=transposed_experts, num_hidden_layers=4, intermediate_size=32, intermediate_size_mlp=96, num_local_experts=4,
     num_experts_per_tok=1, interleave_moe_layer_step=2, attention_chunk_size=8192, floor_scale=8192, attn_scale=0.1,
     attn_temperature_tuning=True, keys={
         "expert_feed_forward_length": 32, "feed_forward_length": 96, "interleave_moe_layer_step": 2,
         "attention.sliding_window": 8192})
Case("cohere2moe", "Cohere2MoeForCausalLM", num_hidden_layers=4, num_experts=6, num_experts_per_tok=2, logit_scale=0.3,
     sliding_window=8, layer_types=[F, S, S, S], like="cohere2", num_shared_experts=1, expert_selection_fn="sigmoid", tie_word_embeddings=True,
     names={r"model\.layers\.(\d+)\.mlp\.shared_experts\.(\w+)_proj.weight": r"blk.\1.ffn_\2_shexp.weight"},
     keys=merged(windows, {"logit_scale": 0.3, "expert_weights_norm": True, "expert_feed_forward_length": 96,
                           "expert_shared_count": 1}))
def dbrx_experts(name, shape, made):
    match = re.fullmatch(r"transformer\.blocks\.(\d+)\.ffn\.experts\.mlp\.(\w+)", name)
    if not match:
        return None
    size = (6, shape[0] // 6, shape[1])
    if match[2] == "w2":
        return made.get(f"blk.{match[1]}.ffn_down_exps.weight", (6, size[2], size[1])).swapaxes(1, 2).reshape(shape)
    part = {"w1": "gate", "v1": "up"}[match[2]]
    return made.get(f"blk.{match[1]}.ffn_{part}_exps.weight", size).reshape(shape)


Case("dbrx", "DbrxForCausalLM", fill=dbrx_experts, d_model=128, n_heads=4, n_layers=2, max_seq_len=2048, hidden_size=REMOVED, head_dim=REMOVED,
     num_key_value_heads=REMOVED, intermediate_size=REMOVED,
     attn_config={"clip_qkv": 1.5, "kv_n_heads": 2, "rope_theta": 10000.0},
     ffn_config={"ffn_hidden_size": 48, "moe_num_experts": 6, "moe_top_k": 2, "hidden_size": 128},
     keys={"attention.head_count_kv": 2, "attention.clamp_kqv": 1.5, "feed_forward_length": 48, "expert_count": 6,
           "expert_used_count": 2, "attention.layer_norm_epsilon": 1e-5})
Case("mellum", "MellumForCausalLM", seed=11, num_hidden_layers=4, layer_types=[S, S, S, F], sliding_window=8, num_local_experts=6,
     num_experts_per_tok=2, moe_intermediate_size=32, like="qwen3moe", rope_parameters={
         F: {"rope_type": "default", "rope_theta": 50000.0}, S: {"rope_type": "default", "rope_theta": 10000.0}},
     keys=merged(windows, mixture, {"rope.freq_base_swa": 10000.0}))
Case("mimo2", "MiMoV2FlashForCausalLM", seed=1, names={r"model\.layers\.(\d+)\.self_attn\.sinks": r"blk.\1.attn_sinks.weight"}, num_hidden_layers=4, layer_types=[F, S, S, F], sliding_window=8, n_routed_experts=6,
     num_experts_per_tok=2, moe_intermediate_size=32, v_head_dim=16, attention_value_scale=0.7, rope_parameters={
         F: {"rope_type": "default", "rope_theta": 50000.0, "partial_rotary_factor": 0.5},
         S: {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}},
     keys=merged(windows, mixture, {"attention.value_length": 16, "attention.value_scale": 0.7, "attention.head_count_kv": [2, 4, 4, 2],
                                    "rope.freq_base_swa": 10000.0, "rope.dimension_count": 16}))
Case("laguna", "LagunaForCausalLM", seed=13, num_hidden_layers=4, layer_types=[F, S, S, S], sliding_window=8, num_experts=6,
     num_experts_per_tok=2, moe_intermediate_size=32, shared_expert_intermediate_size=32, like="qwen3moe", moe_routed_scaling_factor=1.7,
     mlp_layer_types=["dense"] + ["sparse"] * 3, names={
         r"model\.layers\.(\d+)\.self_attn\.g_proj\.weight": r"blk.\1.attn_gate.weight",
         r"model\.layers\.(\d+)\.mlp\.shared_experts\.(\w+)_proj.weight": r"blk.\1.ffn_\2_shexp.weight",
         r"model\.layers\.(\d+)\.mlp\.(gate|up|down)_proj.weight": r"blk.\1.ffn_\2.weight"},
     rope_parameters={F: {"rope_type": "default", "rope_theta": 50000.0, "partial_rotary_factor": 0.5},
                      S: {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 1.0}},
     keys=merged(windows, mixture, {"rope.freq_base_swa": 10000.0, "expert_weights_scale": 1.7, "rope.dimension_count_swa": 32,
                                    "expert_weights_norm": True, "leading_dense_block_count": 1, "expert_gating_func": 2}))

# MARK: Latent attention


def latent_keys(config):
    rank, rope, nope = config.kv_lora_rank, config.qk_rope_head_dim, config.qk_nope_head_dim
    return {
        "attention.head_count_kv": 1, "attention.kv_lora_rank": rank, "attention.q_lora_rank": config.q_lora_rank,
        "attention.key_length": rank + rope, "attention.value_length": rank, "attention.key_length_mla": nope + rope,
        "attention.value_length_mla": config.v_head_dim, "rope.dimension_count": rope}


def latent(nope, value, rank, heads=4):
    """The projection from latent vectors to keys and values; GGUF has it in two parts, the keys' transposed."""
    def fill(name, shape, made):
        if name.endswith("kv_b_proj.weight"):
            layer = name.split("layers.")[1].split(".")[0]
            keys = made.get(f"blk.{layer}.attn_k_b.weight", (heads, rank, nope), 0, 0.6)
            values = made.get(f"blk.{layer}.attn_v_b.weight", (heads, value, rank), 0, 0.6)
            return np.concatenate([keys.swapaxes(1, 2), values], 1).reshape(shape)
    return fill


MLA = dict(q_lora_rank=24, kv_lora_rank=32, qk_rope_head_dim=16, qk_nope_head_dim=32, v_head_dim=24, head_dim=REMOVED,
           num_key_value_heads=4, fill=latent(32, 24, 32))
Case("deepseek2", "DeepseekV3ForCausalLM", **{**SPARSE, "n_routed_experts": 8}, **MLA, n_group=4, topk_group=2,
     keys=merged(mixture, latent_keys, {"expert_gating_func": 2, "expert_group_count": 4, "expert_group_used_count": 2}))
Case("deepseek2-v2", "DeepseekV2ForCausalLM", architecture="deepseek2", **{**SPARSE, "norm_topk_prob": False}, **MLA,
     topk_method="greedy", keys=merged(mixture, latent_keys, {"expert_gating_func": 1}))
Case("deepseek2-yarn", "DeepseekV3ForCausalLM", seed=6, architecture="deepseek2", **SPARSE, **MLA, n_group=1, topk_group=1,
     rope_parameters={"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 512,
                      "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0},
     keys=merged(mixture, latent_keys, {
         "expert_gating_func": 2, "rope.scaling.type": "yarn", "rope.scaling.factor": 4.0,
         "rope.scaling.original_context_length": 512, "rope.scaling.yarn_log_multiplier": 0.1}))
Case("glm4-lite", "Glm4MoeLiteForCausalLM", architecture="deepseek2", **SPARSE, **MLA,
     keys=merged(mixture, latent_keys, {"expert_gating_func": 2}))
Case("mistral4", "Mistral4ForCausalLM", seed=6, **SPARSE, **MLA, rope_parameters={
    "rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 16, "beta_fast": 32.0,
    "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.3,
    "partial_rotary_factor": 16 / 48}, keys=merged(mixture, latent_keys, yarn, {"attention.temperature_scale": 0.3, "attention.temperature_length": 16}))
Case("minicpm3", "MiniCPM3ForCausalLM", **{**MLA, "fill": None}, tie_word_embeddings=True, keys=merged(latent_keys, {
    "attention.head_count_kv": 4, "attention.key_length": 48, "attention.value_length": 24, "attention.key_length_mla": None, "attention.value_length_mla": None}))

# MARK: Recurrent and hybrid


MAMBA = dict(state_size=8, time_step_rank=6, fill=state_space, tie_word_embeddings=True, head_dim=REMOVED,
             intermediate_size=REMOVED, num_attention_heads=REMOVED, num_key_value_heads=REMOVED)
MAMBA_KEYS = {"ssm.conv_kernel": 4, "ssm.inner_size": 128, "ssm.state_size": 8, "ssm.time_step_rank": 6,
              "attention.head_count": 0, "feed_forward_length": 0, "attention.layer_norm_rms_epsilon": 1e-5}
Case("mamba", "MambaForCausalLM", **MAMBA, keys=MAMBA_KEYS)
Case("falcon-mamba", "FalconMambaForCausalLM", architecture="mamba", **MAMBA, mixer_rms_eps=1e-5,
     keys={**MAMBA_KEYS, "ssm.dt_b_c_rms": True})
Case("mamba2", "Mamba2ForCausalLM", num_heads=8, head_dim=16, n_groups=2, state_size=16, fill=grouped_norm(2),
     num_attention_heads=REMOVED, num_key_value_heads=REMOVED, intermediate_size=REMOVED, tie_word_embeddings=True,
     drop=["attention.key_length", "attention.value_length"], keys={
         "ssm.conv_kernel": 4, "ssm.inner_size": 128, "ssm.state_size": 16, "ssm.time_step_rank": 8, "ssm.group_count": 2,
         "attention.head_count": 0, "feed_forward_length": 0, "attention.layer_norm_rms_epsilon": 1e-5})
Case("jamba", "JambaForCausalLM", **WIDE, num_hidden_layers=4, attn_layer_period=4, attn_layer_offset=2, expert_layer_period=2,
     expert_layer_offset=1, num_experts=4, num_experts_per_tok=2, mamba_d_state=8, mamba_d_conv=4, mamba_expand=2, mamba_dt_rank=6,
     use_mamba_kernels=False, fill=state_space, keys={
         "ssm.conv_kernel": 4, "ssm.inner_size": 256, "ssm.state_size": 8, "ssm.time_step_rank": 6,
         "attention.head_count_kv": [0, 0, 2, 0]})
Case("falcon-h1", "FalconH1ForCausalLM", mamba_d_ssm=96, mamba_n_heads=6, mamba_d_head=16, mamba_n_groups=2, mamba_d_state=16,
     mamba_rms_norm=True, mamba_norm_before_gate=False, fill=grouped_norm(2), keys={
         "ssm.conv_kernel": 4, "ssm.inner_size": 96, "ssm.state_size": 16, "ssm.time_step_rank": 6, "ssm.group_count": 2})


def short_convolution(name, shape, made):
    match = re.fullmatch(r"model\.layers\.(\d+)\.conv\.conv\.weight", name)
    return made.get(f"blk.{match[1]}.shortconv.conv.weight", (shape[0], shape[2]), 0, 0.8).reshape(shape) if match else None


LFM = dict(**WIDE, num_hidden_layers=4, tie_word_embeddings=True, fill=short_convolution,
           layer_types=["conv", "conv", "full_attention", "conv"])
LFM_KEYS = {"attention.head_count_kv": [0, 0, 2, 0], "shortconv.l_cache": 3, "attention.layer_norm_rms_epsilon": 1e-5}
Case("lfm2", "Lfm2ForCausalLM", **LFM, block_auto_adjust_ff_dim=False, keys=LFM_KEYS)
Case("lfm2moe", "Lfm2MoeForCausalLM", **LFM, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=32, num_dense_layers=1,
     keys={**LFM_KEYS, "expert_feed_forward_length": 32, "leading_dense_block_count": 1, "expert_gating_func": 2})


def granite_hybrid(name, shape, made):
    match = re.fullmatch(r"model\.layers\.(\d+)\.shared_mlp\.(in|out)put_linear\.weight", name)
    if match and match[2] == "in":
        half = (shape[0] // 2, shape[1])
        suffix = "_shexp" if HAS_EXPERTS[0] else ""
        return np.concatenate([made.get(f"blk.{match[1]}.ffn_{part}{suffix}.weight", half) for part in ["gate", "up"]])
    if match:
        return made.get(f"blk.{match[1]}.ffn_down{'_shexp' if HAS_EXPERTS[0] else ''}.weight", shape)
    return grouped_norm(2)(name, shape, made)


HAS_EXPERTS = [True]
Case("granitehybrid", "GraniteMoeHybridForCausalLM", **WIDE, pairs=True, num_hidden_layers=4, num_local_experts=6,
     num_experts_per_tok=2, intermediate_size=48, shared_intermediate_size=32, layer_types=["linear_attention", "linear_attention", "full_attention", "linear_attention"],
     mamba_n_heads=8, mamba_d_head=32, mamba_n_groups=2, mamba_d_state=16, mamba_expand=2, attention_multiplier=0.11,
     embedding_multiplier=3.0, residual_multiplier=0.4, logits_scaling=2.0, position_embedding_type="nope", fill=granite_hybrid, keys={
         "attention.head_count_kv": [0, 0, 2, 0], "ssm.conv_kernel": 4, "ssm.inner_size": 256, "ssm.state_size": 16,
         "ssm.time_step_rank": 8, "ssm.group_count": 2, "attention.scale": 0.11, "embedding_scale": 3.0, "residual_scale": 0.4,
         "logit_scale": 2.0, "rope.scaling.finetuned": False, "expert_shared_feed_forward_length": 32})
NEMOTRON = dict(num_hidden_layers=REMOVED, mamba_num_heads=8, mamba_head_dim=16, n_groups=2, ssm_state_size=16, conv_kernel=4,
                mlp_hidden_act="relu2", use_mamba_kernels=False, names={
                    r"model\.layers\.(\d+)\.norm\.weight": r"blk.\1.attn_norm.weight",
                    r"model\.layers\.(\d+)\.mixer\.([qkv])_proj\.weight": r"blk.\1.attn_\2.weight",
                    r"model\.layers\.(\d+)\.mixer\.o_proj\.weight": r"blk.\1.attn_output.weight",
                    r"model\.layers\.(\d+)\.mixer\.(up|down)_proj\.weight": r"blk.\1.ffn_\2.weight",
                    r"model\.layers\.(\d+)\.mixer\.shared_experts\.(up|down)_proj\.weight": r"blk.\1.ffn_\2_shexp.weight",
                    r"model\.layers\.(\d+)\.mixer\.experts\.(up|down)_proj": r"blk.\1.ffn_\2_exps.weight",
                    r"model\.layers\.(\d+)\.mixer\.gate\.weight": r"blk.\1.ffn_gate_inp.weight"})
NEMOTRON_KEYS = {"ssm.conv_kernel": 4, "ssm.inner_size": 128, "ssm.state_size": 16, "ssm.time_step_rank": 8, "ssm.group_count": 2,
                 "attention.layer_norm_rms_epsilon": 1e-5}
Case("nemotron_h", "NemotronHForCausalLM", **NEMOTRON, layers_block_type=["mamba", "mlp", "attention", "mlp"],
     fill=grouped_norm(2), drop=["expert_count", "expert_used_count"], keys={**NEMOTRON_KEYS, "attention.head_count_kv": [0, 0, 2, 0], "feed_forward_length": [0, 96, 0, 96]})
Case("nemotron_h_moe", "NemotronHForCausalLM", **NEMOTRON, layers_block_type=["mamba", "moe", "attention", "moe"],
     n_routed_experts=6, num_experts_per_tok=2, moe_intermediate_size=32, moe_shared_expert_intermediate_size=48,
     routed_scaling_factor=1.7, fill=grouped_norm(2), keys=merged(mixture, {
         **NEMOTRON_KEYS, "attention.head_count_kv": [0, 0, 2, 0], "feed_forward_length": [0, 32, 0, 32],
         "expert_gating_func": 2, "expert_shared_feed_forward_length": 48}))


def delta_net(name, shape, made):
    """Qwen3-Next groups the projections by key head; GGUF has all queries, then keys, values and z apart."""
    layer, part = part_of_layer(name, r"linear_attn\.(\w+)(?:\.weight)?")
    if part is None:
        return None
    if part == "in_proj_qkvz":
        keys, values, width = 2 * 16, 4 * 16, shape[1]
        qkv = made.get(layer + "attn_qkv.weight", (2 * keys + values, width))
        z = made.get(layer + "attn_gate.weight", (values, width))
        query, key, value = np.split(qkv, [keys, 2 * keys])
        return np.concatenate([part.reshape(2, -1, width) for part in [query, key, value, z]], 1).reshape(shape)
    if part == "in_proj_ba":
        return made.get(layer + "ssm_ba.weight", shape)
    if part == "norm":
        return made.get(layer + "ssm_norm.weight", shape)
    if part == "A_log":
        return np.log(-made.get(layer + "ssm_a", shape, -1, 0.7))
    return state_space(name, shape, made)


Case("qwen3next", "Qwen3NextForCausalLM", shift=1, num_hidden_layers=4, linear_conv_kernel_dim=4, linear_key_head_dim=16,
     linear_value_head_dim=16, linear_num_key_heads=2, linear_num_value_heads=4, num_experts=6, num_experts_per_tok=2,
     moe_intermediate_size=32, shared_expert_intermediate_size=48, partial_rotary_factor=0.5, fill=delta_net,
     keys=merged(mixture, {
         "expert_shared_feed_forward_length": 48, "ssm.conv_kernel": 4, "ssm.inner_size": 64, "ssm.state_size": 16,
         "ssm.time_step_rank": 4, "ssm.group_count": 2}))


def kimi(name, shape, made):
    layer, part = part_of_layer(name, r"self_attn\.(.*)")
    if part is None:
        return None
    if part == "conv1d.weight":
        size = (shape[0] // 3, shape[2])
        return np.concatenate([made.get(layer + f"ssm_conv1d_{kind}.weight", size, 0, 0.8) for kind in "qkv"]).reshape(shape)
    if part == "forget_gate.A_log":
        return np.log(-made.get(layer + "ssm_a", (shape[2], 1), -1, 0.7)).reshape(shape)
    other = {"forget_gate.dt_bias": "ssm_dt.bias", "forget_gate.f_a_proj.weight": "ssm_f_a.weight", "b_proj.weight": "ssm_beta.weight",
             "forget_gate.f_b_proj.weight": "ssm_f_b.weight", "g_a_proj.weight": "ssm_g_a.weight", "g_b_proj.weight": "ssm_g_b.weight",
             "o_norm.weight": "ssm_norm.weight"}.get(part)
    return made.get(layer + other, shape) if other else latent(32, 24, 32)(name, shape, made)


Case("kimi-linear", "KimiLinearForCausalLM", **{**MLA, "q_lora_rank": None, "fill": kimi}, num_hidden_layers=4,
     layer_types=["linear_attention"] * 3 + ["full_attention"], linear_head_dim=16, linear_num_heads=4, num_local_experts=6,
     num_experts_per_tok=2, moe_intermediate_size=32, n_shared_experts=1, routed_scaling_factor=1.7,
     keys=merged(mixture, latent_keys, {
         "attention.head_count_kv": [0, 0, 0, 1], "kda.head_dim": 16, "ssm.conv_kernel": 4, "expert_gating_func": 2,
         "leading_dense_block_count": 1}))


def lightning(name, shape, made):
    if name.split(".")[-1] in ("slope_rate", "query_decay", "key_decay", "diagonal_decay"):
        return IGNORED
    match = re.fullmatch(r"model\.layers\.(\d+)\.self_attn\.(qkv_proj|output_gate|norm|out_proj)\.weight", name)
    if match:
        other = {"qkv_proj": "attn_qkv", "output_gate": "attn_gate", "norm": "attn_norm_2", "out_proj": "attn_output"}[match[2]]
        return made.get(f"blk.{match[1]}.{other}.weight", shape)


Case("minimax-01", "MiniMaxForCausalLM", num_hidden_layers=4, num_local_experts=4, like="llama", fill=lightning,
     layer_types=["linear_attention"] * 3 + ["full_attention"], keys={
         "attention.recurrent_layers": [True] * 3 + [False], "residual_scale": 3.5, "expert_feed_forward_length": 96},
     full_attn_alpha_factor=3.5, linear_attn_alpha_factor=3.5, mlp_alpha_factor=3.5)
def alternating(name, shape, made):
    """AltUp's projections are one tensor in GGUF."""
    match = re.fullmatch(r"model\.altup_(projections|unembed_projections)\.(\d)\.weight", name)
    if match:
        other = {"projections": "altup_proj", "unembed_projections": "altup_unembd_proj"}[match[1]]
        return made.get(other + ".weight", (3, *shape))[int(match[2])]


def gemma3n_keys(config):
    return {
        **windows(config), "rope.freq_base_swa": 10000.0, "attention.shared_kv_layers": config.num_kv_shared_layers,
        "embedding_length_per_layer_input": config.hidden_size_per_layer_input, "feed_forward_length": 96,
        "altup.num_inputs": 4, "altup.active_idx": 0, "final_logit_softcapping": 30.0,
        "activation_sparsity_scale": [statistics.NormalDist().inv_cdf(part) if part else 0.0 for part in config.activation_sparsity_pattern]}


Case("gemma3n", "Gemma3nForCausalLM", fill=alternating, ranges=[("attn_q_norm", (0.5, 0.2)), ("attn_k_norm", (0.5, 0.2)), ("altup_router.", (0, 3))], names={
    r"model\.layers\.(\d+)\.altup\.correct_output_scale": r"blk.\1.altup_correct_scale.weight"}, keys=gemma3n_keys, num_hidden_layers=6, layer_types=[S, S, F, S, S, F], sliding_window=8,
     tie_word_embeddings=True, num_kv_shared_layers=2, hidden_size_per_layer_input=16, vocab_size_per_layer_input=VOCABULARY,
     laurel_rank=8, activation_sparsity_pattern=[0.9, 0.9, 0.0, 0.0, 0.0, 0.0], intermediate_size=[96] * 6)

# MARK: Others

Case("starcoder", "GPTBigCodeForCausalLM", **GPT, **NO_MLP, n_positions=2048, keys={
    "attention.head_count_kv": 1, "feed_forward_length": 512})
Case("chatglm", "GlmForCausalLM", partial_rotary_factor=0.5)
Case("bitnet", "BitNetForCausalLM", hidden_act="silu", **WIDE, tie_word_embeddings=True, names={
    r"model\.layers\.(\d+)\.(?:self_attn|mlp)\.(\w+_sub_norm)\.weight": r"blk.\1.\2.weight"})
Case("jais2", "Jais2ForCausalLM", **WIDE)

# MARK: Text parts of models with images

SECTIONS = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [6, 5, 5]}
SECTION_KEYS = {"rope.dimension_sections": [6, 5, 5, 0]}
Case("qwen2vl", "Qwen2VLTextModel", **WIDE, rope_parameters=SECTIONS, keys=SECTION_KEYS)
Case("qwen3vl", "Qwen3VLTextModel", rope_parameters={**SECTIONS, "mrope_interleaved": True}, keys=SECTION_KEYS)
Case("qwen3vlmoe", "Qwen3VLMoeTextModel", rope_parameters={**SECTIONS, "mrope_interleaved": True}, num_experts=6,
     num_local_experts=6, num_experts_per_tok=2, moe_intermediate_size=32, keys=merged(mixture, SECTION_KEYS))
Case("hunyuan_vl", "HunYuanVLTextModel", rope_parameters=SECTIONS, keys=SECTION_KEYS)
Case("paddleocr", "PaddleOCRTextModel", rope_parameters=SECTIONS, keys=SECTION_KEYS)


def muse(name, shape, made):
    """GGUF has the constant norms of queries and keys as tensors; norm weights are around 0 in transformers."""
    match = re.fullmatch(r"model\.layers\.(\d+)\.(.*)", name)
    if match and match[2] == "self_attn.q_proj.weight":
        made.get(f"blk.{match[1]}.attn_q_norm.weight", (32,), 1, 0)
        made.get(f"blk.{match[1]}.attn_k_norm.weight", (32,), 1, 0)
    if match and "layernorm" in match[2]:
        other = {"input": "attn_norm", "post_attention": "post_attention_norm", "pre_feedforward": "ffn_norm",
                 "post_feedforward": "post_ffw_norm"}[match[2].split("_layernorm")[0]]
        return made.get(f"blk.{match[1]}.{other}.weight", shape) - 1


Case("muse-glimmer", "MuseGlimmerTextModel", like="llama", fill=muse, pairs=True, num_hidden_layers=4, layer_types=[S, S, S, F], sliding_window=8,
     layer_rope_theta=[10000.0] * 3 + [0.0], qk_scale_factor=1.0, output_multiplier=0.5, final_logit_softcapping=20.0, post_norm_eps=1e-8,
     keys=merged(windows, {"logit_scale": 0.5, "final_logit_softcapping": 20.0}))
Case("step35", "Step3p7TextModel", seed=8, num_hidden_layers=4, layer_types=[F, S, S, S], mlp_layer_types=["dense"] + ["sparse"] * 3,
     sliding_window=8, n_routed_experts=6, num_experts_per_tok=2, moe_intermediate_size=32, share_expert_dim=32, shift=1,
     query_pre_attn_scalar=32, moe_router_scaling_factor=1.7, rope_parameters={
         F: {"rope_type": "default", "rope_theta": 50000.0, "partial_rotary_factor": 0.5},
         S: {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 1.0}},
     keys=merged(windows, mixture, {"rope.freq_base_swa": 10000.0, "rope.dimension_count": 32, "rope.dimension_count_swa": 32,
                                    "leading_dense_block_count": 1, "expert_gating_func": 2, "expert_weights_norm": True,
                                    "expert_weights_scale": 1.7}))

# MARK: More

Case("hy_v3", "HYV3ForCausalLM", seed=7, like="qwen3moe", num_experts=6, num_experts_per_tok=2, moe_intermediate_size=32,
     router_scaling_factor=1.7, num_shared_experts=1, num_hidden_layers=3, keys=merged(mixture, {
         "expert_gating_func": 2, "expert_weights_scale": 1.7, "expert_weights_norm": True, "leading_dense_block_count": 1,
         "expert_shared_count": 1}))
Case("granite_swa", "GraniteSWAForCausalLM", like="granite", **WIDE, num_hidden_layers=4, layer_types=[S, S, S, F], sliding_window=8,
     pairs=True, attention_multiplier=0.11, embedding_multiplier=3.0, residual_multiplier=0.4, logits_scaling=2.0,
     keys=merged(windows, {"attention.scale": 0.11, "embedding_scale": 3.0, "residual_scale": 0.4, "logit_scale": 2.0}))
INDEXED = dict(index_topk=2048, index_head_dim=32, index_n_heads=2)


def without_indexer(fill):
    """The indexer selects all of so few tokens, so its weights do not matter."""
    def inner(name, shape, made):
        return IGNORED if ".indexer." in name else fill(name, shape, made)
    return inner


INDEXED_MLA = {**MLA, **INDEXED, "fill": without_indexer(latent(32, 24, 32))}
INDEX_KEYS = {"expert_gating_func": 2, "attention.indexer.top_k": 2048, "attention.indexer.head_count": 2,
              "attention.indexer.key_length": 32}
Case("glm-dsa", "GlmMoeDsaForCausalLM", **SPARSE, **INDEXED_MLA, keys=merged(mixture, latent_keys, INDEX_KEYS))
Case("deepseek32", "DeepseekV32ForCausalLM", like="deepseek2", **SPARSE, **INDEXED_MLA, n_group=1, topk_group=1,
     keys=merged(mixture, latent_keys, INDEX_KEYS))


def stacks(name, shape, made):
    """GGUF has the layers of the low stack first."""
    if name == "model.z_L_init":
        return made.get("hrm.z_l_init", shape, 0, 0.5)
    match = re.fullmatch(r"model\.([LH])_module\.layers\.(\d)\.\w+\.(\w+)_proj\.weight", name)
    if match:
        other = {"q": "attn_q", "k": "attn_k", "v": "attn_v", "o": "attn_output"}.get(match[3])
        if match[3] == "gate":
            other = "attn_gate" if "self_attn" in name else "ffn_gate"
        return made.get(f"blk.{int(match[2]) + 2 * (match[1] == 'H')}.{other or 'ffn_' + match[3]}.weight", shape)


Case("hrm_text", "HrmTextForCausalLM", like="llama", fill=stacks, num_key_value_heads=4, num_layers_per_stack=2, H_cycles=2, L_cycles=2,
     num_hidden_layers=12, prefix_lm=False, embedding_scale=3.0, keys={
         "hrm.layers_per_stack": 2, "hrm.h_cycles": 2, "hrm.l_cycles": 2, "embedding_scale": 3.0})


def bailing(name, shape, made):
    layer, part = part_of_layer(name, r"self_attn\.(.*)")
    if part is None:
        return None
    if part == "conv1d.weight":
        size = (shape[0] // 3, shape[2])
        return np.concatenate([made.get(layer + f"ssm_conv1d_{kind}.weight", size, 0, 0.8) for kind in "qkv"]).reshape(shape)
    if part == "forget_gate.A_log":
        return np.log(made.get(layer + "ssm_a", (shape[0], 1), 1, 0.7)).reshape(shape)
    if part == "g_proj.weight" and shape[0] == 4:
        return made.get(layer + "attn_gate.weight", shape)
    other = {"forget_gate.dt_bias": "ssm_dt.bias", "forget_gate.f_proj.weight": "ssm_f_a.weight", "b_proj.weight": "ssm_beta.weight",
             "g_proj.weight": "ssm_g_a.weight", "o_norm.weight": "ssm_norm.weight"}.get(part)
    return made.get(layer + other, shape) if other else latent(32, 24, 32)(name, shape, made)


Case("bailingmoe3", "BailingHybridForCausalLM", like="deepseek2", **{**MLA, "fill": bailing, "q_lora_rank": None, "head_dim": 16}, num_hidden_layers=4,
     layer_group_size=4, num_experts=8, num_experts_per_token=2, moe_intermediate_size=32, num_shared_experts=1, first_k_dense_replace=1,
     routed_scaling_factor=1.7, num_expert_group=4, topk_group=2, kda_lower_bound=-5.0, keys=merged(mixture, latent_keys, {
         "attention.head_count_kv": [0, 0, 0, 1], "kda.head_dim": 16, "ssm.conv_kernel": 4, "expert_gating_func": 2,
         "leading_dense_block_count": 1, "kda.gate_lower_bound": -5.0, "kda.safe_gate": True, "expert_group_count": 4,
         "expert_group_used_count": 2}))


def fused_shared(name, shape, made):
    match = re.fullmatch(r"model\.layers\.(\d+)\.mlp\.(shared_experts\.)?gate_up_proj\.weight", name)
    if match:
        half, suffix = (shape[0] // 2, shape[1]), "_shexp" if match[2] else ""
        return np.concatenate([made.get(f"blk.{match[1]}.ffn_{part}{suffix}.weight", half) for part in ["gate", "up"]])


Case("minimax-m3", "MiniMaxM3VLForCausalLM", seed=7, like="qwen3moe", num_hidden_layers=3, num_local_experts=6, num_experts_per_tok=2, intermediate_size=32,
     dense_intermediate_size=96, shared_intermediate_size=48, rotary_dim=16, mlp_layer_types=["dense", "sparse", "sparse"], shift=1,
     fill=fused_shared, routed_scaling_factor=1.7, rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5},
     keys={"expert_feed_forward_length": 32, "feed_forward_length": 96, "expert_gating_func": 2, "expert_weights_norm": True,
           "expert_weights_scale": 1.7, "leading_dense_block_count": 1, "expert_shared_feed_forward_length": 48,
           "attention.indexer.block_size": 128, "attention.indexer.top_k": 16})


def rope_tail(values, heads, rope):
    """Rotated pairs of the last `rope` rows of each head: adjacent in GGUF, halves in transformers."""
    shape = values.shape
    parts = values.reshape(heads, shape[0] // heads, -1).copy()
    tail = parts[:, -rope:]
    parts[:, -rope:] = tail.reshape(heads, rope // 2, 2, -1).swapaxes(1, 2).reshape(tail.shape)
    return parts.reshape(shape)


def hunyuan4(name, shape, made):
    match = re.fullmatch(r"model\.(?:layers\.(\d+)\.)?(?:(attn|ffn)_hc|(?:hc_head|hyper_head|hc))\.(?:hc_)?(fn|base|scale)", name)
    if match:
        prefix = f"blk.{match[1]}.hc_{match[2]}" if match[1] else "output_hc"
        return made.get(f"{prefix}_{match[3]}.weight", shape, 0.5 if match[3] == "scale" else 0, 0.3)
    match = re.fullmatch(r"model\.layers\.(\d+)\.self_attn\.(q_b|kv_a)_proj(?:_with_mqa)?\.weight", name)
    if match:
        other = {"q_b": "attn_q_b", "kv_a": "attn_kv_a_mqa"}[match[2]]
        return rope_tail(made.get(f"blk.{match[1]}.{other}.weight", shape), 4 if match[2] == "q_b" else 1, 16)
    return latent(32, 24, 32)(name, shape, made)


Case("hy_v4", "HYV4ForCausalLM", seed=2, like="deepseek2", **SPARSE, **{**INDEXED_MLA, "fill": without_indexer(hunyuan4), "head_dim": 16}, hc_mult=3, hc_magnitude=1.5,
     hc_eps=0.01, swiglu_limit=1.5, n_group=1, topk_group=1, keys=merged(mixture, latent_keys, INDEX_KEYS, {
         "hyper_connection.count": 3, "hyper_connection.magnitude": 1.5, "hyper_connection.epsilon": 0.01,
         "swiglu_clamp_exp": [1.5] * 3}))


def dots3(name, shape, made):
    layer, part = part_of_layer(name, r"self_attn\.(.*)")
    if part is None:
        return None
    is_windowed = layer in ("blk.1.", "blk.2.")
    if part == "q_a_layernorm.weight":  # GGUF's norms have the factors of the latent vectors.
        return made.get(layer + "attn_q_a_norm.weight", shape) / (64 / shape[0]) ** 0.5
    if part == "kv_a_layernorm.weight":
        return made.get(layer + "attn_kv_a_norm.weight", shape) / (64 / shape[0]) ** 0.5
    if part == "k_rope_only_layernorm.weight":
        return made.get(layer + "attn_k_norm.weight", shape)
    if part == "g_proj.weight":
        return made.get(layer + "attn_gate.weight", shape)
    return latent(*((24, 16, 48, 2) if is_windowed else (32, 24, 32, 4)))(name, shape, made)


SWA = dict(num_attention_heads=2, num_key_value_heads=2, q_lora_rank=24, kv_lora_rank=48, head_dim=40, qk_nope_head_dim=24, v_head_dim=16,
           qk_rope_head_dim=16)
Case("dots3note", "Dots3NoteForCausalLM", like="deepseek2", seed=1, ranges=[("attn_output", (0, 0.04)), ("ffn_gate_inp", (0, 0.5)), ("ffn_down_exps", (0, 0.1))], **{**SPARSE, "num_hidden_layers": 4, "norm_topk_prob": True, "first_k_dense_replace": REMOVED},
     **{**INDEXED_MLA, "fill": without_indexer(dots3), "head_dim": 48}, sliding_window=8,
     layer_types=["indexed_attention", S, S, "indexed_attention"], mlp_layer_types=["dense", "sparse", "sparse", "sparse"],
     shared_experts_intermediate_size=32, n_group=1, topk_group=1, per_layer_config={1: SWA, 2: SWA}, rope_parameters={
         S: {"rope_type": "default", "rope_theta": 10000.0}, "indexed_attention": {"rope_type": "default", "rope_theta": 50000.0}},
     keys=lambda c: {
         **mixture(c), **INDEX_KEYS, "attention.head_count": [4, 2, 2, 4], "attention.head_count_kv": 1, "attention.kv_lora_rank": 32,
         "attention.kv_lora_rank_swa": 48, "attention.q_lora_rank": 24, "attention.key_length": 48, "attention.value_length": 32,
         "attention.key_length_mla": 48, "attention.value_length_mla": 24, "attention.key_length_mla_swa": 40,
         "attention.value_length_mla_swa": 16, "attention.key_length_swa": 64, "attention.value_length_swa": 48,
         "rope.dimension_count": 16, "rope.freq_base": 50000.0, "rope.freq_base_swa": 10000.0, "attention.sliding_window": 8,
         "attention.sliding_window_pattern": [False, True, True, False], "leading_dense_block_count": 1})


def glm5(name, shape, made):
    match = re.fullmatch(r"model\.layers\.(\d+)\.self_attn\.forget_gate\.A_log", name)
    if match:
        return np.log(-made.get(f"blk.{match[1]}.ssm_a", (shape[0], 1), -1, 0.7)).reshape(shape)
    match = re.fullmatch(r"model\.layers\.(\d+)\.(attn|ffn)_hc\.(fn|base|scale)", name)
    if match:
        return made.get(f"blk.{match[1]}.hc_{match[2]}_{match[3]}.weight", shape, 0.5 if match[3] == "scale" else 0, 0.3)
    return kimi(name, shape, made)


Case("glm5-next", "Glm5NextTextModel", like="deepseek2", **{**SPARSE, "first_k_dense_replace": REMOVED, "num_hidden_layers": 4},
     mlp_layer_types=["dense", "sparse", "sparse", "sparse"], **{**INDEXED_MLA, "fill": without_indexer(glm5), "qk_rope_head_dim": 0},
     layer_types=["linear_attention", "linear_attention", "linear_attention", "full_attention"], indexer_types=["full"] * 4,
     linear_head_dim=16, linear_num_heads=4, hc_mult=3, hc_eps=0.01, hc_sinkhorn_iters=3, swiglu_limit=1.5, index_kpool=1,
     keys=merged(mixture, latent_keys, INDEX_KEYS, {
         "attention.head_count_kv": [0, 0, 0, 1], "kda.head_dim": 16, "ssm.conv_kernel": 4, "kda.gate_lower_bound": -5.0,
         "leading_dense_block_count": 1, "hyper_connection.count": 3, "hyper_connection.epsilon": 0.01,
         "hyper_connection.sinkhorn_iterations": 3, "swiglu_clamp_exp": [1.5] * 4, "rope.dimension_count": None}))
Case("deepseek2-ocr", "DeepseekOcr2TextModel", **{**SPARSE, "norm_topk_prob": REMOVED, "first_k_dense_replace": REMOVED},
     mlp_layer_types=["dense", "sparse", "sparse"], like="deepseek", topk_method="greedy", keys=merged(mixture, {
         "leading_dense_block_count": 1, "expert_weights_norm": False}))


def qwen4(name, shape, made):
    """GGUF has the first value head of every key head, then the second ones; transformers has those of a key head together."""
    match = re.fullmatch(r"model\.(?:layers\.(\d+)\.(attn|mlp)_hyper_connection|hyper_connection_mixer)\.(\w+?)(?:\.weight)?", name)
    if match and match[3] in QWEN4_STREAMS:
        prefix = f"blk.{match[1]}.hc_{'ffn' if match[2] == 'mlp' else 'attn'}" if match[1] else "output_hc"
        shift = 1 if match[3] == "hc_norm" else 0
        return made.get(f"{prefix}_{QWEN4_STREAMS[match[3]]}.weight", shape) - shift
    layer, part = part_of_layer(name, r"linear_attn\.(\w+?)(?:\.weight)?")
    if part is None:
        return None

    def heads(values, width):
        return values.reshape(2, 2, width, -1).swapaxes(0, 1).reshape(values.shape)

    if part in ("in_proj_qkv", "conv1d"):
        values = made.get(layer + "attn_qkv.weight", shape) if part != "conv1d" else made.get(
            layer + "ssm_conv1d.weight", (shape[0], shape[2]), 0, 0.8)
        return np.concatenate([values[:64], heads(values[64:], 16)]).reshape(shape)
    if part == "in_proj_z":
        return heads(made.get(layer + "attn_gate.weight", shape), 16)
    if part == "out_proj":
        return heads(made.get(layer + "ssm_out.weight", shape).T, 16).T
    if part == "A_log":
        return np.log(-heads(made.get(layer + "ssm_a", shape, -1, 0.7), 1))
    if part == "norm":
        return made.get(layer + "ssm_norm.weight", shape)
    other = {"in_proj_b": "ssm_beta.weight", "in_proj_a": "ssm_alpha.weight", "dt_bias": "ssm_dt.bias"}[part]
    return heads(made.get(layer + other, shape), 1)


QWEN4_STREAMS = {"hc_norm": "norm", "input_mix_weight_down": "down", "input_mix_weight_up": "up", "block_inject_weight": "inject"}
Case("qwen4exp", "Qwen4ExpForCausalLM", like="qwen3next", fill=without_indexer(qwen4), shift=1, num_hidden_layers=4,
     layer_types=["linear_attention"] * 3 + ["full_attention"], linear_conv_kernel_dim=4, linear_key_head_dim=16,
     linear_value_head_dim=16, linear_num_key_heads=2, linear_num_value_heads=4, num_experts=6, num_experts_per_tok=2,
     moe_intermediate_size=32, shared_expert_intermediate_size=48, hc_count=3, hc_lowrank=8, output_gate_type="sigmoid", ple_layer_ids=[], indexer_n_heads=2,
     indexer_kv_heads=1, indexer_head_dim=32, indexer_budget=2048, indexer_compress_ratio=4,
     rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5},
     note="without the layer of n-gram embeddings", keys=merged(mixture, {
         "expert_shared_feed_forward_length": 48, "ssm.conv_kernel": 4, "ssm.inner_size": 64, "ssm.state_size": 16,
         "ssm.time_step_rank": 4, "ssm.group_count": 2, "attention.recurrent_layers": [True] * 3 + [False],
         "hyper_connection.count": 3, "hyper_connection.low_rank": 8}))


def deepseek4(name, shape, made):
    match = re.fullmatch(r"model\.(?:layers\.(\d+)\.)?(?:(attn|ffn)_hc|hc_head)\.(?:hc_)?(fn|base|scale)", name)
    if match:
        prefix = f"blk.{match[1]}.hc_{match[2]}" if match[1] else "output_hc"
        return made.get(f"{prefix}_{match[3]}.weight", shape, 0.5 if match[3] == "scale" else 0, 0.3)
    match = re.fullmatch(r"model\.layers\.(\d+)\.self_attn\.(compressor\.)?(\w+?)(?:\.weight)?", name)
    if not match:
        return None
    if match[2]:
        other = {"position_bias": "ape", "kv_proj": "kv", "gate_proj": "gate", "kv_norm": "norm"}[match[3]]
        return made.get(f"blk.{match[1]}.attn_compressor_{other}.weight", shape)
    other = {"q_a_proj": "attn_q_a", "q_a_norm": "attn_q_a_norm", "q_b_proj": "attn_q_b", "kv_proj": "attn_kv", "kv_norm": "attn_kv_a_norm",
             "o_a_proj": "attn_output_a", "o_b_proj": "attn_output_b", "sinks": "attn_sinks"}[match[3]]
    return made.get(f"blk.{match[1]}.{other}.weight", shape)


Case("deepseek4", "DeepseekV4ForCausalLM", seed=9, like="deepseek2", fill=without_indexer(deepseek4), num_hidden_layers=3, head_dim=32,
     num_key_value_heads=1, q_lora_rank=24, o_groups=2, o_lora_rank=16, sliding_window=8, partial_rotary_factor=0.5,
     layer_types=["sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"], mlp_layer_types=["moe"] * 3,
     n_routed_experts=6, num_local_experts=6, num_experts_per_tok=2, moe_intermediate_size=32, routed_scaling_factor=1.7, swiglu_limit=1.5,
     hc_mult=3, hc_sinkhorn_iters=3, hc_eps=0.01, rope_theta=10000.0, compress_rope_theta=50000.0, **INDEXED, keys=lambda c: {
         **mixture(c), "attention.head_count_kv": 1, "attention.q_lora_rank": 24, "attention.output_group_count": 2,
         "attention.output_lora_rank": 16, "attention.compress_ratios": [0, 4, 128], "attention.compress_rope_freq_base": 50000.0,
         "rope.freq_base": 10000.0, "rope.dimension_count": 16, "attention.sliding_window": 8, "attention.indexer.top_k": 2048,
         "hyper_connection.count": 3, "hyper_connection.epsilon": 0.01, "hyper_connection.sinkhorn_iterations": 3,
         "expert_gating_func": 4, "expert_weights_norm": True, "expert_weights_scale": 1.7, "swiglu_clamp_exp": [1.5] * 3,
         "feed_forward_length": 32})

# MARK: Families that transformers has under another name


def fused(name, shape, made):
    """Query, key and value in one tensor."""
    match = re.fullmatch(r"model\.layers\.(\d+)\.self_attn\.([qkv])_proj\.(weight|bias)", name)
    if match:
        rows = [QKV[0], QKV[1], QKV[1]]
        both = made.get(f"blk.{match[1]}.attn_qkv.{match[3]}", (sum(rows), *shape[1:]))
        return np.split(both, [rows[0], rows[0] + rows[1]])["qkv".index(match[2])]


QKV = [128, 64]
Case("xverse", "LlamaForCausalLM", pairs=True)
Case("internlm2", "LlamaForCausalLM", pairs=True, attention_bias=True)
Case("pangu-embedded", "LlamaForCausalLM", attention_bias=True, like="llama")
Case("exaone", "LlamaForCausalLM", like="llama", rope_parameters={"rope_type": "default", "rope_theta": 50000.0})
Case("baichuan", "LlamaForCausalLM", pairs=True, num_hidden_layers=32, like="llama")
Case("deci", "LlamaForCausalLM", pairs=True, like="llama")
Case("cogvlm", "LlamaForCausalLM", fill=fused, like="llama")
Case("qwen", "Qwen2ForCausalLM", num_key_value_heads=4, hidden_size=128, head_dim=REMOVED, fill=lambda *a: fused_of(128, 128, *a),
     like="llama", keys={"feed_forward_length": 192})
Case("minicpm", "GraniteForCausalLM", pairs=True, **WIDE, embedding_multiplier=12.0, residual_multiplier=1.4 / 2**0.5, like="llama",
     attention_multiplier=32**-0.5, logits_scaling=0.5, keys={"embedding_scale": 12.0, "residual_scale": 1.4 / 2**0.5, "logit_scale": 0.5})


def fused_of(queries, keys, name, shape, made):
    QKV[:] = queries, keys
    try:
        return fused(name, shape, made)
    finally:
        QKV[:] = 128, 64


# MARK: Encoders and rerankers


def mean(output, made):
    return output.last_hidden_state[0].mean(0).numpy()


def first(output, made):
    return output.last_hidden_state[0, 0].numpy()


def last(output, made):
    return output.last_hidden_state[0, -1].numpy()


def scores(output, made):
    return output.logits[0].numpy()


BERT = dict(head_dim=REMOVED, num_key_value_heads=REMOVED, num_hidden_layers=3)
Case("bert", "BertModel", kind="folder", **BERT, vectors=mean)
Case("bert-rerank", "BertForSequenceClassification", architecture="bert", kind="folder", **BERT, num_labels=1, vectors=scores)
Case("roberta", "RobertaModel", architecture="bert", kind="folder", **BERT, type_vocab_size=1, vectors=mean)
Case("roberta-rerank", "XLMRobertaForSequenceClassification", architecture="bert", kind="folder", **BERT, type_vocab_size=1,
     num_labels=1, vectors=scores)
Case("nomic-bert", "NomicBertModel", kind="folder", **BERT, vectors=mean)
Case("jina-bert-v3", "JinaEmbeddingsV3Model", **BERT, vectors=mean, keys={"pooling_type": 1}, names={
    r"pooler.*": IGNORED,
    r"layers\.(\d+)\.self_attn\.([qkv])_proj\.(\w+)": r"blk.\1.attn_\2.\3",
    r"layers\.(\d+)\.self_attn\.o_proj\.(\w+)": r"blk.\1.attn_output.\2",
    r"layers\.(\d+)\.post_attention_layernorm\.(\w+)": r"blk.\1.attn_output_norm.\2",
    r"layers\.(\d+)\.post_mlp_layernorm\.(\w+)": r"blk.\1.layer_output_norm.\2",
    r"layers\.(\d+)\.mlp\.fc1\.(\w+)": r"blk.\1.ffn_up.\2", r"layers\.(\d+)\.mlp\.fc2\.(\w+)": r"blk.\1.ffn_down.\2"})
MODERN = dict(**BERT, local_attention=8, layer_types=[F, S, S], classifier_pooling="mean")
MODERN_KEYS = {"attention.sliding_window": 8, "attention.sliding_window_pattern": 3, "rope.freq_base": 160000.0, "rope.freq_base_swa": 10000.0,
               "attention.layer_norm_epsilon": 1e-5}
Case("modern-bert", "ModernBertModel", **MODERN, vectors=first, keys={**MODERN_KEYS, "pooling_type": 2})
Case("modern-bert-rerank", "ModernBertForSequenceClassification", architecture="modern-bert", **MODERN, vectors=scores, num_labels=1,
     keys={**MODERN_KEYS, "pooling_type": 4}, names={r"head\.dense\.(\w+)": r"cls.\1", r"head\.norm\.(\w+)": r"cls.norm.\1",
                                                     r"classifier\.(\w+)": r"cls.output.\1",
                                                     r"model\.embeddings\.tok_embeddings\.weight": "token_embd.weight",
                                                     r"model\.embeddings\.norm\.weight": "token_embd_norm.weight",
                                                     r"model\.final_norm\.weight": "output_norm.weight",
                                                     r"model\.layers\.(\d+)\.attn\.Wqkv\.weight": r"blk.\1.attn_qkv.weight",
                                                     r"model\.layers\.(\d+)\.attn\.Wo\.weight": r"blk.\1.attn_output.weight",
                                                     r"model\.layers\.(\d+)\.attn_norm\.weight": r"blk.\1.attn_norm.weight",
                                                     r"model\.layers\.(\d+)\.mlp_norm\.weight": r"blk.\1.ffn_norm.weight",
                                                     r"model\.layers\.(\d+)\.mlp\.Wi\.weight": r"blk.\1.ffn_up.weight",
                                                     r"model\.layers\.(\d+)\.mlp\.Wo\.weight": r"blk.\1.ffn_down.weight"})
Case("eurobert", "EuroBertModel", **{**BERT, "num_key_value_heads": 2}, vectors=mean, keys={"pooling_type": 1})
Case("llama-embed", "LlamaModel", **WIDE, pairs=True, vectors=mean, attention_mask="all", keys={"pooling_type": 1})


def dense(output, made):
    """EmbeddingGemma projects the mean twice."""
    return made.get("dense_3.weight", (64, 96)) @ made.get("dense_2.weight", (96, 64)) @ mean(output, made)


Case("gemma-embedding", "Gemma3TextModel", shift=1, num_hidden_layers=4, use_bidirectional_attention=True, vectors=dense,
     layer_types=[S, F, S, F], sliding_window=8, query_pre_attn_scalar=32, keys=merged(windows, {
         "attention.sliding_window": 8, "attention.sliding_window_pattern": 2, "rope.freq_base_swa": 10000.0, "pooling_type": 1, "dense_2_feat_in": 64,
         "dense_2_feat_out": 96, "dense_3_feat_in": 96, "dense_3_feat_out": 64}))
Case("qwen3-embedding", "Qwen3Model", architecture="qwen3", vectors=last, keys={"pooling_type": 3})
T5 = dict(d_model=64, d_kv=16, d_ff=96, num_layers=3, num_heads=4, head_dim=REMOVED, num_key_value_heads=REMOVED, hidden_size=REMOVED,
          intermediate_size=REMOVED, num_hidden_layers=REMOVED, num_attention_heads=REMOVED, max_position_embeddings=REMOVED)
T5_KEYS = {"attention.layer_norm_rms_epsilon": 1e-6, "attention.key_length": 16, "attention.value_length": 16, "feed_forward_length": 96,
           "attention.relative_buckets_count": 32, "attention.head_count": 4, "block_count": 3}
Case("t5encoder", "T5EncoderModel", **T5, feed_forward_proj="relu", vectors=mean, keys={**T5_KEYS, "pooling_type": 1})
def untied(model):
    """T5 v1.1's output projection is not the embedding."""
    model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.clone())


Case("t5", "T5ForConditionalGeneration", **T5, feed_forward_proj="gated-gelu", num_decoder_layers=2, prepare=untied, tokens=[0, *TOKENS[:25]],
     encoder_tokens=SEQUENCES[2], keys={**T5_KEYS, "decoder_start_token_id": 0, "decoder_block_count": 2})
