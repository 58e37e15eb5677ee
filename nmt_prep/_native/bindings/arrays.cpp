#include "arrays.h"

namespace nmt_prep {

NumpyArray numpy_array(void* values, nanobind::dlpack::dtype type, std::initializer_list<std::size_t> shape,
                       const nanobind::capsule& owner) {
    return nanobind::ndarray<nanobind::numpy>(values, shape, owner, {}, type).cast();
}

}  // namespace nmt_prep
