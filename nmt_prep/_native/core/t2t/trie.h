// The pieces of a vocabulary as a trie over symbols, for greedy longest match.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nmt_prep::t2t {

using Symbols = std::vector<std::uint32_t>;

// A node is identified by its unique base: its edge with a symbol is in slot `base ^ symbol` of one table, if that slot
// belongs to the base (a double array, after Aoe 1989). So one read of four bytes decides whether an edge exists. A
// long unshared suffix of a piece is compared as a string, so that no piece costs more than its length.
class Trie {
   public:
    Trie() = default;

    // Pieces of symbols 1 … `symbols`, and the id of each piece. Of equal pieces the last one is used; empty pieces
    // match nothing.
    Trie(const std::vector<Symbols>& pieces, const std::vector<std::int32_t>& ids, std::uint32_t symbols);

    // Splits [begin, stop) into the longest pieces within [begin, end), from left to right, writes their ids to `ids`
    // (which has room for one per symbol) and returns the end of the ids. `begin` advances to where matching stopped:
    // past `stop` by at most the last piece, or to a symbol where no piece matches. `patience` is reduced by every
    // symbol of useless lookahead; at 0 matching stops as well, since the time would not be linear.
    std::int32_t* match(const std::uint32_t*& begin, const std::uint32_t* stop, const std::uint32_t* end,
                        std::int32_t* ids, std::size_t& patience) const;

   private:
    static constexpr std::uint32_t kTail = std::uint32_t{1} << 31;  // flag of a base: the rest is the index of a tail
    static constexpr std::uint32_t kFree = UINT32_MAX;              // no base

    struct Node {
        std::int32_t id = -1;    // id of the piece that ends here, -1 for none
        std::uint32_t base = 0;  // 0 if it has no edges
    };

    struct Tail {
        std::size_t begin, size;  // in tail_symbols_
        std::int32_t id;
    };

    class Builder;

    std::vector<Node> first_;           // first symbol -> node
    std::vector<std::uint32_t> owner_;  // slot -> base of the node that the edge leaves, kFree for free slots
    std::vector<Node> reached_;         // slot -> node that the edge reaches
    std::vector<Tail> tails_;
    std::vector<std::uint32_t> tail_symbols_;
};

}  // namespace nmt_prep::t2t
