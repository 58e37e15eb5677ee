#include "records/framed_rows.h"

#include <algorithm>

namespace nmt_prep {

FramedRows frame_rows(const IdColumn& rows, Ids before, Ids after) {
    rows.check();
    const auto ids = static_cast<std::size_t>(rows.offsets.back() - rows.offsets.front());
    FramedRows framed{nullptr, ids + rows.rows() * (before.size() + after.size()), {}};
    framed.values = std::make_unique_for_overwrite<std::int32_t[]>(framed.size);
    framed.offsets.reserve(rows.offsets.size());
    framed.offsets.push_back(0);
    std::int32_t* to = framed.values.get();
    for (std::size_t index = 0; index < rows.rows(); ++index) {
        const Ids row = rows.row(index);
        to = std::ranges::copy(before, to).out;
        to = std::ranges::copy(row, to).out;
        to = std::ranges::copy(after, to).out;
        framed.offsets.push_back(to - framed.values.get());
    }
    return framed;
}

}  // namespace nmt_prep
