"""The vocabulary: a byte-level BPE trained on the corpus, split as Qwen2 splits
(every digit is a token of its own, which is kind to arithmetic)."""

import random
import sys

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from corpus import Draw, conversation

SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
         r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
END_OF_TEXT, START, END = SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def surround(tokenizer):
    """Gives a BPE what comes before and after it."""
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(SPLIT), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def train(path, size, conversations=60000):
    d = Draw(random.Random(11))
    tokenizer = surround(Tokenizer(models.BPE()))
    texts = (m["role"] + "\n" + m["content"] for _ in range(conversations) for m in conversation(d, 1))
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=size - len(SPECIAL), initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False))
    tokenizer.add_special_tokens(SPECIAL)  # at the end of the vocabulary
    tokenizer.save(path)
    return tokenizer


if __name__ == "__main__":
    print(train(sys.argv[1], int(sys.argv[2])).get_vocab_size())
