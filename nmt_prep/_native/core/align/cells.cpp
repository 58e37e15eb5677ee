#include "align/cells.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "align/row_runs.h"
#include "align/vocabulary.h"
#include "clean/keys.h"
#include "text/exp_log.h"
#include "text/parallel.h"

namespace nmt_prep::align {
namespace {

// The occurrences of each source word: word w has the occurrences [first[w], first[w + 1]).
struct Occurrences {
    struct Place {
        std::uint32_t pair;
        std::uint32_t position;
    };
    std::vector<std::int64_t> first;
    std::vector<Place> places;
};

Occurrences occurrences_of(const Pairs& pairs, Sample sample, std::size_t rows) {
    Occurrences found{std::vector<std::int64_t>(rows + 1), {}};
    const auto for_each = [&](auto&& visit) {
        for (std::size_t i = 0; i < pairs.size; ++i) {
            const Pair pair = pairs[i];
            if (pair.empty() || pair.too_long() || !sample.has(pair)) continue;
            for (std::size_t at = 0; at < pair.sources; ++at)
                if (pair.source[at] != kUnknown) visit(static_cast<std::size_t>(pair.source[at]), i, at);
        }
    };
    for_each([&](std::size_t word, std::size_t, std::size_t) { ++found.first[word + 1]; });
    for (std::size_t row = 0; row < rows; ++row) found.first[row + 1] += found.first[row];
    found.places.resize(static_cast<std::size_t>(found.first[rows]));
    std::vector<std::int64_t> next = found.first;
    for_each([&](std::size_t word, std::size_t pair, std::size_t at) {
        found.places[static_cast<std::size_t>(next[word]++)] = {static_cast<std::uint32_t>(pair),
                                                                static_cast<std::uint32_t>(at)};
    });
    return found;
}

// The weights of positions: see Diagonal.
struct Slopes {
    Slopes(const std::int64_t* offsets, std::size_t pairs, double steepness)
        : up(static_cast<std::size_t>(offsets[pairs] - offsets[0])), down(up.size()) {
        for (std::size_t i = 0; i < pairs; ++i) {
            const auto size = static_cast<double>(offsets[i + 1] - offsets[i]);
            const auto first = static_cast<std::size_t>(offsets[i] - offsets[0]);
            const double step = exp(steepness / size);
            double power = exp(0.5 * steepness / size);
            for (std::size_t at = first; at < first + static_cast<std::size_t>(offsets[i + 1] - offsets[i]); ++at) {
                up[at] = static_cast<float>(power);
                down[at] = static_cast<float>(1.0 / power);
                power *= step;
            }
        }
    }
    std::vector<float> up, down;
};

// Sums of one row.
class RowSums {
   public:
    explicit RowSums(std::size_t columns) : sums_(columns), seen_((columns + 63) / 64) {}

    void add(std::int32_t target, std::int64_t count) {
        const auto at = static_cast<std::size_t>(target);
        if (sums_[at] == 0) {
            touched_.push_back(target);
            seen_[at / 64] |= std::uint64_t{1} << (at % 64);
        }
        sums_[at] += count;
    }

    // Appends the targets and their sums, by ascending target, and clears the row.
    void drain(std::vector<std::int32_t>& targets, std::vector<std::int64_t>& counts) {
        if (touched_.size() > seen_.size()) {
            touched_.clear();
            for (std::size_t word = 0; word < seen_.size(); ++word)
                for (std::uint64_t bits = seen_[word]; bits != 0; bits &= bits - 1)
                    touched_.push_back(static_cast<std::int32_t>(word * 64 + std::countr_zero(bits)));
        } else {
            std::ranges::sort(touched_);
        }
        for (const std::int32_t target : touched_) {
            const auto at = static_cast<std::size_t>(target);
            targets.push_back(target);
            counts.push_back(sums_[at]);
            sums_[at] = 0;
            seen_[at / 64] = 0;
        }
        touched_.clear();
    }

