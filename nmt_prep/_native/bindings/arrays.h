// Shared by all bindings: arrays of NumPy as arguments, and arrays that NumPy owns.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace nmt_prep {

// An array whose type has a short name in signatures. nanobind joins names letter by letter when it is compiled, which
// took a quarter of the bindings' compile time.
template <class... Form>
struct NamedArray : nanobind::ndarray<Form...> {
    using nanobind::ndarray<Form...>::ndarray;
};

// Argument types: contiguous views of NumPy arrays; nanobind rejects anything else.
template <class T, class Shape = nanobind::ndim<1>>
using ArrayView = NamedArray<T, Shape, nanobind::c_contig, nanobind::device::cpu>;
using ByteArray = ArrayView<const std::uint8_t>;
using Int32Array = ArrayView<const std::int32_t>;
using Int64Array = ArrayView<const std::int64_t>;
using UInt64Array = ArrayView<const std::uint64_t>;
using FloatArray = ArrayView<const float>;
using DoubleArray = ArrayView<const double>;

// An array that NumPy owns. It has one type for all values, so that what returns arrays is compiled once.
using NumpyArray = nanobind::object;

// Returns values as an array of NumPy, which the owner frees.
NumpyArray numpy_array(void* values, nanobind::dlpack::dtype type, std::initializer_list<std::size_t> shape,
                       const nanobind::capsule& owner);

namespace detail {

// Returns an object that frees an array, which still belongs to its pointer.
template <class T, class Deleter>
nanobind::capsule owner_of(const std::unique_ptr<T[], Deleter>& values) {
    static_assert(std::is_empty_v<Deleter>);
    return nanobind::capsule(values.get(), [](void* held) noexcept { Deleter()(static_cast<T*>(held)); });
}

template <class Value, class Container>
NumpyArray own_container(Container values) {
    auto held = std::make_unique<Container>(std::move(values));
    auto* const data = reinterpret_cast<Value*>(held->data());
    const std::size_t size = held->size();
    const nanobind::capsule owner(held.get(), [](void* old) noexcept { delete static_cast<Container*>(old); });
    held.release();
    return numpy_array(data, nanobind::dtype<Value>(), {size}, owner);
}

}  // namespace detail

// Transfers an array to NumPy.
template <class T, class Deleter>
NumpyArray own_by_numpy(std::unique_ptr<T[], Deleter> values, std::size_t size) {
    const nanobind::capsule owner = detail::owner_of(values);
    return numpy_array(values.release(), nanobind::dtype<T>(), {size}, owner);
}

// Transfers an array of shape [rows, columns] to NumPy. A Row is one value or several.
template <class T, class Row, class Deleter>
NumpyArray own_table_by_numpy(std::unique_ptr<Row[], Deleter> values, std::size_t rows, std::size_t columns) {
    const nanobind::capsule owner = detail::owner_of(values);
    return numpy_array(values.release(), nanobind::dtype<T>(), {rows, columns}, owner);
}

// Transfers the values of a vector, or the bytes of a string, to NumPy.
template <class T>
NumpyArray own_by_numpy(std::vector<T>&& values) {
    return detail::own_container<T>(std::move(values));
}
inline NumpyArray own_by_numpy(std::string&& text) { return detail::own_container<std::uint8_t>(std::move(text)); }

}  // namespace nmt_prep

template <class... Form>
struct nanobind::detail::type_caster<nmt_prep::NamedArray<Form...>> {
    using Plain = ndarray<Form...>;
    NB_TYPE_CASTER(nmt_prep::NamedArray<Form...>,
                   const_name("ndarray[") + dtype_traits<typename Plain::Scalar>::name + const_name("]"))

    template <class Flags>
    bool from_python(handle object, Flags flags, cleanup_list* cleanup) noexcept {
        make_caster<Plain> plain;
        if (!plain.from_python(object, flags, cleanup)) return false;
        value.Plain::operator=(std::move(plain.value));
        return true;
    }
};
