#include "align/table.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

namespace nmt_prep::align {
namespace {

// Slots of a row: at least half of them stay free, so that searches for cells that it lacks are short.
std::int64_t slots_for(std::int64_t cells) {
    return cells == 0 ? 0 : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(2 * cells)));
}

}  // namespace

Table::Table(const CellCounts& rows) : first_(rows.offsets.size()) {
    for (std::size_t row = 0; row + 1 < rows.offsets.size(); ++row)
        first_[row + 1] = first_[row] + slots_for(rows.offsets[row + 1] - rows.offsets[row]);
    slots_.assign(static_cast<std::size_t>(first_.back()), Cell{kFree, 0, 0});
    for (std::size_t i = 0; i + 1 < rows.offsets.size(); ++i) {
        const Row row = this->row(static_cast<std::int32_t>(i));
        for (std::int64_t cell = rows.offsets[i]; cell < rows.offsets[i + 1]; ++cell) {
            const std::int32_t target = rows.targets[static_cast<std::size_t>(cell)];
            std::uint32_t at = start(target) & row.mask;
            while (slots_[static_cast<std::size_t>(row.first + at)].target != kFree) at = (at + 1) & row.mask;
            slots_[static_cast<std::size_t>(row.first + at)].target = target;
        }
    }
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

std::vector<std::int64_t> Table::placed(const CellCounts& rows) const {
    std::vector<std::int64_t> counts(slots_.size());
    for (std::size_t i = 0; i + 1 < rows.offsets.size(); ++i) {
        const Row row = this->row(static_cast<std::int32_t>(i));
        if (empty(row)) continue;
        for (auto cell = static_cast<std::size_t>(rows.offsets[i]); std::cmp_less(cell, rows.offsets[i + 1]); ++cell) {
            const std::int64_t slot = find(row, rows.targets[cell]);
            if (slot != kNone) counts[static_cast<std::size_t>(slot)] = rows.counts[cell];
        }
    }
    return counts;
}

}  // namespace nmt_prep::align
