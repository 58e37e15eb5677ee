#include "sentencepiece/trie.h"

#include <algorithm>
#include <bit>

#include "sentencepiece/charsmap.h"

namespace nmt_prep::sentencepiece {

// The tree of strings, level by level, and the search for free units in the array.
class Trie::Builder {
   public:
    explicit Builder(std::size_t symbols) : block_(std::bit_ceil(symbols + 1)) {
        if (symbols > kMaxLabel) throw NotCovered("its pieces have more than 65,535 characters");
        add_block();
        add_block();
    }

    std::vector<Node> build(const std::vector<Entry>& entries) {
        grow_tree(entries);
        place_all();
        std::vector<Node> units(is_free_.size());
        units[0] = Node{nodes_[0].base} << kBaseFrom;
        for (const Branch& node : nodes_) {
            for (std::size_t i = node.first; i < node.last; ++i) {
                const Branch& child = nodes_[i];
                units[node.base ^ child.label] = Node{child.base} << kBaseFrom | Node{child.label} << kLabelFrom |
                                                 static_cast<Node>(child.value + 1);
            }
        }
        return units;
    }

   private:
    struct Branch {
        std::uint32_t label;
        std::int32_t value = -1;
        std::size_t first = 0, last = 0;  // children among nodes_
        std::uint32_t base = 0;

        std::size_t children() const { return last - first; }
    };

    void grow_tree(const std::vector<Entry>& entries) {
        struct Range {
            std::size_t first, last;  // strings below the node
        };
        std::vector<Range> ranges{{0, entries.size()}};
        nodes_.push_back({0});
        std::size_t level_end = 1;
        for (std::size_t node = 0, depth = 0; node < nodes_.size(); ++node) {
            if (node == level_end) {
                ++depth;
                level_end = nodes_.size();
            }
            auto [at, last] = ranges[node];
            if (entries[at].first.size() == depth) nodes_[node].value = entries[at++].second;
            nodes_[node].first = nodes_.size();
            while (at < last) {
                const std::uint32_t label = entries[at].first[depth];
                const std::size_t start = at;
                while (at < last && entries[at].first[depth] == label) ++at;
                nodes_.push_back({label});
                ranges.push_back({start, at});
            }
            nodes_[node].last = nodes_.size();
        }
    }

    // Nodes with many children are placed first, while most of the array is free. Chains then fill the gaps in order,
    // so that walks down them stay within few cache lines.
    void place_all() {
        std::vector<std::size_t> forks, chains;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if (nodes_[i].children() > 1) forks.push_back(i);
            if (nodes_[i].children() != 1 || nodes_[i].base != 0) continue;
            for (std::size_t link = i; nodes_[link].children() == 1; link = nodes_[link].first) {
                nodes_[link].base = kChained;
                chains.push_back(link);
            }
        }
        std::ranges::stable_sort(forks, [&](std::size_t one, std::size_t other) {
            return nodes_[one].children() > nodes_[other].children();
        });
        for (const std::size_t i : forks) place(nodes_[i]);
        for (const std::size_t i : chains) place(nodes_[i]);
    }

    // Assigns a node an unused base and free units for its children: near the beginning if a few tries succeed, else in
    // the most recent block, else in a new one.
    void place(Branch& node) {
        constexpr std::size_t kTries = 1024;
        for (const std::uint32_t from : {next_free_[0], fresh_}) {
            std::uint32_t unit = from;
            for (std::size_t tries = 0; tries < kTries && unit != 0; ++tries, unit = next_free_[unit])
                if (try_place(node, unit)) return;
        }
        add_block();
        try_place(node, fresh_);  // a whole block is free
    }

    bool try_place(Branch& node, std::uint32_t unit) {
        const std::uint32_t base = unit ^ nodes_[node.first].label;
        if (!is_free_[unit] || base_taken_[base]) return false;
        for (std::size_t i = node.first; i < node.last; ++i)
            if (!is_free_[base ^ nodes_[i].label]) return false;
        for (std::size_t i = node.first; i < node.last; ++i) take(base ^ nodes_[i].label);
        base_taken_[base] = true;
        node.base = base;
        return true;
    }

    // Removes a unit from the ring of free units.
    void take(std::uint32_t unit) {
        if (unit == fresh_) fresh_ = next_free_[unit];
        is_free_[unit] = false;
        next_free_[previous_free_[unit]] = next_free_[unit];
        previous_free_[next_free_[unit]] = previous_free_[unit];
    }

    // The exclusive or with a symbol keeps units and bases within their block. The first block gets no children, since
    // leaves have base 0.
    void add_block() {
        const std::size_t before = is_free_.size(), size = before + block_;
        if (size > kMaxUnits) throw NotCovered("it has too many pieces");
        base_taken_.resize(size);
        is_free_.resize(size, before > 0);
        next_free_.resize(size);
        previous_free_.resize(size);
        fresh_ = static_cast<std::uint32_t>(before);
        for (std::uint32_t unit = fresh_; before > 0 && unit < size; ++unit) {
            const std::uint32_t last = previous_free_[0];
            next_free_[last] = unit;
            previous_free_[unit] = last;
            next_free_[unit] = 0;
            previous_free_[0] = unit;
        }
    }

    static constexpr std::uint32_t kChained = 1;  // placeholder until there is a base

    std::size_t block_;
    std::vector<Branch> nodes_;  // level by level
    std::vector<bool> base_taken_, is_free_;
    std::vector<std::uint32_t> next_free_, previous_free_;  // a ring through unit 0, in the order of their numbers
    std::uint32_t fresh_ = 0;                               // the first free one of the last block, 0 for none
};

Trie::Trie(std::vector<Entry> entries, std::size_t symbols) {
    if (entries.empty()) return;
    std::ranges::sort(entries);
    units_ = Builder(symbols).build(entries);
    labels_.reserve(units_.size());
    for (const Node node : units_) labels_.push_back(static_cast<std::uint16_t>(label(node)));
    seconds_.resize(units_.size() / 64 + 1);
    for (const auto& [text, value] : entries) {
        if (text.size() < 2) continue;
        const std::uint32_t place = place_of(step(root(), text[0]), text[1]);
        seconds_[place / 64] |= std::uint64_t{1} << (place % 64);
    }
}

Trie byte_trie(const std::vector<std::pair<std::string, std::int32_t>>& entries) {
    std::vector<Trie::Entry> spelled;
    for (const auto& [text, value] : entries) {
        std::u32string symbols;
        for (const char byte : text) symbols.push_back(static_cast<std::uint8_t>(byte));
        spelled.emplace_back(std::move(symbols), value);
    }
    return {std::move(spelled), UINT8_MAX};
}

}  // namespace nmt_prep::sentencepiece
