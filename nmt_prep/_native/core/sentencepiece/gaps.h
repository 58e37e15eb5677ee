// How many merges BPE-dropout makes between two that it skips.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace nmt_prep::sentencepiece {

class Gaps {
   public:
    // `probability`: how likely a merge is skipped.
    explicit Gaps(double probability = 0) : probability_(probability), log_of_others_(std::log1p(-probability)) {
        constexpr double kError = 1e-6;  // more than the rounding error of any small gap
        for (std::size_t i = 0; i < kParts; ++i) {
            const double low = exact(static_cast<double>(i) / kParts),
                         high = exact(static_cast<double>(i + 1) / kParts);
            const double gap = std::floor(low);
            const bool same = gap < kUnknown && low - kError >= gap && high + kError < gap + 1;
            parts_[i] = same ? static_cast<std::uint8_t>(gap) : kUnknown;
        }
    }

    double probability() const { return probability_; }

    // Returns the gap that a random number in [0, 1) stands for.
    std::uint64_t operator()(double uniform) const {
        const std::uint8_t part = parts_[static_cast<std::size_t>(uniform * kParts)];
        if (part != kUnknown) [[likely]]
            return part;
        constexpr double kMost = 0x1p53;
        const double gap = exact(uniform);
        return gap < kMost ? static_cast<std::uint64_t>(gap) : static_cast<std::uint64_t>(kMost);
    }

   private:
    static constexpr std::size_t kParts = 1024;
    static constexpr std::uint8_t kUnknown = UINT8_MAX;

    double exact(double uniform) const { return std::log1p(-uniform) / log_of_others_; }

    double probability_;
    double log_of_others_;                    // logarithm of the probability that a merge is not skipped
    std::array<std::uint8_t, kParts> parts_;  // the gap of each part of [0, 1) that has only one
};

}  // namespace nmt_prep::sentencepiece
