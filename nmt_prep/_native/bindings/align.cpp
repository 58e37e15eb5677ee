#include "align.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "align/cells.h"
#include "align/expect.h"
#include "align/links.h"
#include "align/score.h"
#include "arrays.h"
#include "text.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

using WritableCounts = ArrayView<std::int64_t>;
using Grid = ArrayView<const std::uint8_t, nb::ndim<2>>;
static_assert(sizeof(align::Cell) == 12 && sizeof(align::Link) == 2 * sizeof(std::int32_t));

using CellArrays = std::tuple<NumpyArray, NumpyArray, NumpyArray>;

CellArrays cell_arrays(align::CellCounts&& cells) {
    return {own_by_numpy(std::move(cells.offsets)), own_by_numpy(std::move(cells.targets)),
            own_by_numpy(std::move(cells.counts))};
}

align::CellRows cells_of(const Int64Array& offsets, const Int32Array& targets, const Int64Array& counts) {
    return {{offsets.data(), offsets.size()}, {targets.data(), targets.size()}, counts_of(counts)};
}

CellArrays count_cells(const HeldPairs& pairs, std::uint64_t share, bool all, std::size_t rows, std::size_t columns,
                       double steepness, std::size_t threads) {
    require(rows <= INT32_MAX && columns <= INT32_MAX, "there are too many words");
    pairs.check_words(rows, columns);
    align::CellCounts cells;
    {
        const GilRelease unlocked;
        cells = align::count_cells(pairs.view(), {share, all}, rows, columns, steepness, threads);
    }
    return cell_arrays(std::move(cells));
}

CellArrays add_cells(const Int64Array& offsets, const Int32Array& targets, const Int64Array& counts,
                     const Int64Array& other_offsets, const Int32Array& other_targets, const Int64Array& other_counts,
                     std::size_t threads) {
    require(offsets.size() == other_offsets.size(), "the cells have different numbers of rows");
    const align::CellRows first = cells_of(offsets, targets, counts);
    const align::CellRows second = cells_of(other_offsets, other_targets, other_counts);
    align::CellCounts sum;
    {
        const GilRelease unlocked;
        sum = align::add_cells(first, second, threads);
    }
    return cell_arrays(std::move(sum));
}

CellArrays prune_cells(const Int64Array& offsets, const Int32Array& targets, const Int64Array& counts,
                       std::size_t columns, std::int64_t least, double association) {
    const align::CellRows cells = cells_of(offsets, targets, counts);
    for (const std::int32_t target : cells.targets)
        if (target < 0 || std::cmp_greater_equal(target, columns)) throw nb::value_error("a target is not a column");
    align::CellCounts kept;
    {
        const GilRelease unlocked;
        kept = align::prune_cells(cells, columns, least, association);
    }
    return cell_arrays(std::move(kept));
}

align::Table* new_table(const Int64Array& offsets, const Int32Array& targets, const Int64Array& counts,
                        std::size_t columns, std::size_t threads) {
    const GilRelease unlocked;
    return new align::Table(cells_of(offsets, targets, counts), columns, threads);
}

align::Table* restored_table(const Int64Array& first, const ByteArray& slots, std::size_t columns) {
    const GilRelease unlocked;
    require(slots.size() % sizeof(align::Cell) == 0, "the lexical table is cut");
    LargeVector<align::Cell> cells(slots.size() / sizeof(align::Cell));
    std::memcpy(cells.data(), slots.data(), slots.size());
    return new align::Table({first.data(), first.data() + first.size()}, std::move(cells), columns);
}

auto reduced(const align::Table& table, const Int64Array& counts, std::int64_t least, const Int64Array& others,
             std::size_t threads) {
    std::unique_ptr<align::Table::Reduced> result;
    {
        const GilRelease unlocked;
        result = std::make_unique<align::Table::Reduced>(
            table.reduced(slot_counts(table, counts), least, slot_counts(table, others), threads));
    }
    return std::pair(std::move(result->table), own_by_numpy(std::move(result->others)));
}

align::Table* reestimated(const align::Table& table, const Int64Array& counts, std::size_t threads) {
    const GilRelease unlocked;
    return new align::Table(table.reestimated(slot_counts(table, counts), threads));
}

