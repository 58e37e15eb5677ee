#include "outputs/piece_lines.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "outputs/row_end.h"

namespace nmt_prep {
namespace {

// Most pieces are short: a copy of fixed size takes no call.
constexpr std::size_t kAtOnce = 16;

std::uint8_t* copy_piece(const TextColumn& pieces, std::size_t id, std::uint8_t* to, const std::uint8_t* end) {
    const std::span<const std::uint8_t> piece = pieces.row(id);
    const auto room = static_cast<std::size_t>(end - to);
    const auto left = pieces.values.size() - static_cast<std::size_t>(pieces.offsets[id]);
    if (piece.size() <= kAtOnce && room >= kAtOnce && left >= kAtOnce) {
        std::memcpy(to, piece.data(), kAtOnce);
        return to + piece.size();
    }
    return std::ranges::copy(piece, to).out;
}

}  // namespace

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
    const std::uint8_t* const end = to + size;
    for (std::size_t index = 0; index < rows.rows(); ++index) {
        bool first = true;
        for (const std::int32_t id : without_last(rows.row(index), last)) {
            if (!first) *to++ = ' ';
            first = false;
            to = copy_piece(pieces, static_cast<std::size_t>(id), to, end);
        }
    }
    return lines;
}

}  // namespace nmt_prep
