// Spells and merges a word that is not in a cache.
#include <algorithm>

#include "byte_bpe/model.h"

namespace nmt_prep::byte_bpe {

std::size_t Model::start_of_word(const std::uint8_t* word, std::size_t size, std::int32_t* symbols) const {
    if (size > kMaxStart - bpe::CharacterTable::kPadding) return 0;
    const std::size_t count = start(word, size, symbols);
    return count <= bpe::WordMerger::kMaxSymbols ? count : 0;
}

std::size_t Model::start(const std::uint8_t* word, std::size_t size, std::int32_t* symbols) const {
    std::int32_t* symbol = symbols;
    bool after_space = false;
    for (const std::uint8_t *at = word, *end = word + size; at != end;) {
        if (*at < 0x80 && byte_ids_[*at] >= 0) {  // as below, in less time
            after_space = *at == ' ';
            *symbol++ = byte_ids_[*at++];
            continue;
        }
        const bpe::Character character = bpe::read_character(at);
        symbol = start_of_character(at, character, after_space, symbol);
        after_space = *at == ' ';
        at += character.size;
    }
    return static_cast<std::size_t>(symbol - symbols);
}

std::int32_t* Model::start_of_character(const std::uint8_t* at, const bpe::Character& character, bool after_space,
                                        std::int32_t* symbols) const {
    if (character.size < 4) {
        const bpe::CharacterTable::Entry& entry = characters_[character.point];
        if (entry.begins[after_space]) {
            std::copy_n(entry.symbols, 3, symbols);
            return symbols + entry.size;
        }
    }
    spell(at, character.size, symbols);
    return symbols + character.size;
}

std::size_t Model::merge(const std::uint8_t* word, std::size_t size, bpe::Merger& merger, std::int32_t* out) const {
    return merger.merge(out, start(word, size, out), pairs_);
}

}  // namespace nmt_prep::byte_bpe
