// Sorts a token set's distinct suffixes: the leaves of their suffix tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/batch.h"

namespace nmt_prep::t2t {

// Concatenated tokens, each ended by `last`. Symbols are 1 … `symbols`, in the order of their characters; `last` only
// occurs at the ends of tokens, so that no suffix (of a token) is a proper prefix of another.
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
    std::vector<std::uint32_t> common;    // leaf -> length of its common prefix with the leaf before it; 0 for leaf 0
    std::vector<std::uint32_t> length;    // leaf -> symbols, including `last`
};

// Maximum symbol count of a text: a rank and a flag share 32 bits.
inline constexpr std::size_t kMaxSymbols = (std::size_t{1} << 31) - 2;

// Takes time O(n log n) for any text of n symbols, and O(n) if suffixes differ early. In addition to the text, it takes
// at most 36 bytes of memory per symbol while it runs, and 16 afterwards. Requires text.text.size() <= kMaxSymbols.
Suffixes sort_suffixes(const TokenText& text, const Poll& poll);

}  // namespace nmt_prep::t2t
