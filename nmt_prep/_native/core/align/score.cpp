#include "align/score.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "text/parallel.h"

namespace nmt_prep::align {
namespace {

constexpr std::size_t kRunPairs = 256;
constexpr float kLeast = 1.0F / 512;
constexpr std::size_t kScoredWords = 512;  // longer sides are cut

// Position of the first word equal to each.
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
        : parameters_(parameters), evidence_(evidence), lattice_(parameters) {}

    double score(Pair pair, std::int64_t own) {
        if (pair.empty()) return std::numeric_limits<double>::quiet_NaN();
        if (pair.too_long()) {
            pair.sources = std::min(pair.sources, kScoredWords);
            pair.targets = std::min(pair.targets, kScoredWords);
            own = 0;  // it was not counted
        }
        lattice_.look_up(pair);
        diagonal_.prepare(pair.sources, pair.targets, parameters_.steepness);
        first_equal(pair.source, pair.sources, first_source_);
        first_equal(pair.target, pair.targets, first_target_);
        count_own(pair, own);
        return judged(pair);
    }

   private:
    void count_own(const Pair& pair, std::int64_t own) {
        const std::size_t n = pair.targets;
        own_.assign(pair.sources * n, 0);
        own_rows_.assign(pair.sources, 0);
        own_columns_.assign(n, 0);
        if (own == 0) return;
        lattice_.by_diagonal();
        for (std::size_t i = 0; i < pair.sources; ++i) {
            for (std::size_t j = 0; j < n; ++j) {
                const float agreed = lattice_.agreed(i, j);
                if (agreed < kLeast || lattice_.slot(i, j) == Table::kNone) continue;
                const std::int64_t count = own * static_cast<std::int64_t>(agreed * static_cast<float>(kOne) + 0.5F);
                own_[first_source_[i] * n + first_target_[j]] += count;
                own_rows_[first_source_[i]] += count;
                own_columns_[first_target_[j]] += count;
            }
        }
    }

    double judged(const Pair& pair) {
        constexpr double kUnit = static_cast<double>(kOne);
        const std::size_t n = pair.targets;
        given_target_.assign(n, 0);
        target_weight_.assign(n, 0);
        double backward = 0;
        for (std::size_t i = 0; i < pair.sources; ++i) {
            const std::size_t of_i = first_source_[i];
            const std::int64_t row = evidence_.totals->rows[static_cast<std::size_t>(pair.source[i])];
            const double row_left = static_cast<double>(std::max<std::int64_t>(row - own_rows_[of_i], 0)) / kUnit;
            const double row_inverse = 1 / (row_left + evidence_.pseudo);
            double given = 0;
            double weights = 0;
            for (std::size_t j = 0; j < n; ++j) {
                const std::size_t of_j = first_target_[j];
                const double weight = diagonal_.weight(i, j);
                weights += weight;
                target_weight_[j] += weight;
                const std::int64_t slot = lattice_.slot(i, j);
                double left = 0;
                if (slot != Table::kNone)
                    left =
                        static_cast<double>(std::max<std::int64_t>(evidence_.counts[slot] - own_[of_i * n + of_j], 0)) /
                        kUnit;
                const std::int64_t column = evidence_.totals->columns[static_cast<std::size_t>(pair.target[j])];
                const double column_left =
                    static_cast<double>(std::max<std::int64_t>(column - own_columns_[of_j], 0)) / kUnit;
                const double spread = evidence_.pseudo * evidence_.unknown;
                given_target_[j] += weight * (left + spread * parameters_.target_shares[pair.target[j]]) * row_inverse;
                given += weight * (left + spread * parameters_.source_shares[pair.source[i]]) /
                         (column_left + evidence_.pseudo);
            }
            backward += value(given / weights, parameters_.source_shares[pair.source[i]]);
        }
        double forward = 0;
        for (std::size_t j = 0; j < n; ++j)
            forward += value(given_target_[j] / target_weight_[j], parameters_.target_shares[pair.target[j]]);
        return forward / static_cast<double>(n) + backward / static_cast<double>(pair.sources);
    }

    double value(double given, double share) const {
        return std::max(log((given + evidence_.mix * share) / share), evidence_.floor);
    }

    const Parameters& parameters_;
    const Evidence& evidence_;
    Lattice lattice_;
    Diagonal diagonal_;
    std::vector<std::uint32_t> first_source_, first_target_;
    std::vector<std::int64_t> own_, own_rows_, own_columns_;
    std::vector<double> given_target_, target_weight_;
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
