"""Image encoders: tiny towers and projectors of transformers, and the vectors that they give for an image.

A case is an mmproj file, by the names of GGUF, and one image of a size that needs no resizing. Its pixels are a function of their
index, as weights are.
"""

import re

import gguf
import numpy as np
import torch
import transformers

from families import Case, Weights, described, typed

WIDTH, FEED, PATCH, HEADS = 64, 96, 8, 4


def pixels(width, height):
    """Bytes [height, width, 3]."""
    index = np.arange(width * height * 3, dtype=np.uint64)
    x, y, channel = index // 3 % width, index // 3 // width, index % 3
    return ((x * 37 + y * 91 + channel * 53 + x * y * 7) % 256).astype(np.uint8).reshape(height, width, 3)


def load(module, made, names, fill=None):
    """Sets the parameters of a module: `names` are pairs of a pattern of transformers' name and GGUF's name."""
    for name, parameter in module.named_parameters():
        shape = tuple(parameter.shape)
        values = fill(name, shape, made) if fill else None
        if values is None:
            other = next((match.expand(other) for part, other in names if (match := re.fullmatch(part, name))), None)
            if other is None:
                raise AssertionError(f"no place for {name} {shape}")
            if other == "":
                continue
            values = made.get(other, shape)
        parameter.data = torch.from_numpy(np.array(values))
    return module.double().eval()


def vision(name, kind, encode, keys, size, made_with, mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5)):
    """`encode(made, pixel_values)` returns [tokens, width] from normalized pixels [1, 3, height, width]."""

    def forward(case):
        made = Weights(case.seed, [("position_embd", (0, 0.5)), *case.ranges])
        values = torch.from_numpy(pixels(*size)).double() / 255
        values = ((values - torch.tensor(mean, dtype=torch.float64)) / torch.tensor(std, dtype=torch.float64)).permute(2, 0, 1)[None]
        vectors = encode(made, values).double().numpy()
        both = {
            "general.architecture": "clip", "general.type": "mmproj", "clip.has_vision_encoder": True, "clip.projector_type": kind,
            "clip.vision.embedding_length": WIDTH, "clip.vision.feed_forward_length": FEED, "clip.vision.patch_size": PATCH,
            "clip.vision.attention.head_count": HEADS, "clip.vision.image_mean": list(mean), "clip.vision.image_std": list(std),
            "clip.vision.block_count": 2, "clip.vision.attention.layer_norm_epsilon": 1e-6, **keys}
        return {
            "made_with": f"transformers {transformers.__version__}, {made_with}, float64", "kind": "gguf", "keys": typed(both),
            "image": list(size), "tensors": described(made)}, vectors

    Case(name, None, architecture="clip", forward=forward)


SIGLIP = [
    (r".*patch_embedding\.weight", "v.patch_embd.weight"), (r".*patch_embedding\.bias", "v.patch_embd.bias"),
    (r".*position_embedding\.weight", "v.position_embd.weight"), (r".*class_embedding", "v.class_embd"),
    (r".*pre_layrnorm\.(\w+)", r"v.pre_ln.\1"), (r".*post_layernorm\.(\w+)", r"v.post_ln.\1"),
    (r".*layers\.(\d+)\.layer_norm(\d)\.(\w+)", r"v.blk.\1.ln\2.\3"),
    (r".*layers\.(\d+)\.self_attn\.([qkv])_proj\.(\w+)", r"v.blk.\1.attn_\2.\3"),
    (r".*layers\.(\d+)\.self_attn\.out_proj\.(\w+)", r"v.blk.\1.attn_out.\2"),
    (r".*layers\.(\d+)\.mlp\.fc1\.(\w+)", r"v.blk.\1.ffn_up.\2"), (r".*layers\.(\d+)\.mlp\.fc2\.(\w+)", r"v.blk.\1.ffn_down.\2"),
]
TOWER = dict(hidden_size=WIDTH, intermediate_size=FEED, num_hidden_layers=2, num_attention_heads=HEADS, patch_size=PATCH,
             attn_implementation="eager")


