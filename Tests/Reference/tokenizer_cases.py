"""Writes tokenizer_cases.json: small tokenizer.json files, and what the `tokenizers` package makes of texts in many scripts.

    pip install tokenizers==0.23.3
    python tokenizer_cases.py > tokenizer_cases.json

Files name their model, "@0", whose JSON is in `models`. A case has the tokenizer, as text, and either `ids` with special tokens and `decoded` without them (0: the text itself), one a text,
or `refused`: what the error of a program that does not support the file has to name.
"""

import json
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

PHRASES = r"""
Hello world|the quick brown fox|It's they're I'LL we've|don't stop|HELLO World|camelCase PascalCase HTTPServer|x=1;y+=22
3.14159 2,000,000|12345678|a1b22c333|foo_bar-baz|(parens) [brackets] {braces}|"quotes" 'single' `tick`|``double''
user@example.com|https://a.b/c?d=e&f#g|C:\\path\\to|tab\there|line\nbreak|two\n\nlines|crlf\r\nend|trailing   |   leading
many     spaces|\n\n\n| |  |\t|a|é|café|cafe\u0301|naïve nai\u0308ve|Ångström A\u030angstro\u0308m|\u212bngstrom|ﬁne ﬀect
½ ² ₃ ™ ℡|Ⅳ ⅷ|ｆｕｌｌ　ｗｉｄｔｈ|Größe STRASSE straße|İstanbul ıssız|ǅungla ǄUNGLA|ΟΔΥΣΣΕΥΣ Οδυσσεύς|ά έ ή
Привет, мир!|ЁЛКА ёлка|Україна їжак|Тест 123 тест|שלום עולם|שָׁלוֹם|مرحبا بالعالم|مُحَمَّد|٠١٢٣٤|سلام دنیا می‌خواهم
नमस्ते दुनिया|क्षत्रिय|१२३ ४५|বাংলা ভাষা|ਪੰਜਾਬੀ|ગુજરાતી|தமிழ் மொழி|కన్నడ తెలుగు|ಕನ್ನಡ|മലയാളം|සිංහල|ไทยภาษา กำลัง|ພາສາລາວ
မြန်မာ|ខ្មែរ|བོད་ཡིག|ქართული ᲥᲐᲠᲗᲣᲚᲘ|Հայերեն|አማርኛ ፩፪|한국어 안녕하세요|\u1112\u1161\u11ab\u1100\u116e\u11a8|\u110b\u1165 어|日本語テスト
カタカナ ひらがな|ｶﾞｷﾞ ガギ|が か\u3099|漢字と仮名|你好，世界！|中文abc混合123|繁體中文|、。「」…|㍿ ㌔ ㈱|Tiếng Việt đẹp|ế e\u0302\u0301
Łódź żółć|Ðð Þþ Ææ|ñandú n\u0303|ğüşiöç|čeština ř|ελληνικά|Āā Ēē|ᏣᎳᎩ ꭰ|ⴰⵎⴰⵣⵉⵖ|ᚠᚢᚦ|𝔘𝔫𝔦 𝟙𝟚|𐐷𐐨𐐭|😀 👍🏽|👨‍👩‍👧|🇩🇪🇫🇷|❤️ ☂︎|→ ∑ ∞ ≠|€5 £10 ¥
a\u00a0b|a\u200bb|a\u3000b|a\u2028b|soft\u00adhyphen|zero\u200dwidth|\ufeffbom|\u0085nel|a\u0000b|\u0007bell|a\ufffdb|e\u0301\u0301\u0323
\u0301alone|q\u0323\u0307|q\u0307\u0323|a\u0315\u0300\u05ae\u0315b|Å\u0323|\u0344|\u1e9b\u0323|x\u20dd|◌\u0903|def f(x):\n    return x
if (a && b) { c(); }|SELECT * FROM t;|#include <io.h>|\\frac{a}{b}|<html><b>x</b>|{"k": [1, 2]}|100%|--flag=-v|$HOME/.x|@me #tag|a...b|?!?!|—–-
can't won't shan't|y'all'd've|'tis 'twas|O'Neil's|rock'n'roll|I'm I'M i'm|1st 2nd|v1.2.3-rc4|0xFF 0b11|1e-10|+49 30 123|12:34:56|2024-01-31
a <m> b|a<m>b|<m>|<m><m>|  <m>  |x\n<m>\ny|<M> <m>|<|user|>\nhello|<|user|>   hi <|fin|> |<|user|><|user|>|<|fin|>\n\n<|fin|>|foo word bar
foo sword bar|word|words word's|word_ _word|wordword word|Word WORD|word,word.|éword wordé|<m>word<m>|< m >|<|user|word|the<|fin|>word <m>
ＷＯＲＤ <ｍ>|<m>é<|user|>e\u0301|</s> <s>|[CLS] a [SEP]|[MASK] x|<unk>|▁a ▁|a▁b|Ġ Ċ|##ing a##b|<0x0A>|the the the|of and to in|unaffable
ᐃᓄᒃᑎᑐᑦ|ߒߞߏ|ꦧꦱꦗꦮ|ᠮᠣᠩᠭᠣᠯ ᠬᠡᠯᠡ|ދިވެހި|ⲙⲉⲧⲣⲉⲙⲛⲭⲏⲙⲓ|ܠܫܢܐ ܣܘܪܝܝܐ|ꯃꯤꯇꯩꯂꯣꯟ|ꠍꠤꠟꠐꠤ|𓀀𓂀 𒀀𒁀|ℵ₀ ≤ 2^ℵ₀|1️⃣ 🏳️‍🌈 ☎|x̲y̲z̲
"""
TEXTS = [text for line in PHRASES.strip("\n").split("\n") for text in line.replace("<|", "<\1").replace("|>", "\1>").split("|")]
TEXTS = [json.loads('"' + text.replace("\1", "|").replace('"', '\\"') + '"') for text in TEXTS]
TEXTS = list(dict.fromkeys(TEXTS))

