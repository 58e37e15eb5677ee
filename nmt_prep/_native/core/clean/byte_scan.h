// Searches text for bytes of a set, sixteen bytes at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "clean/fix.h"

namespace nmt_prep::clean {

class ByteScan {
   public:
    ByteScan() = default;
    // Finds the bytes of `set`, and with `double_spaces` also a space before another space.
    ByteScan(const ByteSet& set, bool double_spaces);

    // Returns the first such position in [at, size), or `size`.
    std::size_t find(const std::uint8_t* data, std::size_t at, std::size_t size) const;

   private:
    bool found(const std::uint8_t* data, std::size_t at, std::size_t size) const {
        return set_[data[at]] || (double_spaces_ && data[at] == ' ' && at + 1 < size && data[at + 1] == ' ');
    }
    std::size_t find_ssse3(const std::uint8_t* data, std::size_t at, std::size_t size) const;

    ByteSet set_;
    bool double_spaces_ = false;
    // By the lower half of a byte: one bit for each upper half, 0 to 7 and 8 to 15.
    std::array<std::uint8_t, 16> ascii_{};
    std::array<std::uint8_t, 16> high_{};
};

}  // namespace nmt_prep::clean
