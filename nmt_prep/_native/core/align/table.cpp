#include "align/table.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include "align/row_runs.h"

namespace nmt_prep::align {
namespace {

constexpr const char* kUnknownWord = "a word is not in the vocabulary";

void require(bool good, const char* message) {
    if (!good) throw std::invalid_argument(message);
}

// Slots of a row. At least half of them stay free, so that searches for missing cells are short.
std::int64_t slots_for(std::int64_t cells) {
    return cells == 0 ? 0 : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(2 * cells)));
}

std::vector<std::int64_t> sizes_of(std::span<const std::int64_t> offsets) {
    std::vector<std::int64_t> sizes(offsets.size() - 1);
    for (std::size_t row = 0; row < sizes.size(); ++row) sizes[row] = offsets[row + 1] - offsets[row];
    return sizes;
}

}  // namespace

Counts::Counts(std::span<const std::int64_t> counts) : counts_(counts) {
    constexpr std::int64_t kMost = std::int64_t{1} << 60;  // links of 2^40 words
    std::int64_t sum = 0;
    for (const std::int64_t count : counts) {
        require(count >= 0 && count <= kMost - sum, "the counts of links are negative or too large");
        sum += count;
    }
}

CellRows::CellRows(std::span<const std::int64_t> row_offsets, std::span<const std::int32_t> row_targets,
                   Counts cell_counts)
    : offsets(row_offsets), targets(row_targets), counts(cell_counts) {
    require(counts.size() == targets.size(), "there must be a count for each cell");
    require(!offsets.empty() && offsets.front() == 0 && std::cmp_equal(offsets.back(), targets.size()) &&
                std::ranges::is_sorted(offsets),
            "the rows of cells do not fit together");
    for (std::size_t row = 0; row < rows(); ++row) {
        std::int32_t before = -1;
        for (auto at = static_cast<std::size_t>(offsets[row]); std::cmp_less(at, offsets[row + 1]); ++at)
            require(targets[at] > std::exchange(before, targets[at]), "the cells of a row do not ascend");
    }
}

Table::Table(const std::vector<std::int64_t>& cells, std::size_t columns, std::size_t threads)
    : first_(cells.size() + 1), columns_(columns) {
    for (std::size_t row = 0; row < cells.size(); ++row) first_[row + 1] = first_[row] + slots_for(cells[row]);
    slots_.resize(static_cast<std::size_t>(first_.back()));
    for_each_row(first_, threads, [&](std::size_t row, std::size_t) {
        std::fill(slots_.data() + first_[row], slots_.data() + first_[row + 1], Cell{kFree, 0, 0});
    });
}

Table::Table(const CellRows& rows, std::size_t columns, std::size_t threads)
    : Table(sizes_of(rows.offsets), columns, threads) {
    for_each_row(first_, threads, [&](std::size_t i, std::size_t) {
        const Row row = this->row(static_cast<std::int32_t>(i));
        for (std::int64_t cell = rows.offsets[i]; cell < rows.offsets[i + 1]; ++cell) {
            const std::int32_t target = rows.targets[static_cast<std::size_t>(cell)];
            require(std::cmp_less(target, columns), kUnknownWord);
            insert(row, target);
        }
    });
    estimate(placed(rows, threads).data(), threads);
}

Table::Table(std::vector<std::int64_t> first, LargeVector<Cell> slots, std::size_t columns)
    : first_(std::move(first)), slots_(std::move(slots)), columns_(columns) {
    constexpr const char* kUneven = "the rows of the lexical table do not fit together";
    require(!first_.empty() && first_[0] == 0 && std::cmp_equal(first_.back(), slots_.size()) &&
                std::ranges::is_sorted(first_),
            kUneven);
    const auto is_probability = [](float value) { return value >= 0 && value <= 1; };  // and not NaN
    for (std::size_t row = 0; row < rows(); ++row) {
        const std::int64_t size = first_[row + 1] - first_[row];
        bool free = size == 0;
        for (auto at = static_cast<std::size_t>(first_[row]); std::cmp_less(at, first_[row + 1]); ++at) {
            const Cell& cell = slots_[at];
            free |= cell.target == kFree;
            require(cell.target >= kFree && std::cmp_less(cell.target, columns), kUnknownWord);
            require(is_probability(cell.forward) && is_probability(cell.backward),
                    "the lexical table has what is not a probability");
        }
        require((size & (size - 1)) == 0 && size <= std::int64_t{1} << 31 && free, kUneven);
        for (std::int64_t at = first_[row]; at < first_[row + 1]; ++at) {
            const std::int32_t target = slots_[static_cast<std::size_t>(at)].target;
            require(target == kFree || find(this->row(static_cast<std::int32_t>(row)), target) == at, kUneven);
        }
    }
}

