#include "byte_bpe/names.h"

#include <algorithm>

namespace nmt_prep::byte_bpe {

NameFinder::NameFinder(const Names& names) {
    Names sorted = names;
    for (auto& [name, id] : sorted) std::ranges::reverse(name);
    std::ranges::sort(sorted);
    for (const auto& [name, id] : sorted) ends_[static_cast<std::uint8_t>(name[0])] = true;
    // The names sorted[first, last), whose first `depth` bytes are the path of a node.
    struct Below {
        std::uint32_t parent;
        std::size_t first, last, depth;
    };
    std::vector<Below> level{{0, 0, sorted.size(), 0}};  // the nodes of the same depth, of which `node` is the next
    std::uint32_t node = 0;
    while (!level.empty()) {
        std::vector<Below> next;
        for (auto [parent, at, last, depth] : level) {
            // Nodes of lesser depth are complete.
            if (depth > 1) nodes_[node].shorter = step(nodes_[parent].shorter, sorted[at].first[depth - 1]);
            const Node& shorter = nodes_[nodes_[node].shorter];
            nodes_[node].length = shorter.length;
            nodes_[node].id = shorter.id;
            for (; at != last && sorted[at].first.size() == depth; ++at) {
                nodes_[node].length = static_cast<std::uint32_t>(depth);
                nodes_[node].id = sorted[at].second;
            }
            nodes_[node].first = static_cast<std::uint32_t>(edges_.size());
            while (at != last) {
                const char byte = sorted[at].first[depth];
                const std::size_t first = at;
                while (at != last && sorted[at].first[depth] == byte) ++at;
                edges_.push_back({static_cast<std::uint8_t>(byte), static_cast<std::uint32_t>(nodes_.size())});
                nodes_.emplace_back();
                next.push_back({node, first, at, depth + 1});
            }
            nodes_[node].edges = static_cast<std::uint32_t>(edges_.size()) - nodes_[node].first;
            ++node;
        }
        level = std::move(next);
    }
}

std::uint32_t NameFinder::step(std::uint32_t node, std::uint8_t byte) const {
    for (;; node = nodes_[node].shorter) {
        const auto first = edges_.begin() + nodes_[node].first;
        const auto last = first + nodes_[node].edges;
        const auto edge = std::lower_bound(first, last, byte, [](const Edge& e, std::uint8_t b) { return e.byte < b; });
        if (edge != last && edge->byte == byte) return edge->node;
        if (node == 0) return 0;
    }
}

std::vector<NameFinder::Match> NameFinder::backwards(const std::uint8_t* text, std::size_t size) const {
    std::vector<Match> matches;
    std::uint32_t node = 0;
    for (std::size_t at = size; at-- > 0;) {
        if (node == 0 && !ends_[text[at]]) continue;
        node = step(node, text[at]);
        if (nodes_[node].length > 0) matches.push_back({at, nodes_[node].length, nodes_[node].id});
    }
    return matches;
}

}  // namespace nmt_prep::byte_bpe