ALPHABET = pre_tokenizers.ByteLevel.alphabet()
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
END = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
LLAMA3 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + END
QWEN2 = LLAMA3.replace("{1,3}", "")
QWEN35 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*" + END


def capitals(contractions, digits):
    lead = r"[^\r\n\p{L}\p{N}]?"
    return (
        f"{lead}{UPPER}*{LOWER}+{contractions}|{lead}{UPPER}+{LOWER}*{contractions}|{digits}"
        + r"| ?[^\s\p{L}\p{N}]+[\r\n/]*" + END
    )


def split(pattern, behavior="isolated", invert=False):
    cut = pre_tokenizers.Split(Regex(pattern), behavior, invert)
    return pre_tokenizers.Sequence([cut, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def train(tokenizer, trainer, texts=TEXTS):
    tokenizer.train_from_iterator(texts, trainer)
    return json.loads(tokenizer.to_str())["model"]


def byte_model():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return train(tokenizer, trainers.BpeTrainer(vocab_size=420, initial_alphabet=ALPHABET, show_progress=False))


def character_model():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=560, special_tokens=special, limit_alphabet=150, show_progress=False)
    return train(tokenizer, trainer) | {"byte_fallback": True, "fuse_unk": True}


def word_model(lowercase):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=700, special_tokens=special, show_progress=False)
    # GGUF marks the beginning of a word with "▁", so no token of WordPiece can contain it.
    return train(tokenizer, trainer, [text for text in TEXTS if "▁" not in text])


def unigram_model():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=900, special_tokens=["<unk>", "<s>", "</s>"], unk_token="<unk>", show_progress=False)
    return train(tokenizer, trainer)


BYTES, CHARACTERS, WORDS, CASED, UNIGRAM = byte_model(), character_model(), word_model(True), word_model(False), unigram_model()
CASES = []
MODELS = []


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def state(part):
    return None if part is None else json.loads(part.__getstate__())


def case(name, model, normalizer=None, pre=None, decoder=None, post=None, added=(), special=(), refused=None, **options):
    tokens = []
    for token in list(special) + list(added):
        if isinstance(token, str):
            token = AddedToken(token, normalized=False, special=True)
        text = token.content
        known = model["vocab"]
        if isinstance(known, list):
            known = {text: id for id, (text, _) in enumerate(known)}
        taken = known | {token["content"]: token["id"] for token in tokens}
        tokens.append({
            "id": taken.get(text, max(taken.values()) + 1), "content": text, "single_word": token.single_word,
            "lstrip": token.lstrip, "rstrip": token.rstrip, "normalized": token.normalized, "special": token.special})
    parts = {"normalizer": normalizer, "pre_tokenizer": pre, "post_processor": post, "decoder": decoder}
    parts = {key: value if isinstance(value, dict) else state(value) for key, value in parts.items()}
    file = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": tokens} | parts
    file["model"] = model | options
    text = compact(file["model"])
    if text not in MODELS:
        MODELS.append(text)
    entry = {"name": name, "tokenizer": compact(file | {"model": f"@{MODELS.index(text)}"})}
    if refused:
        entry["refused"] = refused
    else:
        tokenizer = Tokenizer.from_str(json.dumps(file))
        entry["ids"] = [tokenizer.encode(text).ids for text in TEXTS]
        decoded = [tokenizer.decode(ids) for ids in entry["ids"]]
        entry["decoded"] = [0 if found == text else found for found, text in zip(decoded, TEXTS)]
    CASES.append(entry)


def bytelevel(name, normalizer=None, pre=None, **more):
    pre = pre or pre_tokenizers.ByteLevel(add_prefix_space=False)
    case(name, BYTES, normalizer, pre, more.pop("decoder", decoders.ByteLevel()), **more)


