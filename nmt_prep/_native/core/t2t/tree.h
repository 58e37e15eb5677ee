// The nodes of the suffix tree whose counts are large enough to matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "t2t/suffixes.h"

namespace nmt_prep::t2t {

inline constexpr std::uint32_t kNone = UINT32_MAX;

// Nodes in post-order, children before their parent, so that sweeps traverse the arrays in order. Nodes of depth 1 have
// no parent. A node stands for its longest string: all strings on an edge have the same count, and only the longest can
// become a piece.
struct Tree {
    std::vector<std::uint32_t> parent;   // kNone at depth 1
    std::vector<std::uint32_t> depth;    // symbols from the root
    std::vector<std::uint32_t> leaf;     // first leaf below; (leaf, depth) sorts nodes like their strings
    std::vector<std::int64_t> total;     // summed counts of the leaves below
    std::vector<std::uint32_t> node_of;  // leaf -> deepest node at or above it
    // Number of nodes with each total, with nodes that were not kept. The last entry counts the nodes of all larger
    // totals as well.
    std::vector<std::uint32_t> nodes_by_total;

    std::size_t size() const { return parent.size(); }

    // Returns the smallest minimum total with which a tree has at most `nodes` nodes; nodes of depth 1 and pinned ones
    // do not count.
    std::int64_t least_total(std::size_t nodes) const;
};

// Keeps nodes whose total is at least `min_total`, all of depth 1, and the leaves in `pinned` (ascending). Depths are
// limited to `max_depth` >= 1. Pinned nodes may be deeper, but are then no candidates. Time and memory linear in the
// number of leaves.
Tree build_tree(const Suffixes& suffixes, const std::vector<std::int64_t>& leaf_counts,
                const std::vector<std::uint32_t>& pinned, std::int64_t min_total, std::uint32_t max_depth,
                const Poll& poll);

}  // namespace nmt_prep::t2t
