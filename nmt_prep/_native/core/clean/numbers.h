// Compares two sides' numbers, regardless of script, separators and order.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "clean/lines.h"

namespace nmt_prep::clean {

// A number: its digits without leading and trailing zeros, and the last digit's power of ten: 12 and 2 for 1,200.
struct Number {
    std::uint64_t digits;  // the digits as a number, or their hash if there are more than 18
    std::int32_t exponent;
    bool spelled;  // in Han numerals, which are often words

    bool operator==(const Number& other) const = default;
};

// Appends the numbers of a text, in order.
void read_numbers(const std::uint8_t* begin, const std::uint8_t* end, std::vector<Number>& numbers);

// Writes 2m / (2m + d) for each pair: m numbers of both sides match, d numbers differ; 1 if there are none. Whole
// numbers up to `small` that are on one side only are not counted: the other side may spell them out.
void number_similarity(const Lines& source, const Lines& target, std::uint64_t small, double* out);

}  // namespace nmt_prep::clean
