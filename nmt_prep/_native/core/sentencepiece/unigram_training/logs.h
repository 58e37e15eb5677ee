// Sums of logarithms in float, with the same results as the library's: its functions compute in double and round to
// float. Here, a short polynomial with a known bound of its error takes their place wherever all values within that
// bound round to the same float, which is almost everywhere. Elsewhere the functions of the C library are called.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace nmt_prep::sentencepiece {

class FloatLogs {
   public:
    FloatLogs();

    // Returns log(exp(x) + exp(y)). One of both may be minus infinity.
    float sum(float x, float y) const {
        const float high = std::max(x, y);
        const double apart = std::min(static_cast<double>(high - std::min(x, y)), far_);
        // Each sum waits for the previous one, so few operations may depend on each other: the addition rounds to
        // steps, and leaves their number in the lowest bits.
        const double rounded = apart + kRounding;
        const double t = apart - (rounded - kRounding);
        const Cubic& c = softplus_[std::bit_cast<std::uint64_t>(rounded) & kStepBits];
        const double over = (c.of[0] + c.of[1] * t) + t * t * (c.of[2] + c.of[3] * t);
        const auto wide = static_cast<double>(high);
        const auto low_end = static_cast<float>(wide + over);
        const auto high_end = static_cast<float>(wide + (over + 2 * kSumError));
        return low_end == high_end ? low_end : exact_sum(x, y);
    }

    // Adds weight * exp(x) to a sum.
    void add_exp(float& sum, float weight, float x) const {
        const auto wide = static_cast<double>(x);
        const auto before = static_cast<double>(sum);
        if (!(wide > kTiny && wide < kLarge)) return add_exact_exp(sum, weight, x);
        const double scaled = wide * kPerOctave;
        const auto step = static_cast<std::int64_t>(scaled + (kBias + 0.5)) - static_cast<std::int64_t>(kBias);
        const double r = wide - static_cast<double>(step) * kStepSize;
        const double r2 = r * r;
        const auto power = std::bit_cast<double>(powers_[static_cast<std::size_t>(step & (kPowers - 1))] +
                                                 (static_cast<std::uint64_t>(step >> kPowerBits) << 52));
        const double added =
            static_cast<double>(weight) * (power + power * (r + r2 * (0.5 + r * (1.0 / 6) + r2 * (1.0 / 24))));
        const double error = added * kExpError;
        const auto low_end = static_cast<float>(before + (added - error));
        const auto high_end = static_cast<float>(before + (added + error));
        if (low_end == high_end)
            sum = low_end;
        else
            add_exact_exp(sum, weight, x);
    }

   private:
    static constexpr double kSumError = 4e-10;  // Taylor's remainder is below 3.2e-10
    static constexpr double kExpError = 1e-12;
    static constexpr double kFar = 24, kSteps = 32;
    static constexpr double kRounding = 0x1.8p52 / kSteps;
    static constexpr std::uint64_t kStepBits = 1023;
    static constexpr double kTiny = -60, kLarge = 60;
    static constexpr std::int64_t kPowers = 64;
    static constexpr int kPowerBits = 6;
    static constexpr double kPerOctave = 92.33248261893639;    // 64 / log(2)
    static constexpr double kStepSize = 0.010830424696249145;  // log(2) / 64
    static constexpr double kBias = 1 << 20;                   // makes numbers positive before they are truncated

    static float exact_sum(float x, float y);
    static void add_exact_exp(float& sum, float weight, float x);

    // Not a constant: compilers make a branch of the minimum with one, and processors cannot foresee where it leads.
    double far_ = kFar;

    // A polynomial by its coefficients, the constant first.
    struct alignas(32) Cubic {
        double of[4];
    };
    // log(1 + exp(-x)) - kSumError as polynomials of the distance from the nearest multiple of 1/32; without the
    // logarithm from 24 on.
    std::array<Cubic, static_cast<std::size_t>(kFar* kSteps) + 1> softplus_;
    std::array<std::uint64_t, kPowers> powers_;  // bits of 2^(i / 64)
};

}  // namespace nmt_prep::sentencepiece
