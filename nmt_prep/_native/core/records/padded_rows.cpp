#include "records/padded_rows.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace nmt_prep {
namespace {

// Writes the cells of one pair, `number` in its row, and returns their end.
std::int64_t* write_pair(Ids pair, std::int64_t number, Cells cells, std::int64_t first, std::int64_t* out) {
    switch (cells) {
        case Cells::kIds: return std::ranges::copy(pair, out).out;
        case Cells::kShifted:
            if (pair.empty()) return out;
            *out = first;
            return std::ranges::copy(pair.first(pair.size() - 1), out + 1).out;
        case Cells::kSegments: return std::fill_n(out, pair.size(), number);
        case Cells::kPositions: std::iota(out, out + pair.size(), std::int64_t{0}); return out + pair.size();
    }
    return out;
}

std::size_t pairs_of(const PaddedLayout& layout, std::size_t row) {
    if (layout.row_pairs.empty()) return 1;
    if (layout.row_pairs[row] < 0) throw std::invalid_argument("a row has at least 0 pairs");
    return static_cast<std::size_t>(layout.row_pairs[row]);
}

}  // namespace

void pad_rows(const IdColumn& pairs, const PaddedLayout& layout, Cells cells, std::span<std::int64_t> out) {
    pairs.check();
    const std::size_t rows = layout.row_pairs.empty() ? pairs.rows() : layout.row_pairs.size();
    if (!has_shape(out.size(), rows, layout.width))
        throw std::invalid_argument("there must be `width` cells for each row");
    std::size_t pair = 0;
    for (std::size_t row = 0; row < rows; ++row) {
        std::int64_t* cell = out.data() + row * layout.width;
        std::int64_t* const end = cell + layout.width;
        const std::size_t count = pairs_of(layout, row);
        if (count > pairs.rows() - pair) throw std::invalid_argument("the rows have more pairs than there are");
        for (std::size_t number = 1; number <= count; ++number) {
            const Ids ids = pairs.row(pair++);
            if (ids.size() > static_cast<std::size_t>(end - cell)) throw std::invalid_argument("a row is too long");
            cell = write_pair(ids, static_cast<std::int64_t>(number), cells, layout.first, cell);
        }
        std::fill(cell, end, layout.padding);
    }
    if (pair != pairs.rows()) throw std::invalid_argument("the rows have fewer pairs than there are");
}

}  // namespace nmt_prep
