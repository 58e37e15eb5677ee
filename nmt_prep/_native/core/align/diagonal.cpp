#include "align/diagonal.h"

namespace nmt_prep::align {

const std::vector<AgreedCell>& DiagonalLinks::of(const Pair& pair) {
    const std::size_t m = pair.sources;
    const std::size_t n = pair.targets;
    const auto shares_of = [](const std::int32_t* words, std::size_t size, const float* shares, auto& found) {
        found.resize(size);
        for (std::size_t at = 0; at < size; ++at) found[at] = shares[words[at]];
    };
    shares_of(pair.source, m, parameters_.source_shares, source_shares_);
    shares_of(pair.target, n, parameters_.target_shares, target_shares_);
    diagonal_.prepare(m, n);
    diagonal_.sum_over_sources(source_shares_, target_weights_);
    diagonal_.sum_over_targets(target_shares_, source_weights_);

    source_factor_.assign(m, 0);
    target_factor_.assign(n, 0);
    cells_.clear();
    const Table& table = *parameters_.table;
    const Cell* const slots = table.slots().data();
    const float floor = parameters_.floor;
    const Diagonal::Weights weights = diagonal_.weights();
    float* const source_factor = source_factor_.data();
    float* const target_factor = target_factor_.data();
    const float* const source_shares = source_shares_.data();
    const float* const target_shares = target_shares_.data();
    finder_.find(table, *parameters_.filter, pair.source, m, pair.target, n,
                 [&](std::uint32_t i, std::uint32_t j, std::int64_t slot) {
                     const Cell& cell = slots[slot];
                     const float weight = weights(i, j);
                     target_factor[j] += weight * cell.forward;
                     source_factor[i] += weight * cell.backward;
                     const float forward = weight * (floor * target_shares[j] + cell.forward);
                     const float backward = weight * (floor * source_shares[i] + cell.backward);
                     cells_.push_back({i, j, slot, forward * backward});
                 });
    // A word has no link, a link to a word with a cell, or a link to a word without a cell. Its probabilities sum to
    // null * share + linked * (lexical / weight + floor * share).
    const float linked = 1 - parameters_.null;
    const float rest = parameters_.null + linked * floor;
    const auto normalize = [&](std::vector<float>& factor, const auto& sums, const auto& shares) {
        for (std::size_t at = 0; at < factor.size(); ++at)
            factor[at] = linked / (linked * factor[at] + rest * shares[at] * sums[at].weight);
    };
    normalize(target_factor_, target_weights_, target_shares_);
    normalize(source_factor_, source_weights_, source_shares_);
    for (AgreedCell& cell : cells_) cell.agreed *= target_factor_[cell.target] * source_factor_[cell.source];
    return cells_;
}

}  // namespace nmt_prep::align
