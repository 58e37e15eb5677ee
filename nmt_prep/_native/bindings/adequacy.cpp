// Bindings of the incomplete-translation classifier: features of pairs, and trees.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "adequacy/features.h"
#include "adequacy/trees.h"
#include "align.h"
#include "arrays.h"
#include "text/exp_log.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

constexpr std::size_t kMostTrees = 1 << 16;

using Marks = ArrayView<const std::uint32_t>;
using Places = ArrayView<const std::int32_t, nb::ndim<2>>;
using Bins = ArrayView<const std::uint8_t, nb::ndim<2>>;
using Table = ArrayView<const double, nb::ndim<2>>;
using Directions = ArrayView<const std::int8_t>;
using Sums = ArrayView<std::int64_t, nb::ndim<2>>;
using Options = std::tuple<float, double, double>;  // pseudo count, mix, floor of the evidence

adequacy::WordSums sums_of(const Sums& sums, std::size_t words) {
    require(sums.shape(0) == 3 && sums.shape(1) == words, "there must be three sums for each word");
    return {sums.data(), sums.data() + words, sums.data() + 2 * words, words};
}

void count(const Aligner& aligner, const HeldPairs& pairs, const Int64Array& copies, const HeldEvidence& held,
           const Options& options, const Sums& source, const Sums& target, std::size_t threads) {
    aligner.check(pairs);
    held.check(aligner);
    require(copies.size() == pairs.view().size, "there must be a number for each pair");
    check_own(copies);
    const adequacy::WordSums sources = sums_of(source, aligner.rows());
    const adequacy::WordSums targets = sums_of(target, aligner.columns());
    const auto [pseudo, mix, floor] = options;
    SignalPoll poll;
    const GilRelease unlocked;
    adequacy::count_words(pairs.view(), copies.data(), aligner.parameters(threads), held.evidence(pseudo, mix, floor),
                          sources, targets, threads, poll);
}

// Returns the features of the pairs `judged`, without the counts that the pairs of `sample` at `places` added to the
// model; without places, `sample` has the judged pairs themselves.
auto features(const Aligner& aligner, const HeldPairs& judged, const Marks& source_marks, const Marks& target_marks,
              const HeldPairs& sample, const Int64Array& copies, const std::optional<Places>& places,
              const HeldEvidence& held, const Options& options, const Sums& source, const Sums& target, double words,
              double characters, std::size_t threads) {
    aligner.check(judged);
    aligner.check(sample);
    held.check(aligner);
    const align::Pairs view = judged.view();
    const align::Pairs known = sample.view();
    require(source_marks.size() == judged.source.size() && target_marks.size() == judged.target.size(),
            "there must be a mark for each word");
    require(copies.size() == known.size, "there must be a number for each pair");
    check_own(copies);
    require(places ? places->shape(0) == view.size && places->shape(1) == 2 : known.size == view.size,
            "there must be two places for each pair");
    for (std::size_t i = 0; places && i < places->size(); ++i)
        require(places->data()[i] >= -1 && std::cmp_less(places->data()[i], known.size),
                "a place is not in the sample");
    require(words > 0 && characters > 0, "a ratio is not positive");
    const auto [pseudo, mix, floor] = options;
    const adequacy::WordSums sources = sums_of(source, aligner.rows());
    const adequacy::WordSums targets = sums_of(target, aligner.columns());
    auto values = std::make_unique_for_overwrite<double[]>(view.size * adequacy::kFeatures);
    auto gaps = std::make_unique_for_overwrite<std::int32_t[]>(view.size * 4);
    SignalPoll poll;
    {
        const GilRelease unlocked;
        const adequacy::Context context{aligner.parameters(threads),
                                        held.evidence(pseudo, mix, floor),
                                        sources,
                                        targets,
                                        {log(words), log(characters)}};
        adequacy::features({view, source_marks.data(), target_marks.data()},
                           {known, copies.data(), places ? places->data() : nullptr}, context, values.get(), gaps.get(),
                           threads, poll);
    }
    return std::tuple(own_table_by_numpy<double>(std::move(values), view.size, adequacy::kFeatures),
                      own_table_by_numpy<std::int32_t>(std::move(gaps), view.size, 4));
}