CellCounts Table::rows_of(Counts counts, std::int64_t least) const {
    CellCounts rows;
    rows.offsets.push_back(0);
    std::vector<std::pair<std::int32_t, std::int64_t>> cells;
    for (std::size_t row = 0; row < this->rows(); ++row) {
        cells.clear();
        for (auto at = static_cast<std::size_t>(first_[row]); std::cmp_less(at, first_[row + 1]); ++at)
            if (slots_[at].target != kFree && counts[at] >= least) cells.emplace_back(slots_[at].target, counts[at]);
        std::ranges::sort(cells);
        for (const auto& [target, count] : cells) {
            rows.targets.push_back(target);
            rows.counts.push_back(count);
        }
        rows.offsets.push_back(static_cast<std::int64_t>(rows.targets.size()));
    }
    return rows;
}

std::vector<std::int64_t> Table::placed(const CellRows& rows, std::size_t threads) const {
    std::vector<std::int64_t> counts(slots_.size());
    for_each_row(rows.offsets, threads, [&](std::size_t i, std::size_t) {
        const Row row = this->row(static_cast<std::int32_t>(i));
        if (empty(row)) return;
        for (auto cell = static_cast<std::size_t>(rows.offsets[i]); std::cmp_less(cell, rows.offsets[i + 1]); ++cell) {
            const std::int64_t slot = find(row, rows.targets[cell]);
            if (slot != kNone) counts[static_cast<std::size_t>(slot)] = rows.counts[cell];
        }
    });
    return counts;
}

Table Table::reestimated(Counts counts, std::size_t threads) const {
    Table table = *this;
    table.estimate(counts.data(), threads);
    return table;
}

Table::Reduced Table::reduced(Counts counts, std::int64_t least, Counts others, std::size_t threads) const {
    const auto stays = [&](std::int64_t at) {
        return slots_[static_cast<std::size_t>(at)].target != kFree && counts.data()[at] >= least;
    };
    std::vector<std::int64_t> cells(rows());
    for_each_row(first_, threads, [&](std::size_t row, std::size_t) {
        for (std::int64_t at = first_[row]; at < first_[row + 1]; ++at) cells[row] += stays(at) ? 1 : 0;
    });
    Reduced result{Table(cells, columns_, threads), {}};
    std::vector<std::int64_t> left(result.table.slots_.size());
    result.others.resize(result.table.slots_.size());
    std::vector<std::vector<std::pair<std::int32_t, std::int64_t>>> kept(std::max<std::size_t>(threads, 1));
    for_each_row(first_, threads, [&](std::size_t i, std::size_t thread) {
        kept[thread].clear();  // targets and their slots, by ascending target
        for (std::int64_t at = first_[i]; at < first_[i + 1]; ++at)
            if (stays(at)) kept[thread].emplace_back(slots_[static_cast<std::size_t>(at)].target, at);
        std::ranges::sort(kept[thread]);
        const Row row = result.table.row(static_cast<std::int32_t>(i));
        for (const auto& [target, at] : kept[thread]) {
            const auto slot = static_cast<std::size_t>(result.table.insert(row, target));
            left[slot] = counts.data()[at];
            result.others[slot] = others.data()[at];
        }
    });
    result.table.estimate(left.data(), threads);
    return result;
}

Totals totals_of(const Table& table, const std::int64_t* counts, std::size_t threads) {
    const std::size_t columns = table.columns();
    Totals totals{std::vector<std::int64_t>(table.rows()), std::vector<std::int64_t>(columns)};
    std::vector<std::vector<std::int64_t>> parts(std::max<std::size_t>(threads, 1));  // sums of columns, by thread
    for_each_row(table.first(), threads, [&](std::size_t row, std::size_t thread) {
        std::vector<std::int64_t>& sums = parts[thread];
        sums.resize(columns);
        for (auto at = static_cast<std::size_t>(table.first()[row]); std::cmp_less(at, table.first()[row + 1]); ++at) {
            const std::int32_t target = table.slots()[at].target;
            if (target == kFree) continue;
            totals.rows[row] += counts[at];
            sums[static_cast<std::size_t>(target)] += counts[at];
        }
    });
    for (const std::vector<std::int64_t>& sums : parts)
        for (std::size_t column = 0; column < sums.size(); ++column) totals.columns[column] += sums[column];
    return totals;
}

// Sets the probabilities from counts of the slots.
void Table::estimate(const std::int64_t* counts, std::size_t threads) {
    const Totals totals = totals_of(*this, counts, threads);
    const auto inverses = [&](const std::vector<std::int64_t>& sums) {
        std::vector<double> inverse(sums.size());
        for (std::size_t i = 0; i < sums.size(); ++i) inverse[i] = sums[i] == 0 ? 0 : 1 / static_cast<double>(sums[i]);
        return inverse;
    };
    const std::vector<double> rows = inverses(totals.rows);
    const std::vector<double> of_columns = inverses(totals.columns);
    for_each_row(first_, threads, [&](std::size_t row, std::size_t) {
        for (auto at = static_cast<std::size_t>(first_[row]); std::cmp_less(at, first_[row + 1]); ++at) {
            Cell& cell = slots_[at];
            if (cell.target == kFree) continue;
            const auto share = static_cast<double>(counts[at]);
            cell.forward = static_cast<float>(share * rows[row]);
            cell.backward = static_cast<float>(share * of_columns[static_cast<std::size_t>(cell.target)]);
        }
    });
}

}  // namespace nmt_prep::align
