#include "align/table.h"

#include <bit>
#include <stdexcept>
#include <utility>

namespace nmt_prep::align {
namespace {

// Slots of a row: at least a quarter stays free.
std::int64_t slots_for(std::int64_t cells) {
    return cells == 0 ? 0 : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(cells + cells / 3 + 1)));
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

Table::Table(std::vector<std::int64_t> first, std::vector<Cell> slots)
    : first_(std::move(first)), slots_(std::move(slots)) {
    const auto require = [](bool good) {
        if (!good) throw std::invalid_argument("the rows of the lexical table do not fit together");
    };
    require(!first_.empty() && first_[0] == 0 && first_.back() == static_cast<std::int64_t>(slots_.size()));
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

std::vector<std::int64_t> Table::placed(const CellCounts& rows) const {
    std::vector<std::int64_t> counts(slots_.size());
    for (std::size_t i = 0; i + 1 < rows.offsets.size(); ++i) {
        const Row row = this->row(static_cast<std::int32_t>(i));
        if (empty(row)) continue;
        for (auto cell = static_cast<std::size_t>(rows.offsets[i]);
             cell < static_cast<std::size_t>(rows.offsets[i + 1]); ++cell) {
            const std::int64_t slot = find(row, rows.targets[cell]);
            if (slot != kNone) counts[static_cast<std::size_t>(slot)] = rows.counts[cell];
        }
    }
    return counts;
}

}  // namespace nmt_prep::align
