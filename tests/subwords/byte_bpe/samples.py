"""A small vocabulary for tests, and texts to encode."""

from __future__ import annotations

import atexit
from functools import cache

from hypothesis import strategies as st

from nmt_prep.subwords.byte_bpe.tokenizer import ByteBPETokenizer

LINES = [
    "the cat sat on the mat, and the cat's hat sat there too",
    "the hat that the cat had on the mat isn't the cat's hat",
    "他们的猫坐在他们的垫子上，他们的帽子也在那里。",
    "我们的猫和你们的猫都在垫子上，帽子不在。",
    "Die Katze saß früher häufig über den Dächern, 2022 auch 1999.",
    "aaaaaaaa aaaa aa abababab  ababa \t\t  x",
]
SPECIALS = ("<pad>", "<EOS>", "<s>", "<sep>", "<sep>x")


@cache
def small_tokenizer() -> ByteBPETokenizer:
    return ByteBPETokenizer.train(LINES * 3, 400, bos="<s>", reserved=SPECIALS[3:])


atexit.register(small_tokenizer.cache_clear)

# Parts of the training text, so that merges apply, and random text.
TEXTS = st.lists(
    st.one_of(
        st.sampled_from([word for line in LINES for word in line.split(" ")]),
        st.sampled_from([*"的们他猫 aab'’é\t\n", "  ", "👩🏽‍🚀", "\u3000", "ab" * 9, "猫" * 12]),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    ),
    max_size=12,
).map("".join)
