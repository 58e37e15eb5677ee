// Encodes a pretoken that is not in a cache.
#include <algorithm>

#include "byte_bpe/model.h"

namespace nmt_prep::byte_bpe {
namespace {

// True if the word begins with a character of three or more bytes, perhaps after a space or another short character.
// Such words of Chinese, Japanese, Korean or Hindi are searched for tokens. In other scripts, tokens are often not the
// longest possible, so merging is faster than a search.
bool is_searched(const std::uint8_t* word, std::size_t size) { return word[0] >= 0xE0 || word[size > 1] >= 0xE0; }

}  // namespace

std::int32_t* Model::encode_word(const std::uint8_t* word, std::size_t size, Scratch& scratch,
                                 std::int32_t* out) const {
    if (const std::int32_t* const id = whole_word(word, size)) {
        *out = *id;
        return out + 1;
    }
    if (!is_searched(word, size) || size > TokenSearch::kMaxBytes) return merge_in_units(word, size, scratch, out);
    const TokenSearch::Tables tables{pairs_, splits_, cuts_, characters_, of_characters_};
    return TokenSearch(tables, word, size).run(out, [&](const std::uint8_t* unit, std::size_t bytes, std::int32_t* to) {
        return merge_unit(unit, bytes, scratch.merger, to);
    });
}

std::size_t Model::start_of_word(const std::uint8_t* word, std::size_t size, std::int32_t* symbols) const {
    if (is_searched(word, size) || size > kMaxStart - bpe::CharacterTable::kPadding ||
        whole_word(word, size) != nullptr)
        return 0;
    std::int32_t* symbol = symbols;
    for (const std::uint8_t *at = word, *end = word + size; at != end;) {
        const bpe::Character character = bpe::read_character(at);
        symbol = start_of_character(at, character, symbol);
        at += character.size;
    }
    const auto count = static_cast<std::size_t>(symbol - symbols);
    return count <= bpe::WordMerger::kMaxSymbols ? count : 0;
}

// Writes the symbols that merging begins with, for one character, and returns their end.
std::int32_t* Model::start_of_character(const std::uint8_t* at, const bpe::Character& character,
                                        std::int32_t* symbols) const {
    if (character.size < 4) {
        const bpe::CharacterTable::Entry& entry = characters_[character.point];
        if (entry.begins) {
            std::copy_n(entry.symbols, 3, symbols);
            return symbols + entry.size;
        }
    }
    spell(at, character.size, symbols);
    return symbols + character.size;
}

// Merges the parts of the word between boundaries that no token crosses, one by one.
std::int32_t* Model::merge_in_units(const std::uint8_t* word, std::size_t size, Scratch& scratch,
                                    std::int32_t* out) const {
    const std::uint8_t* const end = word + size;
    const std::uint8_t* unit = word;
    bpe::Character left = bpe::read_character(word);
    for (const std::uint8_t* at = word + left.size; at != end; at += left.size) {
        const bpe::Character right = bpe::read_character(at);
        if (cuts_.crossing(left, right) == bpe::CutTable::kNone) {
            out = merge_unit(unit, static_cast<std::size_t>(at - unit), scratch.merger, out);
            unit = at;
        }
        left = right;
    }
    return merge_unit(unit, static_cast<std::size_t>(end - unit), scratch.merger, out);
}

// Most parts are one token as a whole; others are merged from their characters.
std::int32_t* Model::merge_unit(const std::uint8_t* unit, std::size_t size, bpe::Merger& merger,
                                std::int32_t* out) const {
    std::int32_t* symbol = out;
    bpe::TokenTable::Key key = 0;
    for (const std::uint8_t *at = unit, *end = unit + size; at != end;) {
        const bpe::Character character = bpe::read_character(at);
        key = bpe::TokenTable::extend(key, character);
        symbol = start_of_character(at, character, symbol);
        at += character.size;
    }
    if (of_characters_.hint(key).token) {
        const std::int32_t token = of_characters_.find(key, unit, size);
        if (token >= 0) {
            *out = token;
            return out + 1;
        }
    }
    return out + merger.merge(out, static_cast<std::size_t>(symbol - out), pairs_);
}

}  // namespace nmt_prep::byte_bpe
