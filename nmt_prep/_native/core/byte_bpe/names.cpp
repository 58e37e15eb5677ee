#include "byte_bpe/names.h"

#include <algorithm>

namespace nmt_prep::byte_bpe {

NameFinder::NameFinder(const Names& names) {
    Names sorted = names;
    std::ranges::sort(sorted);
    for (const auto& [name, id] : sorted) begins_[static_cast<std::uint8_t>(name[0])] = true;
    // The names sorted[first, last), whose first `depth` bytes are the path of a node.
    struct Below {
        std::uint32_t node;
        std::size_t first, last, depth;
    };
    std::vector<Below> pending{{0, 0, sorted.size(), 0}};
    while (!pending.empty()) {
        auto [node, at, last, depth] = pending.back();
        pending.pop_back();
        for (; at != last && sorted[at].first.size() == depth; ++at) nodes_[node].id = sorted[at].second;
        nodes_[node].first = static_cast<std::uint32_t>(edges_.size());
        while (at != last) {
            const char byte = sorted[at].first[depth];
            const std::size_t first = at;
            while (at != last && sorted[at].first[depth] == byte) ++at;
            const auto child = static_cast<std::uint32_t>(nodes_.size());
            nodes_.emplace_back();
            edges_.push_back({static_cast<std::uint8_t>(byte), child});
            pending.push_back({child, first, at, depth + 1});
        }
        nodes_[node].edges = static_cast<std::uint32_t>(edges_.size()) - nodes_[node].first;
    }
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
