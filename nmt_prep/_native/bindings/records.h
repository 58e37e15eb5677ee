// Shared by the bindings of records: columns, buckets.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "records/spill.h"

namespace nmt_prep {

namespace nb = nanobind;

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
