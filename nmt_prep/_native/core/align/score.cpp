#include "align/score.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "align/diagonal.h"
#include "align/sums.h"
#include "text/parallel.h"

namespace nmt_prep::align {
namespace {

constexpr std::size_t kRunPairs = 256;
constexpr float kUnit = 1.0F / static_cast<float>(kOne);
constexpr std::size_t kScoredWords = 512;  // longer sides are cut

// For each word the position of the first equal word.
void first_equal(const std::int32_t* words, std::size_t size, std::vector<std::uint32_t>& first) {
    first.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
        std::size_t at = 0;
        while (words[at] != words[i]) ++at;
        first[i] = static_cast<std::uint32_t>(at);
    }
}

// Scores pairs; reuses its memory from pair to pair.
class Scorer {
   public:
    Scorer(const Parameters& parameters, const Evidence& evidence)
        : parameters_(parameters), evidence_(evidence), links_(parameters), diagonal_(parameters.steepness) {}

    double score(Pair pair, std::int64_t own) {
        if (pair.empty()) return std::numeric_limits<double>::quiet_NaN();
        if (pair.too_long()) {
            pair.sources = std::min(pair.sources, kScoredWords);
            pair.targets = std::min(pair.targets, kScoredWords);
            own = 0;  // the pair was not counted
        }
        find(pair);
        if (own > 0) count_own(pair, own);
        return judged(pair, own > 0);
    }

   private:
    void find(const Pair& pair) {
        found_.clear();
        finder_.find(*parameters_.table, *evidence_.filter, pair.source, pair.sources, pair.target, pair.targets,
                     [&](std::uint32_t i, std::uint32_t j, std::int64_t slot) {
                         if (evidence_.counts[slot] > 0) found_.push_back({i, j, evidence_.counts[slot]});
                     });
    }

    // Sums the counts that the pair itself added to the evidence, for distinct pairs of words, which stand for all
    // positions of the words.
    void count_own(const Pair& pair, std::int64_t own) {
        const std::size_t n = pair.targets;
        first_equal(pair.source, pair.sources, first_source_);
        first_equal(pair.target, n, first_target_);
        own_.assign(pair.sources * n, 0);
        own_rows_.assign(pair.sources, 0);
        own_columns_.assign(n, 0);
        for (const AgreedCell& cell : links_.of(pair)) {
            if (cell.agreed < kLeastCounted) continue;
            const std::int64_t count = own * counted(cell.agreed);
            own_[first_source_[cell.source] * n + first_target_[cell.target]] += count;
            own_rows_[first_source_[cell.source]] += count;
            own_columns_[first_target_[cell.target]] += count;
        }
        for (Found& cell : found_) cell.count -= own_[first_source_[cell.source] * n + first_target_[cell.target]];
    }

    // The weight of a word: the inverse of the sum of the remaining counts of its row or column, and the pseudo count.
    static float inverse(std::int64_t total, std::int64_t own, float pseudo) {
        return 1 / (static_cast<float>(std::max<std::int64_t>(total - own, 0)) * kUnit + pseudo);
    }

    double judged(const Pair& pair, bool counted) {
        const std::size_t m = pair.sources;
        const std::size_t n = pair.targets;
        source_inverse_.resize(m);
        target_inverse_.resize(n);
        for (std::size_t i = 0; i < m; ++i)
            source_inverse_[i] = inverse(evidence_.totals->rows[static_cast<std::size_t>(pair.source[i])],
                                         counted ? own_rows_[first_source_[i]] : 0, evidence_.pseudo);
        for (std::size_t j = 0; j < n; ++j)
            target_inverse_[j] = inverse(evidence_.totals->columns[static_cast<std::size_t>(pair.target[j])],
                                         counted ? own_columns_[first_target_[j]] : 0, evidence_.pseudo);
        diagonal_.prepare(m, n);
        diagonal_.sum_over_sources(source_inverse_, target_sums_);
        diagonal_.sum_over_targets(target_inverse_, source_sums_);
        source_given_.assign(m, 0);
        target_given_.assign(n, 0);
        for (const Found& cell : found_) {
            if (cell.count <= 0) continue;
            const float share = static_cast<float>(cell.count) * kUnit * diagonal_.weight(cell.source, cell.target);
            target_given_[cell.target] += share * source_inverse_[cell.source];
            source_given_[cell.source] += share * target_inverse_[cell.target];
        }
        return mean_value(pair.target, n, parameters_.target_shares, target_given_, target_sums_) +
               mean_value(pair.source, m, parameters_.source_shares, source_given_, source_sums_);
    }

    // The mean over the words of a side of log(p(word | other side) / p(word)). The sums are weights of the other side.
    double mean_value(const std::int32_t* words, std::size_t size, const float* shares, const std::vector<float>& given,
                      const std::vector<Weighted>& sums) const {
        double sum = 0;
        for (std::size_t at = 0; at < size; ++at) {
            const auto weight = static_cast<double>(sums[at].weight);
            const double ratio = given[at] / (weight * shares[words[at]]);
            const double unknown = static_cast<double>(evidence_.pseudo) * sums[at].value / weight;
            sum += std::max(log(ratio + unknown + evidence_.mix), evidence_.floor);
        }
        return sum / static_cast<double>(size);
    }

    struct Found {
        std::uint32_t source;
        std::uint32_t target;
        std::int64_t count;  // remaining count
    };

    const Parameters& parameters_;
    const Evidence& evidence_;
    DiagonalLinks links_;
    CellFinder finder_;
    Diagonal diagonal_;
    std::vector<std::uint32_t> first_source_, first_target_;
    std::vector<std::int64_t> own_, own_rows_, own_columns_;
    std::vector<Found> found_;
    std::vector<float> source_inverse_, source_given_, target_inverse_, target_given_;
    std::vector<Weighted> source_sums_, target_sums_;
};

}  // namespace

void score(const Pairs& pairs, const Parameters& parameters, const Evidence& evidence, const std::int64_t* own,
           double* scores, std::size_t threads, const Poll& poll) {
    std::vector<Scorer> scorers(std::max<std::size_t>(threads, 1), Scorer(parameters, evidence));
    const std::size_t runs = (pairs.size + kRunPairs - 1) / kRunPairs;
    parallel_for(runs, threads, [&](std::size_t run, std::size_t thread) {
        if (thread == 0) poll();
        for (std::size_t at = run * kRunPairs; at < std::min((run + 1) * kRunPairs, pairs.size); ++at)
            scores[at] = scorers[thread].score(pairs[at], own == nullptr ? 0 : own[at]);
    });
}

}  // namespace nmt_prep::align