END_TOKEN = AddedToken("<|fin|>", special=True, normalized=False)
N = normalizers

# Pre-tokenizers of byte-level BPE.
bytelevel("GPT-2")
bytelevel("GPT-2 with a space in front", pre=pre_tokenizers.ByteLevel(add_prefix_space=True))
bytelevel("Llama 3", pre=split(LLAMA3), special=["<|fin|>"], ignore_merges=True)
bytelevel("Qwen 2", N.NFC(), split(QWEN2), special=["<|fin|>"])
bytelevel("Qwen 3.5", N.NFC(), split(QWEN35))
bytelevel("GPT-4o", pre=split(capitals(CONTRACTIONS + "?", r"\p{N}{1,3}")))
bytelevel("Tekken", pre=split(capitals("", r"\p{N}")), ignore_merges=True)
bytelevel("digits", pre=pre_tokenizers.Sequence([
    pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]))
bytelevel("GPT-2 ignoring merges", ignore_merges=True)

# Normalizers.
bytelevel("NFC", N.NFC())
bytelevel("NFD", N.NFD())
bytelevel("NFKC", N.NFKC())
bytelevel("NFKD", N.NFKD())
bytelevel("lowercase", N.Lowercase())
bytelevel("NFD without accents", N.Sequence([N.NFD(), N.StripAccents()]))
bytelevel("strip", N.Strip())
bytelevel("strip left", N.Strip(right=False))
bytelevel("replace", N.Sequence([N.Replace("``", '"'), N.Replace("''", '"'), N.Replace("a", "")]))
bytelevel("prepend", N.Prepend("_"))
bytelevel("Nmt", N.Nmt())
bytelevel("BertNormalizer", N.BertNormalizer(strip_accents=False))
bytelevel("all together", N.Sequence([
    N.Nmt(), N.NFKC(), N.Sequence([N.Lowercase(), N.Strip()]), N.Replace("the", "of"), N.Prepend("x")]))
bytelevel("replace by a pattern", N.Replace(Regex("[ab]+"), "x"), refused="Replace")
bytelevel("ByteLevel as a normalizer", N.ByteLevel(), refused="ByteLevel")

# Added tokens.
bytelevel("lstrip", special=[AddedToken("<m>", lstrip=True, normalized=False, special=True), END_TOKEN])
bytelevel("rstrip", special=[AddedToken("<|user|>", rstrip=True, normalized=False, special=True), END_TOKEN])
bytelevel("single_word", added=[AddedToken("word", single_word=True, normalized=False)])
bytelevel("normalized", N.Sequence([N.NFKC(), N.Lowercase()]), added=[
    AddedToken("<M>", normalized=True), AddedToken("word", normalized=False),
    AddedToken("<|user|>", normalized=True, special=True)])
bytelevel("all flags", N.Lowercase(), split(LLAMA3), added=[
    AddedToken("<m>", lstrip=True, rstrip=True, normalized=False), AddedToken("WORD", single_word=True, lstrip=True),
    AddedToken("<m>word", normalized=False), AddedToken("e", single_word=True, rstrip=True), END_TOKEN])

# Post-processors.
BOTH = processors.TemplateProcessing("<s> $A </s>", "<s> $A </s> $B </s>", [("<s>", 420), ("</s>", 421)])
bytelevel("template", post=processors.Sequence([processors.ByteLevel(trim_offsets=False), BOTH]), special=["<s>", "</s>"])
bytelevel("RoBERTa", post=processors.RobertaProcessing(("</s>", 421), ("<s>", 420), True, False), special=["<s>", "</s>"])
bytelevel("BERT's processor", post=processors.BertProcessing(("</s>", 421), ("<s>", 420)), special=["<s>", "</s>"])
bytelevel("two tokens in front", special=["<s>", "</s>"], refused="post_processor", post=processors.TemplateProcessing(
    "<s> </s> $A", None, [("<s>", 420), ("</s>", 421)]))

# SentencePiece's BPE.
REPLACE = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
PLAIN, LEADING = decoders.Sequence(REPLACE), decoders.Sequence(REPLACE + [decoders.Strip(" ", 1, 0)])
SPACES = N.Replace(" ", "▁")
SPECIAL = ["<unk>", "<s>", "</s>"]
FIRST = processors.TemplateProcessing("<s> $A", "<s> $A <s> $B", [("<s>", 1)])


def characters(name, normalizer=None, pre=None, decoder=LEADING, special=SPECIAL, **more):
    case(name, more.pop("model", CHARACTERS), normalizer, pre, decoder, special=special, **more)


