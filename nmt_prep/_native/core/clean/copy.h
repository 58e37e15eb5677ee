// Similarity of a pair's sides.
#pragma once

#include "clean/lines.h"

namespace nmt_prep::clean {

// Writes 1 if the letters (L*) of the sides are equal after case folding and there are at least `min_letters` of them,
// else 0. Sides without letters are not copies.
void equal_letters(const Lines& source, const Lines& target, std::size_t min_letters, double* out);

// Writes 1 - d / max(a, b), where d is the Levenshtein distance of the sides, and a and b are their lengths; 1 if both
// are empty. The elements are code points, or tokens (str.split()).
void edit_similarity(const Lines& source, const Lines& target, bool tokens, double* out, const Poll& poll);

// Writes the size of the longest common substring that difflib finds, divided by the length of the shorter side in code
// points; 0 if a side is empty.
void common_substring(const Lines& source, const Lines& target, double* out, const Poll& poll);

}  // namespace nmt_prep::clean
