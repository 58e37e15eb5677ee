#include "align/piece_links.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>

namespace nmt_prep::align {
namespace {

void check(const Stretches& stretches, std::size_t offsets) {
    bool fits = stretches.offsets.size() == offsets && stretches.begins.size() == stretches.ends.size() &&
                stretches.offsets.front() >= 0 &&
                std::cmp_less_equal(stretches.offsets.back(), stretches.begins.size());
    fits = fits && std::ranges::is_sorted(stretches.offsets);
    if (!fits) throw std::invalid_argument("links, words and pieces must be of the same lines");
}

// The first piece of a line that overlaps with a word, and the piece after the last.
std::pair<std::int64_t, std::int64_t> overlapping(const Stretches& pieces, const Stretches& words, std::size_t line,
                                                  std::int32_t word) {
    const std::int64_t place = words.offsets[line] + word;
    if (word < 0 || place >= words.offsets[line + 1]) throw std::invalid_argument("a link has no word");
    const auto at = static_cast<std::size_t>(place);
    const auto start = pieces.offsets[line], end = pieces.offsets[line + 1];
    const auto* const ends = pieces.ends.data();
    const auto* const begins = pieces.begins.data();
    const auto first = std::upper_bound(ends + start, ends + end, words.begins[at]) - (ends + start);
    const auto after = std::lower_bound(begins + start, begins + end, words.ends[at]) - (begins + start);
    return {first, after};
}

// The pieces that the link of two words links: each source piece with each target piece.
struct Block {
    std::int64_t first, after;  // source pieces
    std::int64_t low, high;     // target pieces

    std::uint64_t size() const {
        return static_cast<std::uint64_t>(std::max<std::int64_t>(after - first, 0)) *
               static_cast<std::uint64_t>(std::max<std::int64_t>(high - low, 0));
    }
};

// Drops the largest blocks until the others have `most` links or fewer. Returns true if there were more.
bool cut(std::vector<Block>& blocks, std::uint64_t most) {
    const auto fits = [most, sum = std::uint64_t{0}](const Block& block) mutable {
        return block.size() <= most && (sum += block.size()) <= most;
    };
    if (std::ranges::all_of(blocks, fits)) return false;
    std::ranges::stable_sort(blocks, {}, &Block::size);
    blocks.erase(std::ranges::find_if_not(blocks, fits), blocks.end());
    return true;
}

}  // namespace

PieceLinks piece_links(const LinkColumn& words_linked, const Sides& words, const Sides& pieces) {
    const std::size_t offsets = words_linked.offsets.size();
    if (offsets == 0) throw std::invalid_argument("links, words and pieces must be of the same lines");
    for (const Stretches* each : {&words.source, &words.target, &pieces.source, &pieces.target}) check(*each, offsets);
    if (!std::ranges::is_sorted(words_linked.offsets) || words_linked.offsets.front() < 0 ||
        std::cmp_less(words_linked.links.size(), 2 * words_linked.offsets.back()))
        throw std::invalid_argument("links, words and pieces must be of the same lines");
    PieceLinks found;
    found.offsets.reserve(offsets);
    std::vector<Block> blocks;
    std::vector<std::pair<std::int32_t, std::int32_t>> line_links;
    for (std::size_t line = 0; line + 1 < offsets; ++line) {
        blocks.clear();
        line_links.clear();
        for (std::int64_t i = words_linked.offsets[line]; i < words_linked.offsets[line + 1]; ++i) {
            const auto link = static_cast<std::size_t>(2 * i);
            const auto [first, after] = overlapping(pieces.source, words.source, line, words_linked.links[link]);
            const auto [low, high] = overlapping(pieces.target, words.target, line, words_linked.links[link + 1]);
            blocks.push_back({first, after, low, high});
        }
        const std::int64_t line_pieces = pieces.source.offsets[line + 1] - pieces.source.offsets[line] +
                                         pieces.target.offsets[line + 1] - pieces.target.offsets[line];
        found.cut += cut(blocks, kFewLinks + kLinksPerPiece * static_cast<std::uint64_t>(line_pieces));
        for (const Block& block : blocks)
            for (std::int64_t source = block.first; source < block.after; ++source)
                for (std::int64_t target = block.low; target < block.high; ++target)
                    line_links.emplace_back(static_cast<std::int32_t>(source), static_cast<std::int32_t>(target));
        if (!std::ranges::is_sorted(line_links)) std::ranges::sort(line_links);
        const auto repeated = std::ranges::unique(line_links);  // a piece may be part of two words
        line_links.erase(repeated.begin(), repeated.end());
        for (const auto& [source, target] : line_links) {
            found.links.push_back(source);
            found.links.push_back(target);
        }
        found.offsets.push_back(static_cast<std::int64_t>(found.links.size() / 2));
    }
    return found;
}

}  // namespace nmt_prep::align