characters("Llama 2", N.Sequence([N.Prepend("▁"), SPACES]), post=FIRST)
characters("Mistral", pre=pre_tokenizers.Metaspace(prepend_scheme="first", split=False), post=FIRST, added=["<|user|>"])
characters("Metaspace always", pre=pre_tokenizers.Metaspace(prepend_scheme="always", split=False), added=["<|user|>"])
characters("Gemma", SPACES, pre_tokenizers.Split(" ", "merged_with_previous"), PLAIN, post=FIRST)
characters("Phi 3", N.Sequence([N.Prepend("▁"), SPACES]), special=SPECIAL + [
    AddedToken("<|user|>", rstrip=True, normalized=False, special=True), END_TOKEN])
characters("NFKC and SentencePiece", N.Sequence([N.NFKC(), SPACES]), decoder=PLAIN)
characters("Metaspace split", pre=pre_tokenizers.Metaspace(prepend_scheme="first"))

# WordPiece.
BERT = processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B [SEP]", [("[CLS]", 2), ("[SEP]", 3)])
MASK = AddedToken("[MASK]", lstrip=True, normalized=False, special=True)
SPECIAL_WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", MASK]


def words(name, normalizer=N.BertNormalizer(), model=WORDS, pre=pre_tokenizers.BertPreTokenizer(), **more):
    case(name, model, normalizer, pre, more.pop("decoder", decoders.WordPiece()), more.pop("post", BERT),
         special=SPECIAL_WORDS, **more)


words("BERT")
words("BERT cased", N.BertNormalizer(lowercase=False), CASED)
words("BERT without accents", N.BertNormalizer(lowercase=False, strip_accents=True), CASED)
words("BERT with accents", N.BertNormalizer(strip_accents=False))
words("BERT of long words", N.BertNormalizer(handle_chinese_chars=False), max_input_chars_per_word=5)
words("BERT uncleaned", N.BertNormalizer(clean_text=False), decoder=decoders.WordPiece(cleanup=False))
words("BERT of other words", continuing_subword_prefix="@@", refused="continuing_subword_prefix")
words("WordPiece by white space", pre=pre_tokenizers.WhitespaceSplit(), refused="WhitespaceSplit")

# Unigram.


def unigram(name, normalizer=None, pre=pre_tokenizers.Metaspace(), decoder=decoders.Metaspace(), **more):
    case(name, UNIGRAM, normalizer, pre, decoder, special=SPECIAL, **more)


unigram("Unigram", N.Sequence([N.Nmt(), N.NFKC(), N.Replace(Regex(" {2,}"), " ")]))
unigram("Unigram by white space", N.NFKC(), pre_tokenizers.Sequence([
    pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]))
unigram("Unigram without a space in front", pre=pre_tokenizers.Metaspace(prepend_scheme="never"),
        decoder=decoders.Metaspace(prepend_scheme="never"))
unigram("Unigram of bytes", byte_fallback=True, refused="byte_fallback")

# Parts that no supported file has.
for pre in [
    pre_tokenizers.Whitespace(), pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation(),
    pre_tokenizers.CharDelimiterSplit("x"), pre_tokenizers.UnicodeScripts(), pre_tokenizers.FixedLength(length=5),
    pre_tokenizers.Metaspace(), pre_tokenizers.BertPreTokenizer(),
]:
    bytelevel(type(pre).__name__, pre=pre_tokenizers.Sequence([pre, pre_tokenizers.ByteLevel(add_prefix_space=False)]),
              refused=type(pre).__name__)
bytelevel("another Split", pre=split(GPT2, "removed", True), refused="Split")
for decoder in [
    decoders.CTC(), decoders.BPEDecoder(), decoders.Metaspace(), decoders.WordPiece(),
    decoders.Sequence([decoders.ByteLevel(), decoders.Strip("x", 1, 0)]),
]:
    bytelevel("decoder " + type(decoder).__name__, decoder=decoder, refused="decoder")
bytelevel("no decoder", decoder={}, refused="decoder")
characters("no strip of the space", N.Sequence([N.Prepend("▁"), SPACES]), decoder=PLAIN)
bytelevel("suffixes", end_of_word_suffix="</w>", refused="end_of_word_suffix")
bytelevel("dropout", dropout=0.5, refused="dropout")
case("WordLevel", {"type": "WordLevel", "vocab": {"<unk>": 0, "a": 1}, "unk_token": "<unk>"}, refused="WordLevel")

if __name__ == "__main__":
    def lines(items):
        return "[\n" + ",\n".join(compact(item) for item in items) + "\n]"

    models = compact({str(index): text for index, text in enumerate(MODELS)})
    sys.stdout.write(f'{{"texts":{lines(TEXTS)},\n"models":{models},\n"cases":{lines(CASES)}}}\n')
    served = sum("ids" in case for case in CASES)
    print(f"{len(TEXTS)} texts, {served} cases with ids, {len(CASES) - served} refused", file=sys.stderr)
