#include "outputs/piece_lines.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "outputs/row_end.h"

namespace nmt_prep {

OwnedLines piece_lines(const IdColumn& rows, const TextColumn& pieces, std::int32_t last) {
    rows.check();
    pieces.check();
    OwnedLines lines;
    lines.offsets.reserve(rows.offsets.size());
    lines.offsets.push_back(0);
    std::size_t size = 0;
    for (std::size_t index = 0; index < rows.rows(); ++index) {
        const Ids row = without_last(rows.row(index), last);
        for (const std::int32_t id : row) {
            if (id < 0 || std::cmp_greater_equal(id, pieces.rows())) {
                throw std::out_of_range("the id " + std::to_string(id) + " has no piece");
            }
            size += pieces.row(static_cast<std::size_t>(id)).size();
        }
        if (!row.empty()) size += row.size() - 1;
        lines.offsets.push_back(static_cast<std::int64_t>(size));
    }
    lines.data = std::make_unique_for_overwrite<std::uint8_t[]>(size);
    std::uint8_t* to = lines.data.get();
    for (std::size_t index = 0; index < rows.rows(); ++index) {
        bool first = true;
        for (const std::int32_t id : without_last(rows.row(index), last)) {
            if (!first) *to++ = ' ';
            first = false;
            to = std::ranges::copy(pieces.row(static_cast<std::size_t>(id)), to).out;
        }
    }
    return lines;
}

}  // namespace nmt_prep
