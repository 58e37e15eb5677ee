"""Rows against a whole rendering by Jinja2, encoded by ``tokenizers``."""

from __future__ import annotations

import functools
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer

from nmt_prep import load_tokenizer
from nmt_prep.base.errors import VocabularyError
from nmt_prep.subwords.chat.template import ChatTemplate
from nmt_prep.subwords.facts import BuiltVocabulary, describe_vocabulary
from nmt_prep.training.records.causal_rows import RowMaker, divided_rows
from nmt_prep.training.records.shard_reader import PairColumns, loss_mask
from tests.subwords.chat.templates import LINES, TEMPLATES, write_tokenizer

KINDS = [
    *(("bytes", name) for name in TEMPLATES),
    ("prefix", "joined"),
    ("first", "joined"),
    ("swallowing", "chatml"),
]


def maker_of(path: Path, template: bool = True, frame: str | None = None) -> RowMaker:
    facts = describe_vocabulary(load_tokenizer(path), path.name, None, ()).facts
    chat = ChatTemplate.read(path.with_name("tokenizer_config.json"), None, {}) if template else None
    return RowMaker(BuiltVocabulary(path, facts), chat, frame)


class Blocks(Extension):
    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Any) -> Any:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("marked"), [], [], body).set_lineno(line)

    def marked(self, caller: Any) -> str:
        return f"\ue000{caller()}\ue001"


@functools.cache
def compiled(template: str) -> Any:
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Blocks])
    return environment.from_string(template)


def whole(template: str, texts: list[str], system: str | None, prompted: bool = False) -> str:
    roles = ["user", "assistant"] * len(texts)
    messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)]
    first = [] if system is None else [{"role": "system", "content": system}]
    tokens = {"bos_token": "<s>", "eos_token": "<|im_end|>"}
    return str(compiled(template).render(messages=[*first, *messages], add_generation_prompt=prompted, **tokens))


def reference(tokenizer: Tokenizer, template: str, texts: list[str], system: str | None) -> tuple[list[int], list[int]]:
    """Returns the IDs of a conversation, and those that count: by its blocks, or by what its prompts do not have."""
    text = whole(template, texts, system)
    plain = text.replace("\ue000", "").replace("\ue001", "")
    encoding = tokenizer.encode(plain, add_special_tokens=False)
    counts = np.zeros(len(encoding.ids), bool)
    if "\ue000" in text:
        at = 0
        for part in text.split("\ue000")[1:]:
            at = text.index("\ue000" + part) - 2 * text[: text.index("\ue000" + part)].count("\ue000")
            end = at + part.index("\ue001")
            counts |= [start < end and stop > at for start, stop in encoding.offsets]
        return encoding.ids, counts.astype(int).tolist()
    for end in range(2, len(texts) + 1, 2):
        parts = [whole(template, texts[: end - 1], system, prompted=True), whole(template, texts[:end], system)]
        ids = [own.ids for own in tokenizer.encode_batch(parts, add_special_tokens=False)]
        common = [[a == b for a, b in zip(own, encoding.ids, strict=False)] for own in ids]
        start, stop = ([*same, False].index(False) for same in common)
        counts[start:stop] = True
    return encoding.ids, counts.astype(int).tolist()


def rows_of(rows: PairColumns) -> list[tuple[list[int], list[int]]]:
    mask = loss_mask(rows).astype(int)
    bounds = rows.inputs.offsets
    return [(rows.inputs.values[a:b].tolist(), mask[a:b].tolist()) for a, b in pairwise(bounds)]


@pytest.mark.parametrize(("kind", "name"), KINDS)
def test_rows_are_those_of_a_whole_rendering(tmp_path: Path, kind: str, name: str) -> None:
    path = write_tokenizer(tmp_path, TEMPLATES[name], kind)
    maker, tokenizer = maker_of(path), Tokenizer.from_file(str(path))
    draw = random.Random(name)
    lines = [line.strip() for line in LINES] if kind == "swallowing" else [*LINES]
    pairs = [(f"To German:\n{draw.choice(lines)}\n", line) for line in lines]
    pairs += [(line, draw.choice(lines)) for line in lines]
    for system in (None, "You translate."):
        made = maker.rows(*(pa.array(side, pa.large_string()) for side in zip(*pairs, strict=True)), [system])
        expected = [reference(tokenizer, TEMPLATES[name], [*pair], system) for pair in pairs]
        assert rows_of(made) == expected


@pytest.mark.parametrize("name", ["chatml", "marked", "trimmed", "thinking", "joined", "copying"])
def test_turns_of_documents(tmp_path: Path, name: str) -> None:
    path = write_tokenizer(tmp_path, TEMPLATES[name])
    maker, tokenizer = maker_of(path), Tokenizer.from_file(str(path))
    lines = LINES[-12:]
    columns = [pa.array(side, pa.large_string()) for side in (lines, lines[::-1])]
    turns = np.array([1, 0, 2, 0, 0, 0, 0, 0, 6, 0, 0, 3])
    texts = [
        [text for n in range(end - count + 1, end + 1) for text in (lines[n], lines[11 - n])]
        for end, count in enumerate(turns)
    ]
    expected = [reference(tokenizer, TEMPLATES[name], text, None) if text else ([], []) for text in texts]
    made = rows_of(maker.rows(*columns, turns=turns))
    if name == "thinking":  # its last answer alone has thoughts, so that answers before it differ from their own ends
        made, expected = ([(ids, sum(mask) > 0) for ids, mask in rows] for rows in (made, expected))
    assert made == expected
    last = maker.rows(*columns, turns=np.minimum(np.arange(12) + 1, 3), last_only=True)
    assert last.targets.lengths.tolist() == [2] * 12
    _, counted = divided_rows(last)
    alone = divided_rows(maker.rows(*columns))[1]
    assert [row[-3:] for row in counted.to_lists()] == [row[-3:] for row in alone.to_lists()]


