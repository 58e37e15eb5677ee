// What the bindings of all dialects share: columns of text in, rows of ids out, errors by their names, interrupts.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "text_batch.h"
#include "text_errors.h"

namespace nmt_prep {

template <class T>
using NumpyArray = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>;

// Hands an array over to NumPy.
template <class T, class Deleter>
NumpyArray<T> own_by_numpy(std::unique_ptr<T[], Deleter> values, std::size_t size) {
    nanobind::capsule owner(values.get(), [](void* held) noexcept { Deleter()(static_cast<T*>(held)); });
    return NumpyArray<T>(values.release(), {size}, owner);
}

// (values, offsets) as columns.Ragged holds them.
inline auto ragged_arrays(RaggedIds rows) {
    const auto size = static_cast<std::size_t>(rows.offsets[rows.rows]);
    return std::pair(own_by_numpy(std::move(rows.values), size), own_by_numpy(std::move(rows.offsets), rows.rows + 1));
}

// Views the two arrays of a columns.TextColumn; throws InvalidTextError if they do not fit together.
inline TextView text_view(const ByteArray& data, const Int64Array& offsets) {
    if (offsets.size() == 0)
        throw InvalidTextError("a text column without offsets: it needs one more than it has lines");
    const TextView text{data.data(), offsets.data(), offsets.size() - 1};
    check_offsets(text, data.size());
    return text;
}

// Throws EncodeError unless `size` offsets (one more than rows) ascend within the values.
void check_rows(const std::int64_t* offsets, std::size_t size, std::size_t values);

// Makes the core's exceptions those of nmt_prep.errors.
void translate_text_errors();

// Lets Ctrl-C end long work: asks Python for pending signals, at most every few milliseconds.
class SignalPoll {
   public:
    void operator()() {
        const auto now = std::chrono::steady_clock::now();
        if (now - last_ < std::chrono::milliseconds(20)) return;
        last_ = now;
        const nanobind::gil_scoped_acquire locked;
        if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
    }

   private:
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace nmt_prep
