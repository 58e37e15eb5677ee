#include <nanobind/stl/tuple.h>

#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "records.h"
#include "records/padded_rows.h"
#include "records/selected_rows.h"
#include "records/sequence_rows.h"

namespace nmt_prep {
namespace {

using Matrix = ArrayView<std::int64_t, nb::ndim<2>>;

auto selected(const Int32Array& values, const Int64Array& offsets, const Int64Array& numbers, std::int64_t longest) {
    FramedRows rows;
    {
        GilRelease unlocked;
        rows = select_rows(column(values, offsets), {numbers.data(), numbers.size()}, longest);
    }
    return std::tuple(own_by_numpy(std::move(rows.values), rows.size), own_by_numpy(std::move(rows.offsets)));
}

void padded(const Int32Array& values, const Int64Array& offsets, const Int64Array& row_pairs, int cells,
            std::int64_t padding, std::int64_t first, const Matrix& out) {
    if (cells < 0 || cells > static_cast<int>(Cells::kPositions))
        throw std::invalid_argument("there are no such cells");
    GilRelease unlocked;
    pad_rows(column(values, offsets), {{row_pairs.data(), row_pairs.size()}, out.shape(1), padding, first},
             static_cast<Cells>(cells), {out.data(), out.size()});
}

NumpyArray pack_lengths(const Int32Array& lengths, std::int32_t row_length) {
    std::vector<std::int32_t> rows;
    {
        GilRelease unlocked;
        rows = pack_sequences({lengths.data(), lengths.size()}, row_length);
    }
    return own_by_numpy(std::move(rows));
}

NumpyArray fill_matrices(const Int32Array& values, const Int64Array& offsets, const Int32Array& bounds,
                         const Int64Array& bound_offsets, const Int64Array& row_sizes, std::int64_t padding,
                         std::int64_t ignored, const Matrix& ids, const Matrix& labels, const Matrix& third) {
    std::vector<std::int32_t> begins;
    {
        GilRelease unlocked;
        const auto cells = [](const Matrix& matrix) { return std::span(matrix.data(), matrix.size()); };
        begins = fill_rows(column(values, offsets), column(bounds, bound_offsets), {row_sizes.data(), row_sizes.size()},
                           {ids.shape(1), padding, ignored, cells(ids), cells(labels), cells(third)});
    }
    return own_by_numpy(std::move(begins));
}

}  // namespace

void bind_batches(nb::module_& module) {
    module.def("select_rows", &selected, nb::arg("values"), nb::arg("offsets"), nb::arg("numbers"), nb::arg("longest"));
    module.def("pad_rows", &padded, nb::arg("values"), nb::arg("offsets"), nb::arg("row_pairs"), nb::arg("cells"),
               nb::arg("padding"), nb::arg("first"), nb::arg("out"));
    module.def("pack_sequences", &pack_lengths, nb::arg("lengths"), nb::arg("row_length"));
    module.def("fill_rows", &fill_matrices, nb::arg("values"), nb::arg("offsets"), nb::arg("bounds"),
               nb::arg("bound_offsets"), nb::arg("row_sizes"), nb::arg("padding"), nb::arg("ignored"), nb::arg("ids"),
               nb::arg("labels"), nb::arg("third"));
}

}  // namespace nmt_prep
