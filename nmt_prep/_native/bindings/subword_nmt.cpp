#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string_view>
#include <utility>

#include "bpe/pairs.h"
#include "one_at_a_time.h"
#include "subword_nmt/learn.h"
#include "subword_nmt/model.h"
#include "text.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

namespace sn = subword_nmt;
using sn::WordCounter;
using CutWords = std::vector<std::pair<std::string, std::vector<std::pair<std::string, bool>>>>;

void count_subword_words(OneAtATime<WordCounter>& counter, const ByteArray& data, const Int64Array& offsets,
                         std::size_t threads) {
    SignalPoll poll;
    GilRelease unlocked;
    counter.use()->add(text_view(data, offsets), threads, poll);
}

auto word_columns(OneAtATime<WordCounter>& counter) { return count_columns(counter.use()->words()); }

void add_word_counts(OneAtATime<WordCounter>& held, const ByteArray& data, const Int64Array& offsets,
                     const Int64Array& counts) {
    const auto counter = held.use();
    for_each_count(data, offsets, counts,
                   [&](std::string_view word, std::int64_t count) { counter->add_word(word, count); });
}

// Characters of all distinct words, plus one per word; the memory of learning is proportional to it.
std::int64_t word_places(OneAtATime<WordCounter>& held) {
    const auto counter = held.use();
    return counter->words().characters() + static_cast<std::int64_t>(counter->words().entries().size());
}

sn::Merges learn_merges(OneAtATime<WordCounter>& held, std::size_t merges, bool total_symbols,
                        std::uint64_t min_frequency, std::size_t threads, const nb::callable& progress) {
    const auto counter = held.use();
    SignalPoll poll;
    const auto report = [&](std::size_t found) {
        poll();
        const GilAcquire locked;
        progress(found);
    };
    GilRelease unlocked;
    return sn::learn(counter->words(), {merges, total_symbols, min_frequency}, threads, report);
}

void make_subword_model(sn::Model* place, const sn::Merges& merges, bool word_end_apart, bool whole_words,
                        std::string separator, std::optional<std::vector<std::string>> known,
                        std::vector<std::string> tokens, std::int32_t unknown) {
    if (merges.size() > bpe::PairTable::kMaxPairs) throw nb::value_error("there are too many merges");
    if (separator.empty()) throw nb::value_error("the separator is empty");
    for (const auto& [left, right] : merges)
        if (left.empty() || right.empty()) throw nb::value_error("a merge has an empty part");
    GilRelease unlocked;
    new (place) sn::Model(
        merges, {word_end_apart, whole_words, std::move(separator), std::move(known), std::move(tokens), unknown});
}

std::vector<sn::CutWord> read_cut_words(const CutWords& words) {
    std::vector<sn::CutWord> cut;
    for (const auto& [word, parts] : words) {
        sn::CutWord& next = cut.emplace_back(word);
        for (const auto& [text, whole] : parts) {
            if (text.empty()) throw nb::value_error("a part of a word is empty");
            next.parts.push_back({text, whole});
        }
    }
    return cut;
}

auto subwords_of(const sn::Model& model, const ByteArray& data, const Int64Array& offsets, const CutWords& cut,
                 std::size_t threads, double dropout, std::uint64_t seed) {
    SignalPoll poll;
    const std::vector<sn::CutWord> words = read_cut_words(cut);
    RaggedIds rows;
    {
        GilRelease unlocked;
        rows = model.encode(text_view(data, offsets), words, threads, {dropout, seed}, poll);
    }
    return ragged_arrays(std::move(rows));
}

// Returns (data, offsets) as in columns.TextColumn.
auto subword_text(const sn::Model& model, const ByteArray& data, const Int64Array& offsets, const CutWords& cut,
                  std::size_t threads, double dropout, std::uint64_t seed) {
    SignalPoll poll;
    const std::vector<sn::CutWord> words = read_cut_words(cut);
    Texts texts;
    {
        GilRelease unlocked;
        texts = model.segment(text_view(data, offsets), words, threads, {dropout, seed}, poll);
    }
    return std::pair(own_by_numpy(std::move(texts.bytes)), own_by_numpy(std::move(texts.offsets)));
}

}  // namespace

void bind_subword_nmt(nb::module_& module) {
    nb::class_<OneAtATime<WordCounter>>(module, "SubwordNMTWordCounter")
        .def(nb::init<>())
        .def("add", &count_subword_words, nb::arg("data"), nb::arg("offsets"), nb::arg("threads"))
        .def("add_counted", &add_word_counts, nb::arg("data"), nb::arg("offsets"), nb::arg("counts"))
        .def("columns", &word_columns)
        .def("places", &word_places)
        .def("learn", &learn_merges, nb::arg("merges"), nb::arg("total_symbols"), nb::arg("min_frequency"),
             nb::arg("threads"), nb::arg("progress"));
    nb::class_<sn::Model>(module, "SubwordNMTModel")
        .def("__init__", &make_subword_model, nb::arg("merges"), nb::arg("word_end_apart"), nb::arg("whole_words"),
             nb::arg("separator"), nb::arg("known").none(), nb::arg("tokens"), nb::arg("unknown"))
        .def("encode", &subwords_of, nb::arg("data"), nb::arg("offsets"), nb::arg("cut"), nb::arg("threads"),
             nb::arg("dropout"), nb::arg("seed"))
        .def("segment", &subword_text, nb::arg("data"), nb::arg("offsets"), nb::arg("cut"), nb::arg("threads"),
             nb::arg("dropout"), nb::arg("seed"));
}

}  // namespace nmt_prep
