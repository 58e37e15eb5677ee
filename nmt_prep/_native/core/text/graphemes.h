// Extended grapheme clusters (UAX 29), for one version of Unicode.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nmt_prep {

// Classes of code points, in the order of the tables. Pictographs and consonants have the class Other in Unicode.
enum class GraphemeClass : std::uint8_t {
    kOther,
    kControl,
    kCr,
    kLf,
    kExtend,
    kZwj,
    kSpacingMark,
    kPrepend,
    kL,
    kV,
    kT,
    kLv,
    kLvt,
    kRegional,
    kPictograph,
    kConsonant,
};

// Two-stage table: page of each 128 code points, then a byte for each: the class, and flags.
extern const std::uint8_t kGraphemePage[0x2200];
extern const std::uint8_t kGraphemeValues[];
inline constexpr std::uint8_t kGraphemeLinker = 16;      // InCB=Linker
inline constexpr std::uint8_t kGraphemeConjoining = 32;  // InCB=Linker or InCB=Extend

inline std::uint8_t grapheme_properties(char32_t point) {
    return kGraphemeValues[std::size_t{kGraphemePage[point >> 7]} * 128 + (point & 127)];
}

// Returns the size in bytes of the grapheme at the beginning of the text. Requires well-formed UTF-8 that is not empty.
std::size_t grapheme_size(const std::uint8_t* text, const std::uint8_t* end);

}  // namespace nmt_prep
