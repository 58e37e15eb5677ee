// A set of characters.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/utf8.h"

namespace nmt_prep::t2t {

class CharacterSet {
   public:
    CharacterSet() : bits_(kPoints / 64) {}

    void add(char32_t point) { bits_[point / 64] |= std::uint64_t{1} << point % 64; }

    // Adds the characters of well-formed UTF-8.
    void add_text(std::string_view text) {
        const auto* at = reinterpret_cast<const std::uint8_t*>(text.data());
        for (const std::uint8_t* const end = at + text.size(); at != end;) add(next_utf8(at));
    }

    std::vector<char32_t> ascending() const {
        std::vector<char32_t> points;
        for (std::size_t word = 0; word < bits_.size(); ++word)
            for (std::uint64_t bits = bits_[word]; bits != 0; bits &= bits - 1)
                points.push_back(static_cast<char32_t>(64 * word) + static_cast<char32_t>(std::countr_zero(bits)));
        return points;
    }

   private:
    static constexpr std::size_t kPoints = 0x110000;
    std::vector<std::uint64_t> bits_;
};

}  // namespace nmt_prep::t2t
