// Probabilities as whole numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "align/table.h"

namespace nmt_prep::align {

// Smaller probabilities of links are not counted.
inline constexpr float kLeastCounted = 1.0F / 512;

// A probability as a count of kOne, rounded down.
inline std::int64_t counted(float probability) {
    return static_cast<std::int64_t>(probability * static_cast<float>(kOne));
}

}  // namespace nmt_prep::align
