#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>
#include <vector>

#include "clean/key_tables.h"
#include "clean/keys.h"
#include "clean/ranking.h"
#include "text.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

using Table = nb::ndarray<nb::numpy, std::uint64_t, nb::ndim<2>>;
using KeyTable = nb::ndarray<const std::uint64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using Records = nb::ndarray<std::uint64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
static_assert(sizeof(clean::Key) == 2 * sizeof(std::uint64_t) && sizeof(clean::Drop) == 2 * sizeof(std::uint64_t));

// Transfers rows of two numbers to NumPy, shape [rows, 2].
template <class Row>
Table rows_of_two(std::unique_ptr<Row[]> rows, std::size_t size) {
    const nb::capsule owner(rows.get(), [](void* held) noexcept { delete[] static_cast<Row*>(held); });
    return Table(reinterpret_cast<std::uint64_t*>(rows.release()), {size, 2}, owner);
}

// Calls kernel(keys) without the GIL and returns the keys.
template <class Kernel>
Table keys_of(std::size_t size, Kernel&& kernel) {
    auto keys = std::make_unique<clean::Key[]>(size);
    {
        const nb::gil_scoped_release unlocked;
        kernel(keys.get());
    }
    return rows_of_two(std::move(keys), size);
}

Table line_keys(const ByteArray& data, const Int64Array& offsets, bool normalized) {
    const TextView text = text_view(data, offsets);
    return keys_of(text.lines, [&](clean::Key* keys) { clean::line_keys(text, normalized, keys); });
}

Table pair_keys(const KeyTable& source, const KeyTable& target) {
    const std::size_t pairs = source.shape(0);
    if (target.shape(0) != pairs) throw nb::value_error("the sides have different numbers of keys");
    const auto* const first = reinterpret_cast<const clean::Key*>(source.data());
    const auto* const second = reinterpret_cast<const clean::Key*>(target.data());
    return keys_of(pairs, [&](clean::Key* keys) { clean::pair_keys(first, second, pairs, keys); });
}

std::pair<Table, NumpyArray<std::int64_t>> rank_records(const Records& records, std::size_t kept,
                                                        const std::vector<std::uint32_t>& corpora,
                                                        std::size_t corpus_count) {
    const std::size_t rows = records.shape(0);
    const std::size_t width = records.shape(1);
    if (width < clean::kSmallestWidth || width > clean::kLargestWidth || kept < 1)
        throw nb::value_error("records have 3 to 8 columns, and 1 or more of each key are kept");
    for (const std::uint32_t corpus : corpora)
        if (corpus >= corpus_count) throw nb::value_error("a part has a corpus that does not exist");
    for (std::size_t row = 0; row < rows; ++row)
        if (records.data()[row * width + width - 1] >> clean::kRowBits >= corpora.size())
            throw nb::value_error("a record has a part that does not exist");
    clean::Ranked ranked;
    {
        const nb::gil_scoped_release unlocked;
        ranked = clean::rank_records(records.data(), rows, width, kept, corpora, corpus_count);
    }
    auto drops = std::make_unique<clean::Drop[]>(ranked.drops.size());
    std::ranges::copy(ranked.drops, drops.get());
    auto overlap = std::make_unique<std::int64_t[]>(ranked.overlap.size());
    std::ranges::copy(ranked.overlap, overlap.get());
    return {rows_of_two(std::move(drops), ranked.drops.size()),
            own_by_numpy(std::move(overlap), ranked.overlap.size())};
}

}  // namespace

void bind_dedup(nb::module_& module) {
    module.attr("KEYS_UNICODE_VERSION") = nb::str(clean::kKeysVersion);
    module.attr("ROW_BITS") = nb::int_(clean::kRowBits);
    module.def("line_keys", line_keys, nb::arg("data"), nb::arg("offsets"), nb::arg("normalized"));
    module.def("pair_keys", pair_keys, nb::arg("source"), nb::arg("target"));
    module.def("rank_records", rank_records, nb::arg("records"), nb::arg("kept"), nb::arg("corpora"),
               nb::arg("corpus_count"));
}

}  // namespace nmt_prep
