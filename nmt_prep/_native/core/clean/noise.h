// Signals of text that is not running text: unbalanced brackets, navigation, glued or spaced words, broken encodings.
#pragma once

#include <cstdint>

#include "clean/lines.h"

namespace nmt_prep::clean {

// Number of brackets without a counterpart on a line: for each of ( ), [ ], { } and ⟨ ⟩, wide forms included, the
// difference between the numbers of opening and closing brackets.
void unbalanced_brackets(const Lines& lines, double* out);

// Sum over the bracket kinds: the difference between the sides; opening brackets minus closing ones are compared,
// so "a)" on both sides is balanced.
void bracket_differences(const Lines& source, const Lines& target, double* out);

// Kinds of noise, as bits.
enum Noise : std::uint8_t {
    kBreadcrumbs = 1,    // three or more separators such as > » | › → that stand alone
    kGluedWords = 2,     // a token of four or more capitalised words: HomeAboutContactNews
    kSpacedLetters = 4,  // five or more tokens of a single letter in a row: H e l l o
    kEscapes = 8,        // \u00e4, \xe4, or %C3%A4
    kMojibake = 16,      // UTF-8 read as Latin-1 or Windows-1252: Ã¤, â€™; U+FFFD
    kUnassigned = 32,    // unassigned and private code points, control characters from U+0080 on
};

// For each line, writes how many of the kinds in `wanted` it has.
void noise_kinds(const Lines& lines, std::uint8_t wanted, double* out);

}  // namespace nmt_prep::clean
