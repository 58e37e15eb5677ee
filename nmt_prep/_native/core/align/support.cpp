#include "align/support.h"

#include <algorithm>

#include "align/sums.h"
#include "text/exp_log.h"

namespace nmt_prep::align {
namespace {

constexpr float kUnit = 1.0F / static_cast<float>(kOne);
constexpr std::size_t kJudgedWords = 512;  // longer sides are cut
constexpr std::uint32_t kAbsent = 0xFFFFFFFF;

// For each word the position of the first equal word among others, or kAbsent.
void first_equal(const std::int32_t* words, std::size_t size, const std::int32_t* others, std::size_t count,
                 std::vector<std::uint32_t>& first) {
    first.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
        const std::int32_t* const at = std::find(others, others + count, words[i]);
        first[i] = at == others + count ? kAbsent : static_cast<std::uint32_t>(at - others);
    }
}

// The weight of a word: the inverse of the sum of the remaining counts of its row or column, and the pseudo count.
float inverse(std::int64_t total, std::int64_t own, float pseudo) {
    return 1 / (static_cast<float>(std::max<std::int64_t>(total - own, 0)) * kUnit + pseudo);
}

}  // namespace

Pair Support::cut(Pair pair) {
    if (pair.too_long()) {
        pair.sources = std::min(pair.sources, kJudgedWords);
        pair.targets = std::min(pair.targets, kJudgedWords);
    }
    return pair;
}

void Support::judge(const Pair& pair, std::span<const Origin> origins) {
    const std::size_t m = pair.sources;
    const std::size_t n = pair.targets;
    cells_.clear();
    finder_.find(*evidence_.table, *evidence_.filter, pair.source, m, pair.target, n,
                 [&](std::uint32_t i, std::uint32_t j, std::int64_t slot) {
                     cells_.push_back({i, j, evidence_.counts[slot], 0, 0});
                 });
    leave_out(pair, origins);
    source_inverse_.resize(m);
    target_inverse_.resize(n);
    const bool some = !own_.empty();
    for (std::size_t i = 0; i < m; ++i)
        source_inverse_[i] = inverse(evidence_.totals->rows[static_cast<std::size_t>(pair.source[i])],
                                     some ? own_rows_[first_source_[i]] : 0, evidence_.pseudo);
    for (std::size_t j = 0; j < n; ++j)
        target_inverse_[j] = inverse(evidence_.totals->columns[static_cast<std::size_t>(pair.target[j])],
                                     some ? own_columns_[first_target_[j]] : 0, evidence_.pseudo);
    diagonal_.prepare(m, n);
    diagonal_.sum_over_sources(source_inverse_, target_sums_);
    diagonal_.sum_over_targets(target_inverse_, source_sums_);
    source_given_.assign(m, 0);
    target_given_.assign(n, 0);
    const Diagonal::Weights weights = diagonal_.weights();
    for (SupportedCell& cell : cells_) {
        if (cell.count <= 0) continue;
        const float share = static_cast<float>(cell.count) * kUnit * weights(cell.source, cell.target);
        cell.forward = share * source_inverse_[cell.source];
        cell.backward = share * target_inverse_[cell.target];
        target_given_[cell.target] += cell.forward;
        source_given_[cell.source] += cell.backward;
    }
    value(pair.source, parameters_.source_shares, source_given_, source_sums_, source_values_);
    value(pair.target, parameters_.target_shares, target_given_, target_sums_, target_values_);
}

// Sums the counts that the origins added to the evidence, by distinct pair of words over all their positions, and
// subtracts the sums from the counts of the cells.
void Support::leave_out(const Pair& pair, std::span<const Origin> origins) {
    const std::size_t m = pair.sources;
    const std::size_t n = pair.targets;
    own_.clear();
    for (const Origin& origin : origins) {
        if (origin.copies <= 0 || origin.pair.empty() || origin.pair.too_long()) continue;
        if (own_.empty()) {
            first_equal(pair.source, m, pair.source, m, first_source_);
            first_equal(pair.target, n, pair.target, n, first_target_);
            own_.assign(m * n, 0);
            own_rows_.assign(m, 0);
            own_columns_.assign(n, 0);
        }
        const Pair& from = origin.pair;
        first_equal(from.source, from.sources, pair.source, m, at_source_);
        first_equal(from.target, from.targets, pair.target, n, at_target_);
        for (const AgreedCell& cell : links_.of(from)) {
            if (cell.agreed < kLeastCounted) continue;
            const std::int64_t count = origin.copies * counted(cell.agreed);
            const std::uint32_t i = at_source_[cell.source];
            const std::uint32_t j = at_target_[cell.target];
            if (i != kAbsent) own_rows_[i] += count;
            if (j != kAbsent) own_columns_[j] += count;
            if (i != kAbsent && j != kAbsent) own_[i * n + j] += count;
        }
    }
    if (own_.empty()) return;
    for (SupportedCell& cell : cells_) cell.count -= own_[first_source_[cell.source] * n + first_target_[cell.target]];
}

// Values of a side's words. The sums are weight sums over the other side.
void Support::value(const std::int32_t* words, const float* shares, const std::vector<float>& given,
                    const std::vector<Weighted>& sums, std::vector<double>& values) const {
    values.resize(given.size());
    for (std::size_t at = 0; at < given.size(); ++at) {
        const auto weight = static_cast<double>(sums[at].weight);
        const double ratio = given[at] / (weight * shares[words[at]]);
        const double unknown = static_cast<double>(evidence_.pseudo) * sums[at].value / weight;
        values[at] = std::max(log(ratio + unknown + evidence_.mix), evidence_.floor);
    }
}

}  // namespace nmt_prep::align
