// Shared by the bindings of records: arrays that own their content, columns, buckets.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "bindings.h"
#include "records/spill.h"

namespace nmt_prep {

namespace nb = nanobind;

template <typename T>
using Result = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <typename T>
Result<T> to_numpy(std::unique_ptr<T[]> data, std::size_t size) {
    T* const raw = data.get();
    nb::capsule owner(raw, [](void* pointer) noexcept { delete[] static_cast<T*>(pointer); });
    data.release();
    return Result<T>(raw, {size}, owner);
}

template <typename T>
Result<T> to_numpy(std::vector<T> values) {
    auto held = std::make_unique<std::vector<T>>(std::move(values));
    std::vector<T>* const raw = held.get();
    nb::capsule owner(raw, [](void* pointer) noexcept { delete static_cast<std::vector<T>*>(pointer); });
    held.release();
    return Result<T>(raw->data(), {raw->size()}, owner);
}

inline IdColumn column(const Int32Array& values, const Int64Array& offsets) {
    return {{values.data(), values.size()}, {offsets.data(), offsets.size()}};
}

// A bucket that keeps its array alive.
struct HeldBucket {
    ByteArray data;
    Bucket bucket;
};

void bind_chunks(nb::module_& module);

}  // namespace nmt_prep
