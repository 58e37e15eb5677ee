// Pair batches as numbers of words.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nmt_prep::align {

// Limits for aligned pairs: words per side, and word pairs.
inline constexpr std::size_t kMostWords = 2048;
inline constexpr std::size_t kMostCells = std::size_t{1} << 19;

// Words on both sides of a pair.
struct Pair {
    const std::int32_t* source;
    std::size_t sources;
    const std::int32_t* target;
    std::size_t targets;

    bool empty() const { return sources == 0 || targets == 0; }
    bool too_long() const { return sources > kMostWords || targets > kMostWords || sources * targets > kMostCells; }
};

// Borrowed pairs: pair i has the words [offsets[i], offsets[i + 1]) on each side.
struct Pairs {
    const std::int32_t* source;
    const std::int64_t* source_offsets;
    const std::int32_t* target;
    const std::int64_t* target_offsets;
    std::size_t size;

    Pair operator[](std::size_t i) const {
        return {source + source_offsets[i], static_cast<std::size_t>(source_offsets[i + 1] - source_offsets[i]),
                target + target_offsets[i], static_cast<std::size_t>(target_offsets[i + 1] - target_offsets[i])};
    }
};

}  // namespace nmt_prep::align
