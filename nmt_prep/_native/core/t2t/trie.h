// The pieces of a vocabulary as a trie over symbols, for greedy longest match.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nmt_prep::t2t {

using Symbols = std::vector<std::uint32_t>;

// A node is known by its base, a number of its own: its edge with a symbol is at place `base ^ symbol` of one table if
// that place says that it belongs to the base (a double array, after Aoe 1989). So one look at four bytes finds an
// edge, or that there is none. A long end of a piece that nothing shares is compared as a string, so that no piece
// costs more than its length.
class Trie {
   public:
    Trie() = default;

    // Pieces of symbols 1 … `symbols`, and the id of each. Of equal pieces the last counts, empty ones match nothing.
    Trie(const std::vector<Symbols>& pieces, const std::vector<std::int32_t>& ids, std::uint32_t symbols);

    // Cuts [begin, stop) into the longest pieces that fit within [begin, end), from left to right, writes their ids to
    // `ids` (which has room for one a symbol) and returns the end of these. `begin` moves to where it got: past `stop`
    // at most by the last piece, or to a symbol where no piece fits. `patience` falls by every symbol that was looked
    // at beyond the piece taken; at 0 it stops as well, since where that goes on time is not linear.
    std::int32_t* match(const std::uint32_t*& begin, const std::uint32_t* stop, const std::uint32_t* end,
                        std::int32_t* ids, std::size_t& patience) const;

   private:
    static constexpr std::uint32_t kTail = std::uint32_t{1} << 31;  // in a base: index of a tail
    static constexpr std::uint32_t kFree = UINT32_MAX;              // no base

    struct Node {
        std::int32_t id = -1;    // of the piece that ends here, -1 for none
        std::uint32_t base = 0;  // 0 where no edge leaves
    };

    struct Tail {
        std::size_t begin, size;  // in tail_symbols_
        std::int32_t id;
    };

    class Builder;

    std::vector<Node> first_;           // first symbol -> node
    std::vector<std::uint32_t> owner_;  // place -> base of the node that an edge leaves, kFree where there is none
    std::vector<Node> reached_;         // place -> node that the edge reaches
    std::vector<Tail> tails_;
    std::vector<std::uint32_t> tail_symbols_;
};

}  // namespace nmt_prep::t2t
