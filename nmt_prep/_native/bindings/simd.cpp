#include "text/simd.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "bindings.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

#if defined(__aarch64__)
constexpr std::array<std::string_view, 2> kNames = {"scalar", "neon"};
#else
constexpr std::array<std::string_view, 4> kNames = {"scalar", "sse4.2", "avx2", "avx512"};
#endif

// Returns the names of the levels that this processor has, the lowest first.
std::vector<std::string> levels() {
    return {kNames.begin(), kNames.begin() + static_cast<std::size_t>(simd_of_processor()) + 1};
}

std::string level() { return std::string(kNames[static_cast<std::size_t>(simd())]); }

void use_level(const std::string& name) {
    const std::vector<std::string> known = levels();
    const auto found = std::ranges::find(known, name);
    if (found == known.end()) throw nb::value_error(("this processor has no level \"" + name + "\"").c_str());
    use_simd(static_cast<Simd>(found - known.begin()));
}

}  // namespace

void bind_simd(nb::module_& module) {
    module.def("simd_levels", &levels);
    module.def("simd_level", &level);
    module.def("use_simd_level", &use_level, nb::arg("name"));
}

}  // namespace nmt_prep
