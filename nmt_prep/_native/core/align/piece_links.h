// Links of pieces that follow from links of words: two pieces are linked if they overlap with linked words.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nmt_prep::align {

// Stretches of lines: those of line i are at [offsets[i], offsets[i + 1]). They do not decrease within a line.
struct Stretches {
    std::span<const std::int32_t> begins, ends;
    std::span<const std::int64_t> offsets;
};

// Pairs of numbers of a source and a target, one after the other; those of line i are pairs [offsets[i], offsets[i +
// 1]).
struct LinkColumn {
    std::span<const std::int32_t> links;
    std::span<const std::int64_t> offsets;
};

struct OwnedLinks {
    std::vector<std::int32_t> links;
    std::vector<std::int64_t> offsets;
};

// The two sides of lines: their words, or their pieces.
struct Sides {
    Stretches source, target;
};

// Returns the links of pieces, ordered by source, then target, each once. Throws std::invalid_argument if the arguments
// are not of the same lines, or a link has no word.
OwnedLinks piece_links(const LinkColumn& words_linked, const Sides& words, const Sides& pieces);

}  // namespace nmt_prep::align
