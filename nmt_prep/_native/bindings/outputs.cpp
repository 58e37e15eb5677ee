#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "outputs/piece_lines.h"
#include "outputs/sequences.h"
#include "records.h"

namespace nmt_prep {
namespace {

void new_table(PieceTable* place, const ByteArray& pieces, const Int64Array& offsets) {
    new (place) PieceTable({{pieces.data(), pieces.size()}, {offsets.data(), offsets.size()}});
}

auto lines_of(const PieceTable& table, const Int32Array& values, const Int64Array& offsets, std::int32_t last) {
    OwnedBytes text;
    std::vector<std::int64_t> bounds;
    {
        GilRelease unlocked;
        const std::array columns{PieceColumn{table, column(values, offsets), last}};
        text = piece_lines(columns, &bounds);
    }
    return std::tuple(own_by_numpy(std::move(text.data), text.size), own_by_numpy(std::move(bounds)));
}

using ColumnArrays = std::tuple<const PieceTable*, Int32Array, Int64Array, std::int32_t>;

auto table_of(const std::vector<ColumnArrays>& columns) {
    OwnedBytes text;
    {
        GilRelease unlocked;
        std::vector<PieceColumn> parts;
        parts.reserve(columns.size());
        for (const auto& [table, values, offsets, last] : columns)
            parts.push_back({*table, column(values, offsets), last});
        text = piece_lines(parts);
    }
    return own_by_numpy(std::move(text.data), text.size);
}

auto joined(const Int32Array& sources, const Int64Array& source_offsets, const Int32Array& targets,
            const Int64Array& target_offsets, const Int32Array& parts, std::int32_t source_last,
            std::int32_t target_last) {
    FramedRows rows;
    {
        GilRelease unlocked;
        rows = join_pairs(column(sources, source_offsets), column(targets, target_offsets),
                          {parts.data(), parts.size()}, source_last, target_last);
    }
    return std::tuple(own_by_numpy(std::move(rows.values), rows.size), own_by_numpy(std::move(rows.offsets)));
}

}  // namespace

void bind_outputs(nb::module_& module) {
    nb::class_<PieceTable>(module, "PieceTable")
        .def("__init__", &new_table, nb::arg("pieces"), nb::arg("offsets"))
        .def("lines", &lines_of, nb::arg("values"), nb::arg("offsets"), nb::arg("last"));
    module.def("piece_lines", &table_of, nb::arg("columns"));
    module.def("join_pairs", &joined, nb::arg("sources"), nb::arg("source_offsets"), nb::arg("targets"),
               nb::arg("target_offsets"), nb::arg("parts"), nb::arg("source_last"), nb::arg("target_last"));
}

}  // namespace nmt_prep
