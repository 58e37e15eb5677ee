#include "sentencepiece/lattice_sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>

namespace nmt_prep::sentencepiece {
namespace {

// Limit of alpha times a score, so that exponents of the longest lines are exact. Above it, the best segmentation has
// almost all of the probability unless scores differ by less than their rounding.
constexpr double kMaxPower = 1e9;

// Limit of the sum of such powers in a run, within which no probability is tiny or huge.
constexpr double kMaxPlain = 600;

constexpr unsigned kCacheBits = 14;
constexpr std::size_t kCacheBytes = std::size_t{1} << 24;

constexpr unsigned kFractionBits = 52;
constexpr std::int64_t kBias = 1023;

// 2^exponent; zero if a normal double cannot be that small. Requires an exponent of at most kBias.
double power_of_two(std::int64_t exponent) {
    return exponent < -kBias + 1 ? 0
                                 : std::bit_cast<double>(static_cast<std::uint64_t>(exponent + kBias) << kFractionBits);
}

}  // namespace

// exp(exponent)
LatticeSampler::Weight LatticeSampler::power(double exponent) {
    const double twos = std::floor(exponent * std::numbers::log2e);
    return {std::exp(exponent - twos * std::numbers::ln2), static_cast<std::int64_t>(twos)};
}

void LatticeSampler::set_scores(const std::vector<float>& scores, double largest, std::uint32_t longest, double alpha) {
    if (alpha_ == alpha) return;
    alpha_ = alpha;
    if (words_)
        words_->clear();
    else
        words_ = std::make_unique<PhraseCache>(kCacheBits, kCacheBytes);
    last_.resize(std::size_t{longest} + 1);
    wide_weights_.resize(scores.size());
    weights_.assign(scores.size(), 0);
    const double bounded = std::min(alpha, kMaxPower / std::max(largest, 1e-3));
    most_ = bounded * largest;
    for (std::size_t i = 1; i < scores.size(); ++i) {
        const Weight weight = wide_weights_[i] = power(bounded * static_cast<double>(scores[i]));
        if (most_ <= kMaxPlain) weights_[i] = std::ldexp(weight.mantissa, static_cast<int>(weight.exponent));
    }
}

LatticeSampler::Sums LatticeSampler::sum(const Lattice& lattice, const Lattice::Run& run) {
    const std::uint32_t size = run.end - run.begin;
    sums_.resize(std::max<std::size_t>(sums_.size(), size + 2));
    sums_[0] = size;
    const bool plain = size * most_ <= kMaxPlain;
    const std::size_t end = plain ? sum_plainly(lattice, run) : sum_with_exponents(lattice, run);
    sums_[size + 1] = static_cast<std::uint32_t>(end);
    return {sums_.data(), end};
}

// Makes room for the pieces of a position, and for one that is written but does not count.
void LatticeSampler::make_room(std::size_t place) {
    const std::size_t room = place + kPieceWords * (last_.size() + 1);
    if (sums_.size() < room) sums_.resize(2 * room);
}

std::size_t LatticeSampler::sum_plainly(const Lattice& lattice, const Lattice::Run& run) {
    constexpr std::size_t kShort = Lattice::kShort;
    const std::uint32_t size = run.end - run.begin;
    // Zeros before the first position stand for positions that no segmentation reaches.
    if (before_.size() < kShort + size + 1) before_.resize(2 * (kShort + size + 1));
    double* const before = before_.data() + kShort;
    const double* const weights = weights_.data();
    before[0] = 1;
    std::size_t at = size + 2;
    for (std::uint32_t end = 1; end <= size; ++end) {
        make_room(at);
        sums_[end] = static_cast<std::uint32_t>(at);
        std::uint32_t* piece = sums_.data() + at;
        double sum = 0;
        // Always written, and counted only if there is such a piece, to avoid a branch.
        lattice.for_each_length(run.begin + end, [&](std::int32_t place, std::int32_t number) {
            const std::int32_t start = place - static_cast<std::int32_t>(run.begin);
            sum += before[start] * weights[number];
            std::memcpy(piece, &sum, sizeof sum);
            piece[2] = static_cast<std::uint32_t>(number - 1);
            piece[3] = static_cast<std::uint32_t>(start);
            piece += number != 0 ? kPieceWords : 0;
        });
        before[end] = sum;
        at = static_cast<std::size_t>(piece - sums_.data());
    }
    return at;
}

std::size_t LatticeSampler::sum_with_exponents(const Lattice& lattice, const Lattice::Run& run) {
    const std::uint32_t size = run.end - run.begin;
    wide_before_.resize(std::max<std::size_t>(wide_before_.size(), size + 1));
    wide_before_[0] = {1, 0};
    std::size_t at = size + 2;
    for (std::uint32_t end = 1; end <= size; ++end) {
        make_room(at);
        sums_[end] = static_cast<std::uint32_t>(at);
        std::uint32_t* const first = sums_.data() + at;
        std::uint32_t* piece = first;
        std::size_t count = 0;
        std::int64_t highest = INT64_MIN;
        lattice.for_each_ending(run.begin + end, [&](std::uint32_t start, std::int32_t id) {
            const Weight& before = wide_before_[start - run.begin];
            const Weight& own = wide_weights_[static_cast<std::size_t>(id) + 1];
            last_[count++] = {before.mantissa * own.mantissa, before.exponent + own.exponent};
            highest = std::max(highest, before.exponent + own.exponent);
            piece[2] = static_cast<std::uint32_t>(id);
            piece[3] = start - run.begin;
            piece += kPieceWords;
        });
        double sum = 0;
        piece = first;
        for (std::size_t i = 0; i < count; ++i, piece += kPieceWords) {
            sum += last_[i].mantissa * power_of_two(last_[i].exponent - highest);
            std::memcpy(piece, &sum, sizeof sum);
        }
        // The sum is about one or more, so its exponent can be moved.
        const auto bits = std::bit_cast<std::uint64_t>(sum);
        const std::int64_t twos = static_cast<std::int64_t>(bits >> kFractionBits) - kBias;
        wide_before_[end] = {sum * power_of_two(-twos), highest + twos};
        at += kPieceWords * count;
    }
    return at;
}

bool LatticeSampler::has(Sums sums, std::int32_t id) {
    for (std::size_t piece = sums[1]; piece < sums.size(); piece += kPieceWords)
        if (std::cmp_equal(sums[piece + 2], id)) return true;
    return false;
}

Lattice::Path LatticeSampler::draw(Sums sums, Random& random) {
    const std::uint32_t* const words = sums.data();
    const std::size_t size = words[0];
    if (path_ids_.size() < size) {
        path_ids_.resize(2 * size);
        path_starts_.resize(2 * size);
    }
    const auto sum_of = [](const std::uint32_t* piece) {
        double sum;
        std::memcpy(&sum, piece, sizeof sum);
        return sum;
    };
    std::size_t at = size;
    for (std::size_t end = size; end > 0;) {
        const std::uint32_t* piece = words + words[end];
        const std::uint32_t* const last = words + words[end + 1] - kPieceWords;
        const double chosen = random.uniform() * sum_of(last);
        while (piece != last && sum_of(piece) <= chosen) piece += kPieceWords;
        path_ids_[--at] = static_cast<std::int32_t>(piece[2]);
        path_starts_[at] = piece[3];
        end = piece[3];
    }
    return {path_ids_.data() + at, path_starts_.data() + at, size - at};
}

}  // namespace nmt_prep::sentencepiece