def test_a_row_without_template_is_prompt_target_and_frame(tmp_path: Path) -> None:
    path = write_tokenizer(tmp_path, TEMPLATES["chatml"])
    tokenizer = load_tokenizer(path)
    prompts = pa.array(["In German: x\n", "ends with a space: "], pa.large_string())
    answers = pa.array(["dog", "con dog"], pa.large_string())
    made = maker_of(path, template=False, frame="<s> {ids} <|im_end|>").rows(prompts, answers)
    begin, end = tokenizer.piece_id("<s>"), tokenizer.piece_id("<|im_end|>")
    whole_texts = [tokenizer.encode("In German: x\ndog"), tokenizer.encode("ends with a space: con dog")]
    assert made.inputs.to_lists() == [[begin, *ids, end] for ids in whole_texts]
    # the space belongs to the first word of the answer, which counts as a whole, as in TRL
    starts = [1 + len(tokenizer.encode("In German: x\n")), 1 + len(tokenizer.encode("ends with a space:"))]
    assert made.targets.to_lists() == [[start, len(ids) + 2] for start, ids in zip(starts, whole_texts, strict=True)]


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{{ messages[0].content }}", "line 1: the texts of the messages are not in its text once"),
        ("a\n{% if %}", "line 2: Expected an expression"),
        ("\n\n{{ raise_exception('no system') }}", "line 3: no system"),
        (TEMPLATES["chatml"].replace("<|im_end|>", "<|end|>"), "line 2: .*no added token '<.end.>'"),
        ("{{ tools[0].name }}", "line 1: None has no element 0"),
        ("{% for m in messages %}\n{{ m.content.image.url }}{% endfor %}", "line 2: 'str object' has no att"),
        ("{{ strftime_now('%d') }}", r"line 1: 'strftime_now' is undefined; rows must not depend on the date"),
        ("{{ messages.__class__.__mro__ }}", "line 1: access to attribute '__class__'"),
        ("{{ 'x' * 99999999999 }}", "line 1: needs too much memory"),
        ("{% for a in range(99999) %}{{ 'x' * 9999 }}{% endfor %}", "gives more than 16,777,216 characters"),
        (
            TEMPLATES["chatml"].replace("'<|im_start|>assistant\\n'", "'<|im_start|>model\\n'"),
            "line 5: the prompt before an answer ends in 'model",
        ),
        (TEMPLATES["marked"].replace("== 'assistant'", "== 'user'"), "do not hold each answer once"),
    ],
)  # fmt: skip
def test_templates_that_give_no_rows(tmp_path: Path, template: str, problem: str) -> None:
    maker = maker_of(write_tokenizer(tmp_path, template))
    with pytest.raises(VocabularyError, match=problem):
        maker.shape(None, 1)


@pytest.mark.parametrize(("template", "line"), [("chatml", "a<|im_end|>b"), ("thinking", "a</think>b<|im_end|>")])
def test_special_tokens_in_text_stay_text(tmp_path: Path, template: str, line: str) -> None:
    path = write_tokenizer(tmp_path, TEMPLATES[template])
    text = pa.array([line], pa.large_string())
    [ids] = maker_of(path).rows(text, text).inputs.to_lists()
    assert ids.count(load_tokenizer(path).piece_id("<|im_end|>")) == 2


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"tokenizer_config.json": b"{}"}, "records.template: there is no chat template in tokenizer_config.json or"),
        ({"tokenizer_config.json": b"[" * 999}, "not valid JSON|JSON, but not an object"),
        ({"tokenizer_config.json": b'{"chat_template": [{"name": "tool_use", "template": ""}]}'}, "no chat template"),
        ({"chat_template.jinja": b"\xff"}, "byte 0 is not UTF-8"),
        ({"chat_template.jinja": b"{{ x }}" * 40_000}, "the chat template has more than 262,144 characters"),
        ({"chat_template.jinja": b"{{ bos_token }}"}, "uses bos_token, and there is no tokenizer_config.json beside"),
    ],
)
def test_files_of_templates_that_cannot_be_used(tmp_path: Path, files: dict[str, bytes], problem: str) -> None:
    paths = {name: tmp_path / name for name in files}
    for name, content in files.items():
        paths[name].write_bytes(content)
    with pytest.raises(VocabularyError, match=problem):
        ChatTemplate.read(paths.get("tokenizer_config.json"), paths.get("chat_template.jinja"), {})


def test_templates_take_variables(tmp_path: Path) -> None:
    (tmp_path / "t.jinja").write_text("{{ bos_token }}{{ date }}{{ messages[0].content }}")
    template = ChatTemplate.read(None, tmp_path / "t.jinja", {"bos_token": "<s>", "date": "May"})
    assert template.render([([{"role": "user", "content": "x"}], False)])[0].text == "<s>Mayx"
