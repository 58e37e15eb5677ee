// The pieces of a vocabulary as a trie over symbols, for greedy longest match.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nmt_prep::t2t {

using Symbols = std::vector<std::uint32_t>;

// The node of a first symbol has that symbol's number, so that the first edge can be looked up before anything else is
// known. Edges are in one hash table, which a filter of one bit each guards: most look-ups ask for an edge that is not
// there, and the filter stays in a near cache. A long end of a piece that nothing shares is compared as a string, so
// that no piece costs more than its length.
class Trie {
   public:
    Trie() = default;

    // Pieces of symbols 1 … `symbols`, and the id of each. Of equal pieces the last counts, empty ones match nothing.
    Trie(const std::vector<Symbols>& pieces, const std::vector<std::int32_t>& ids, std::uint32_t symbols);

    // Cuts [begin, end) into the longest pieces that fit, from left to right, writes their ids to `ids` (which has room
    // for one a symbol) and returns the end of these. Stops at a symbol where no piece fits: `begin` is left there.
    std::int32_t* match(const std::uint32_t*& begin, const std::uint32_t* end, std::int32_t* ids) const;

   private:
    static constexpr std::uint32_t kFree = UINT32_MAX;
    static constexpr std::uint32_t kTail = std::uint32_t{1} << 31;  // in `next`: index of a tail, not of a node

    struct Edge {
        std::uint32_t node = kFree;  // node it leaves
        std::uint32_t symbol = 0;
        std::uint32_t next = 0;  // node it reaches, 0 where that has no edges
        std::int32_t id = -1;    // of the piece that ends there, -1 for none
    };

    struct Tail {
        std::size_t begin, size;  // in tail_symbols_
        std::int32_t id;
    };

    class Builder;

    static std::uint64_t hash(std::uint32_t node, std::uint32_t symbol) {
        return (std::uint64_t{node} << 32 | symbol) * 0x9E3779B97F4A7C15u;
    }
    const Edge* find(std::uint32_t node, std::uint32_t symbol) const;

    std::vector<std::int32_t> single_;  // symbol -> id of the piece that is this symbol alone, -1 for none
    std::vector<Edge> edges_;           // hash table
    std::vector<std::uint64_t> filter_;
    std::size_t edge_shift_ = 0;
    std::size_t filter_shift_ = 0;
    std::vector<Tail> tails_;
    std::vector<std::uint32_t> tail_symbols_;
};

}  // namespace nmt_prep::t2t
