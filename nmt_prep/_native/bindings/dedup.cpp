#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>
#include <vector>

#include "clean/key_tables.h"
#include "clean/keys.h"
#include "clean/line_numbers.h"
#include "clean/ranking.h"
#include "clean/records.h"
#include "one_at_a_time.h"
#include "text.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

using Table = NumpyArray;
using KeyTable = ArrayView<const std::uint64_t, nb::shape<-1, 2>>;
using Records = ArrayView<std::uint64_t, nb::ndim<2>>;
using ConstRecords = ArrayView<const std::uint64_t, nb::ndim<2>>;
constexpr unsigned kMostBits = 20;
static_assert(sizeof(clean::Key) == 2 * sizeof(std::uint64_t) && sizeof(clean::Drop) == 2 * sizeof(std::uint64_t));

// Transfers rows of two numbers to NumPy, shape [rows, 2].
template <class Row>
Table rows_of_two(std::unique_ptr<Row[]> rows, std::size_t size) {
    return own_table_by_numpy<std::uint64_t>(std::move(rows), size, 2);
}

// Calls kernel(keys) without the GIL and returns the keys.
template <class Kernel>
Table keys_of(std::size_t size, Kernel&& kernel) {
    auto keys = std::make_unique<clean::Key[]>(size);
    {
        const GilRelease unlocked;
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

// Numbers each line; returns the numbers, and the indexes of the lines that were not seen before.
std::pair<NumpyArray, NumpyArray> number_lines(OneAtATime<clean::LineNumbers>& held, const ByteArray& data,
                                               const Int64Array& offsets) {
    const TextView text = text_view(data, offsets);
    auto numbers = std::make_unique_for_overwrite<std::int32_t[]>(text.lines);
    std::vector<std::int64_t> first;
    {
        const GilRelease unlocked;
        first = held.use()->add(text, numbers.get());
    }
    return {own_by_numpy(std::move(numbers), text.lines), own_by_numpy(std::move(first))};
}

// Throws ValueError unless the core supports the width of the records.
void check_width(std::size_t width) {
    if (width < clean::kSmallestKeyedWidth || width > clean::kLargestWidth)
        throw nb::value_error("records have 3 to 8 columns");
}

// Checks its arguments, and calls kernel(corpora) without the GIL; returns its result.
template <class Kernel>
auto with_corpora(const Records& records, std::size_t kept, const std::vector<std::uint32_t>& of_part,
                  std::size_t count, Kernel&& kernel) {
    check_width(records.shape(1));
    if (kept < 1) throw nb::value_error("1 or more of each key are kept");
    for (const std::uint32_t corpus : of_part)
        if (corpus >= count) throw nb::value_error("a part has a corpus that does not exist");
    const clean::Corpora corpora{of_part, count};
    const GilRelease unlocked;
    if (!clean::have_corpora(records.data(), records.shape(0), records.shape(1), corpora))
        throw nb::value_error("a record has a part that does not exist");
    return kernel(corpora);
}

Table drop_table(const std::vector<clean::Drop>& drops) {
    auto rows = std::make_unique_for_overwrite<clean::Drop[]>(drops.size());
    std::ranges::copy(drops, rows.get());
    return rows_of_two(std::move(rows), drops.size());
}

std::pair<Table, NumpyArray> partition_records(const ConstRecords& records, unsigned bits) {
    check_width(records.shape(1));
    if (bits > kMostBits) throw nb::value_error("keys are divided by 20 bits at most");
    const std::size_t ends = (std::size_t{1} << bits) + 1;
    auto sorted = std::make_unique_for_overwrite<std::uint64_t[]>(records.size());
    auto starts = std::make_unique_for_overwrite<std::uint64_t[]>(ends);
    {
        const GilRelease unlocked;
        clean::partition_records(records.data(), records.shape(0), records.shape(1), bits, sorted.get(), starts.get());
    }
    return {own_table_by_numpy<std::uint64_t>(std::move(sorted), records.shape(0), records.shape(1)),
            own_by_numpy(std::move(starts), ends)};
}

std::pair<Table, NumpyArray> rank_records(const Records& records, std::size_t kept,
                                          const std::vector<std::uint32_t>& corpora, std::size_t corpus_count) {
    const clean::Ranked ranked = with_corpora(records, kept, corpora, corpus_count, [&](const auto& known) {
        return clean::rank_records(records.data(), records.shape(0), records.shape(1), kept, known);
    });
    auto overlap = std::make_unique_for_overwrite<std::int64_t[]>(ranked.overlap.size());
    std::ranges::copy(ranked.overlap, overlap.get());
    return {drop_table(ranked.drops), own_by_numpy(std::move(overlap), ranked.overlap.size())};
}

std::size_t reduce_records(const Records& records, std::size_t kept, const std::vector<std::uint32_t>& corpora,
                           std::size_t corpus_count) {
    return with_corpora(records, kept, corpora, corpus_count, [&](const auto& known) {
        return clean::reduce_records(records.data(), records.shape(0), records.shape(1), kept, known);
    });
}

Table drops_among(const ConstRecords& records, std::size_t kept, const ConstRecords& reduced) {
    check_width(records.shape(1));
    if (reduced.shape(1) != records.shape(1)) throw nb::value_error("the records have different numbers of columns");
    if (kept < 1) throw nb::value_error("1 or more of each key are kept");
    std::vector<clean::Drop> drops;
    {
        const GilRelease unlocked;
        drops = clean::drops_among(records.data(), records.shape(0), records.shape(1), kept, reduced.data(),
                                   reduced.shape(0));
    }
    return drop_table(drops);
}

}  // namespace

void bind_dedup(nb::module_& module) {
    module.attr("KEYS_UNICODE_VERSION") = nb::str(clean::kKeysVersion);
    module.attr("ROW_BITS") = nb::int_(clean::kRowBits);
    module.def("line_keys", line_keys, nb::arg("data"), nb::arg("offsets"), nb::arg("normalized"));
    nb::class_<OneAtATime<clean::LineNumbers>>(module, "LineNumbers")
        .def(nb::init<>())
        .def("__len__", one_call(&clean::LineNumbers::size))
        .def("add", &number_lines, nb::arg("data"), nb::arg("offsets"));
    module.def("pair_keys", pair_keys, nb::arg("source"), nb::arg("target"));
    module.def("partition_records", partition_records, nb::arg("records"), nb::arg("bits"));
    module.def("reduce_records", reduce_records, nb::arg("records"), nb::arg("kept"), nb::arg("corpora"),
               nb::arg("corpus_count"));
    module.def("drops_among", drops_among, nb::arg("records"), nb::arg("kept"), nb::arg("reduced"));
    module.def("rank_records", rank_records, nb::arg("records"), nb::arg("kept"), nb::arg("corpora"),
               nb::arg("corpus_count"));
}

}  // namespace nmt_prep
