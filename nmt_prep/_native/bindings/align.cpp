#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "align/cells.h"
#include "align/expect.h"
#include "align/links.h"
#include "align/piece_links.h"
#include "align/score.h"
#include "align/text.h"
#include "align/vocabulary.h"
#include "align/words.h"
#include "text.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

using UInt64Array = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using FloatArray = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Counts = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Grid = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
static_assert(sizeof(align::Cell) == 12 && sizeof(align::Link) == 2 * sizeof(std::int32_t));

template <class T>
NumpyArray<T> copied(const std::vector<T>& values) {
    auto copy = std::make_unique_for_overwrite<T[]>(values.size());
    std::ranges::copy(values, copy.get());
    return own_by_numpy(std::move(copy), values.size());
}

// The values of a vector without a copy.
template <class T>
NumpyArray<T> moved(std::vector<T>&& values) {
    auto held = std::make_unique<std::vector<T>>(std::move(values));
    T* const data = held->data();
    const std::size_t size = held->size();
    nb::capsule owner(held.release(), [](void* vector) noexcept { delete static_cast<std::vector<T>*>(vector); });
    return NumpyArray<T>(data, {size}, owner);
}

void require(bool good, const char* message) {
    if (!good) throw nb::value_error(message);
}

// Returns hashes of words and stems, counts, and the number of words of each line.
auto count_words(const ByteArray& data, const Int64Array& offsets, bool spaces, unsigned stem, std::size_t threads) {
    const TextView text = text_view(data, offsets);
    std::vector<align::WordCount> words;
    auto sizes = std::make_unique_for_overwrite<std::int64_t[]>(text.lines);
    {
        const nb::gil_scoped_release unlocked;
        words = align::count_words(text, {spaces, stem}, sizes.get(), threads);
    }
    auto wholes = std::make_unique_for_overwrite<std::uint64_t[]>(words.size());
    auto stems = std::make_unique_for_overwrite<std::uint64_t[]>(words.size());
    auto counts = std::make_unique_for_overwrite<std::int64_t[]>(words.size());
    for (std::size_t i = 0; i < words.size(); ++i) {
        wholes[i] = words[i].whole;
        stems[i] = words[i].stem;
        counts[i] = words[i].count;
    }
    return std::tuple(own_by_numpy(std::move(wholes), words.size()), own_by_numpy(std::move(stems), words.size()),
                      own_by_numpy(std::move(counts), words.size()), own_by_numpy(std::move(sizes), text.lines));
}

// Returns the first and last bytes of words within their lines, and the offsets of the words of each line.
auto word_spans(const ByteArray& data, const Int64Array& offsets, bool spaces) {
    const TextView text = text_view(data, offsets);
    std::vector<std::int32_t> begins;
    std::vector<std::int32_t> ends;
    std::vector<std::int64_t> words{0};
    {
        const nb::gil_scoped_release unlocked;
        align::WordSplitter splitter({spaces, 0});
        for (std::size_t line = 0; line < text.lines; ++line) {
            check_utf8(text, line);
            for (const align::Word& word : splitter.split(text.line(line), text.line(line + 1))) {
                begins.push_back(static_cast<std::int32_t>(word.begin));
                ends.push_back(static_cast<std::int32_t>(word.end));
            }
            words.push_back(static_cast<std::int64_t>(begins.size()));
        }
    }
    return std::tuple(copied(begins), copied(ends), copied(words));
}

// Returns both columns of lines, and the first line with another number of columns and that number, or the number of
// lines and 2.
auto split_columns(const ByteArray& data, const Int64Array& starts, const Int64Array& ends, const std::string& mark) {
    require(starts.size() == ends.size() && !mark.empty(), "there must be an end for each start, and a mark");
    for (std::size_t i = 0; i < starts.size(); ++i)
        require(starts.data()[i] >= 0 && starts.data()[i] <= ends.data()[i] &&
                    std::cmp_less_equal(ends.data()[i], data.size()),
                "a line is outside of the data");
    align::OwnedText source;
    align::OwnedText target;
    std::optional<align::UnevenLine> uneven;
    {
        const nb::gil_scoped_release unlocked;
        uneven = align::split_columns({data.data(), starts.data(), ends.data(), starts.size()}, mark, source, target);
    }
    const align::UnevenLine wrong = uneven.value_or(align::UnevenLine{starts.size(), 2});
    return std::tuple(moved(std::move(source.data)), moved(std::move(source.offsets)), moved(std::move(target.data)),
                      moved(std::move(target.offsets)), wrong.line, wrong.columns);
}

