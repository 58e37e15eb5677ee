// Compares the currencies that symbols and codes name on both sides.
#pragma once

#include "clean/lines.h"

namespace nmt_prep::clean {

// Writes 2m / (a + b): m is the number of currencies on both sides, a and b are the currencies on each side.
// Writes 1 if there are none, or if one side has none and `missing` is false.
void currency_similarity(const Lines& source, const Lines& target, bool missing, double* out);

}  // namespace nmt_prep::clean