   private:
    std::vector<std::int64_t> sums_;
    std::vector<std::uint64_t> seen_;
    std::vector<std::int32_t> touched_;
};

// Weight of a position pair in a line pair, as a count of at least 1.
std::int64_t weighted(float weight, const Pair& pair) {
    const auto longer = static_cast<float>(std::max(pair.sources, pair.targets));
    return static_cast<std::int64_t>(weight / longer * static_cast<float>(kOne)) + 1;
}

// Appends the sums of a row of two sets of cells.
void add_row(const CellRows& first, const CellRows& second, std::size_t row, CellCounts& sum) {
    auto a = static_cast<std::size_t>(first.offsets[row]);
    auto b = static_cast<std::size_t>(second.offsets[row]);
    const auto a_end = static_cast<std::size_t>(first.offsets[row + 1]);
    const auto b_end = static_cast<std::size_t>(second.offsets[row + 1]);
    while (a < a_end || b < b_end) {
        const bool take_a = a < a_end && (b == b_end || first.targets[a] <= second.targets[b]);
        const bool take_b = b < b_end && (a == a_end || second.targets[b] <= first.targets[a]);
        sum.targets.push_back(take_a ? first.targets[a] : second.targets[b]);
        sum.counts.push_back((take_a ? first.counts[a] : 0) + (take_b ? second.counts[b] : 0));
        a += take_a ? 1 : 0;
        b += take_b ? 1 : 0;
    }
    sum.offsets.push_back(static_cast<std::int64_t>(sum.targets.size()));
}

// Joins runs of rows, whose offsets are the ends of their rows, and empties the runs.
CellCounts joined(std::vector<CellCounts>& runs, std::size_t threads) {
    std::vector<std::size_t> rows{1};
    std::vector<std::size_t> cells{0};
    for (const CellCounts& run : runs) {
        rows.push_back(rows.back() + run.offsets.size());
        cells.push_back(cells.back() + run.targets.size());
    }
    CellCounts all{std::vector<std::int64_t>(rows.back()), std::vector<std::int32_t>(cells.back()),
                   std::vector<std::int64_t>(cells.back())};
    parallel_for(runs.size(), threads, [&](std::size_t at, std::size_t) {
        CellCounts& run = runs[at];
        std::ranges::transform(run.offsets, all.offsets.data() + rows[at],
                               [&](std::int64_t end) { return end + static_cast<std::int64_t>(cells[at]); });
        std::ranges::copy(run.targets, all.targets.data() + cells[at]);
        std::ranges::copy(run.counts, all.counts.data() + cells[at]);
        run = {};
    });
    return all;
}

}  // namespace

bool Sample::has(const Pair& pair) const {
    if (all) return true;
    const auto hash = [](const std::int32_t* words, std::size_t size) {
        return clean::hash_key(reinterpret_cast<const std::uint8_t*>(words), size * sizeof *words);
    };
    return (hash(pair.source, pair.sources).high ^ hash(pair.target, pair.targets).low) < share;
}

CellCounts count_cells(const Pairs& pairs, Sample sample, std::size_t rows, std::size_t columns, double steepness,
                       std::size_t threads) {
    const Occurrences occurrences = occurrences_of(pairs, sample, rows);
    const Slopes source(pairs.source_offsets, pairs.size, steepness);
    const Slopes target(pairs.target_offsets, pairs.size, steepness);
    // Runs of rows with similar occurrence counts.
    const std::int64_t share = std::max<std::int64_t>(occurrences.first[rows] / 256, 1);
    std::vector<std::size_t> bounds{0};
    for (std::size_t row = 0; row < rows; ++row)
        if (occurrences.first[row + 1] - occurrences.first[bounds.back()] >= share) bounds.push_back(row + 1);
    if (bounds.back() != rows) bounds.push_back(rows);

    std::vector<CellCounts> runs(bounds.size() - 1);
    std::vector<RowSums> sums(std::max<std::size_t>(threads, 1), RowSums(columns));
    parallel_for(runs.size(), threads, [&](std::size_t run, std::size_t thread) {
        for (std::size_t row = bounds[run]; row < bounds[run + 1]; ++row) {
            for (std::int64_t at = occurrences.first[row]; at < occurrences.first[row + 1]; ++at) {
                const Occurrences::Place place = occurrences.places[static_cast<std::size_t>(at)];
                const Pair pair = pairs[place.pair];
                const std::size_t here =
                    static_cast<std::size_t>(pairs.source_offsets[place.pair] - pairs.source_offsets[0]) +
                    place.position;
                const auto there = static_cast<std::size_t>(pairs.target_offsets[place.pair] - pairs.target_offsets[0]);
                for (std::size_t j = 0; j < pair.targets; ++j) {
                    if (pair.target[j] == kUnknown) continue;
                    const float weight =
                        std::min(source.up[here] * target.down[there + j], source.down[here] * target.up[there + j]);
                    sums[thread].add(pair.target[j], weighted(weight, pair));
                }
            }
            sums[thread].drain(runs[run].targets, runs[run].counts);
            runs[run].offsets.push_back(static_cast<std::int64_t>(runs[run].targets.size()));
        }
    });

    return joined(runs, threads);
}

CellCounts add_cells(const CellRows& first, const CellRows& second, std::size_t threads) {
    constexpr std::int64_t kRunCells = std::int64_t{1} << 15;
    const std::vector<std::size_t> bounds = row_runs(first.offsets, kRunCells);
    std::vector<CellCounts> runs(bounds.size() - 1);
    parallel_for(runs.size(), threads, [&](std::size_t run, std::size_t) {
        for (std::size_t row = bounds[run]; row < bounds[run + 1]; ++row) add_row(first, second, row, runs[run]);
    });
    return joined(runs, threads);
}

CellCounts prune_cells(const CellRows& cells, std::size_t columns, std::int64_t least, double association) {
    std::vector<std::int64_t> row_sums(cells.rows());
    std::vector<std::int64_t> column_sums(columns);
    const auto for_each_frequent = [&](std::size_t row, auto&& body) {
        for (auto at = static_cast<std::size_t>(cells.offsets[row]); std::cmp_less(at, cells.offsets[row + 1]); ++at)
            if (cells.counts[at] >= least) body(cells.counts[at], cells.targets[at]);
    };
    for (std::size_t row = 0; row < cells.rows(); ++row)
        for_each_frequent(row, [&](std::int64_t count, std::int32_t target) {
            row_sums[row] += count;
            column_sums[static_cast<std::size_t>(target)] += count;
        });
    CellCounts kept;
    kept.offsets.push_back(0);
    for (std::size_t row = 0; row < cells.rows(); ++row) {
        const double limit = association * static_cast<double>(row_sums[row]);
        for_each_frequent(row, [&](std::int64_t count, std::int32_t target) {
            const auto seen = static_cast<double>(count);
            if (seen * seen < limit * static_cast<double>(column_sums[static_cast<std::size_t>(target)])) return;
            kept.targets.push_back(target);
            kept.counts.push_back(count);
        });
        kept.offsets.push_back(static_cast<std::int64_t>(kept.targets.size()));
    }
    return kept;
}

}  // namespace nmt_prep::align