// Returns the text of the links of each pair, and its offsets.
auto link_lines(const Int32Array& links, const Int64Array& offsets, const std::string& end, std::size_t threads) {
    require(links.size() % 2 == 0 && offsets.size() > 0, "links have two words each, and pairs have offsets");
    check_rows(offsets.data(), offsets.size(), links.size() / 2);
    align::OwnedText text;
    {
        const nb::gil_scoped_release unlocked;
        text = align::link_lines({links.data(), offsets.data(), offsets.size() - 1}, end, threads);
    }
    return std::tuple(moved(std::move(text.data)), moved(std::move(text.offsets)));
}

using SpanArrays = std::tuple<Int32Array, Int32Array, Int64Array>;  // begins, ends, offsets of lines

align::Stretches stretches(const SpanArrays& arrays) {
    const auto& [begins, ends, offsets] = arrays;
    return {{begins.data(), begins.size()}, {ends.data(), ends.size()}, {offsets.data(), offsets.size()}};
}

// Returns the numbers of linked pieces, in pairs, and the offsets of the links of each line.
auto link_pieces(const Int32Array& links, const Int64Array& offsets, const SpanArrays& source_words,
                 const SpanArrays& target_words, const SpanArrays& source_pieces, const SpanArrays& target_pieces) {
    align::OwnedLinks found;
    {
        const nb::gil_scoped_release unlocked;
        found = align::piece_links({{links.data(), links.size()}, {offsets.data(), offsets.size()}},
                                   {stretches(source_words), stretches(target_words)},
                                   {stretches(source_pieces), stretches(target_pieces)});
    }
    return std::tuple(copied(found.links), copied(found.offsets));
}

auto encode_words(const align::Vocabulary& vocabulary, const ByteArray& data, const Int64Array& offsets, bool spaces,
                  unsigned stem, std::size_t threads) {
    const TextView text = text_view(data, offsets);
    align::EncodedLines lines;
    {
        const nb::gil_scoped_release unlocked;
        lines = align::encode_words(text, {spaces, stem}, vocabulary, threads);
    }
    return std::tuple(moved(std::move(lines.numbers)), moved(std::move(lines.offsets)));
}

// The four arrays of pairs of lines, checked.
struct HeldPairs {
    HeldPairs(Int32Array source_words, Int64Array source_bounds, Int32Array target_words, Int64Array target_bounds)
        : source(std::move(source_words)),
          source_offsets(std::move(source_bounds)),
          target(std::move(target_words)),
          target_offsets(std::move(target_bounds)) {
        require(source_offsets.size() == target_offsets.size() && source_offsets.size() > 0,
                "the sides have different numbers of lines");
        check_rows(source_offsets.data(), source_offsets.size(), source.size());
        check_rows(target_offsets.data(), target_offsets.size(), target.size());
    }

    align::Pairs view() const {
        return {source.data(), source_offsets.data(), target.data(), target_offsets.data(), source_offsets.size() - 1};
    }
    // Throws ValueError unless words are below the sizes of the vocabularies.
    void check_words(std::size_t sources, std::size_t targets) const {
        const auto check = [](const Int32Array& words, std::size_t size) {
            for (std::size_t i = 0; i < words.size(); ++i)
                require(static_cast<std::uint32_t>(words.data()[i]) < size, "a word is not in the vocabulary");
        };
        check(source, sources);
        check(target, targets);
    }

    Int32Array source;
    Int64Array source_offsets;
    Int32Array target;
    Int64Array target_offsets;
};

using CellArrays = std::tuple<NumpyArray<std::int64_t>, NumpyArray<std::int32_t>, NumpyArray<std::int64_t>>;

CellArrays cell_arrays(align::CellCounts&& cells) {
    return {moved(std::move(cells.offsets)), moved(std::move(cells.targets)), moved(std::move(cells.counts))};
}

align::CellRows cells_of(const Int64Array& offsets, const Int32Array& targets, const Int64Array& counts) {
    require(targets.size() == counts.size(), "there must be a count for each cell");
    check_rows(offsets.data(), offsets.size(), targets.size());
    return {{offsets.data(), offsets.size()}, {targets.data(), targets.size()}, {counts.data(), counts.size()}};
}

