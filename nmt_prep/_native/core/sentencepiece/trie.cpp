#include "sentencepiece/trie.h"

#include <algorithm>
#include <array>
#include <bit>

#include "sentencepiece/charsmap.h"

namespace nmt_prep::sentencepiece {

// The tree of strings, level by level, and the search for free units in the array, 64 at once.
class Trie::Builder {
   public:
    explicit Builder(std::size_t symbols) : block_(std::bit_ceil(std::max(symbols + 1, kBits)) / kBits) {
        if (symbols > kMaxLabel) throw NotCovered("its pieces have more than 65,535 characters");
        add_block();
        free_.assign(block_, 0);  // the first block gets no children, since leaves have base 0
        add_block();
    }

    std::vector<Node> build(const std::vector<Entry>& entries) {
        grow_tree(entries);
        place_all();
        std::vector<Node> units(kBits * free_.size());
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
        first_ = 0;
        for (const std::size_t i : chains) place(nodes_[i]);
    }

    // Assigns a node an unused base and free units for its children: near the beginning if a short search succeeds,
    // else in the most recent block, else in a new one.
    void place(Branch& node) {
        while (first_ < free_.size() && free_[first_] == 0) ++first_;
        if (try_place(node, first_) || try_place(node, free_.size() - block_)) return;
        add_block();
        try_place(node, free_.size() - block_);  // a whole block is free
    }

    bool try_place(Branch& node, std::size_t first) {
        constexpr std::size_t kTries = 128;
        constexpr std::size_t kLong = 16;  // after a longer search, the next ones begin later
        const std::size_t last = std::min(first + kTries, free_.size());
        for (std::size_t word = first; word < last; ++word) {
            if (free_[word] == 0) continue;
            const std::size_t at = word ^ nodes_[node.first].label / kBits;
            std::uint64_t bases = unused_[at];
            for (std::size_t i = node.first; i < node.last && bases != 0; ++i) bases &= free_from(at, nodes_[i].label);
            if (bases == 0) continue;
            node.base = static_cast<std::uint32_t>(kBits * at) + static_cast<std::uint32_t>(std::countr_zero(bases));
            if (word - first > kLong) ++first_;
            clear(unused_, node.base);
            for (std::size_t i = node.first; i < node.last; ++i) clear(free_, node.base ^ nodes_[i].label);
            return true;
        }
        return false;
    }

    // Returns which bases of a word have a free unit for this label.
    std::uint64_t free_from(std::size_t word, std::uint32_t label) const {
        constexpr std::array<std::uint64_t, 6> kLow{0x5555555555555555u, 0x3333333333333333u, 0x0F0F0F0F0F0F0F0Fu,
                                                    0x00FF00FF00FF00FFu, 0x0000FFFF0000FFFFu, 0x00000000FFFFFFFFu};
        std::uint64_t units = free_[word ^ label / kBits];
        for (unsigned bit = 0; bit < kLow.size(); ++bit) {
            const unsigned shift = 1u << bit;
            if (label & shift) units = (units & kLow[bit]) << shift | (units >> shift & kLow[bit]);
        }
        return units;
    }

    static void clear(std::vector<std::uint64_t>& bits, std::uint32_t number) {
        bits[number / kBits] &= ~(std::uint64_t{1} << number % kBits);
    }

    // The exclusive or with a symbol keeps units and bases within their block.
    void add_block() {
        const std::size_t size = free_.size() + block_;
        if (kBits * size > kMaxUnits) throw NotCovered("it has too many pieces");
        free_.resize(size, ~std::uint64_t{0});
        unused_.resize(size, ~std::uint64_t{0});
    }

    static constexpr std::uint32_t kChained = 1;  // placeholder until there is a base
    static constexpr std::size_t kBits = 64;      // of a word

    std::size_t block_;          // in words
    std::vector<Branch> nodes_;  // level by level
    // A bit for each unit, set if it is free, and for each base, set if no node has it.
    std::vector<std::uint64_t> free_, unused_;
    std::size_t first_ = 0;  // the word from which units are searched
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
