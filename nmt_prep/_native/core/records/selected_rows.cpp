#include "records/selected_rows.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

namespace nmt_prep {
namespace {

// Offsets are checked row by row, since a batch has few rows of its column.
Ids row_of(const IdColumn& rows, std::int64_t number, std::int64_t longest) {
    if (number < 0 || std::cmp_greater_equal(number, rows.offsets.size())) {
        throw std::invalid_argument("a number is not that of a row");
    }
    const auto at = static_cast<std::size_t>(number);
    if (at + 1 == rows.offsets.size()) throw std::invalid_argument("a number is not that of a row");
    const std::int64_t begin = rows.offsets[at];
    const std::int64_t end = rows.offsets[at + 1];
    if (begin < 0 || end < begin || std::cmp_greater(end, rows.values.size())) {
        throw std::invalid_argument("offsets must ascend from at least 0 to at most the number of values");
    }
    return rows.values.subspan(static_cast<std::size_t>(begin),
                               static_cast<std::size_t>(std::min(end - begin, longest)));
}

}  // namespace

FramedRows select_rows(const IdColumn& rows, std::span<const std::int64_t> numbers, std::int64_t longest) {
    if (longest < 0) throw std::invalid_argument("a row has at least 0 ids");
    FramedRows found{nullptr, 0, {}};
    found.offsets.reserve(numbers.size() + 1);
    found.offsets.push_back(0);
    for (const std::int64_t number : numbers) {
        found.size += row_of(rows, number, longest).size();
        found.offsets.push_back(static_cast<std::int64_t>(found.size));
    }
    found.values = std::make_unique_for_overwrite<std::int32_t[]>(found.size);
    std::int32_t* out = found.values.get();
    for (const std::int64_t number : numbers) {
        const Ids row = row_of(rows, number, longest);
        out = std::ranges::copy(row, out).out;
    }
    return found;
}

}  // namespace nmt_prep
