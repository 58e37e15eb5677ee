// A set of strings over symbols (bytes, or numbers of characters) with a number each, as a double array (after Aoe
// 1989): from a node, a symbol leads to unit base ^ symbol.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nmt_prep::sentencepiece {

class Trie {
   public:
    using Entry = std::pair<std::u32string, std::int32_t>;

    // A node, as its unit in the array. From the top: base (24 bits), label (16), value + 1 (24). The label is the
    // symbol that leads here, 0 for a free unit. No two nodes share a base, so the label identifies the parent. Leaves
    // are the exception: their base is 0, since the first block contains only the root.
    using Node = std::uint64_t;
    static constexpr Node kNowhere = 0;  // a leaf without a value

    // The strings must be distinct and not empty, their symbols from 1 to `symbols`, and their values from 0 to 2^24 -
    // 2. Throws NotCovered for more than 2^16 - 1 symbols or 2^24 units.
    Trie(std::vector<Entry> entries, std::size_t symbols);

    bool empty() const { return units_.empty(); }

    // Requires a trie that is not empty.
    Node root() const { return units_[0]; }

    // Returns the node that a symbol from 1 to `symbols` leads to; kNowhere from a leaf and from kNowhere.
    Node step(Node node, std::uint32_t symbol) const { return child_at(place_of(node, symbol), symbol); }

    // The parts of this step: the index in the array, a test for such a child by a table that stays in cache, and the
    // node itself.
    static std::uint32_t place_of(Node node, std::uint32_t symbol) { return base(node) ^ symbol; }
    std::uint32_t has_child(std::uint32_t place, std::uint32_t symbol) const { return labels_[place] == symbol; }
    Node child_at(std::uint32_t place, std::uint32_t symbol) const {
        const Node child = units_[place];
        return child & -static_cast<Node>(label(child) == symbol);
    }
    void prefetch(std::uint32_t place) const { __builtin_prefetch(&units_[place]); }

    // Returns the part of a node that place_of needs for the next step.
    static std::uint32_t base_of(Node node) { return base(node); }

    // Returns true if there is a string whose second symbol leads to this place; sometimes also if there is none. The
    // table of these bits is small enough for the nearest cache.
    bool may_be_second(std::uint32_t place) const { return seconds_[place / 64] >> (place % 64) & 1; }

    // The same tables for vector code: nodes by place, and the bits of may_be_second.
    const Node* nodes() const { return units_.data(); }
    const std::uint64_t* seconds() const { return seconds_.data(); }

    // Where the parts of a node begin, in bits.
    static constexpr int kBaseFrom = 40, kLabelFrom = 24;
    static constexpr Node kMaxLabel = (Node{1} << 16) - 1, kMaxValue = (Node{1} << 24) - 1;

    // Returns true if the node has no children.
    static bool is_leaf(Node node) { return base(node) == 0; }

    // Returns the value of the string that ends at a node, -1 for none.
    static std::int32_t value(Node node) { return static_cast<std::int32_t>(node & kMaxValue) - 1; }

   private:
    static constexpr std::size_t kMaxUnits = std::size_t{1} << 24;

    static std::uint32_t base(Node node) { return static_cast<std::uint32_t>(node >> kBaseFrom); }
    static std::uint32_t label(Node node) { return static_cast<std::uint32_t>(node >> kLabelFrom & kMaxLabel); }
    class Builder;

    std::vector<Node> units_;
    std::vector<std::uint16_t> labels_;   // labels of the units
    std::vector<std::uint64_t> seconds_;  // a bit for each unit, set if it is a grandchild of the root
};

// A trie over the bytes of texts without NUL.
Trie byte_trie(const std::vector<std::pair<std::string, std::int32_t>>& entries);

}  // namespace nmt_prep::sentencepiece
