// Sums of floating point numbers in a fixed order, and their conversion to whole numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "align/table.h"

namespace nmt_prep::align {

// Sum in a fixed order that allows for vectors of four.
inline float sum_of(const float* values, std::size_t size) {
    float lanes[4] = {0, 0, 0, 0};
    std::size_t i = 0;
    for (; i + 4 <= size; i += 4)
        for (std::size_t lane = 0; lane < 4; ++lane) lanes[lane] += values[i + lane];
    float rest = 0;
    for (; i < size; ++i) rest += values[i];
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + rest;
}

// Smaller probabilities of links are not counted.
inline constexpr float kLeastCounted = 1.0F / 512;

// A probability as a count of kOne, rounded down.
inline std::int64_t counted(float probability) {
    return static_cast<std::int64_t>(probability * static_cast<float>(kOne));
}

}  // namespace nmt_prep::align