CellArrays count_cells(const HeldPairs& pairs, std::uint64_t share, bool all, std::size_t rows, std::size_t columns,
                       double steepness, std::size_t threads) {
    pairs.check_words(rows, columns);
    align::CellCounts cells;
    {
        const nb::gil_scoped_release unlocked;
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
        const nb::gil_scoped_release unlocked;
        sum = align::add_cells(first, second, threads);
    }
    return cell_arrays(std::move(sum));
}

CellArrays prune_cells(const Int64Array& offsets, const Int32Array& targets, const Int64Array& counts,
                       std::int64_t least) {
    return cell_arrays(align::prune_cells(cells_of(offsets, targets, counts), least));
}

align::Table* new_table(const Int64Array& offsets, const Int32Array& targets, std::size_t threads) {
    check_rows(offsets.data(), offsets.size(), targets.size());
    const nb::gil_scoped_release unlocked;
    return new align::Table({{offsets.data(), offsets.size()}, {targets.data(), targets.size()}, {}}, threads);
}

align::Table* restored_table(const Int64Array& first, const ByteArray& slots) {
    require(slots.size() % sizeof(align::Cell) == 0, "the lexical table is cut");
    LargeVector<align::Cell> cells(slots.size() / sizeof(align::Cell));
    std::memcpy(cells.data(), slots.data(), slots.size());
    try {
        return new align::Table({first.data(), first.data() + first.size()}, std::move(cells));
    } catch (const std::invalid_argument& error) {
        throw nb::value_error(error.what());
    }
}

// Returns a table of the cells whose counts reach a limit, and both counts of its slots.
auto reduced(const align::Table& table, const Int64Array& counts, std::int64_t least, const Int64Array& others,
             std::size_t threads) {
    require(counts.size() == table.slots().size() && others.size() == counts.size(),
            "there must be a count for each slot");
    std::unique_ptr<align::Table::Reduced> result;
    {
        const nb::gil_scoped_release unlocked;
        result = std::make_unique<align::Table::Reduced>(table.reduced(counts.data(), least, others.data(), threads));
    }
    return std::tuple(std::move(result->table), moved(std::move(result->counts)), moved(std::move(result->others)));
}

// Throws ValueError unless the target words of a table are below the size of their vocabulary.
void check_targets(const align::Table& table, std::size_t columns) {
    for (const align::Cell& cell : table.slots())
        require(cell.target >= align::kFree && std::cmp_less(cell.target, columns), "a word is not in the vocabulary");
}

// A table with everything that posteriors are computed from.
class Aligner {
   public:
    Aligner(const align::Table& table, const FloatArray& source_shares, const FloatArray& target_shares,
            const FloatArray& forward, const FloatArray& backward, float null, float floor, double steepness)
        : source_shares_(source_shares), target_shares_(target_shares) {
        require(source_shares.size() == table.rows(), "there must be a share for each source word");
        require(forward.size() == align::kJumps + 1 && backward.size() == align::kJumps + 1,
                "there must be a weight for each jump");
        check_targets(table, target_shares.size());
        parameters_ = {
            &table, nullptr,  source_shares_.data(), target_shares_.data(), jumps(forward), jumps(backward), null,
            floor,  steepness};
    }

    // Makes the filter of the cells when it is first called, without the GIL.
    const align::Parameters& parameters(std::size_t threads) const {
        std::call_once(filtered_, [&] {
            filter_ = std::make_unique<const align::CellFilter>(*parameters_.table, nullptr, threads);
            parameters_.filter = filter_.get();
        });
        return parameters_;
    }
    void check(const HeldPairs& pairs) const { pairs.check_words(source_shares_.size(), target_shares_.size()); }
    std::size_t slots() const { return parameters_.table->slots().size(); }
    std::size_t columns() const { return target_shares_.size(); }

   private:
    static align::Jumps jumps(const FloatArray& weights) {
        align::Jumps jumps{};
        std::copy_n(weights.data(), align::kJumps, jumps.near);
        jumps.far = weights.data()[align::kJumps];
        return jumps;
    }

    FloatArray source_shares_, target_shares_;
    mutable std::once_flag filtered_;
    mutable std::unique_ptr<const align::CellFilter> filter_;
    mutable align::Parameters parameters_{};
};

