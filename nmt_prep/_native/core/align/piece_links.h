// Piece links, from links of words: two pieces are linked if they overlap with linked words.
#pragma once

#include <cstdint>
#include <span>

#include "align/text.h"

namespace nmt_prep::align {

// Stretches of lines, such as words or pieces: line i has the stretches [offsets[i], offsets[i + 1]), in ascending
// order.
struct Stretches {
    std::span<const std::int32_t> begins, ends;
    std::span<const std::int64_t> offsets;
};

// Borrowed pairs of a source number and a target number, one after the other; line i has the pairs [offsets[i],
// offsets[i + 1]).
struct LinkColumn {
    std::span<const std::int32_t> links;
    std::span<const std::int64_t> offsets;
};

// The words, or the pieces, of both sides.
struct Sides {
    Stretches source, target;
};

struct PieceLinks : OwnedLinks {
    std::int64_t cut = 0;  // lines that lack the links of some words
};

// A line has at most kFewLinks links of pieces, and kLinksPerPiece more per piece of both sides, so that they grow with
// the line, not with the square of a long word.
inline constexpr std::uint64_t kFewLinks = 1024, kLinksPerPiece = 16;

// Returns the distinct links of pieces, ordered by source, then target; of a line with too many, without the links of
// the words that have the most. Throws std::invalid_argument if the arguments have different numbers of lines, or a
// link has no word.
PieceLinks piece_links(const LinkColumn& words_linked, const Sides& words, const Sides& pieces);

}  // namespace nmt_prep::align
