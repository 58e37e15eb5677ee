// Shared by all bindings: arrays that NumPy owns.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace nmt_prep {

template <class T>
using NumpyArray = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>;
template <class T>
using NumpyTable = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<2>>;

namespace detail {

// Returns an object that frees an array, which still belongs to its pointer.
template <class T, class Deleter>
nanobind::capsule owner_of(const std::unique_ptr<T[], Deleter>& values) {
    static_assert(std::is_empty_v<Deleter>);
    return nanobind::capsule(values.get(), [](void* held) noexcept { Deleter()(static_cast<T*>(held)); });
}

template <class Value, class Container>
NumpyArray<Value> own_container(Container values) {
    auto held = std::make_unique<Container>(std::move(values));
    auto* const data = reinterpret_cast<Value*>(held->data());
    const std::size_t size = held->size();
    nanobind::capsule owner(held.get(), [](void* old) noexcept { delete static_cast<Container*>(old); });
    held.release();
    return NumpyArray<Value>(data, {size}, owner);
}

}  // namespace detail

// Transfers an array to NumPy.
template <class T, class Deleter>
NumpyArray<T> own_by_numpy(std::unique_ptr<T[], Deleter> values, std::size_t size) {
    const nanobind::capsule owner = detail::owner_of(values);
    return NumpyArray<T>(values.release(), {size}, owner);
}

// Transfers an array of shape [rows, columns] to NumPy. A Row is one value or several.
template <class T, class Row, class Deleter>
NumpyTable<T> own_table_by_numpy(std::unique_ptr<Row[], Deleter> values, std::size_t rows, std::size_t columns) {
    const nanobind::capsule owner = detail::owner_of(values);
    return NumpyTable<T>(reinterpret_cast<T*>(values.release()), {rows, columns}, owner);
}

// Transfers the values of a vector, or the bytes of a string, to NumPy.
template <class T>
NumpyArray<T> own_by_numpy(std::vector<T>&& values) {
    return detail::own_container<T>(std::move(values));
}
inline NumpyArray<std::uint8_t> own_by_numpy(std::string&& text) {
    return detail::own_container<std::uint8_t>(std::move(text));
}

}  // namespace nmt_prep
