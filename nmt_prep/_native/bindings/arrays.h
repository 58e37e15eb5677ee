// Shared by all bindings: arrays that NumPy owns.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace nmt_prep {

template <class T>
using NumpyArray = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>;

// Transfers an array to NumPy.
template <class T, class Deleter>
NumpyArray<T> own_by_numpy(std::unique_ptr<T[], Deleter> values, std::size_t size) {
    nanobind::capsule owner(values.get(), [](void* held) noexcept { Deleter()(static_cast<T*>(held)); });
    return NumpyArray<T>(values.release(), {size}, owner);
}

// Transfers the values of a vector to NumPy.
template <class T>
NumpyArray<T> own_by_numpy(std::vector<T>&& values) {
    auto held = std::make_unique<std::vector<T>>(std::move(values));
    T* const data = held->data();
    const std::size_t size = held->size();
    nanobind::capsule owner(held.get(), [](void* vector) noexcept { delete static_cast<std::vector<T>*>(vector); });
    held.release();
    return NumpyArray<T>(data, {size}, owner);
}

}  // namespace nmt_prep
