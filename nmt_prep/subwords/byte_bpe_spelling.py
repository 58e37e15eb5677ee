"""Merging pretokens that may begin or end inside a character: those of vocabularies that cut text as it is spelt.

The native core takes UTF-8 alone. Such pretokens are given to it as files spell them, a character for each byte, which
is UTF-8 always; before all other merges there are those that put together the two bytes of a spelling's character.
"""

from __future__ import annotations

import numpy as np
from _nmt_prep_core import ByteBPEModel

from nmt_prep.errors import VocabularyError
from nmt_prep.subwords.byte_bpe_vocabulary import BYTE_CHARACTERS, ByteBPEVocabulary, spelled


def spelling_model(vocabulary: ByteBPEVocabulary) -> ByteBPEModel:
    """A model that gives the vocabulary's ids for spelt text; its own further ids, behind those, never come.

    Raises:
        VocabularyError: a byte has no token, so that one of the further ids might come.
    """
    tokens = [spelled(token).encode() for token in vocabulary.tokens]
    ids = {token: number for number, token in enumerate(tokens) if token}
    characters = [character.encode() for character in BYTE_CHARACTERS]
    if missing := [byte for byte, character in enumerate(characters) if character not in ids]:
        raise VocabularyError(
            f"the vocabulary has no token for byte {missing[0]} and {len(missing) - 1} more; one that cuts text after "
            "it was spelt in bytes needs all 256"
        )
    pairs = [character for character in characters if len(character) == 2]
    for half in sorted({bytes([byte]) for pair in pairs for byte in pair}):
        ids[half] = len(tokens)
        tokens.append(half)
    rules = [(ids[pair[:1]], ids[pair[1:]], ids[pair]) for pair in pairs]
    merges = np.concatenate([np.array(rules, np.int32), vocabulary.merges]).astype(np.int32)
    return ByteBPEModel(tokens, [], merges.ravel(), vocabulary.whole_words, False)
