// Currencies that the sides name by symbols and codes.
#pragma once

#include "clean/lines.h"

namespace nmt_prep::clean {

// Writes 2m / (a + b): m currencies are named on both sides, a and b on each side; 1 if there are none, or if one side
// names none and `missing` is false.
void currency_similarity(const Lines& source, const Lines& target, bool missing, double* out);

}  // namespace nmt_prep::clean
