// Data of Unicode's normal form C, for one fixed version of Unicode. Hangul syllables follow a formula instead.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nmt_prep::clean {

// Version of the tables, e.g. "14.0.0".
extern const char kNormalizationVersion[];

struct NormalizationKind {
    std::uint8_t combining_class;
    std::uint8_t composition;  // 0 always stays, 1 may combine with a character before it, 2 never occurs in the form
};

struct Decomposition {
    char32_t point;
    char32_t first;
    char32_t second;  // 0 if there is only one
    bool composes;    // whether the two combine to `point`
};

// Two-stage table: page of each 256 code points, then the kind of each character of the page.
extern const NormalizationKind kNormalizationKinds[];
extern const std::uint8_t kNormalizationPage[0x1100];
extern const std::uint8_t kNormalizationKindOf[];

// Ascending code points.
extern const std::size_t kDecompositionCount;
extern const Decomposition kDecompositions[];

// Requires point <= 0x10FFFF.
inline NormalizationKind normalization_kind(char32_t point) {
    const std::size_t page = kNormalizationPage[point >> 8];
    return kNormalizationKinds[kNormalizationKindOf[page << 8 | (point & 0xFF)]];
}

}  // namespace nmt_prep::clean
