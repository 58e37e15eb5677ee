#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.h"
#include "sentences/path.h"
#include "text.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

using KindArray = ArrayView<const std::int32_t, nb::shape<-1, 2>>;

constexpr double kMostCharacters = 1e9;  // of a sentence

void require(bool good, const char* message) {
    if (!good) throw nb::value_error(message);
}

template <class Array>
auto span_of(const Array& array) {
    return std::span(array.data(), array.size());
}

bool below(const Int32Array& numbers, std::size_t size) {
    for (std::size_t i = 0; i < numbers.size(); ++i)
        if (static_cast<std::uint32_t>(numbers.data()[i]) >= size) return false;
    return true;
}

// A side of a document, checked but for the numbers of its words.
struct HeldSide {
    HeldSide(Int32Array of_words, Int64Array of_offsets, DoubleArray of_lengths)
        : words(std::move(of_words)), offsets(std::move(of_offsets)), lengths(std::move(of_lengths)) {
        check_rows(offsets.data(), offsets.size(), words.size());
        require(offsets.size() == lengths.size() + 1 && lengths.size() > 0, "there must be a length for each sentence");
        for (std::size_t i = 0; i < lengths.size(); ++i)
            require(lengths.data()[i] >= 1 && lengths.data()[i] <= kMostCharacters, "a length is not from 1 to 1e9");
    }
    sentences::Side view() const { return {span_of(words), span_of(offsets), span_of(lengths)}; }

    Int32Array words;
    Int64Array offsets;
    DoubleArray lengths;
};

// Checked link counts between the words of both sides.
struct HeldLinks {
    HeldLinks(Int64Array of_first, Int32Array of_others, FloatArray of_counts, FloatArray of_totals,
              FloatArray of_shares)
        : first(std::move(of_first)),
          others(std::move(of_others)),
          counts(std::move(of_counts)),
          totals(std::move(of_totals)),
          shares(std::move(of_shares)) {
        check_rows(first.data(), first.size(), others.size());
        require(first.size() == totals.size() + 1 && counts.size() == others.size(),
                "there must be a row and a total for each word, and a count for each cell");
        require(below(others, shares.size()), "a word is not in the vocabulary");
        const auto positive = [](const FloatArray& values, float least) {
            for (std::size_t i = 0; i < values.size(); ++i)
                if (!(values.data()[i] >= least && values.data()[i] <= 1e15F)) return false;
            return true;
        };
        require(positive(counts, 0) && positive(totals, 0) && positive(shares, 1e-12F),
                "a count or share is negative, zero or not a number");
    }

    Int64Array first;
    Int32Array others;
    FloatArray counts, totals, shares;
};

// Counts that the beads of an earlier path added, by word of both sides.
struct HeldOwn {
    HeldOwn(Int64Array of_offsets, Int32Array of_source, Int32Array of_target, FloatArray of_counts,
            Int32Array of_source_beads, Int32Array of_target_beads)
        : offsets(std::move(of_offsets)),
          source(std::move(of_source)),
          target(std::move(of_target)),
          counts(std::move(of_counts)),
          source_beads(std::move(of_source_beads)),
          target_beads(std::move(of_target_beads)) {
        check_rows(offsets.data(), offsets.size(), source.size());
        require(source.size() == target.size() && source.size() == counts.size(), "the counts have different sizes");
        for (const Int32Array* beads : {&source_beads, &target_beads})
            for (std::size_t i = 0; i < beads->size(); ++i)
                require(beads->data()[i] >= -1 && std::cmp_less(beads->data()[i] + 1, offsets.size()),
                        "there is no such bead");
    }
    Int64Array offsets;
    Int32Array source, target;
    FloatArray counts;
    Int32Array source_beads, target_beads;
};

struct WordOptions {
    float pseudo;
    double mix;
    std::size_t window;
    double background;
};

sentences::WordModel word_model(const HeldLinks& links, const HeldOwn& own, bool given_source, WordOptions options) {
    const Int32Array& given = given_source ? own.source : own.target;
    const Int32Array& predicted = given_source ? own.target : own.source;
    require(below(given, links.totals.size()) && below(predicted, links.shares.size()),
            "a word is not in the vocabulary");
    return {{span_of(links.first), span_of(links.others), span_of(links.counts), span_of(links.totals)},
            span_of(links.shares),
            {span_of(own.offsets), span_of(given), span_of(predicted), span_of(own.counts),
             span_of(given_source ? own.source_beads : own.target_beads)},
            options.pseudo,
            options.mix,
            options.window,
            options.background};
}

void check_band(const Int64Array& low, const Int64Array& high, std::size_t sources, std::size_t targets) {
    require(low.size() == sources + 1 && high.size() == sources + 1, "there must be a range for each place");
    const auto last = static_cast<std::int64_t>(targets);
    require(low.data()[0] == 0 && high.data()[sources] == last, "the band does not begin or end with the document");
    for (std::size_t i = 0; i <= sources; ++i) {
        require(low.data()[i] <= high.data()[i] && high.data()[i] <= last, "a range of the band is empty or too long");
        require(i == 0 || (low.data()[i] >= low.data()[i - 1] && high.data()[i] >= high.data()[i - 1] &&
                           low.data()[i] <= high.data()[i - 1]),
                "the band falls or is broken");
    }
}

