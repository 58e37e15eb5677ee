#include "clean/near.h"

#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>

#include "clean/records.h"
#include "text.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

using Table = NumpyArray;
using Records = ArrayView<std::uint64_t, nb::ndim<2>>;
using ConstRecords = ArrayView<const std::uint64_t, nb::ndim<2>>;
using Groups = ArrayView<const std::uint32_t>;
using Candidates = ArrayView<const std::int64_t, nb::shape<-1, 2>>;
constexpr std::size_t kMostHashes = 1 << 16;
static_assert(sizeof(clean::Candidate) == 2 * sizeof(std::int64_t));

clean::PairView pair_view(const ByteArray& source, const Int64Array& source_offsets, const ByteArray& target,
                          const Int64Array& target_offsets) {
    const clean::PairView pairs{text_view(source, source_offsets), text_view(target, target_offsets)};
    if (pairs.source.lines != pairs.target.lines) throw nb::value_error("the sides have different numbers of lines");
    return pairs;
}

std::size_t checked_width(std::size_t width) {
    if (width < clean::kSmallestWidth || width > clean::kLargestWidth)
        throw nb::value_error("records have 2 to 8 columns");
    return width;
}

Table band_hashes(const ByteArray& source, const Int64Array& source_offsets, const ByteArray& target,
                  const Int64Array& target_offsets, std::size_t bands, std::size_t rows) {
    const clean::PairView pairs = pair_view(source, source_offsets, target, target_offsets);
    if (bands < 1 || rows < 1 || bands > kMostHashes || rows > kMostHashes)
        throw nb::value_error("there are 1 to 65536 bands, with as many rows");
    auto hashes = std::make_unique_for_overwrite<std::uint64_t[]>(pairs.source.lines * bands);
    {
        const GilRelease unlocked;
        clean::band_hashes(pairs, bands, rows, hashes.get());
    }
    return own_table_by_numpy<std::uint64_t>(std::move(hashes), pairs.source.lines, bands);
}

void sort_bands(const Records& records) {
    const std::size_t width = checked_width(records.shape(1));
    const GilRelease unlocked;
    clean::sort_records(records.data(), records.shape(0), width);
}

std::tuple<Table, std::size_t, std::size_t> bucket_edges(const ConstRecords& records, std::size_t cap,
                                                         std::size_t first, std::size_t limit) {
    const std::size_t rows = records.shape(0);
    const std::size_t width = checked_width(records.shape(1));
    if (first >= rows || cap < 1) throw nb::value_error("there is no such record, or no cap");
    clean::Edges edges;
    std::unique_ptr<std::uint64_t[]> numbers;
    {
        const GilRelease unlocked;
        edges = clean::bucket_edges(records.data(), rows, width, cap, first, limit);
        numbers = std::make_unique_for_overwrite<std::uint64_t[]>(edges.numbers.size());
        std::ranges::copy(edges.numbers, numbers.get());
    }
    return {own_table_by_numpy<std::uint64_t>(std::move(numbers), edges.numbers.size() / width, width), edges.next,
            edges.full_buckets};
}

std::tuple<Table, NumpyArray> group_rows(const ConstRecords& numbers, const Groups& groups, std::size_t count) {
    const std::size_t rows = numbers.shape(0);
    const std::size_t width = numbers.shape(1);
    const std::span<const std::uint32_t> of(groups.data(), groups.shape(0));
    if (of.size() != rows) throw nb::value_error("there must be a group for each row");
    if (count > std::numeric_limits<std::uint32_t>::max()) throw nb::value_error("there are too many groups");
    auto grouped = std::make_unique_for_overwrite<std::uint64_t[]>(rows * width);
    auto starts = std::make_unique_for_overwrite<std::uint64_t[]>(count + 1);
    {
        const GilRelease unlocked;
        if (std::ranges::any_of(of, [count](std::uint32_t group) { return group >= count; }))
            throw nb::value_error("a row has a group that does not exist");
        clean::group_rows(numbers.data(), of, width, count, grouped.get(), starts.get());
    }
    return {own_table_by_numpy<std::uint64_t>(std::move(grouped), rows, width),
            own_by_numpy(std::move(starts), count + 1)};
}

NumpyArray verify_pairs(const ByteArray& source, const Int64Array& source_offsets, const ByteArray& target,
                        const Int64Array& target_offsets, const ByteArray& other_source,
                        const Int64Array& other_source_offsets, const ByteArray& other_target,
                        const Int64Array& other_target_offsets, const Candidates& candidates, double similarity) {
    const clean::PairView own = pair_view(source, source_offsets, target, target_offsets);
    const clean::PairView other = pair_view(other_source, other_source_offsets, other_target, other_target_offsets);
    const std::size_t size = candidates.shape(0);
    const std::span<const clean::Candidate> all(reinterpret_cast<const clean::Candidate*>(candidates.data()), size);
    auto verified = std::make_unique_for_overwrite<bool[]>(size);
    {
        const GilRelease unlocked;
        const auto exists = [](std::int64_t pair, const clean::PairView& pairs) {
            return pair >= 0 && std::cmp_less(pair, pairs.source.lines);
        };
        for (const clean::Candidate& candidate : all)
            if (!exists(candidate.own, own) || !exists(candidate.other, other))
                throw nb::value_error("a candidate is a pair that does not exist");
        clean::verify(own, other, all, similarity, verified.get());
    }
    return own_by_numpy(std::move(verified), size);
}

}  // namespace

void bind_near(nb::module_& module) {
    module.def("band_hashes", band_hashes, nb::arg("source"), nb::arg("source_offsets"), nb::arg("target"),
               nb::arg("target_offsets"), nb::arg("bands"), nb::arg("rows"));
    module.def("sort_bands", sort_bands, nb::arg("records"));
    module.def("bucket_edges", bucket_edges, nb::arg("records"), nb::arg("cap"), nb::arg("first"), nb::arg("limit"));
    module.def("group_rows", group_rows, nb::arg("numbers"), nb::arg("groups"), nb::arg("count"));
    module.def("verify_pairs", verify_pairs, nb::arg("source"), nb::arg("source_offsets"), nb::arg("target"),
               nb::arg("target_offsets"), nb::arg("other_source"), nb::arg("other_source_offsets"),
               nb::arg("other_target"), nb::arg("other_target_offsets"), nb::arg("candidates"), nb::arg("similarity"));
}

}  // namespace nmt_prep
