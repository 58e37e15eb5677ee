// Borrowed columns of rows, and bytes with an owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace nmt_prep {

using Ids = std::span<const std::int32_t>;

// Unchecked input rows: IDs, or text bytes.
template <typename T>
struct Column {
    std::span<const T> values;
    std::span<const std::int64_t> offsets;

    std::size_t rows() const { return offsets.size() - 1; }
    std::span<const T> row(std::size_t index) const {
        return values.subspan(static_cast<std::size_t>(offsets[index]),
                              static_cast<std::size_t>(offsets[index + 1] - offsets[index]));
    }
    // Throws std::invalid_argument unless the offsets ascend from at least 0 to at most the number of values.
    void check() const;
};
using IdColumn = Column<std::int32_t>;
using TextColumn = Column<std::uint8_t>;

// Bytes in memory that is not filled before it is written.
struct OwnedBytes {
    std::unique_ptr<std::uint8_t[]> data;
    std::size_t size = 0;
};

}  // namespace nmt_prep