def gemma3(made, values):
    config = transformers.Gemma3Config(
        vision_config=transformers.SiglipVisionConfig(**TOWER, image_size=64, vision_use_head=False).to_dict(),
        text_config=transformers.Gemma3TextConfig(hidden_size=64).to_dict(), mm_tokens_per_image=16)
    vision_config = transformers.SiglipVisionConfig(**TOWER, image_size=64, vision_use_head=False)
    tower = load(transformers.SiglipVisionModel(vision_config), made, SIGLIP)
    from transformers.models.gemma3.modeling_gemma3 import Gemma3MultiModalProjector

    def fill(name, shape, made):
        if name == "mm_input_projection_weight":  # GGUF has it as it is, so its rows are transformers' columns.
            return made.get("mm.input_projection.weight", shape)
        return made.get("mm.soft_emb_norm.weight", shape) - 1

    projector = load(Gemma3MultiModalProjector(config), made, [], fill)
    return projector(tower(values).last_hidden_state)[0]


vision("vision-gemma3", "gemma3", gemma3, {
    "clip.vision.image_size": 64, "clip.vision.projection_dim": 64, "clip.use_gelu": True, "clip.vision.projector.scale_factor": 2},
    (64, 64), "SiglipVisionModel, Gemma3MultiModalProjector")


def llava(made, values):
    tower = load(transformers.CLIPVisionModel(transformers.CLIPVisionConfig(
        **TOWER, image_size=32, hidden_act="quick_gelu", layer_norm_eps=1e-6)), made, [(r".*post_layernorm.*", ""), *SIGLIP])
    states = tower(values, output_hidden_states=True).hidden_states[-1][0, 1:]
    inner = states @ torch.from_numpy(made.get("mm.0.weight", (64, 64))).T + torch.from_numpy(made.get("mm.0.bias", (64,)))
    inner = torch.nn.functional.gelu(inner)
    return inner @ torch.from_numpy(made.get("mm.2.weight", (64, 64))).T + torch.from_numpy(made.get("mm.2.bias", (64,)))


vision("vision-llava", "mlp", llava, {
    "clip.vision.image_size": 32, "clip.vision.projection_dim": 64, "clip.has_llava_projector": True}, (32, 32), "CLIPVisionModel")


