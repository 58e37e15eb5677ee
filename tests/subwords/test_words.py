"""Steps before a vocabulary: their file, what it depends on, and places in the text before them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import nmt_prep
from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import TokenizerError, VocabularyError
from nmt_prep.subwords.words import save_chain
from nmt_prep.text.chain import Chain
from nmt_prep.text.step import StepContext


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A vocabulary with steps that name files."""
    place = tmp_path / "made"
    (tmp_path / "prefixes").write_text("Dr\n")
    (tmp_path / "model").write_text("der (3/3)\n")
    specs = [
        {"moses": {"prefixes": "prefixes", "aggressive": True}},
        {"truecase": "model"},
        {"unicode_punctuation": "moses"},
        {"replace": {"pattern": "ſ", "with": "s"}},
    ]
    place.mkdir()
    lines = ["der Weg & &quot; a @-@ b &apos;"] * 2
    nmt_prep.SubwordNMTTokenizer.train(lines, merges=99).save(place / "v.subword_nmt.json")
    chain = Chain.of(specs, StepContext("de", tmp_path))
    assert save_chain(chain, place / "v.de.words.json", "de", "v.subword_nmt.json") == (
        *("v.de.words.json", "v.de.1.moses.prefixes", "v.de.2.truecase.model"),
    )
    (tmp_path / "prefixes").unlink()
    return place


def test_text_goes_through_the_steps_and_back(made: Path, tmp_path: Path) -> None:
    shutil.move(made, tmp_path / "moved")
    tokenizer = nmt_prep.load_tokenizer(tmp_path / "moved" / "v.de.words.json")
    inner = nmt_prep.load_tokenizer(tmp_path / "moved" / "v.subword_nmt.json")
    assert tokenizer.encode('Der Weg, "a-b"') == inner.encode("der Weg , &quot; a @-@ b &quot;")
    assert tokenizer.decode(inner.encode("der Weg &quot; a @-@ b &quot;")) == 'Der Weg "a-b"'
    assert (tokenizer.dialect, tokenizer.eos_id, len(tokenizer)) == ("subword_nmt", 1, len(inner))
    assert tokenizer.fingerprint != inner.fingerprint


def test_places_of_pieces_are_those_in_the_text_before_the_steps(made: Path) -> None:
    tokenizer = nmt_prep.load_tokenizer(made / "v.de.words.json")
    lines = TextColumn.from_strings(['Der "Weg"  a-b', "", "…", "\x01Weg\u2003"])
    rows = tokenizer.encode_batch(lines.to_arrow())
    assert rows.lengths.tolist() == [7, 0, 3, 1]
    spans = tokenizer.piece_spans(lines, rows)
    assert spans.known.tolist() == [True, True, False, True]
    words: list[str] = []
    texts = lines.strings()
    for row, text in enumerate(texts):
        places = slice(rows.offsets[row], rows.offsets[row + 1])
        words += [text[begin:end] for begin, end in zip(spans.begins[places], spans.ends[places], strict=True)]
    assert words == ["Der", '"', "Weg", '"', "a", "-", "b", "", "", "", "Weg"]


def test_the_file_of_steps_is_checked(made: Path) -> None:
    path, copy = made / "v.de.words.json", made / "v.de.2.truecase.model"
    good = json.loads(path.read_text())

    def problem(**changes: object) -> str:
        path.write_text(json.dumps({**good, **changes}))
        with pytest.raises(VocabularyError) as error:
            nmt_prep.load_tokenizer(path)
        return str(error.value).partition("words.json: ")[2]

    truecase = good["steps"][1]
    assert problem(vocabulary="../v") == "'../v' is not the name of a file beside it; save the file again"
    assert problem(steps=[{**truecase, "copies": {"model": "/etc/passwd"}}]).startswith("'/etc/passwd' is not the name")
    other = {**truecase, "options": {"model": str(copy)}, "copies": {}}
    assert problem(steps=[other]) == f"truecase: names the file {copy}, which is not beside the vocabulary"
    assert problem(steps=[{**truecase, "step": "truecas"}]).startswith("there is no step 'truecas'; did you mean")
    assert problem(steps=[{**truecase, "step": ["a"]}]).startswith("there is no step \"['a']\"")
    copy.write_text("der (4/4)\n")
    assert problem().endswith("v.de.2.truecase.model has changed since; restore it, or make the vocabulary again")


def test_code_of_a_vocabulary_runs_only_if_it_is_trusted(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loud.py").write_text("def upper(line): return line.upper()\n")
    save_chain(
        Chain.of([{"python": "loud:upper"}, "lowercase"], StepContext("de", tmp_path)),
        made / "v.words.json",
        "de",
        "v.subword_nmt.json",
    )
    tokenizer = nmt_prep.load_tokenizer(made / "v.words.json")
    assert tokenizer.decode([]) == ""
    with pytest.raises(TokenizerError, match=r"has the step python, which runs 'loud:upper'; if you trust it, set NMT"):
        tokenizer.encode("A")
    monkeypatch.setenv("NMT_PREP_STEPS", str(tmp_path))
    trusted = nmt_prep.load_tokenizer(made / "v.words.json")
    assert trusted.encode("A") == nmt_prep.load_tokenizer(made / "v.subword_nmt.json").encode("a")
    assert trusted.fingerprint == tokenizer.fingerprint
    (tmp_path / "loud.py").write_text("def upper(line): return line\n")
    with pytest.raises(VocabularyError, match=r"loud\.py has changed since"):
        nmt_prep.load_tokenizer(made / "v.words.json")
