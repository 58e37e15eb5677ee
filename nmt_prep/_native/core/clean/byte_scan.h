// Searches text for bytes of a set, 64 bytes at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "clean/step.h"

namespace nmt_prep::clean {

class ByteScan {
   public:
    ByteScan() = default;
    // Finds the bytes of `set`, and with `double_spaces` also a space before another space.
    ByteScan(const ByteSet& set, bool double_spaces);

    // Returns a bit for each of the first 64 bytes, 1 if the byte is found. Requires size > 0.
    std::uint64_t hits(const std::uint8_t* data, std::size_t size) const;

   private:
    std::uint64_t hits_sse42(const std::uint8_t* data) const;

    ByteSet set_;
    bool double_spaces_ = false;
    // Index: the lower half of a byte. Value: one bit for each upper half, 0 to 7 (ASCII) and 8 to 15.
    std::array<std::uint8_t, 16> ascii_{};
    std::array<std::uint8_t, 16> high_{};
};

}  // namespace nmt_prep::clean
