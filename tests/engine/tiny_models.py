"""Models of three kinds of memory, as small as llama.cpp takes them, with weights at random.

    python tests/engine/tiny_models.py FOLDER

writes `recurrent.gguf` (Mamba), `hybrid.gguf` (Jamba: Mamba and attention), `sliding-window.gguf` (Gemma 3,
32 cells), each with Q8_0 matrices, `float.gguf` (Mamba with F32 ones), whose single rows come from other
kernels than windows do, and two that continue no text: `encoder.gguf` (T5) and `embedding.gguf` (BERT). Their
tokens are the 256 bytes and three control tokens.
"""

import sys
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType, TokenType

WIDTH, INNER, STATE, STEP_RANK, KERNEL, HEAD = 64, 128, 16, 32, 4, 32
CONTROL = ["<unk>", "<s>", "</s>"]
TOKENS = [*CONTROL, *(f"<0x{byte:02X}>" for byte in range(256))]


class TinyModel:
    """A GGUF being written."""

    def __init__(
        self, path: Path, architecture: str, layers: int, *, heads: int = 0, float_weights: bool = False
    ) -> None:
        self.writer = gguf.GGUFWriter(path, architecture)
        self.random = np.random.default_rng(layers)
        self._type = GGMLQuantizationType.F32 if float_weights else GGMLQuantizationType.Q8_0
        self.writer.add_context_length(4096)
        self.writer.add_embedding_length(WIDTH)
        self.writer.add_feed_forward_length(2 * WIDTH)
        self.writer.add_block_count(layers)
        self.writer.add_head_count(heads)
        self.writer.add_layer_norm_rms_eps(1e-5)
        self.writer.add_tokenizer_model("llama")
        self.writer.add_token_list(TOKENS)
        self.writer.add_token_scores([0.0] * len(TOKENS))
        kinds = [TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL]
        self.writer.add_token_types([*kinds, *[TokenType.BYTE] * 256])
        self.writer.add_unk_token_id(0)
        self.writer.add_bos_token_id(1)
        self.writer.add_eos_token_id(2)
        self.writer.add_add_bos_token(False)
        self.matrix("token_embd", len(TOKENS), WIDTH, scale=8)

    def output(self) -> None:
        self.matrix("output", len(TOKENS), WIDTH, scale=4)
        self.vector("output_norm.weight", WIDTH)

    def matrix(self, name: str, rows: int, columns: int, scale: float = 1) -> None:
        values = self.random.standard_normal((rows, columns)) * scale / np.sqrt(columns)
        data = gguf.quantize(values.astype(np.float32), self._type)
        self.writer.add_tensor(f"{name}.weight", data, raw_dtype=self._type)

    def vector(self, name: str, *shape: int, mean: float = 1, deviation: float = 0.1) -> None:
        self.values(name, self.random.normal(mean, deviation, shape))

    def values(self, name: str, values: np.ndarray) -> None:
        self.writer.add_tensor(name, values.astype(np.float32))

    def mamba_options(self) -> None:
        self.writer.add_ssm_conv_kernel(KERNEL)
        self.writer.add_ssm_inner_size(INNER)
        self.writer.add_ssm_state_size(STATE)
        self.writer.add_ssm_time_step_rank(STEP_RANK)

    def mamba(self, block: str) -> None:
        self.matrix(f"{block}.ssm_in", 2 * INNER, WIDTH)
        self.vector(f"{block}.ssm_conv1d.weight", INNER, KERNEL, mean=0, deviation=0.5)
        self.vector(f"{block}.ssm_conv1d.bias", INNER, mean=0)
        self.matrix(f"{block}.ssm_x", STEP_RANK + 2 * STATE, INNER)
        self.matrix(f"{block}.ssm_dt", INNER, STEP_RANK)
        self.vector(f"{block}.ssm_dt.bias", INNER, mean=-1, deviation=1)
        self.values(f"{block}.ssm_a", -np.exp(self.random.uniform(-3, 1, (INNER, STATE))))
        self.vector(f"{block}.ssm_d", INNER)
        self.matrix(f"{block}.ssm_out", WIDTH, INNER)

    def attention(self, block: str) -> None:
        for name, rows in (("q", 2 * HEAD), ("k", HEAD), ("v", HEAD)):
            self.matrix(f"{block}.attn_{name}", rows, WIDTH)
        self.matrix(f"{block}.attn_output", WIDTH, 2 * HEAD)

    def feed_forward(self, block: str) -> None:
        for name, shape in (
            ("gate", (2 * WIDTH, WIDTH)),
            ("up", (2 * WIDTH, WIDTH)),
            ("down", (WIDTH, 2 * WIDTH)),
        ):
            self.matrix(f"{block}.ffn_{name}", *shape)

    def close(self) -> None:
        self.writer.write_header_to_file()
        self.writer.write_kv_data_to_file()
        self.writer.write_tensors_to_file()
        self.writer.close()