auto expect(const Aligner& aligner, const HeldPairs& pairs, bool jumps, const Counts& counts, std::size_t threads) {
    aligner.check(pairs);
    require(counts.size() == aligner.slots(), "there must be a count for each slot");
    align::Expected expected{counts.data()};
    SignalPoll poll;
    {
        const nb::gil_scoped_release unlocked;
        align::expect(pairs.view(), aligner.parameters(threads),
                      jumps ? align::Step::kByJumps : align::Step::kNearDiagonal, expected, threads, poll);
    }
    return std::tuple(copied(std::vector(expected.forward.begin(), expected.forward.end())),
                      copied(std::vector(expected.backward.begin(), expected.backward.end())));
}

// Returns links as numbers of source and target words in turn, their offsets, and the number of pairs too long.
auto link(const Aligner& aligner, const HeldPairs& pairs, unsigned how, std::size_t threads) {
    aligner.check(pairs);
    require(how <= static_cast<unsigned>(align::Symmetrization::kBackward), "there is no such symmetrization");
    align::PairLinks result;
    SignalPoll poll;
    {
        const nb::gil_scoped_release unlocked;
        result = align::link(pairs.view(), aligner.parameters(threads), static_cast<align::Symmetrization>(how),
                             threads, poll);
    }
    auto links = std::make_unique_for_overwrite<std::int32_t[]>(2 * result.links.size());
    for (std::size_t i = 0; i < result.links.size(); ++i) {
        links[2 * i] = result.links[i].source;
        links[2 * i + 1] = result.links[i].target;
    }
    return std::tuple(own_by_numpy(std::move(links), 2 * result.links.size()), copied(result.offsets), result.too_long);
}

// Counts of the slots of a table, and their totals.
struct HeldEvidence {
    HeldEvidence(const align::Table& table, std::size_t columns, Int64Array slot_counts)
        : counts(std::move(slot_counts)) {
        require(counts.size() == table.slots().size(), "there must be a count for each slot");
        check_targets(table, columns);
        const nb::gil_scoped_release unlocked;
        totals = align::totals_of(table, columns, counts.data());
        filter = std::make_unique<align::CellFilter>(table, counts.data());
    }
    Int64Array counts;
    std::unique_ptr<const align::CellFilter> filter;
    align::Totals totals;
};

auto score(const Aligner& aligner, const HeldPairs& pairs, const HeldEvidence& held, const Int64Array& own,
           float pseudo, double mix, double floor, std::size_t threads) {
    aligner.check(pairs);
    require(held.counts.size() == aligner.slots() && held.totals.columns.size() == aligner.columns(),
            "the counts are those of another table");
    const align::Pairs view = pairs.view();
    require(own.size() == view.size, "there must be a number for each pair");
    auto scores = std::make_unique_for_overwrite<double[]>(view.size);
    SignalPoll poll;
    {
        const nb::gil_scoped_release unlocked;
        const align::Evidence evidence{held.counts.data(), held.filter.get(), &held.totals, pseudo, mix, floor};
        align::score(view, aligner.parameters(threads), evidence, own.data(), scores.get(), threads, poll);
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
    return copied(links);
}

}  // namespace

