// Numbers the different lines of a text in the order of their first occurrence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/batch.h"
#include "text/hash_table.h"

namespace nmt_prep::clean {

class LineNumbers {
   public:
    std::size_t size() const { return known_.size(); }

    // Writes the number of each line. Returns the indexes of the lines that were not seen before, ascending; they get
    // the numbers from `size()` (before the call) on. Lines with the same key (keys.h) count as equal.
    std::vector<std::int64_t> add(const TextView& text, std::int32_t* numbers);

   private:
    struct Known {
        std::uint64_t low;    // lower half of the key
        std::uint64_t after;  // number of the line plus 1
        friend bool operator==(const Known&, const Known&) = default;
    };

    HashTable<Known> known_;  // by the upper half of the key, or by the next free number
};

}  // namespace nmt_prep::clean
