// A set of byte strings with a number each, as a double array: from a node, byte b leads to unit base ^ b.
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
    static constexpr std::uint32_t kNowhere = UINT32_MAX;

    // Distinct, not empty, without NUL; values from 0 to 2^24 - 2.
    explicit Trie(std::vector<std::pair<std::string, std::int32_t>> entries);

    bool empty() const { return units_.empty(); }

    // Node that byte leads to, kNowhere for none. Byte 0 leads nowhere. Requires a trie that is not empty.
    std::uint32_t step(std::uint32_t node, std::uint8_t byte) const {
        const std::uint32_t next = units_[node].base ^ byte;
        return (units_[next].label_and_value & 0xFF) == byte && byte != 0 ? next : kNowhere;
    }

    // Value of the string that ends at a node, -1 for none.
    std::int32_t value(std::uint32_t node) const {
        return static_cast<std::int32_t>(units_[node].label_and_value >> 8) - 1;
    }

   private:
    // label: the byte that leads here, 0 for a free unit. No two nodes share a base, so the label tells whose child it
    // is; but for leaves, whose base is 0: the first block holds nothing but the root.
    struct Unit {
        std::uint32_t base = 0;
        std::uint32_t label_and_value = 0;
    };

    static constexpr std::uint32_t kBlock = 256;

    std::uint32_t find_base(const std::vector<std::uint8_t>& labels);
    void grow(std::size_t size);

    std::vector<Unit> units_;
    std::vector<bool> base_taken_;
    std::vector<bool> unit_taken_;
    std::uint32_t first_free_ = kBlock;
    std::uint32_t end_ = 2 * kBlock;
};

}  // namespace nmt_prep::spm