void bind_align(nb::module_& module) {
    module.attr("ALIGN_ONE") = nb::int_(align::kOne);
    module.attr("ALIGN_JUMPS") = nb::int_(align::kJumps);
    module.attr("ALIGN_MOST_WORDS") = nb::int_(align::kMostWords);
    module.attr("ALIGN_MOST_CELLS") = nb::int_(align::kMostCells);
    module.def("count_words", count_words, nb::arg("data"), nb::arg("offsets"), nb::arg("spaces"), nb::arg("stem"),
               nb::arg("threads"));
    module.def("word_spans", word_spans, nb::arg("data"), nb::arg("offsets"), nb::arg("spaces"));
    module.def("split_columns", split_columns, nb::arg("data"), nb::arg("starts"), nb::arg("ends"), nb::arg("mark"));
    module.def("link_lines", link_lines, nb::arg("links"), nb::arg("offsets"), nb::arg("end"), nb::arg("threads"));
    module.def("piece_links", link_pieces, nb::arg("links"), nb::arg("offsets"), nb::arg("source_words"),
               nb::arg("target_words"), nb::arg("source_pieces"), nb::arg("target_pieces"));
    nb::class_<align::Vocabulary>(module, "WordNumbers")
        .def("__init__", [](align::Vocabulary* self,
                            const UInt64Array& hashes) { new (self) align::Vocabulary(hashes.data(), hashes.size()); })
        .def("encode", encode_words, nb::arg("data"), nb::arg("offsets"), nb::arg("spaces"), nb::arg("stem"),
             nb::arg("threads"));
    nb::class_<HeldPairs>(module, "NumberedPairs")
        .def(nb::init<Int32Array, Int64Array, Int32Array, Int64Array>(), nb::arg("source"), nb::arg("source_offsets"),
             nb::arg("target"), nb::arg("target_offsets"))
        .def("__len__", [](const HeldPairs& pairs) { return pairs.view().size; });
    module.def("count_cells", count_cells, nb::arg("pairs"), nb::arg("share"), nb::arg("every"), nb::arg("rows"),
               nb::arg("columns"), nb::arg("steepness"), nb::arg("threads"));
    module.def("add_cells", add_cells);
    module.def("prune_cells", prune_cells);
    nb::class_<align::Table>(module, "LexicalTable")
        .def(nb::new_(&new_table), nb::arg("offsets"), nb::arg("targets"), nb::arg("threads") = 1)
        .def("copy", [](const align::Table& table) { return new align::Table(table); })
        .def_static("restored", &restored_table, nb::arg("first"), nb::arg("slots"))
        .def("first", [](const align::Table& table) { return copied(table.first()); })
        .def("slots",
             [](const align::Table& table) {
                 const auto* const bytes = reinterpret_cast<const std::uint8_t*>(table.slots().data());
                 const std::size_t size = table.slots().size() * sizeof(align::Cell);
                 auto copy = std::make_unique_for_overwrite<std::uint8_t[]>(size);
                 std::copy_n(bytes, size, copy.get());
                 return own_by_numpy(std::move(copy), size);
             })
        .def(
            "rows_of",
            [](const align::Table& table, const Int64Array& counts, std::int64_t least) {
                require(counts.size() == table.slots().size(), "there must be a count for each slot");
                return cell_arrays(table.rows_of(counts.data(), least));
            },
            nb::arg("counts"), nb::arg("least"))
        .def(
            "placed",
            [](const align::Table& table, const Int64Array& offsets, const Int32Array& targets,
               const Int64Array& counts, std::size_t threads) {
                require(offsets.size() == table.rows() + 1, "the cells and the table have different numbers of rows");
                const align::CellRows rows = cells_of(offsets, targets, counts);
                std::vector<std::int64_t> placed;
                {
                    const nb::gil_scoped_release unlocked;
                    placed = table.placed(rows, threads);
                }
                return moved(std::move(placed));
            },
            nb::arg("offsets"), nb::arg("targets"), nb::arg("counts"), nb::arg("threads") = 1)
        .def("reduced", reduced, nb::arg("counts"), nb::arg("least"), nb::arg("others"), nb::arg("threads"))
        .def(
            "reestimate",
            [](align::Table& table, std::size_t columns, const Int64Array& counts, std::size_t threads) {
                require(counts.size() == table.slots().size(), "there must be a count for each slot");
                const nb::gil_scoped_release unlocked;
                align::reestimate(table, columns, counts.data(), threads);
            },
            nb::arg("columns"), nb::arg("counts"), nb::arg("threads") = 1);
    nb::class_<HeldEvidence>(module, "LinkEvidence")
        .def(nb::init<const align::Table&, std::size_t, const Int64Array&>(), nb::arg("table"), nb::arg("columns"),
             nb::arg("counts"));
    nb::class_<Aligner>(module, "NativeAligner")
        .def(nb::init<const align::Table&, const FloatArray&, const FloatArray&, const FloatArray&, const FloatArray&,
                      float, float, double>(),
             nb::keep_alive<1, 2>(), nb::arg("table"), nb::arg("source_shares"), nb::arg("target_shares"),
             nb::arg("forward"), nb::arg("backward"), nb::arg("null"), nb::arg("floor"), nb::arg("steepness"))
        .def("expect", expect, nb::arg("pairs"), nb::arg("jumps"), nb::arg("counts"), nb::arg("threads"))
        .def("link", link, nb::arg("pairs"), nb::arg("how"), nb::arg("threads"))
        .def("score", score, nb::arg("pairs"), nb::arg("evidence"), nb::arg("own"), nb::arg("pseudo"), nb::arg("mix"),
             nb::arg("floor"), nb::arg("threads"));
    module.def("symmetrize_links", symmetrize, nb::arg("forward"), nb::arg("backward"), nb::arg("how"));
}

}  // namespace nmt_prep
