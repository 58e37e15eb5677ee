// Similarity of two sides' digits.
#pragma once

#include "clean/lines.h"

namespace nmt_prep::clean {

// Writes the ratio of matching digits from 1 to 9 of each pair, in order, as in OpusFilter's NonZeroNumeralsFilter; 1
// if there are none.
void numerals(const Lines& source, const Lines& target, double* out, const Poll& poll);

}  // namespace nmt_prep::clean