def write_recurrent(path: Path, *, float_weights: bool = False) -> None:
    model = TinyModel(path, "mamba", 2, float_weights=float_weights)
    model.output()
    model.mamba_options()
    for block in ("blk.0", "blk.1"):
        model.vector(f"{block}.attn_norm.weight", WIDTH)
        model.mamba(block)
    model.close()


def write_hybrid(path: Path) -> None:
    model = TinyModel(path, "jamba", 3, heads=2)
    model.output()
    model.writer.add_head_count_kv([0, 1, 0])
    model.mamba_options()
    for number, block in enumerate(("blk.0", "blk.1", "blk.2")):
        model.vector(f"{block}.attn_norm.weight", WIDTH)
        model.vector(f"{block}.ffn_norm.weight", WIDTH)
        model.feed_forward(block)
        if number == 1:
            model.attention(block)
        else:
            model.mamba(block)
            for name, size in (("dt", STEP_RANK), ("b", STATE), ("c", STATE)):
                model.vector(f"{block}.ssm_{name}_norm.weight", size)
    model.close()


def write_sliding_window(path: Path) -> None:
    model = TinyModel(path, "gemma3", 6, heads=2)
    model.output()
    model.writer.add_head_count_kv(1)
    model.writer.add_key_length(HEAD)
    model.writer.add_value_length(HEAD)
    model.writer.add_sliding_window(32)
    model.writer.add_rope_freq_base(1e6)
    for block in (f"blk.{number}" for number in range(6)):
        for name in ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"):
            model.vector(f"{block}.{name}.weight", WIDTH)
        for name in ("attn_q_norm", "attn_k_norm"):
            model.vector(f"{block}.{name}.weight", HEAD)
        model.attention(block)
        model.feed_forward(block)
    model.close()


def write_encoder(path: Path) -> None:
    model = TinyModel(path, "t5encoder", 1, heads=2)
    model.writer.add_relative_attn_buckets_count(8)
    model.writer.add_key_length(HEAD)
    model.writer.add_value_length(HEAD)
    model.vector("enc.output_norm.weight", WIDTH)
    model.vector("enc.blk.0.attn_rel_b.weight", 8, 2)
    for name in ("attn_q", "attn_k", "attn_v", "attn_o"):
        model.matrix(f"enc.blk.0.{name}", WIDTH, WIDTH)
    for name in ("attn_norm", "ffn_norm"):
        model.vector(f"enc.blk.0.{name}.weight", WIDTH)
    model.feed_forward("enc.blk.0")
    model.close()


def write_embedding(path: Path) -> None:
    model = TinyModel(path, "bert", 1, heads=2)
    model.writer.add_layer_norm_eps(1e-5)
    model.writer.add_causal_attention(False)
    model.writer.add_token_type_count(2)
    model.vector("position_embd.weight", 4096, WIDTH)
    model.vector("token_types.weight", 2, WIDTH)
    for name in ("token_embd_norm", "blk.0.attn_output_norm", "blk.0.layer_output_norm"):
        model.vector(f"{name}.weight", WIDTH)
        model.vector(f"{name}.bias", WIDTH)
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        model.matrix(f"blk.0.{name}", WIDTH, WIDTH)
        model.vector(f"blk.0.{name}.bias", WIDTH)
    for name, rows, columns in (("up", 2 * WIDTH, WIDTH), ("down", WIDTH, 2 * WIDTH)):
        model.matrix(f"blk.0.ffn_{name}", rows, columns)
        model.vector(f"blk.0.ffn_{name}.bias", rows)
    model.close()


def write_all(folder: Path) -> None:
    write_recurrent(folder / "recurrent.gguf")
    write_recurrent(folder / "float.gguf", float_weights=True)
    write_hybrid(folder / "hybrid.gguf")
    write_sliding_window(folder / "sliding-window.gguf")
    write_encoder(folder / "encoder.gguf")
    write_embedding(folder / "embedding.gguf")


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
