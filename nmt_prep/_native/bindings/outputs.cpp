#include <nanobind/stl/tuple.h>

#include <tuple>
#include <utility>

#include "outputs/piece_lines.h"
#include "outputs/sequences.h"
#include "records.h"

namespace nmt_prep {
namespace {

auto lines_of(const Int32Array& values, const Int64Array& offsets, const ByteArray& pieces,
              const Int64Array& piece_offsets, std::int32_t last) {
    OwnedLines lines;
    {
        nb::gil_scoped_release unlocked;
        lines = piece_lines(column(values, offsets),
                            {{pieces.data(), pieces.size()}, {piece_offsets.data(), piece_offsets.size()}}, last);
    }
    const auto size = static_cast<std::size_t>(lines.offsets.back());
    return std::tuple(to_numpy(std::move(lines.data), size), to_numpy(std::move(lines.offsets)));
}

auto joined(const Int32Array& sources, const Int64Array& source_offsets, const Int32Array& targets,
            const Int64Array& target_offsets, const Int32Array& parts, std::int32_t source_last,
            std::int32_t target_last) {
    FramedRows rows;
    {
        nb::gil_scoped_release unlocked;
        rows = join_pairs(column(sources, source_offsets), column(targets, target_offsets),
                          {parts.data(), parts.size()}, source_last, target_last);
    }
    return std::tuple(to_numpy(std::move(rows.values), rows.size), to_numpy(std::move(rows.offsets)));
}

}  // namespace

void bind_outputs(nb::module_& module) {
    module.def("piece_lines", &lines_of, nb::arg("values"), nb::arg("offsets"), nb::arg("pieces"),
               nb::arg("piece_offsets"), nb::arg("last"));
    module.def("join_pairs", &joined, nb::arg("sources"), nb::arg("source_offsets"), nb::arg("targets"),
               nb::arg("target_offsets"), nb::arg("parts"), nb::arg("source_last"), nb::arg("target_last"));
}

}  // namespace nmt_prep
