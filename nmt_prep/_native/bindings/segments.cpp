#include "clean/segments.h"

#include <nanobind/stl/tuple.h>

#include <memory>
#include <tuple>

#include "text.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

void make_index(clean::SegmentIndex* self, const ByteArray& first, const Int64Array& first_offsets,
                const ByteArray& second, const Int64Array& second_offsets, double coverage) {
    const TextView one = text_view(first, first_offsets);
    const TextView other = text_view(second, second_offsets);
    const GilRelease unlocked;
    new (self) clean::SegmentIndex(one, other, coverage);
}

// Returns the closest segment, kind and share of each pair, then all segments that were found, with their kinds.
auto search(const clean::SegmentIndex& index, const ByteArray& source, const Int64Array& source_offsets,
            const ByteArray& target, const Int64Array& target_offsets) {
    const TextView one = text_view(source, source_offsets);
    const TextView other = text_view(target, target_offsets);
    if (one.lines != other.lines) throw nb::value_error("the sides have different numbers of lines");
    clean::SegmentMatches matches;
    {
        const GilRelease unlocked;
        matches = index.search(one, other);
    }
    auto found = std::make_unique_for_overwrite<std::int64_t[]>(matches.found.size());
    auto kinds = std::make_unique_for_overwrite<std::uint8_t[]>(matches.found.size());
    for (std::size_t i = 0; i < matches.found.size(); ++i) {
        found[i] = matches.found[i].segment;
        kinds[i] = static_cast<std::uint8_t>(matches.found[i].kind);
    }
    return std::tuple(own_by_numpy(std::move(matches.closest)), own_by_numpy(std::move(matches.kinds)),
                      own_by_numpy(std::move(matches.shares)), own_by_numpy(std::move(found), matches.found.size()),
                      own_by_numpy(std::move(kinds), matches.found.size()));
}

}  // namespace

void bind_segments(nb::module_& module) {
    nb::class_<clean::SegmentIndex>(module, "SegmentIndex")
        .def("__init__", &make_index, nb::arg("first"), nb::arg("first_offsets"), nb::arg("second"),
             nb::arg("second_offsets"), nb::arg("coverage"))
        .def("search", search, nb::arg("source"), nb::arg("source_offsets"), nb::arg("target"),
             nb::arg("target_offsets"));
}

}  // namespace nmt_prep
