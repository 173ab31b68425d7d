"""Unigram tokenizers to compare with: trained here by sentencepiece on a page of made-up text, as T5's was, and turned into a tokenizer.json by transformers'
class. With a file of rules the map of characters is small enough to be kept in tests/data (`python unigram_data.py DIR`)."""
import io
import json
import os
import random
import re
import sys

import sentencepiece
from sentencepiece import sentencepiece_model_pb2 as pb
from transformers import T5Tokenizer

WORDS = ("a the red blue small large bicycle house tree river mountain cat dog photo painting oil portrait landscape sunset winter summer of in on with under "
         "beside old new bright dark detailed render digital art style by night day city street light shadow glass water fire stone wood metal paper ink "
         "naïve café über señor straße ação Łódź мир дом книга 日本 東京 写真 猫 χρόνος قلم ספר").split()

RULES = ["20\t9", "20\tA", "20\tD", "20\tA0", "20\t3000", "E9\t65 301", "E8\t65 300", "FC\t75 308", "66 69\tFB01", "66 66 69\tFB03", "41\tFF21", "62\tFF42",
         "31\tFF11", "33\tB3", "31 2044 32\tBD", "2E 2E 2E\t2026", "\t200B", "\tAD", "30AC\tFF76 FF9E", "AC00\t1100 1161", "41 30A\t212B", "73\t17F",
         "644 627\tFEFB", "E4\t61 308"]

TEXTS = [
    "", " ", "a", "A", "  a  red   bicycle ", "a red bicycle\n\ton\r\nthe street", "▁", "▁▁ a ▁b", "a▁b", "naïve café über", "cafe\u0301 u\u0308ber e\u0300", "ﬁne oﬃce ﬁ\u0301 ﬁ\u0323\u0301",
    "ＡＢＣ ｂｂ １１", "½ … ³", "日本の東京", "ｶﾞｷﾞ ガ", "가 한국어 \u1100\u1161\u11a8 \uac00\u11a8", "🙂 👍🏽 👩\u200d🚀 🇩🇪🇫🇷🇺", "©\ufe0f ®\u200d x\u200d y\u200c", "a\u200bb\u00adc\u2060d\ufeffe",
    "</s>", "a</s>b", " </s> </s>", "<pad>a<unk>", "<extra_id_0> and <extra_id_99>", "<extra_id_100>", "</S>", "x" * 300, "qqqqzzzz~~^^", "מילה عربي قلم", "\u0600\u0661 \u06dd12",
    "क्षत्रिय हिन्दी", "ไทย กำ", "A\u030a Å \u212b \ufb01", "\u1d49\u2075\u2460", "tab\tand\x0bvt\x0cff\x1cfs\x85nel\u2028ls\u2029ps", "\u3000wide\u2003em\u00a0nb", "e\u0301\u0301\u0301\u0301",
    "1\ufe0f\u20e3 2\ufe0f", "\ufdfa", "ſ ß ŉ ǆ", "a,b.c!d?e", "don't 'quote' \"double\"", "red-blue_green/large", "𝔸𝕓 𝟙", "\U000e0061 tag", "\u0301alone", " \u0301", "\x01\x7f\x80",
]


def odd_texts(count=400, seed=11):
    """Those above and random ones of all kinds of characters."""
    pick = random.Random(seed)
    ranges = [(0x20, 0x7e), (0xa0, 0x24f), (0x300, 0x36f), (0x370, 0x5ff), (0x600, 0x6ff), (0x900, 0x97f), (0xe00, 0xe7f), (0x1100, 0x11ff), (0x1e00, 0x206f),
              (0x2070, 0x218f), (0x2460, 0x24ff), (0x3000, 0x30ff), (0x3130, 0x33ff), (0xac00, 0xac80), (0xf900, 0xfaff), (0xfb00, 0xfdff), (0xfe00, 0xffee),
              (0x1d400, 0x1d7ff), (0x1f1e6, 0x1f1ff), (0x1f300, 0x1f64f)]
    texts = list(TEXTS)
    while len(texts) < count:
        kinds = pick.sample(ranges, 3) + [(0x20, 0x7a), (0x300, 0x340)]
        texts.append("".join(pick.choice(WORDS) if pick.random() < 0.1 else chr(pick.randint(*pick.choice(kinds))) for _ in range(pick.randint(1, 24))))
    return texts


def train(where, rules=None, vocab_size=300):
    """A folder with tokenizer.json and tokenizer_config.json; the tokenizer itself."""
    pick = random.Random(3)
    sentences = [" ".join(pick.choice(WORDS) for _ in range(pick.randint(3, 12))) for _ in range(2000)]
    model = io.BytesIO()
    more = {}
    if rules:
        more["normalization_rule_tsv"] = os.path.join(where, "rules.tsv")
        with open(more["normalization_rule_tsv"], "w", encoding="utf-8") as file:
            for rule in rules:
                new, old = rule.split("\t")
                file.write(f"{old}\t{new}\n")
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(sentences), model_writer=model, vocab_size=vocab_size, model_type="unigram", pad_id=0, eos_id=1,
                                             unk_id=2, bos_id=-1, character_coverage=0.995, hard_vocab_limit=False, minloglevel=2, num_threads=1, **more)
    proto = pb.ModelProto()
    proto.ParseFromString(model.getvalue())
    vocab = [(piece.piece, piece.score) for piece in proto.pieces]
    vocab += [(f"<extra_id_{i}>", 0.0) for i in range(99, -1, -1)]
    tokenizer = T5Tokenizer(vocab=vocab, _spm_precompiled_charsmap=proto.normalizer_spec.precompiled_charsmap or None, model_max_length=512)
    tokenizer.save_pretrained(where)
    return tokenizer


def main():
    where = sys.argv[1]
    tokenizer = train(where, RULES)
    os.unlink(os.path.join(where, "rules.tsv"))
    texts = odd_texts(160)
    cases = [{"text": text, "ids": tokenizer(text, add_special_tokens=False).input_ids} for text in texts]
    with open(os.path.join(where, "cases.json"), "w", encoding="utf-8") as file:
        file.write(re.sub(r"}, {", "},\n{", json.dumps(cases)) + "\n")
    for name in os.listdir(where):
        if name not in ("tokenizer.json", "tokenizer_config.json", "cases.json"):
            os.unlink(os.path.join(where, name))


if __name__ == "__main__":
    main()
