// Data of Unicode's normal form C, for one fixed version of Unicode. Hangul syllables follow a formula instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nmt_prep {

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
    bool composes;    // true if the two combine to `point`
};

// Two-stage table: a page per 256 code points, then a kind per character of the page.
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

// Hangul: syllables are numbered by leading consonant, vowel and final consonant.
inline constexpr char32_t kSyllables = 0xAC00;
inline constexpr char32_t kLeads = 0x1100;
inline constexpr char32_t kVowels = 0x1161;
inline constexpr char32_t kFinals = 0x11A7;  // 0 means no final consonant
inline constexpr char32_t kLeadCount = 19;
inline constexpr char32_t kVowelCount = 21;
inline constexpr char32_t kFinalCount = 28;
inline constexpr char32_t kSyllableCount = kLeadCount * kVowelCount * kFinalCount;

inline bool is_hangul_syllable(char32_t point) { return point >= kSyllables && point < kSyllables + kSyllableCount; }

// Appends the jamo of a Hangul syllable; returns false, and appends nothing, for any other character.
bool decompose_hangul(char32_t point, std::vector<char32_t>& points);

// Sorts each run of combining marks by combining class.
void reorder_marks(std::vector<char32_t>& points);

}  // namespace nmt_prep
