#include "t2t/tree.h"

#include <algorithm>

namespace nmt_prep::t2t {
namespace {

constexpr std::int64_t kTotals = 1024;  // a search begins with a minimum count below this

// Builds the tree by one scan over the leaves, with a stack of the open nodes, deepest on top.
class Builder {
   public:
    Builder(const Suffixes& suffixes, std::int64_t min_total) : suffixes_(suffixes), min_total_(min_total) {
        tree_.node_of.resize(suffixes.position.size());
        tree_.nodes_by_total.resize(kTotals);
    }

    // Opens leaf `j`, whose path diverges from the previous leaf's path at depth `common`.
    void add_leaf(std::uint32_t j, std::uint32_t common, std::uint32_t depth, std::int64_t count, bool pinned) {
        close_below(common);
        if (common == 0) open(1, 0, j, false);
        if (depth > open_.back().depth)
            open(depth, count, j, pinned);
        else
            open_.back().count += count;
        open_leaves_.push_back(j);
    }

    // Adds a pinned leaf, which remains a node at its full depth, even below the maximum depth.
    void add_pinned_leaf(std::uint32_t j, std::uint32_t common, std::uint32_t max_depth, std::int64_t count) {
        add_leaf(j, common, max_depth, count, false);
        open_leaves_.pop_back();
        open_.back().count -= count;  // restored when the leaf closes
        open(suffixes_.length[j], count, j, true);
        open_leaves_.push_back(j);
        close_below(max_depth);
    }

    Tree finish() {
        close_below(0);
        return std::move(tree_);
    }

   private:
    struct Open {
        std::uint32_t depth;
        std::uint32_t leaf;  // first leaf below
        std::int64_t count;
        std::uint32_t nodes;   // size of open_nodes_ when it was opened
        std::uint32_t leaves;  // size of open_leaves_ when it was opened
        bool pinned;
    };

    void open(std::uint32_t depth, std::int64_t count, std::uint32_t leaf, bool pinned) {
        open_.push_back({depth, leaf, count, static_cast<std::uint32_t>(open_nodes_.size()),
                         static_cast<std::uint32_t>(open_leaves_.size()), pinned});
    }

    void close_below(std::uint32_t depth) {
        while (!open_.empty() && open_.back().depth > depth) {
            const Open closed = open_.back();
            open_.pop_back();
            keep(closed);
            const std::uint32_t above = open_.empty() ? 0 : open_.back().depth;
            if (above >= depth && above > 0)
                open_.back().count += closed.count;
            else if (depth > 0)
                open_.push_back({depth, closed.leaf, closed.count, closed.nodes, closed.leaves, false});
        }
    }

    // Makes a closed entry a node if its count suffices, and attaches the nodes and leaves that wait for a parent.
    void keep(const Open& closed) {
        ++tree_.nodes_by_total[static_cast<std::size_t>(std::min(closed.count, kTotals - 1))];
        if (closed.count < min_total_ && !closed.pinned && closed.depth != 1) return;
        const auto node = static_cast<std::uint32_t>(tree_.size());
        tree_.parent.push_back(kNone);
        tree_.depth.push_back(closed.depth);
        tree_.leaf.push_back(closed.leaf);
        tree_.total.push_back(closed.count);
        for (std::size_t i = closed.nodes; i < open_nodes_.size(); ++i) tree_.parent[open_nodes_[i]] = node;
        for (std::size_t i = closed.leaves; i < open_leaves_.size(); ++i) tree_.node_of[open_leaves_[i]] = node;
        open_nodes_.resize(closed.nodes);
        open_leaves_.resize(closed.leaves);
        if (closed.depth != 1) open_nodes_.push_back(node);
    }

    const Suffixes& suffixes_;
    const std::int64_t min_total_;
    Tree tree_;
    std::vector<Open> open_;
    std::vector<std::uint32_t> open_nodes_;   // nodes that wait for a parent
    std::vector<std::uint32_t> open_leaves_;  // leaves that wait for a node
};

}  // namespace

std::int64_t Tree::least_total(std::size_t nodes) const {
    std::size_t least = nodes_by_total.size(), kept = 0;
    while (least > 1 && kept + nodes_by_total[least - 1] <= nodes) kept += nodes_by_total[--least];
    return static_cast<std::int64_t>(least);
}

Tree build_tree(const Suffixes& suffixes, const std::vector<std::int64_t>& leaf_counts,
                const std::vector<std::uint32_t>& pinned, std::int64_t min_total, std::uint32_t max_depth,
                const Poll& poll) {
    Builder builder(suffixes, min_total);
    auto next_pinned = pinned.begin();
    const auto leaves = static_cast<std::uint32_t>(suffixes.position.size());
    for (std::uint32_t j = 0; j < leaves; ++j) {
        if (j % kPollEvery == 0) poll();
        const bool is_pinned = next_pinned != pinned.end() && *next_pinned == j;
        if (is_pinned) ++next_pinned;
        const std::uint32_t common = std::min(suffixes.common[j], max_depth);
        const std::uint32_t length = suffixes.length[j];
        if (is_pinned && length > max_depth)
            builder.add_pinned_leaf(j, common, max_depth, leaf_counts[j]);
        else
            builder.add_leaf(j, common, std::min(length, max_depth), leaf_counts[j], is_pinned);
    }
    return builder.finish();
}

}  // namespace nmt_prep::t2t
