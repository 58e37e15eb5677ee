#include <nanobind/stl/vector.h>

#include <cstdint>
#include <span>
#include <vector>

#include "bindings.h"
#include "records/sha256.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

// Returns the SHA-256 of each buffer, as bytes.
nb::list each(const std::vector<ByteArray>& buffers) {
    std::vector<Sha256Digest> digests;
    {
        const nb::gil_scoped_release unlocked;
        std::vector<std::span<const std::uint8_t>> messages;
        messages.reserve(buffers.size());
        for (const ByteArray& buffer : buffers) messages.emplace_back(buffer.data(), buffer.size());
        digests = sha256_each(messages);
    }
    nb::list found;
    for (const Sha256Digest& digest : digests) found.append(nb::bytes(digest.data(), digest.size()));
    return found;
}

}  // namespace

void bind_digests(nb::module_& module) {
    module.def("sha256_lanes_pay", sha256_lanes_pay);
    module.def("sha256_each", each, nb::arg("buffers"));
}

}  // namespace nmt_prep
