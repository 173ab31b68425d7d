#!/usr/bin/env python3
"""T5's kind of tokenizer: our reader of tokenizer.json against transformers and tokenizers, on odd texts, with the map of characters that T5 has (NFKC and
white space) and with a small one."""
import json
import os
import subprocess
import tempfile

import torch_env

torch_env.enter()

import tokenizers  # noqa: E402
import unigram_data  # noqa: E402

ROOM = 24
PROGRAM = os.path.join(torch_env.BUILD, "tests", "tokenize")


def ours(where, texts):
    done = subprocess.run([PROGRAM, where, str(ROOM)], input=json.dumps(texts), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def compare(tokenizer, where, texts):
    wrong = []
    for text, got in zip(texts, ours(where, texts)):
        want = tokenizer(text, add_special_tokens=False).input_ids
        prompt = tokenizer(text, padding="max_length", max_length=ROOM, truncation=True).input_ids
        if got["ids"] != want or got["prompt"] != prompt:
            wrong.append((text, got["ids"], want))
    assert not wrong, f"{len(wrong)} of {len(texts)} differ: {wrong[:5]}"


def the_map_of_t5():
    with tempfile.TemporaryDirectory() as where:
        compare(unigram_data.train(where), where, unigram_data.odd_texts(3000))


def a_small_map():
    with tempfile.TemporaryDirectory() as where:
        compare(unigram_data.train(where, unigram_data.RULES), where, unigram_data.odd_texts(3000, seed=5))


def no_map_and_other_rules():
    """As SentencePiece models are converted: blanks stripped and marked by the normalizer, no words before."""
    with tempfile.TemporaryDirectory() as where:
        unigram_data.train(where)
        path = os.path.join(where, "tokenizer.json")
        with open(path, encoding="utf-8") as file:
            rules = json.load(file)
        rules["normalizer"] = {"type": "Sequence", "normalizers": [rules["normalizer"], {"type": "Strip", "strip_left": False, "strip_right": True},
                                                                   {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"}]}
        rules["pre_tokenizer"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
        for token in rules["added_tokens"]:
            token["rstrip"] = token["content"] == "</s>"
            token["lstrip"] = token["content"] == "<pad>"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(rules, file)
        reference = tokenizers.Tokenizer.from_file(path)
        texts = unigram_data.odd_texts(1500, seed=8) + ["a </s> b", "a <pad> b", " </s>  <pad> "]
        wrong = [text for text, got in zip(texts, ours(where, texts)) if got["ids"] != reference.encode(text, add_special_tokens=False).ids]
        assert not wrong, f"{len(wrong)} of {len(texts)} differ: {wrong[:5]}"


torch_env.run(the_map_of_t5, a_small_map, no_map_and_other_rules)
