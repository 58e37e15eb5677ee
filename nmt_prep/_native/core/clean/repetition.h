// Text that is repeated immediately.
#pragma once

#include "clean/lines.h"

namespace nmt_prep::clean {

// The repetitions that count: a string of `min` to `max` + 1 code points that does not begin with white space, followed
// by `times` or more copies of itself, each with or without spaces (U+0020) before it.
struct Repetition {
    std::size_t times;
    std::size_t min;
    std::size_t max;
};

// Writes the repetition count of the first such string of each line, 0 if there is none. The first string is the
// one with the earliest begin, and of equal begins the shortest: the match of the regular expression
// (\S.{min-1,max}?)(?: *\1){times,}. Requires all numbers to be 1 or more, and min <= max + 1.
void repetitions(const Lines& lines, const Repetition& wanted, double* out, const Poll& poll);

}  // namespace nmt_prep::clean