// Returns features, bounds, children and values of the nodes, and the roots.
auto train(const Bins& bins, const ByteArray& classes, const Directions& directions, std::size_t trees,
           std::size_t leaves, double rate, double penalty, std::int64_t smallest, std::size_t threads) {
    require(bins.shape(0) == directions.size() && bins.shape(1) == classes.size(),
            "there must be a direction for each feature, and a class for each row");
    require(classes.size() < std::size_t{1} << 31 && smallest > 0, "there are too many rows, or leaves may be empty");
    require(bins.shape(0) > 0 && trees <= kMostTrees && leaves >= 1 && leaves <= kMostTrees && rate > 0 && rate <= 1 &&
                penalty >= 0 && penalty < 1e9,
            "there are no features, or an option is out of range");
    for (std::size_t i = 0; i < bins.size(); ++i) require(bins.data()[i] < adequacy::kBins, "there are too many bins");
    adequacy::Nodes nodes;
    SignalPoll poll;
    {
        const GilRelease unlocked;
        nodes = adequacy::train(
            {{bins.data(), bins.size()}, {classes.data(), classes.size()}, {directions.data(), directions.size()}},
            {trees, leaves, rate, penalty, smallest}, threads, poll);
    }
    return std::tuple(own_by_numpy(std::move(nodes.features)), own_by_numpy(std::move(nodes.bounds)),
                      own_by_numpy(std::move(nodes.children)), own_by_numpy(std::move(nodes.values)),
                      own_by_numpy(std::move(nodes.roots)));
}

adequacy::Trees* restored(const Int32Array& features, const DoubleArray& bounds, const Int32Array& children,
                          const DoubleArray& values, const Int32Array& roots, std::size_t size) {
    require(size > 0, "there are no features");
    const auto held = [](const auto& array) { return std::vector(array.data(), array.data() + array.size()); };
    return new adequacy::Trees({held(features), held(bounds), held(children), held(values), held(roots)}, size);
}

auto predict(const adequacy::Trees& trees, const Table& rows, std::size_t threads) {
    require(rows.shape(1) == trees.features(), "rows have another number of features");
    auto values = std::make_unique_for_overwrite<double[]>(rows.shape(0));
    SignalPoll poll;
    {
        const GilRelease unlocked;
        adequacy::predict(trees, {rows.data(), rows.size()}, values.get(), threads, poll);
    }
    return own_by_numpy(std::move(values), rows.shape(0));
}

}  // namespace

void bind_adequacy(nb::module_& module) {
    module.attr("ADEQUACY_FEATURES") = nb::int_(adequacy::kFeatures);
    module.attr("ADEQUACY_BINS") = nb::int_(adequacy::kBins);
    module.def("count_adequacy_words", count, nb::arg("aligner"), nb::arg("pairs"), nb::arg("copies"),
               nb::arg("evidence"), nb::arg("options"), nb::arg("source"), nb::arg("target"), nb::arg("threads"));
    module.def("adequacy_features", features, nb::arg("aligner"), nb::arg("judged"), nb::arg("source_marks"),
               nb::arg("target_marks"), nb::arg("sample"), nb::arg("copies"), nb::arg("places").none(),
               nb::arg("evidence"), nb::arg("options"), nb::arg("source"), nb::arg("target"), nb::arg("words"),
               nb::arg("characters"), nb::arg("threads"));
    module.def("train_trees", train, nb::arg("bins"), nb::arg("classes"), nb::arg("directions"), nb::arg("trees"),
               nb::arg("leaves"), nb::arg("rate"), nb::arg("penalty"), nb::arg("smallest"), nb::arg("threads"));
    nb::class_<adequacy::Trees>(module, "Trees")
        .def(nb::new_(&restored), nb::arg("features"), nb::arg("bounds"), nb::arg("children"), nb::arg("values"),
             nb::arg("roots"), nb::arg("size"))
        .def("predict", predict, nb::arg("rows"), nb::arg("threads") = 1);
}

}  // namespace nmt_prep
