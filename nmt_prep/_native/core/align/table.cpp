#include "align/table.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include "align/row_runs.h"

namespace nmt_prep::align {
namespace {

// Slots of a row: at least half of them stay free, so that searches for cells that it lacks are short.
std::int64_t slots_for(std::int64_t cells) {
    return cells == 0 ? 0 : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(2 * cells)));
}

std::vector<std::int64_t> sizes_of(std::span<const std::int64_t> offsets) {
    std::vector<std::int64_t> sizes(offsets.size() - 1);
    for (std::size_t row = 0; row < sizes.size(); ++row) sizes[row] = offsets[row + 1] - offsets[row];
    return sizes;
}

}  // namespace

Table::Table(const std::vector<std::int64_t>& cells, std::size_t threads) : first_(cells.size() + 1) {
    for (std::size_t row = 0; row < cells.size(); ++row) first_[row + 1] = first_[row] + slots_for(cells[row]);
    slots_.resize(static_cast<std::size_t>(first_.back()));
    for_each_row(first_, threads, [&](std::size_t row, std::size_t) {
        std::fill(slots_.data() + first_[row], slots_.data() + first_[row + 1], Cell{kFree, 0, 0});
    });
}

Table::Table(const CellRows& rows, std::size_t threads) : Table(sizes_of(rows.offsets), threads) {
    for_each_row(first_, threads, [&](std::size_t i, std::size_t) {
        const Row row = this->row(static_cast<std::int32_t>(i));
        for (std::int64_t cell = rows.offsets[i]; cell < rows.offsets[i + 1]; ++cell)
            insert(row, rows.targets[static_cast<std::size_t>(cell)]);
    });
}

Table::Table(std::vector<std::int64_t> first, LargeVector<Cell> slots)
    : first_(std::move(first)), slots_(std::move(slots)) {
    const auto require = [](bool good) {
        if (!good) throw std::invalid_argument("the rows of the lexical table do not fit together");
    };
    require(!first_.empty() && first_[0] == 0 && std::cmp_equal(first_.back(), slots_.size()));
    for (std::size_t row = 0; row + 1 < first_.size(); ++row) {
        const std::int64_t size = first_[row + 1] - first_[row];
        require(size >= 0 && size <= std::int64_t{1} << 31);
        if (size == 0) continue;
        bool free = false;
        for (std::int64_t at = first_[row]; at < first_[row + 1]; ++at)
            free |= slots_[static_cast<std::size_t>(at)].target == kFree;
        require(std::has_single_bit(static_cast<std::uint64_t>(size)) && free);
    }
}

CellCounts Table::rows_of(const std::int64_t* counts, std::int64_t least) const {
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

Table::Reduced Table::reduced(const std::int64_t* counts, std::int64_t least, const std::int64_t* others,
                              std::size_t threads) const {
    const auto stays = [&](std::int64_t at) {
        return slots_[static_cast<std::size_t>(at)].target != kFree && counts[at] >= least;
    };
    std::vector<std::int64_t> cells(rows());
    for_each_row(first_, threads, [&](std::size_t row, std::size_t) {
        for (std::int64_t at = first_[row]; at < first_[row + 1]; ++at) cells[row] += stays(at) ? 1 : 0;
    });
    Reduced result{Table(cells, threads), {}, {}};
    result.counts.resize(result.table.slots_.size());
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
            result.counts[slot] = counts[at];
            result.others[slot] = others[at];
        }
    });
    return result;
}

}  // namespace nmt_prep::align
