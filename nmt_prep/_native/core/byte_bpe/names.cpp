#include "byte_bpe/names.h"

#include <algorithm>

namespace nmt_prep::byte_bpe {

NameFinder::NameFinder(const Names& names) {
    Names sorted = names;
    std::ranges::sort(sorted);
    for (const auto& [name, id] : sorted) begins_[static_cast<std::uint8_t>(name[0])] = true;
    add_edges(0, sorted, 0);
}

// `names`: those that have the node's path as their first `depth` bytes, sorted.
void NameFinder::add_edges(std::uint32_t node, const Names& names, std::size_t depth) {
    auto at = names.begin();
    if (at != names.end() && at->first.size() == depth) nodes_[node].id = (at++)->second;
    std::vector<Names> groups;
    while (at != names.end()) {
        const char byte = at->first[depth];
        const auto next = std::find_if(at, names.end(), [&](const auto& name) { return name.first[depth] != byte; });
        groups.emplace_back(at, next);
        at = next;
    }
    nodes_[node].first = static_cast<std::uint32_t>(edges_.size());
    nodes_[node].edges = static_cast<std::uint32_t>(groups.size());
    const auto first_child = static_cast<std::uint32_t>(nodes_.size());
    for (const Names& group : groups) {
        edges_.push_back({static_cast<std::uint8_t>(group[0].first[depth]), static_cast<std::uint32_t>(nodes_.size())});
        nodes_.emplace_back();
    }
    for (std::size_t i = 0; i < groups.size(); ++i)
        add_edges(first_child + static_cast<std::uint32_t>(i), groups[i], depth + 1);
}

std::pair<std::size_t, std::int32_t> NameFinder::longest(const std::uint8_t* at, const std::uint8_t* end) const {
    std::pair<std::size_t, std::int32_t> found{0, -1};
    const Node* node = &nodes_[0];
    for (const std::uint8_t* next = at; next != end; ++next) {
        const auto first = edges_.begin() + node->first;
        const auto last = first + node->edges;
        const auto edge =
            std::lower_bound(first, last, *next, [](const Edge& e, std::uint8_t b) { return e.byte < b; });
        if (edge == last || edge->byte != *next) break;
        node = &nodes_[edge->node];
        if (node->id >= 0) found = {static_cast<std::size_t>(next + 1 - at), node->id};
    }
    return found;
}

}  // namespace nmt_prep::byte_bpe
