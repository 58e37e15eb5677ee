// All suffixes of a set of distinct tokens, in order, each once: the leaves of their suffix tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/batch.h"

namespace nmt_prep::t2t {

// Tokens, each ended by `last`, one after another. Symbols are 1 … `symbols`, in the order of their characters; `last`
// occurs at the ends of tokens only, so that no suffix (of a token) is a proper prefix of another.
struct TokenText {
    std::vector<std::uint32_t> text;
    std::vector<std::size_t> ends;  // one past the `last` of each token
    std::uint32_t symbols;
    std::uint32_t last;
};

// Leaf j of the tree is the j-th of the distinct suffixes in ascending order of their symbols.
struct Suffixes {
    std::vector<std::uint32_t> leaf_of;   // position in the text -> leaf of the suffix that starts there
    std::vector<std::uint32_t> position;  // leaf -> one position where its suffix starts
    std::vector<std::uint32_t> common;    // leaf -> symbols that it shares with the leaf before it; 0 for leaf 0
    std::vector<std::uint32_t> length;    // leaf -> symbols, the `last` included
};

// Most symbols that a text may have: a rank and a flag share 32 bits.
inline constexpr std::size_t kMaxSymbols = (std::size_t{1} << 31) - 2;

// Time O(n log n) for any text of n symbols, and O(n) where suffixes differ early; at most 36 bytes a symbol on top of
// the text while it runs, and 16 after it. Requires text.text.size() <= kMaxSymbols.
Suffixes sort_suffixes(const TokenText& text, const Poll& poll);

}  // namespace nmt_prep::t2t
