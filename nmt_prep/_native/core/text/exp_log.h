// Exponential and logarithm from additions, multiplications and divisions alone. IEEE 754 fixes their results, so they
// are the same on every processor, unlike results of the C library's functions.
#pragma once

#include <bit>
#include <cstdint>
#include <numbers>

namespace nmt_prep {

// The natural logarithm of 2 as a sum; multiples of the first part by small whole numbers are exact.
inline constexpr auto kLn2High = std::bit_cast<double>(std::uint64_t{0x3FE62E42FEE00000});
inline constexpr double kLn2Low = 1.90821492927058770002e-10;

// e to the power of x, for -700 <= x <= 700; smaller values give 0.
inline double exp(double x) {
    if (x < -700.0) return 0.0;
    if (x > 700.0) x = 700.0;
    const double scaled = x * std::numbers::log2e;
    const auto power = static_cast<std::int64_t>(scaled + (scaled < 0 ? -0.5 : 0.5));
    const auto whole = static_cast<double>(power);
    const double rest = (x - whole * kLn2High) - whole * kLn2Low;
    double sum = 1.0;
    for (int term = 13; term > 0; --term) sum = 1.0 + sum * rest / term;
    return sum * std::bit_cast<double>(static_cast<std::uint64_t>(power + 1023) << 52);
}

// Natural logarithm of a positive, normal number.
inline double log(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    auto power = static_cast<std::int64_t>(bits >> 52) - 1023;
    auto part = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFFu) | 0x3FF0000000000000u);
    if (part > std::numbers::sqrt2) {
        part *= 0.5;
        ++power;
    }
    const double ratio = (part - 1.0) / (part + 1.0);
    const double square = ratio * ratio;
    double sum = 0.0;
    for (int odd = 21; odd > 0; odd -= 2) sum = sum * square + 1.0 / odd;
    const auto whole = static_cast<double>(power);
    return whole * kLn2High + (2.0 * ratio * sum + whole * kLn2Low);
}

}  // namespace nmt_prep
