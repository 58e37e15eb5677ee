#include "sentences/lengths.h"

#include <algorithm>
#include <numbers>

#include "text/exp_log.h"

namespace nmt_prep::sentences {
namespace {

constexpr double kFreedom = 4.0;   // degrees of freedom of Student's distribution
constexpr double kShortest = 5.0;  // length in characters above which the variance grows with it

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

LengthValues::SideSums LengthValues::sums_of(const Side& side, Gamma gamma, double scale) const {
    SideSums sums{{0.0}, std::vector<double>(most_)};
    sums.ends.reserve(side.size() + 1);
    sums.own.reserve((side.size() + 1) * most_);
    for (const double length : side.lengths) sums.ends.push_back(sums.ends.back() + length);
    const double student = log_gamma((kFreedom + 1) / 2) - log_gamma(kFreedom / 2) -
                           0.5 * log(kFreedom * std::numbers::pi * model_.variance);
    std::vector<double> constants(most_ + 1);
    for (std::size_t k = 1; k <= most_; ++k) {
        const double shape = gamma.shape * static_cast<double>(k);
        constants[k] = log_gamma(shape) + shape * log(gamma.scale) + student;
    }
    for (std::size_t i = 1; i < sums.ends.size(); ++i) {
        for (std::size_t k = 1; k <= most_; ++k) {
            const double shape = gamma.shape * static_cast<double>(k);
            const double length = i < k ? 1.0 : sums.ends[i] - sums.ends[i - k];
            const double alone = constants[k] - (shape - 1) * log(length) + length / gamma.scale;
            sums.own.push_back(0.5 * (alone - 0.5 * log(std::max(length * scale, kShortest))));
        }
    }
    return sums;
}

LengthValues::LengthValues(const Document& document, const LengthModel& model, std::size_t most)
    : model_(model),
      most_(most),
      source_(sums_of(document.source, model.source, 1.0)),
      target_(sums_of(document.target, model.target, 1 / model.ratio)) {}

double LengthValues::of(std::size_t i, std::size_t j, Kind kind) const {
    const auto a = static_cast<std::size_t>(kind.sources);
    const auto b = static_cast<std::size_t>(kind.targets);
    const double source = source_.ends[i] - source_.ends[i - a];
    const double back = (target_.ends[j] - target_.ends[j - b]) / model_.ratio;
    // Both densities of Student's distribution, in one logarithm over the products of their terms.
    const double square = (source - back) * (source - back) / (model_.variance * kFreedom);
    const double tails = log((1 + square * model_.ratio / std::max(source, kShortest)) *
                             (1 + square * model_.ratio / std::max(back, kShortest)));
    return source_.own[i * most_ + a - 1] + target_.own[j * most_ + b - 1] - 0.25 * (kFreedom + 1) * tails;
}

}  // namespace nmt_prep::sentences
