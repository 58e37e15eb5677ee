#include "text/allocation.h"

#include "bindings.h"

namespace nb = nanobind;

namespace nmt_prep {

void bind_allocation(nb::module_& module) { module.def("keep_freed_memory", &keep_freed_memory, nb::arg("arenas")); }

}  // namespace nmt_prep
