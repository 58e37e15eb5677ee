"""Rows for language models, as datasets reads them and TRL masks them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from nmt_prep.config import Config
from tests.stages.runs import config_of
from tests.subwords.chat.templates import LINES, MARKED, write_tokenizer

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]  # TRL warns of its own code

pa = pytest.importorskip("pyarrow")
datasets = pytest.importorskip("datasets")
transformers = pytest.importorskip("transformers")
trl = pytest.importorskip("trl")

TEXTS = [line.replace("\t", " ").strip() for line in LINES if "think" not in line]
KINDS: dict[str, dict[str, Any]] = {
    "messages": {"rows": "messages", "system": "Translate."},
    "chat": {"rows": "prompt_completion", "conversational": True, "system": "Translate."},
    "plain": {"rows": "prompt_completion", "prompts": "{source}\n"},
    "preference": {"rows": "preference", "score": "s", "conversational": True},
    "prompt_only": {"rows": "prompt_only"},
    "causal": {"rows": "causal"},
}


def config(place: Path, records: dict[str, Any], frame: dict[str, str] | None = None, **outputs: Any) -> Config:
    pairs = [(text, other, number % 7) for number, text in enumerate(TEXTS) for other in (TEXTS[number - 1], text)]
    rows = [f"{source}\t{target}\t{score + (source == target)}\n" for source, target, score in pairs]
    (place / "a.tsv").write_text("".join(rows))
    train = {"name": "a", "url": "a.tsv", "scores": {"s": 2}}
    prompted = {"kind": "huggingface", "prompts": "To {target_language}: {source}"}
    listed = [
        {**(prompted if options["rows"] != "causal" else {"kind": "huggingface"}), **options, "name": name}
        for name, options in outputs.items()
    ]
    vocab = {"from": str(write_tokenizer(place, MARKED)), "frame": frame or {}}
    return config_of(place, train, vocab=vocab, records={"layout": "causal", **records}, outputs=listed)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("rows")
    records = {"template": "chat", "system": "Translate.", "prompts": "To {target_language}: {source}"}
    nmt_prep.run(config(place, records, **KINDS), until="outputs")
    return place


def rows_of(place: Path, name: str) -> Any:
    return datasets.load_dataset(str(place / "run" / "outputs" / name), cache_dir=str(place / "cache"), split="train")


def tokenizer_of(place: Path) -> Any:
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(str(place))
    tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def trained_on(place: Path, rows: Any, **options: Any) -> list[tuple[list[int], list[int]]]:
    """Returns the IDs and labels that TRL makes of rows, sorted."""
    tokenizer = tokenizer_of(place)
    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    shape = transformers.LlamaConfig(vocab_size=len(tokenizer), num_key_value_heads=1, **sizes)
    arguments = trl.SFTConfig(output_dir=str(place / "trl"), report_to=[], use_cpu=True, max_length=None, **options)
    trainer = trl.SFTTrainer(
        transformers.LlamaForCausalLM(shape), args=arguments, train_dataset=rows, processing_class=tokenizer
    )
    made = trainer.train_dataset
    return sorted(zip(made["input_ids"], made["labels"], strict=True))


def test_masks_of_trl(place: Path) -> None:
    causal = rows_of(place, "causal")
    expected = sorted(zip(causal["input_ids"], causal["labels"], strict=True))
    assert len(expected) == 2 * len(TEXTS)
    assert trained_on(place, rows_of(place, "messages"), assistant_only_loss=True) == expected
    assert trained_on(place, causal) == expected
    completed = trained_on(place, rows_of(place, "chat"), completion_only_loss=True)
    after = tokenizer_of(place).encode("\n", add_special_tokens=False)  # what the template writes after its block
    assert completed == [(ids, [*labels[:-1], *after]) for ids, labels in expected]


def test_rows_without_template(tmp_path: Path) -> None:
    frame = dict.fromkeys(("source", "target"), "{ids} <|im_end|>")
    outputs = {name: KINDS[name] for name in ("plain", "causal")}
    nmt_prep.run(config(tmp_path, {"prompt": "{source}\n"}, frame, **outputs), until="outputs")
    causal = rows_of(tmp_path, "causal")
    expected = sorted(zip(causal["input_ids"], causal["labels"], strict=True))
    assert trained_on(tmp_path, rows_of(tmp_path, "plain")) == expected


def test_rows_for_preferences_and_rewards(place: Path) -> None:
    preference, prompts = rows_of(place, "preference"), rows_of(place, "prompt_only")
    assert trl.data_utils.is_conversational(preference[0])
    assert {tuple(row) for row in preference} == {("prompt", "chosen", "rejected")}
    for row in preference:
        source = row["prompt"][-1]["content"].removeprefix("To Chinese: ")
        assert row["chosen"] == [{"role": "assistant", "content": source}]
        assert row["rejected"] == [{"role": "assistant", "content": TEXTS[TEXTS.index(source) - 1]}]
    assert len(preference) == len(TEXTS)
    assert (len(prompts), prompts.column_names) == (2 * len(TEXTS), ["prompt", "reference"])
