// Batches of pairs as numbers of words, and the preference for the diagonal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "align/numbers.h"

namespace nmt_prep::align {

// Pairs with more words than this on a side, or with more pairs of words than this in all, are not aligned.
inline constexpr std::size_t kMostWords = 2048;
inline constexpr std::size_t kMostCells = std::size_t{1} << 19;

// Words of both sides of a pair.
struct Pair {
    const std::int32_t* source;
    std::size_t sources;
    const std::int32_t* target;
    std::size_t targets;

    bool empty() const { return sources == 0 || targets == 0; }
    bool too_long() const { return sources > kMostWords || targets > kMostWords || sources * targets > kMostCells; }
};

// Borrowed pairs: the words of pair i are [offsets[i], offsets[i + 1]) on each side.
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

// Weights exp(-steepness |i/m - j/n|) of the positions i of m and j of n (their middles), as the smaller of two
// products: without an exponential for each pair of positions.
class Diagonal {
   public:
    void prepare(std::size_t sources, std::size_t targets, double steepness) {
        fill(up_, down_, sources, steepness);
        fill(target_up_, target_down_, targets, steepness);
    }
    float weight(std::size_t i, std::size_t j) const {
        const float below = up_[i] * target_down_[j];
        const float above = down_[i] * target_up_[j];
        return below < above ? below : above;
    }

   private:
    static void fill(std::vector<float>& up, std::vector<float>& down, std::size_t size, double steepness) {
        up.resize(size);
        down.resize(size);
        const double step = exp(steepness / static_cast<double>(size));
        double power = exp(0.5 * steepness / static_cast<double>(size));
        for (std::size_t i = 0; i < size; ++i, power *= step) {
            up[i] = static_cast<float>(power);
            down[i] = static_cast<float>(1.0 / power);
        }
    }

    std::vector<float> up_, down_, target_up_, target_down_;
};

}  // namespace nmt_prep::align
