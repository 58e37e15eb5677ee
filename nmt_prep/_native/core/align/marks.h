// Word marks: punctuation kinds and number values, which the word alignment model does not distinguish.
#pragma once

#include <cstdint>

namespace nmt_prep::align {

enum class MarkKind : std::uint8_t {
    kWord,
    kNumber,
    kStop,  // full stop
    kQuestion,
    kExclamation,
    kComma,  // or semicolon
    kColon,
    kQuote,
    kBracket,
    kOther,  // any other punctuation or symbol
};

// A mark: the kind in the lowest 4 bits, then the number of characters, up to 255, in 8 bits, then a hash of the digits
// of a number in 20 bits.
std::uint32_t mark_of(const std::uint8_t* begin, const std::uint8_t* end);

inline MarkKind kind_of_mark(std::uint32_t mark) { return static_cast<MarkKind>(mark & 15); }
inline std::uint32_t characters_of_mark(std::uint32_t mark) { return mark >> 4 & 255; }
inline std::uint32_t digits_of_mark(std::uint32_t mark) { return mark >> 12; }
inline bool is_word_mark(std::uint32_t mark) { return (mark & 15) <= static_cast<unsigned>(MarkKind::kNumber); }

}  // namespace nmt_prep::align
