#include <nanobind/stl/tuple.h>

#include <stdexcept>
#include <tuple>
#include <utility>

#include "records.h"
#include "records/padded_rows.h"
#include "records/selected_rows.h"

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

}  // namespace

void bind_batches(nb::module_& module) {
    module.def("select_rows", &selected, nb::arg("values"), nb::arg("offsets"), nb::arg("numbers"), nb::arg("longest"));
    module.def("pad_rows", &padded, nb::arg("values"), nb::arg("offsets"), nb::arg("row_pairs"), nb::arg("cells"),
               nb::arg("padding"), nb::arg("first"), nb::arg("out"));
}

}  // namespace nmt_prep
