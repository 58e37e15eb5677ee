#include "align/filter.h"

#include <algorithm>
#include <bit>

#include "align/row_runs.h"

namespace nmt_prep::align {
namespace {

constexpr std::uint64_t kBitsPerCell = 8;
constexpr std::uint64_t kLeastBits = 64;
constexpr std::uint64_t kMostBits = std::uint64_t{1} << 31;

}  // namespace

CellFilter::CellFilter(const Table& table, std::size_t threads) : rows_(table.rows()) {
    const auto for_each_cell = [&](std::size_t row, auto&& body) {
        for (std::int64_t at = table.first()[row]; at < table.first()[row + 1]; ++at) {
            const std::int32_t target = table.slots()[static_cast<std::size_t>(at)].target;
            if (target != kFree) body(target);
        }
    };
    for_each_row(table.first(), threads, [&](std::size_t row, std::size_t) {
        std::uint64_t cells = 0;
        for_each_cell(row, [&](std::int32_t) { ++cells; });
        const std::uint64_t bits = std::clamp(std::bit_ceil(kBitsPerCell * cells), kLeastBits, kMostBits);
        rows_[row].shift = cells == 0 ? 0 : 32 - static_cast<std::uint32_t>(std::countr_zero(bits));
    });
    std::size_t words = 0;
    for (Row& row : rows_) {
        row.first = words;
        if (row.shift != 0) words += (std::size_t{1} << (32 - row.shift)) / 64;
    }
    bits_.resize(words);
    for_each_row(table.first(), threads, [&](std::size_t row, std::size_t) {
        for_each_cell(row, [&](std::int32_t target) {
            const std::uint32_t bit = mix(target) >> rows_[row].shift;
            bits_[rows_[row].first + (bit >> 6)] |= std::uint64_t{1} << (bit & 63);
        });
    });
}

}  // namespace nmt_prep::align
