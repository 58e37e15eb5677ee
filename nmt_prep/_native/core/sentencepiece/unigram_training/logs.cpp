#include "sentencepiece/unigram_training/logs.h"

namespace nmt_prep::sentencepiece {

FloatLogs::FloatLogs() {
    for (std::size_t step = 0; step + 1 < softplus_.size(); ++step) {
        const double x = -static_cast<double>(step) / kSteps;
        const double s = 1 / (1 + std::exp(-x));  // the first derivative; the others are polynomials of it
        const double second = s * (1 - s), third = second * (1 - 2 * s);
        softplus_[step] = {{std::log1p(std::exp(x)) - kSumError, -s, second / 2, -third / 6}};
    }
    softplus_.back() = {{-kSumError, 0, 0, 0}};
    for (std::size_t i = 0; i < powers_.size(); ++i)
        powers_[i] = std::bit_cast<std::uint64_t>(std::exp2(static_cast<double>(i) / kPowers));
}

float FloatLogs::exact_sum(float x, float y) {
    const float low = std::min(x, y), high = std::max(x, y);
    constexpr float kNegligible = 50;
    if (high > low + kNegligible) return high;
    return static_cast<float>(high + std::log1p(std::exp(static_cast<double>(low - high))));
}

void FloatLogs::add_exact_exp(float& sum, float weight, float x) {
    sum = static_cast<float>(static_cast<double>(sum) + static_cast<double>(weight) * std::exp(static_cast<double>(x)));
}

}  // namespace nmt_prep::sentencepiece
