// The preference for the diagonal: weights exp(-steepness |i/m - j/n|) of position i of m and position j of n, at the
// centres of the positions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/exp_log.h"

namespace nmt_prep::align {

// exp(steepness x) and exp(-steepness x) for a side's positions x.
struct Slope {
    void fill(std::size_t size, double steepness) {
        up.resize(size);
        down.resize(size);
        const double step = exp(steepness / static_cast<double>(size));
        double power = exp(0.5 * steepness / static_cast<double>(size));
        for (std::size_t i = 0; i < size; ++i, power *= step) {
            up[i] = static_cast<float>(power);
            down[i] = static_cast<float>(1.0 / power);
        }
    }
    std::vector<float> up, down;
};

// Sums over the words of a side.
struct Weighted {
    float weight;  // sum of the weights
    float value;   // sum of the weights times the values
};

// Sums by the weights of a line pair, without an exponential for each position pair. Exponentials of short
// sides are cached.
class Diagonal {
   public:
    explicit Diagonal(double steepness) : steepness_(steepness) {}

    void prepare(std::size_t sources, std::size_t targets) {
        source_ = &slope(sources, long_source_);
        target_ = &slope(targets, long_target_);
    }
    // The weights of the pair, valid until the next preparation.
    struct Weights {
        const float *source_up, *source_down, *target_up, *target_down;

        float operator()(std::size_t i, std::size_t j) const {
            const float below = source_up[i] * target_down[j];
            const float above = source_down[i] * target_up[j];
            return below < above ? below : above;
        }
    };
    Weights weights() const {
        return {source_->up.data(), source_->down.data(), target_->up.data(), target_->down.data()};
    }
    // Sums the values of source words by weight, for each target word.
    void sum_over_sources(const std::vector<float>& values, std::vector<Weighted>& sums) {
        sum_over(*source_, *target_, values, sums);
    }
    // Sums the values of target words by weight, for each source word.
    void sum_over_targets(const std::vector<float>& values, std::vector<Weighted>& sums) {
        sum_over(*target_, *source_, values, sums);
    }

   private:
    static constexpr std::size_t kKept = 256;

    const Slope& slope(std::size_t size, Slope& other) {
        Slope& found = size < kKept ? kept_[size] : other;
        if (found.up.size() != size) found.fill(size, steepness_);
        return found;
    }

    // A weight is up * down for a position before the position of the other side, and down * up after it. So running
    // sums from both ends give the sums for all positions.
    void sum_over(const Slope& over, const Slope& of, const std::vector<float>& values, std::vector<Weighted>& sums) {
        const std::size_t m = over.up.size();
        const std::size_t n = of.up.size();
        before_.resize(m + 1);
        after_.resize(m + 1);
        before_[0] = after_[m] = {0, 0};
        for (std::size_t i = 0; i < m; ++i)
            before_[i + 1] = {before_[i].weight + over.up[i], before_[i].value + over.up[i] * values[i]};
        for (std::size_t i = m; i-- > 0;)
            after_[i] = {after_[i + 1].weight + over.down[i], after_[i + 1].value + over.down[i] * values[i]};
        sums.resize(n);
        const auto size = static_cast<std::uint32_t>(m);
        const auto divisor = static_cast<std::uint32_t>(2 * n);
        for (std::uint32_t j = 0; j < n; ++j) {
            const std::uint32_t at = ((2 * j + 1) * size + divisor / 2) / divisor;  // positions up to j
            const float down = of.down[j];
            const float up = of.up[j];
            sums[j] = {down * before_[at].weight + up * after_[at].weight,
                       down * before_[at].value + up * after_[at].value};
        }
    }

    double steepness_;
    std::array<Slope, kKept> kept_;
    Slope long_source_, long_target_;
    const Slope* source_ = nullptr;
    const Slope* target_ = nullptr;
    std::vector<Weighted> before_, after_;
};

}  // namespace nmt_prep::align
