"""Pruned and extended vocabularies with models and tokenizers of transformers."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.subwords import SentencePieceTokenizer, load_tokenizer
from tests.subwords.resizing.test_extension import byte_file, extended
from tests.subwords.resizing.test_pruning import pruned
from tests.subwords.resizing.texts import LANGUAGES
from tests.subwords.sentencepiece.models import trained

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.torch
SCRIPT = Path(__file__).parents[3] / "docs" / "examples" / "resize_transformers.py"
SMALL = {"d_model": 16, **{f"{part}_layers": 1 for part in ("encoder", "decoder")}}
SMALL |= {f"{part}_{key}": 2 for part in ("encoder", "decoder") for key in ("attention_heads", "ffn_dim")}


def models() -> dict[str, Any]:
    own = {"pad_token_id": 49, "eos_token_id": 0, "decoder_start_token_id": 49, "forced_eos_token_id": 0}
    marian = transformers.MarianConfig(vocab_size=50, decoder_vocab_size=50, **own, **SMALL)
    nllb = transformers.M2M100Config(vocab_size=50, **SMALL)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    llama = transformers.LlamaConfig(vocab_size=50, num_attention_heads=2, num_key_value_heads=2, **sizes)
    tied = transformers.LlamaConfig.from_dict({**llama.to_dict(), "tie_word_embeddings": True})
    return {
        "marian": transformers.MarianMTModel(marian),
        "nllb": transformers.M2M100ForConditionalGeneration(nllb),
        "llama": transformers.LlamaForCausalLM(llama),
        "tied llama": transformers.LlamaForCausalLM(tied),
    }


@pytest.mark.parametrize("name", ["marian", "nllb", "llama", "tied llama"])
def test_outputs_of_old_text_are_equal(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    torch.manual_seed(7)
    model = models()[name].eval()
    for weight in model.state_dict().values():
        torch.nn.init.normal_(weight)  # also the bias of the outputs, which is zero in a new model
    model.save_pretrained(tmp_path / "old")
    rows = [0, 1, 2, 3, 7, 9, 30, 49, [4, 5], [6], []]
    (tmp_path / "embeddings.json").write_text(json.dumps({"rows": rows}))
    arguments = [str(tmp_path / "old"), str(tmp_path / "embeddings.json"), str(tmp_path / "new")]
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *arguments])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    assert float(capsys.readouterr().out.split(": ")[-1]) < 1e-4
    new = type(model).from_pretrained(tmp_path / "new")
    old_table, table = (each.get_input_embeddings().weight for each in (model, new))
    assert table.shape == (16, 16)
    assert torch.equal(table[7], old_table[49])
    assert torch.allclose(table[8], old_table[4:6].mean(0))
    tied = new.get_output_embeddings().weight.data_ptr() == table.data_ptr()
    assert tied == (name != "llama")
    if name == "marian":
        assert (new.config.pad_token_id, new.config.decoder_start_token_id, new.config.eos_token_id) == (7, 7, 0)
        assert (new.generation_config.pad_token_id, new.generation_config.decoder_start_token_id) == (7, 7)
        assert torch.equal(new.final_logits_bias[:, :8], model.final_logits_bias[:, rows[:8]])
        assert new.config.decoder_vocab_size == 16


def test_fast_tokenizers(tmp_path: Path) -> None:
    path = byte_file(tmp_path)
    pruned(path, LANGUAGES[:6])
    extended(path, LANGUAGES[6:] * 2, 40, tokens=["<2am>"])
    ours, theirs = load_tokenizer(path), transformers.PreTrainedTokenizerFast(tokenizer_file=str(path))
    assert theirs(LANGUAGES, add_special_tokens=False).input_ids == ours.encode_batch(LANGUAGES).to_lists()
    assert theirs.convert_tokens_to_ids("<2am>") == ours.piece_id("<2am>")
    assert len(theirs) == len(ours)


def test_slow_tokenizers(tmp_path: Path) -> None:
    path, vocab = tmp_path / "x.spm", tmp_path / "vocab.json"
    path.write_bytes(trained(LANGUAGES * 3, 400, character_coverage=1.0))
    plain = SentencePieceTokenizer.load(path)
    pieces = ["</s>", "<unk>", *plain.pieces[4:], "<pad>"]
    plain.numbered({piece: number for number, piece in enumerate(pieces)}).save(path)
    old, ours = pruned(path, LANGUAGES[:9])
    assert isinstance(ours, SentencePieceTokenizer)
    vocab.write_text(json.dumps(ours.numbering))
    theirs = transformers.MarianTokenizer(source_spm=str(path), target_spm=str(path), vocab=str(vocab))
    rows = ours.encode_batch(LANGUAGES).to_lists()
    assert theirs(LANGUAGES).input_ids == [[*row, ours.eos_id] for row in rows]
    assert len(ours) < len(old)