auto placed(const align::Table& table, const Int64Array& offsets, const Int32Array& targets, const Int64Array& counts,
            std::size_t threads) {
    std::vector<std::int64_t> found;
    {
        const GilRelease unlocked;
        const align::CellRows rows = cells_of(offsets, targets, counts);
        require(rows.rows() == table.rows(), "the cells and the table have different numbers of rows");
        found = table.placed(rows, threads);
    }
    return own_by_numpy(std::move(found));
}

auto expect(const Aligner& aligner, const HeldPairs& pairs, bool jumps, const WritableCounts& counts,
            std::size_t threads) {
    aligner.check(pairs);
    require(counts.size() == aligner.slots(), "there must be a count for each slot");
    align::Expected expected{counts.data()};
    SignalPoll poll;
    {
        const GilRelease unlocked;
        align::expect(pairs.view(), aligner.parameters(threads),
                      jumps ? align::Step::kByJumps : align::Step::kNearDiagonal, expected, threads, poll);
    }
    return std::tuple(own_by_numpy(std::vector(expected.forward.begin(), expected.forward.end())),
                      own_by_numpy(std::vector(expected.backward.begin(), expected.backward.end())));
}

auto counts_by_pair(const Aligner& aligner, const HeldPairs& pairs, std::size_t threads) {
    aligner.check(pairs);
    align::PairCounts result;
    SignalPoll poll;
    {
        const GilRelease unlocked;
        result = align::counts_by_pair(pairs.view(), aligner.parameters(threads), poll);
    }
    return std::tuple(own_by_numpy(std::move(result.offsets)), own_by_numpy(std::move(result.source)),
                      own_by_numpy(std::move(result.target)), own_by_numpy(std::move(result.counts)));
}

// Returns links as numbers of source and target words in turn, their offsets, and the number of pairs too long.
auto link(const Aligner& aligner, const HeldPairs& pairs, unsigned how, std::size_t threads) {
    aligner.check(pairs);
    require(how <= static_cast<unsigned>(align::Symmetrization::kBackward), "there is no such symmetrization");
    align::PairLinks result;
    SignalPoll poll;
    {
        const GilRelease unlocked;
        result = align::link(pairs.view(), aligner.parameters(threads), static_cast<align::Symmetrization>(how),
                             threads, poll);
    }
    auto links = std::make_unique_for_overwrite<std::int32_t[]>(2 * result.links.size());
    for (std::size_t i = 0; i < result.links.size(); ++i) {
        links[2 * i] = result.links[i].source;
        links[2 * i + 1] = result.links[i].target;
    }
    return std::tuple(own_by_numpy(std::move(links), 2 * result.links.size()), own_by_numpy(std::move(result.offsets)),
                      result.too_long);
}

auto score(const Aligner& aligner, const HeldPairs& pairs, const HeldEvidence& held, const Int64Array& own,
           float pseudo, double mix, double floor, std::size_t threads) {
    aligner.check(pairs);
    held.check(aligner);
    const align::Pairs view = pairs.view();
    require(own.size() == view.size, "there must be a number for each pair");
    check_own(own);
    auto scores = std::make_unique_for_overwrite<double[]>(view.size);
    SignalPoll poll;
    {
        const GilRelease unlocked;
        align::score(view, aligner.parameters(threads), held.evidence(pseudo, mix, floor), own.data(), scores.get(),
                     threads, poll);
    }
    return own_by_numpy(std::move(scores), view.size);
}

auto symmetrize(const Grid& forward, const Grid& backward, unsigned how) {
    require(forward.shape(0) == backward.shape(0) && forward.shape(1) == backward.shape(1),
            "the directions have different sizes");
    require(how <= static_cast<unsigned>(align::Symmetrization::kBackward), "there is no such symmetrization");
    std::vector<std::uint8_t> links(forward.data(), forward.data() + forward.size());
    const std::vector<std::uint8_t> other(backward.data(), backward.data() + backward.size());
    align::symmetrize(links, other, forward.shape(0), forward.shape(1), static_cast<align::Symmetrization>(how));
    return own_by_numpy(std::move(links));
}

}  // namespace