def unpaired(values, heads):
    shape = values.shape
    return values.reshape(heads, shape[0] // heads // 2, 2, -1).swapaxes(1, 2).reshape(shape)


def pixtral(made, values):
    def fill(name, shape, made):
        match = re.fullmatch(r".*layers\.(\d+)\.attention\.([qk])_proj\.weight", name)
        return unpaired(made.get(f"v.blk.{match[1]}.attn_{match[2]}.weight", shape), HEADS) if match else None

    tower = load(transformers.PixtralVisionModel(transformers.PixtralVisionConfig(
        **TOWER, image_size=256, head_dim=16, hidden_act="silu", rope_parameters={"rope_type": "default", "rope_theta": 10000.0})), made, [
            (r"patch_conv\.weight", "v.patch_embd.weight"), (r"ln_pre\.weight", "v.pre_ln.weight"),
            (r".*layers\.(\d+)\.attention_norm\.weight", r"v.blk.\1.ln1.weight"),
            (r".*layers\.(\d+)\.ffn_norm\.weight", r"v.blk.\1.ln2.weight"),
            (r".*layers\.(\d+)\.attention\.v_proj\.weight", r"v.blk.\1.attn_v.weight"),
            (r".*layers\.(\d+)\.attention\.o_proj\.weight", r"v.blk.\1.attn_out.weight"),
            (r".*layers\.(\d+)\.feed_forward\.(\w+)_proj\.weight", r"v.blk.\1.ffn_\2.weight")], fill)
    states = tower(values, image_sizes=[values.shape[2:]]).last_hidden_state[0]
    from transformers.models.mistral3.modeling_mistral3 import Mistral3MultiModalProjector

    config = transformers.Mistral3Config(
        vision_config=tower.config.to_dict(), text_config=transformers.MistralConfig(hidden_size=64, rms_norm_eps=1e-5).to_dict(),
        spatial_merge_size=2, projector_hidden_act="gelu", multimodal_projector_bias=False)
    projector = load(Mistral3MultiModalProjector(config), made, [
        (r"norm\.weight", "mm.input_norm.weight"), (r"patch_merger\.merging_layer\.weight", "mm.patch_merger.weight"),
        (r"linear_1\.weight", "mm.1.weight"), (r"linear_2\.weight", "mm.2.weight")])
    merged = projector(states, image_sizes=[values.shape[2:]])
    # A vector ends each row but the last.
    end = torch.from_numpy(made.get("v.token_embd.img_break", (64,)))[None]
    rows = merged.split(values.shape[3] // PATCH // 2)
    return torch.cat([part for row in rows[:-1] for part in [row, end]] + [rows[-1]])


vision("vision-pixtral", "pixtral", pixtral, {
    "clip.vision.image_size": 256, "clip.vision.projection_dim": 64, "clip.use_silu": True, "clip.vision.spatial_merge_size": 2,
    "clip.vision.attention.layer_norm_epsilon": 1e-5}, (64, 48), "PixtralVisionModel, Mistral3MultiModalProjector")


def patches(values, merge=2):
    """Qwen's patches [n, 3 * 2 * patch * patch]: the rows of a window of 2 by 2 patches follow each other; a still image counts twice."""
    height, width = values.shape[2] // PATCH, values.shape[3] // PATCH
    x = values[0].reshape(3, height // merge, merge, PATCH, width // merge, merge, PATCH).permute(1, 4, 2, 5, 0, 3, 6)
    x = x.reshape(height * width, 3, 1, PATCH, PATCH).expand(-1, -1, 2, -1, -1)
    return x.reshape(height * width, -1), torch.tensor([[1, height, width]])


def two_kernels(name, shape, made):
    if name == "patch_embed.proj.weight":
        kernels = [made.get(f"v.patch_embd.weight{suffix}", (shape[0], 3, PATCH, PATCH)) for suffix in ["", ".1"]]
        return np.stack(kernels, 2)


QWEN = [
    (r"patch_embed\.proj\.bias", "v.patch_embd.bias"), (r"pos_embed\.weight", "v.position_embd.weight"),
    (r"blocks\.(\d+)\.norm(\d)\.(\w+)", r"v.blk.\1.ln\2.\3"), (r"blocks\.(\d+)\.attn\.qkv\.(\w+)", r"v.blk.\1.attn_qkv.\2"),
    (r"blocks\.(\d+)\.attn\.proj\.(\w+)", r"v.blk.\1.attn_out.\2"), (r"blocks\.(\d+)\.mlp\.(gate|up|down)_proj\.(\w+)", r"v.blk.\1.ffn_\2.\3"),
    (r"blocks\.(\d+)\.mlp\.linear_fc1\.(\w+)", r"v.blk.\1.ffn_up.\2"), (r"blocks\.(\d+)\.mlp\.linear_fc2\.(\w+)", r"v.blk.\1.ffn_down.\2"),
    (r"merger\.(?:ln_q|norm)\.(\w+)", r"v.post_ln.\1"), (r"merger\.mlp\.(\d)\.(\w+)", r"mm.\1.\2"),
    (r"merger\.linear_fc1\.(\w+)", r"mm.0.\1"), (r"merger\.linear_fc2\.(\w+)", r"mm.2.\1"),
    (r"deepstack_merger_list\.0\.norm\.(\w+)", r"v.deepstack.1.norm.\1"), (r"deepstack_merger_list\.0\.linear_fc(\d)\.(\w+)", r"v.deepstack.1.fc\1.\2"),
]


def qwen25(made, values):
    config = transformers.Qwen2_5_VLConfig().vision_config.__class__(
        depth=4, hidden_size=WIDTH, intermediate_size=FEED, num_heads=HEADS, patch_size=PATCH, spatial_merge_size=2, temporal_patch_size=2,
        window_size=112, out_hidden_size=64, fullatt_block_indexes=[1, 3], hidden_act="silu", attn_implementation="eager")
    from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VisionTransformerPretrainedModel

    tower = load(Qwen2_5_VisionTransformerPretrainedModel(config), made, QWEN, two_kernels)
    return tower(*patches(values)).pooler_output


vision("vision-qwen25vl", "qwen2.5vl_merger", qwen25, {
    "clip.vision.image_size": 560, "clip.vision.projection_dim": 64, "clip.use_silu": True, "clip.vision.n_wa_pattern": 2,
    "clip.vision.block_count": 4}, (128, 64), "Qwen2_5_VisionTransformerPretrainedModel")


def qwen3(made, values):
    config = transformers.Qwen3VLConfig().vision_config.__class__(
        depth=3, hidden_size=WIDTH, intermediate_size=FEED, num_heads=HEADS, patch_size=PATCH, spatial_merge_size=2, temporal_patch_size=2,
        out_hidden_size=64, num_position_embeddings=64, deepstack_visual_indexes=[1], hidden_act="gelu_pytorch_tanh", attn_implementation="eager")
    from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLVisionModel

    tower = load(Qwen3VLVisionModel(config), made, QWEN, two_kernels)
    output = tower(*patches(values))
    return torch.cat([output.pooler_output, *output.deepstack_features], -1)


vision("vision-qwen3vl", "qwen3vl_merger", qwen3, {
    "clip.vision.image_size": 64, "clip.vision.projection_dim": 64, "clip.use_gelu": True, "clip.vision.spatial_merge_size": 2,
    "clip.vision.block_count": 3, "clip.vision.is_deepstack_layers": [False, True, False]}, (48, 80), "Qwen3VLVisionModel")


def internvl(made, values):
    from transformers.models.internvl.modeling_internvl import InternVLMultiModalProjector, InternVLVisionModel

    def fill(name, shape, made):
        name = name.replace("embeddings.cls_token", "v.class_embd").replace("embeddings.position_embeddings", "v.position_embd.weight")
        if name.startswith("v."):
            return made.get(name, shape[-2:] if "position" in name else (shape[-1],)).reshape(shape)
        match = re.fullmatch(r".*layers?\.(\d+)\.lambda_(\d)", name)
        if match:
            return made.get(f"v.blk.{match[1]}.ls{match[2]}.weight", shape, 1, 0.5)
        match = re.fullmatch(r".*layers?\.(\d+)\.attention\.([qkv])_proj\.(\w+)", name)
        if match:
            both = made.get(f"v.blk.{match[1]}.attn_qkv.{match[3]}", (3 * WIDTH, *shape[1:]))
            return np.split(both, 3)["qkv".index(match[2])]

    tower = load(InternVLVisionModel(transformers.InternVLVisionConfig(
        **TOWER | {"patch_size": [PATCH, PATCH]}, image_size=[32, 32], attention_bias=True, use_absolute_position_embeddings=True,
        use_mean_pooling=True, norm_type="layer_norm")), made, [
            (r".*patch_embeddings\.projection\.(\w+)", r"v.patch_embd.\1"),
            (r".*layers?\.(\d+)\.attention\.projection_layer\.(\w+)", r"v.blk.\1.attn_out.\2"),
            (r".*layers?\.(\d+)\.mlp\.fc1\.(\w+)", r"v.blk.\1.ffn_up.\2"), (r".*layers?\.(\d+)\.mlp\.fc2\.(\w+)", r"v.blk.\1.ffn_down.\2"),
            (r".*layers?\.(\d+)\.layernorm_before\.(\w+)", r"v.blk.\1.ln1.\2"),
            (r".*layers?\.(\d+)\.layernorm_after\.(\w+)", r"v.blk.\1.ln2.\2")], fill)
    states = tower(values).last_hidden_state[:, 1:]
    config = transformers.InternVLConfig(
        vision_config=tower.config.to_dict(), text_config={"model_type": "qwen2", "hidden_size": 64}, downsample_ratio=0.5)
    projector = load(InternVLMultiModalProjector(config), made, [
        (r"layer_norm\.(\w+)", r"mm.model.mlp.0.\1"), (r"linear_1\.(\w+)", r"mm.model.mlp.1.\1"), (r"linear_2\.(\w+)", r"mm.model.mlp.3.\1")])
    from transformers.models.internvl.modeling_internvl import InternVLModel

    shuffled = InternVLModel.pixel_shuffle(None, states.reshape(1, 4, 4, -1), scale_factor=0.5)
    return projector(shuffled.reshape(1, 4, -1))[0]


vision("vision-internvl", "internvl", internvl, {
    "clip.vision.image_size": 32, "clip.vision.projection_dim": 64, "clip.use_gelu": True, "clip.vision.projector.scale_factor": 2,
    "clip.vision.preproc_min_tiles": 1, "clip.vision.preproc_max_tiles": 1}, (32, 32), "InternVLVisionModel, InternVLMultiModalProjector")


def lfm2(made, values):
    from transformers.models.lfm2_vl.modeling_lfm2_vl import Lfm2VlMultiModalProjector

    config = transformers.Siglip2VisionConfig(**TOWER, num_patches=64, vision_use_head=False)

    def fill(name, shape, made):
        if name.endswith("patch_embedding.weight"):  # Siglip 2 reads patches [row][column][channel].
            return made.get("v.patch_embd.weight", (shape[0], 3, PATCH, PATCH)).transpose(0, 2, 3, 1).reshape(shape)

    tower = load(transformers.Siglip2VisionModel(config), made, SIGLIP, fill)
    height, width = values.shape[2] // PATCH, values.shape[3] // PATCH
    parts = values[0].reshape(3, height, PATCH, width, PATCH).permute(1, 3, 2, 4, 0).reshape(1, height * width, -1)
    states = tower(pixel_values=parts, pixel_attention_mask=torch.ones(1, height * width, dtype=torch.long),
                   spatial_shapes=torch.tensor([[height, width]])).last_hidden_state
    whole = transformers.Lfm2VlConfig(
        vision_config=config.to_dict(), text_config={"model_type": "lfm2", "hidden_size": 64}, downsample_factor=2, projector_hidden_size=96)
    projector = load(Lfm2VlMultiModalProjector(whole), made, [
        (r"layer_norm\.(\w+)", r"mm.input_norm.\1"), (r"linear_(\d)\.(\w+)", r"mm.\1.\2")])
    return projector(states.reshape(1, height, width, -1)).reshape(-1, 64)


vision("vision-lfm2", "lfm2", lfm2, {
    "clip.vision.image_size": 64, "clip.vision.projection_dim": 64, "clip.use_gelu": True, "clip.vision.projector.scale_factor": 2},
    (128, 128), "Siglip2VisionModel, Lfm2VlMultiModalProjector")


def glm4v(made, values):
    from transformers.models.glm4v.modeling_glm4v import Glm4vVisionModel

    def fill(name, shape, made):
        if name == "downsample.weight":
            return made.get("mm.patch_merger.weight", shape)
        return two_kernels(name, shape, made)

    config = transformers.Glm4vConfig().vision_config.__class__(
        depth=2, hidden_size=WIDTH, intermediate_size=FEED, num_heads=HEADS, patch_size=PATCH, image_size=64, spatial_merge_size=2,
        temporal_patch_size=2, out_hidden_size=64, rms_norm_eps=1e-6, attn_implementation="eager")
    tower = load(Glm4vVisionModel(config), made, [
        (r"embeddings\.position_embedding\.weight", "v.position_embd.weight"), (r"post_conv_layernorm\.(\w+)", r"v.norm_embd.\1"),
        (r"post_layernorm\.(\w+)", r"v.post_ln.\1"), (r"downsample\.bias", "mm.patch_merger.bias"), (r"merger\.proj\.weight", "mm.model.fc.weight"),
        (r"merger\.post_projection_norm\.(\w+)", r"mm.post_norm.\1"), (r"merger\.(gate|up|down)_proj\.weight", r"mm.\1.weight"), *QWEN], fill)
    return tower(*patches(values)).pooler_output


vision("vision-glm4v", "glm4v", glm4v, {
    "clip.vision.image_size": 64, "clip.vision.projection_dim": 64, "clip.use_silu": True, "clip.vision.spatial_merge_size": 2},
    (80, 48), "Glm4vVisionModel")
