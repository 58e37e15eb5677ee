// The part of the suffix tree that counts often enough to matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "t2t/suffixes.h"

namespace nmt_prep::t2t {

inline constexpr std::uint32_t kNone = UINT32_MAX;

// Nodes in post-order: children before their parent, so that sweeps run along the arrays. Nodes of depth 1 have no
// parent. A node stands for the string of its deepest point: all points of an edge have one count, and of these only
// the deepest can become a piece.
struct Tree {
    std::vector<std::uint32_t> parent;   // kNone at depth 1
    std::vector<std::uint32_t> depth;    // symbols from the root
    std::vector<std::uint32_t> leaf;     // first leaf below; (leaf, depth) orders nodes as their strings
    std::vector<std::int64_t> total;     // summed counts of the leaves below
    std::vector<std::uint32_t> node_of;  // leaf -> deepest node at or above it
    std::size_t size() const { return parent.size(); }
};

// Keeps nodes whose total is at least `min_total`, all of depth 1, and the leaves in `pinned` (ascending). Nodes end at
// depth `max_depth` >= 1, except pinned ones: these keep theirs, and are no candidates when they exceed it.
// Time and memory linear in the number of leaves.
Tree build_tree(const Suffixes& suffixes, const std::vector<std::int64_t>& leaf_counts,
                const std::vector<std::uint32_t>& pinned, std::int64_t min_total, std::uint32_t max_depth,
                const Poll& poll);

}  // namespace nmt_prep::t2t