void bind_align(nb::module_& module) {
    module.attr("ALIGN_ONE") = nb::int_(align::kOne);
    module.attr("ALIGN_JUMPS") = nb::int_(align::kJumps);
    module.attr("ALIGN_MOST_WORDS") = nb::int_(align::kMostWords);
    module.attr("ALIGN_MOST_CELLS") = nb::int_(align::kMostCells);
    nb::class_<HeldPairs>(module, "NumberedPairs")
        .def(nb::init<Int32Array, Int64Array, Int32Array, Int64Array>(), nb::arg("source"), nb::arg("source_offsets"),
             nb::arg("target"), nb::arg("target_offsets"))
        .def("__len__", [](const HeldPairs& pairs) { return pairs.view().size; });
    module.def("count_cells", count_cells, nb::arg("pairs"), nb::arg("share"), nb::arg("every"), nb::arg("rows"),
               nb::arg("columns"), nb::arg("steepness"), nb::arg("threads"));
    module.def("add_cells", add_cells);
    module.def("prune_cells", prune_cells);
    nb::class_<align::Table>(module, "LexicalTable")
        .def(nb::new_(&new_table), nb::arg("offsets"), nb::arg("targets"), nb::arg("counts"), nb::arg("columns"),
             nb::arg("threads") = 1)
        .def_static("restored", &restored_table, nb::arg("first"), nb::arg("slots"), nb::arg("columns"))
        .def("first", [](const align::Table& table) { return own_by_numpy(std::vector(table.first())); })
        .def("slots",
             [](const align::Table& table) {
                 const auto* const bytes = reinterpret_cast<const std::uint8_t*>(table.slots().data());
                 const std::size_t size = table.slots().size() * sizeof(align::Cell);
                 auto copy = std::make_unique_for_overwrite<std::uint8_t[]>(size);
                 std::copy_n(bytes, size, copy.get());
                 return own_by_numpy(std::move(copy), size);
             })
        .def(
            "check_counts",
            [](const align::Table& table, const Int64Array& counts) { static_cast<void>(slot_counts(table, counts)); },
            nb::arg("counts"))
        .def(
            "rows_of",
            [](const align::Table& table, const Int64Array& counts, std::int64_t least) {
                return cell_arrays(table.rows_of(slot_counts(table, counts), least));
            },
            nb::arg("counts"), nb::arg("least"))
        .def("placed", placed, nb::arg("offsets"), nb::arg("targets"), nb::arg("counts"), nb::arg("threads") = 1)
        .def("reduced", reduced, nb::arg("counts"), nb::arg("least"), nb::arg("others"), nb::arg("threads"))
        .def("reestimated", reestimated, nb::rv_policy::take_ownership, nb::arg("counts"), nb::arg("threads"));
    nb::class_<HeldEvidence>(module, "LinkEvidence")
        .def(nb::init<const align::Table&, const Int64Array&>(), nb::arg("table"), nb::arg("counts"));
    nb::class_<Aligner>(module, "NativeAligner")
        .def(nb::init<const align::Table&, const FloatArray&, const FloatArray&, const FloatArray&, const FloatArray&,
                      float, float, double>(),
             nb::keep_alive<1, 2>(), nb::arg("table"), nb::arg("source_shares"), nb::arg("target_shares"),
             nb::arg("forward"), nb::arg("backward"), nb::arg("null"), nb::arg("floor"), nb::arg("steepness"))
        .def("expect", expect, nb::arg("pairs"), nb::arg("jumps"), nb::arg("counts"), nb::arg("threads"))
        .def("counts_by_pair", counts_by_pair, nb::arg("pairs"), nb::arg("threads"))
        .def("link", link, nb::arg("pairs"), nb::arg("how"), nb::arg("threads"))
        .def("score", score, nb::arg("pairs"), nb::arg("evidence"), nb::arg("own"), nb::arg("pseudo"), nb::arg("mix"),
             nb::arg("floor"), nb::arg("threads"));
    module.def("symmetrize_links", symmetrize, nb::arg("forward"), nb::arg("backward"), nb::arg("how"));
}

}  // namespace nmt_prep