// Returns the beads as rows of four numbers.
auto align_sentences(const HeldSide& source, const HeldSide& target, const Int64Array& low, const Int64Array& high,
                     const KindArray& kinds, const DoubleArray& priors, double deletion, double extension, double ratio,
                     double variance, std::pair<double, double> source_gamma, std::pair<double, double> target_gamma,
                     const HeldLinks* source_links, const HeldLinks* target_links, const HeldOwn* own, float pseudo,
                     double mix, std::size_t window, double background, double word_weight, double free) {
    const sentences::Document document{source.view(), target.view()};
    check_band(low, high, document.source.size(), document.target.size());
    require(kinds.shape(0) == priors.size() && priors.size() < 63, "there must be a prior for each kind");
    std::vector<sentences::Kind> of_kinds;
    for (std::size_t k = 0; k < priors.size(); ++k) {
        of_kinds.push_back({kinds.data()[2 * k], kinds.data()[2 * k + 1]});
        for (const std::int32_t size : {of_kinds[k].sources, of_kinds[k].targets})
            require(size >= 1 && std::cmp_less_equal(size, sentences::kMostSentences),
                    "a bead has no sentences or too many");
    }
    for (const double value : {ratio, variance, source_gamma.first, source_gamma.second, target_gamma.first,
                               target_gamma.second, mix, background, static_cast<double>(pseudo)})
        require(value > 1e-9 && value < 1e9, "a parameter is not positive");
    sentences::Scoring scoring{
        of_kinds,
        span_of(priors),
        deletion,
        extension,
        {ratio, variance, {source_gamma.first, source_gamma.second}, {target_gamma.first, target_gamma.second}},
        nullptr,
        nullptr,
        word_weight,
        free};
    std::optional<sentences::WordModel> given_source, given_target;
    if (source_links != nullptr) {
        require(target_links != nullptr && own != nullptr, "words need the links of both sides, and own counts");
        require(below(source.words, source_links->totals.size()) && below(target.words, target_links->totals.size()) &&
                    source_links->shares.size() == target_links->totals.size() &&
                    target_links->shares.size() == source_links->totals.size(),
                "a word is not in the vocabulary");
        require((own->source_beads.size() == document.source.size() &&
                 own->target_beads.size() == document.target.size()) ||
                    (own->source_beads.size() == 0 && own->target_beads.size() == 0),
                "there must be a bead for each sentence");
        given_source = word_model(*source_links, *own, true, {pseudo, mix, window, background});
        given_target = word_model(*target_links, *own, false, {pseudo, mix, window, background});
        scoring.target_words = &*given_source;
        scoring.source_words = &*given_target;
    }
    std::vector<sentences::Bead> path;
    SignalPoll poll;
    {
        const GilRelease unlocked;
        path = sentences::best_path(document, {span_of(low), span_of(high)}, scoring, poll);
    }
    std::vector<std::int64_t> beads;
    for (const sentences::Bead& bead : path)
        for (const std::int64_t bound : {bead.source, bead.source_end, bead.target, bead.target_end})
            beads.push_back(bound);
    return own_by_numpy(std::move(beads));
}

}  // namespace

void bind_sentences(nb::module_& module) {
    nb::class_<HeldSide>(module, "SentenceSide")
        .def(nb::init<Int32Array, Int64Array, DoubleArray>(), nb::arg("words"), nb::arg("offsets"), nb::arg("lengths"));
    nb::class_<HeldLinks>(module, "WordLinks")
        .def(nb::init<Int64Array, Int32Array, FloatArray, FloatArray, FloatArray>(), nb::arg("first"),
             nb::arg("others"), nb::arg("counts"), nb::arg("totals"), nb::arg("shares"));
    nb::class_<HeldOwn>(module, "BeadCounts")
        .def(nb::init<Int64Array, Int32Array, Int32Array, FloatArray, Int32Array, Int32Array>(), nb::arg("offsets"),
             nb::arg("source"), nb::arg("target"), nb::arg("counts"), nb::arg("source_beads"), nb::arg("target_beads"));
    module.def("align_sentences", align_sentences, nb::arg("source"), nb::arg("target"), nb::arg("low"),
               nb::arg("high"), nb::arg("kinds"), nb::arg("priors"), nb::arg("deletion"), nb::arg("extension"),
               nb::arg("ratio"), nb::arg("variance"), nb::arg("source_gamma"), nb::arg("target_gamma"),
               nb::arg("source_links").none(), nb::arg("target_links").none(), nb::arg("own").none(), nb::arg("pseudo"),
               nb::arg("mix"), nb::arg("window"), nb::arg("background"), nb::arg("word_weight"), nb::arg("free"));
}

}  // namespace nmt_prep
