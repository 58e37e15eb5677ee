// A set of strings over symbols (bytes, or numbers of characters) with a number each, as a double array (after Aoe
// 1989): from a node, a symbol leads to unit base ^ symbol.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nmt_prep::spm {

class Trie {
   public:
    static constexpr std::uint32_t kRoot = 0;
    static constexpr std::uint32_t kNowhere = 1;  // a node too, without a value, from which all steps lead back to it

    using Entry = std::pair<std::u32string, std::int32_t>;

    // Strings of symbols from 1 to `symbols`, distinct and not empty; values from 0 to 2^24 - 2. Throws NotCovered for
    // more than 2^16 - 1 symbols or 2^24 units.
    Trie(std::vector<Entry> entries, std::size_t symbols);

    bool empty() const { return units_.empty(); }

    // Node that a symbol from 1 to `symbols` leads to. Requires a trie that is not empty.
    std::uint32_t step(std::uint32_t node, std::uint32_t symbol) const {
        const std::uint32_t next = base(units_[node]) ^ symbol;
        return label(units_[next]) == symbol ? next : kNowhere;
    }

    // Whether no string goes on after the node's.
    bool is_leaf(std::uint32_t node) const { return base(units_[node]) == 0; }

    // Value of the string that ends at a node, -1 for none.
    std::int32_t value(std::uint32_t node) const { return static_cast<std::int32_t>(units_[node] & kMaxValue) - 1; }

   private:
    // From the top: base (24 bits), label (16), value + 1 (24). The label is the symbol that leads here, 0 for a free
    // unit. No two nodes share a base, so the label tells whose child it is; but for leaves, whose base is 0: the first
    // block holds nothing but the root.
    using Unit = std::uint64_t;
    static constexpr Unit kMaxValue = (Unit{1} << 24) - 1;
    static constexpr Unit kMaxLabel = (Unit{1} << 16) - 1;
    static constexpr std::size_t kMaxUnits = std::size_t{1} << 24;

    static std::uint32_t base(Unit unit) { return static_cast<std::uint32_t>(unit >> 40); }
    static std::uint32_t label(Unit unit) { return static_cast<std::uint32_t>(unit >> 24 & kMaxLabel); }

    class Builder;

    std::vector<Unit> units_;
};

// A trie over the bytes of texts without NUL.
Trie byte_trie(const std::vector<std::pair<std::string, std::int32_t>>& entries);

}  // namespace nmt_prep::spm
