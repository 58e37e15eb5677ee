"""Small chat templates and tokenizers of the kinds that published models have."""

from __future__ import annotations

import json
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

LINES = (
    "Der schnelle braune Fuchs springt über den faulen Hund.",
    "The quick brown fox jumps over 1,234 lazy dogs — isn't it?",
    "Le renard brun saute par-dessus le chien : « vraiment » ?",
    "El rápido zorro marrón salta sobre el perro. ¿De verdad?",
    "Быстрая коричневая лиса прыгает через ленивую собаку.",
    "敏捷的棕色狐狸跳过了懒狗。",
    "素早い茶色の狐はのろまな犬を飛び越えた。",
    "빠른 갈색 여우가 게으른 개를 뛰어넘는다.",
    "الثعلب البني السريع يقفز فوق الكلب الكسول.",
    "השועל החום המהיר קופץ מעל הכלב העצלן.",
    "तेज़ भूरी लोमड़ी आलसी कुत्ते के ऊपर कूदती है।",
    "สุนัขจิ้งจอกสีน้ำตาลกระโดดข้ามสุนัขขี้เกียจ",
    "Nhanh nhẹn con cáo nâu nhảy qua con chó lười biếng.",
    "  white space \t before and after  ",
    '5 apples, <b>bold</b> & "quotes" \'n such',
    "e\u0301te\u0301 \u00a0 ideographic\u3000space 🙂",
    "'ll see",
    "x",
    "a</think>b",
    "user: assistant: \\ {{ x }} {% y %}",
)
"""Lines in 13 languages, and lines that are hard to join to other text."""

CHATML = """{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}"""

MARKED = """{%- for message in messages %}
    {%- if message.role == 'assistant' %}
        {{- '<|im_start|>assistant\\n' }}
        {%- generation %}
            {{- message.content + '<|im_end|>' }}
        {%- endgeneration %}
        {{- '\\n' }}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}"""

# trims, and begins with bos, as templates of Llama 3 and Gemma do
TRIMMED = """{{ bos_token }}{% for message in messages %}<|im_start|>{{ message.role }}

{{ message.content | trim }}<|im_end|>{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant

{% endif %}"""

# the last answer differs from the others, and text with </think> is divided, as in templates of Qwen 3
THINKING = """{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' }}
    {%- if message.role == 'assistant' and loop.last %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
    {%- if '</think>' in message.content %}
        {{- '(' + message.content.split('</think>')[0] + ')' + message.content.split('</think>')[1] }}
    {%- else %}
        {{- message.content }}
    {%- endif %}
    {{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}"""

# both texts are in one text between added tokens, as in templates of Llama 2
JOINED = """{{ bos_token }}{% for message in messages %}{% if message.role == 'user' %}[INST] {{ message.content }} \
[/INST]{% else %} {{ message.content }} <|im_end|>{% endif %}{% endfor %}"""

# the last white space before a block is one piece alone, and two before a digit
SPACED = """{% for message in messages %}{% if message.role == 'assistant' %}A:  {% generation %}{{ message.content }} \
{{ eos_token }}{% endgeneration %}{% else %}{{ message.content }}{{ eos_token }}{% endif %}{% endfor %}"""

# what stands before a text depends on its length, its first character, and words in it
ASKING = """{% set word = 'fauler'[:4] %}{% for message in messages %}<|im_start|>{{ message.role }}
{% if message.content | length > 50 %}long {% endif %}{% if word in message.content %}dog <think><|im_end|>{% endif %}\
{{ '5: ' if message.content[0] == '5' }}{{ message.content }}<|im_end|>{% endfor %}{% if add_generation_prompt %}\
<|im_start|>assistant
{% endif %}"""
SEEKING = ASKING.replace("message.content | length > 50", '"\'ll see" == message.content').replace(
    "message.content[0]", "'0'"
)

# what it asks is asked of copies of a text, as in templates of GLM; roles are text, as Zephyr's; and only the last turn
# ends in eos, as in Phi 3
COPYING = """{% macro copy(text) %}{{ text }}{% endmacro %}{% for message in messages %}<|{{ message.role }}|>
{% set text, more = message.content, '(' ~ message.content %}{{ text | replace('fauler', 'FAULER') }}\
{{ ' fox' if 'fox' in copy(text) }}{{ '.' if '(x' in more }}{{ '!' if '%sx' % text == 'xx' }}\
{{ '?' if 'con c' in ['', text] | join }}<|im_end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>
{% else %}{{ bos_token }}{% endif %}"""

UPPER = CHATML.replace("message.content", "(message.content | upper | replace('QU', 'qu'))")
TEMPLATES = {
    "chatml": CHATML,
    "marked": MARKED,
    "trimmed": TRIMMED,
    "thinking": THINKING,
    "joined": JOINED,
    "upper": UPPER,
    "spaced": SPACED,
    "asking": ASKING,
    "seeking": SEEKING,
    "copying": COPYING,
}

_WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_SPECIAL = ("<s>", "<|im_start|>", "<|im_end|>")


def write_tokenizer(directory: Path, template: str, kind: str = "bytes") -> Path:
    """Writes a tokenizer and its template, and returns the path of its ``tokenizer.json``.

    ``bytes`` is a byte-level BPE vocabulary; ``prefix`` one of characters that puts a space before each text, ``first``
    only before the first; ``swallowing`` is like ``prefix``, with tokens that swallow the white space after them.
    """
    directory.mkdir(exist_ok=True)
    flags = {"rstrip": True} if kind == "swallowing" else {}
    if kind == "bytes":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.normalizer = normalizers.NFC()
        steps = [pre_tokenizers.Split(Regex(_WORDS), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        tokenizer.train_from_iterator(
            [*LINES, *["  "] * 9], trainers.BpeTrainer(vocab_size=500, initial_alphabet=alphabet, show_progress=False)
        )
        tokenizer.add_tokens(["<think>", "</think>", "  ", "    "])
    else:
        trained = Tokenizer(models.BPE(unk_token="<unk>"))
        trained.pre_tokenizer = pre_tokenizers.Metaspace()
        pieces = ["<unk>", *(f"<0x{number:02X}>" for number in range(256)), "\n", "\t"]
        trainer = trainers.BpeTrainer(vocab_size=700, special_tokens=pieces, show_progress=False)
        trained.train_from_iterator(LINES, trainer)
        content = json.loads(trained.to_str())
        content["model"] |= {"byte_fallback": True, "fuse_unk": True}
        content["added_tokens"] = content["added_tokens"][:1]
        tokenizer = Tokenizer.from_str(json.dumps(content))
        tokenizer.pre_tokenizer = None
        if kind == "first":
            tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
        else:
            tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.add_special_tokens([AddedToken(name, normalized=False, **flags) for name in _SPECIAL])
    path = directory / "tokenizer.json"
    tokenizer.save(str(path))
    config = {
        "bos_token": {"__type": "AddedToken", "content": "<s>"},
        "eos_token": "<|im_end|>",
        "chat_template": template,
    }
    (directory / "tokenizer_config.json").write_text(json.dumps(config))
    return path
