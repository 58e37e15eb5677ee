#include "sentences/lengths.h"

#include <algorithm>
#include <numbers>

#include "text/exp_log.h"

namespace nmt_prep::sentences {
namespace {

constexpr double kFreedom = 4.0;   // degrees of freedom of Student's distribution
constexpr double kShortest = 5.0;  // characters from which on the variance grows with the length

// The logarithm of the gamma function, by Stirling's series; x is positive.
double log_gamma(double x) {
    double product = 1.0;
    while (x < 10.0) {
        product *= x;
        x += 1.0;
    }
    const double inverse = 1.0 / x;
    const double square = inverse * inverse;
    const double series = inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square / 1680)));
    return (x - 0.5) * log(x) - x + 0.5 * log(2 * std::numbers::pi) + series - log(product);
}

}  // namespace

LengthValues::SideSums LengthValues::sums_of(const Side& side, Gamma gamma) {
    SideSums sums{{0.0}, {}, gamma};
    sums.ends.reserve(side.size() + 1);
    for (const double length : side.lengths) sums.ends.push_back(sums.ends.back() + length);
    const double student =
        log_gamma((kFreedom + 1) / 2) - log_gamma(kFreedom / 2) - 0.5 * log(kFreedom * std::numbers::pi);
    for (std::size_t k = 1; k <= kMostSentences; ++k) {
        const double shape = gamma.shape * static_cast<double>(k);
        sums.constants[k] = log_gamma(shape) + shape * log(gamma.scale) + student;
    }
    return sums;
}

LengthValues::LengthValues(const Document& document, const LengthModel& model)
    : model_(model), source_(sums_of(document.source, model.source)), target_(sums_of(document.target, model.target)) {}

double LengthValues::of(std::size_t i, std::size_t j, Kind kind) const {
    const auto a = static_cast<std::size_t>(kind.sources);
    const auto b = static_cast<std::size_t>(kind.targets);
    const double source = source_.ends[i] - source_.ends[i - a];
    const double target = target_.ends[j] - target_.ends[j - b];
    const double ratio = model_.ratio;
    const double off = target - ratio * source;
    const double target_variance = model_.variance * ratio * std::max(source, kShortest);
    const double back = target / ratio;
    const double source_variance = model_.variance / ratio * std::max(back, kShortest);
    const double back_off = source - back;
    // Both densities of Student's distribution in one logarithm each, of the products of their terms.
    const double tails =
        log((1 + off * off / (target_variance * kFreedom)) * (1 + back_off * back_off / (source_variance * kFreedom)));
    const double variances = log(target_variance * source_variance);
    const auto alone = [](const SideSums& sums, std::size_t sentences, double length) {
        return sums.constants[sentences] - (sums.gamma.shape * static_cast<double>(sentences) - 1) * log(length) +
               length / sums.gamma.scale;
    };
    return 0.5 * (alone(source_, a, source) + alone(target_, b, target) - 0.5 * variances - (kFreedom + 1) / 2 * tails);
}

}  // namespace nmt_prep::sentences
