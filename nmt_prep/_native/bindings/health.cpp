#include <nanobind/stl/tuple.h>

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "health/frequent.h"
#include "health/line_hashes.h"
#include "one_at_a_time.h"
#include "text.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

auto line_hashes(const ByteArray& data, const Int64Array& offsets) {
    const TextView text = text_view(data, offsets);
    auto hashes = std::make_unique_for_overwrite<std::uint64_t[]>(text.lines);
    {
        const GilRelease unlocked;
        health::line_hashes(text, hashes.get());
    }
    return own_by_numpy(std::move(hashes), text.lines);
}

void add_hashes(OneAtATime<health::FrequentHashes>& held, const UInt64Array& hashes) {
    const auto frequent = held.use();
    const GilRelease unlocked;
    for (std::size_t i = 0; i < hashes.size(); ++i) frequent->add(hashes.data()[i]);
}

// Returns hashes, counts, and the maximum error by which each count may be too low.
auto above(OneAtATime<health::FrequentHashes>& held, std::int64_t least) {
    const auto frequent = held.use();
    const std::vector<health::HashCount> found = frequent->above(least);
    auto hashes = std::make_unique_for_overwrite<std::uint64_t[]>(found.size());
    auto counts = std::make_unique_for_overwrite<std::int64_t[]>(found.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        hashes[i] = found[i].hash;
        counts[i] = found[i].count;
    }
    return std::tuple(own_by_numpy(std::move(hashes), found.size()), own_by_numpy(std::move(counts), found.size()),
                      frequent->error());
}

void make_frequent(OneAtATime<health::FrequentHashes>* place, std::size_t kept) {
    if (kept == 0 || kept > std::size_t{1} << 30) throw nb::value_error("at least one hash is kept, at most 2**30");
    new (place) OneAtATime<health::FrequentHashes>(kept);
}

}  // namespace

void bind_health(nb::module_& module) {
    module.def("line_hashes", line_hashes, nb::arg("data"), nb::arg("offsets"));
    nb::class_<OneAtATime<health::FrequentHashes>>(module, "FrequentHashes")
        .def("__init__", make_frequent, nb::arg("kept"))
        .def("add", add_hashes, nb::arg("hashes"))
        .def("above", above, nb::arg("least"));
}

}  // namespace nmt_prep
