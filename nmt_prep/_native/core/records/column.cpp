#include "records/column.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace nmt_prep {

template <typename T>
void Column<T>::check() const {
    if (offsets.empty()) throw std::invalid_argument("offsets must have one element more than there are rows");
    if (offsets.front() < 0 || std::cmp_greater(offsets.back(), values.size()) || !std::ranges::is_sorted(offsets)) {
        throw std::invalid_argument("offsets must ascend within the values");
    }
}

template struct Column<std::int32_t>;
template struct Column<std::uint8_t>;

}  // namespace nmt_prep
