#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "one_at_a_time.h"
#include "sentencepiece/bpe_trainer.h"
#include "sentencepiece/file.h"
#include "sentencepiece/training_text.h"
#include "text.h"
#include "text/utf8.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

using sentencepiece::BpeTrainer;
using sentencepiece::CharacterCount;
using sentencepiece::PieceOptions;
using sentencepiece::TextRules;
using sentencepiece::TrainingText;

constexpr std::uint32_t kLongestPiece = 512;

void make_text(OneAtATime<TrainingText>* place, const nb::bytes& charsmap, bool add_dummy_prefix,
               bool remove_extra_whitespaces, bool whitespace_is_suffix, bool split_by_whitespace,
               bool whitespace_only_pieces, std::vector<std::string> separate, std::string delimiter,
               std::size_t longest_line, std::size_t most_lines, bool mark_finals) {
    TextRules rules;
    rules.normalizer.charsmap.assign(charsmap.c_str(), charsmap.size());
    rules.normalizer.add_dummy_prefix = add_dummy_prefix;
    rules.normalizer.remove_extra_whitespaces = remove_extra_whitespaces;
    rules.whitespace_is_suffix = whitespace_is_suffix;
    rules.split_by_whitespace = split_by_whitespace;
    rules.whitespace_only_pieces = whitespace_only_pieces;
    rules.separate = std::move(separate);
    rules.delimiter = std::move(delimiter);
    rules.longest_line = longest_line;
    rules.most_lines = most_lines;
    rules.mark_finals = mark_finals;
    new (place) OneAtATime<TrainingText>(rules);
}

void add(OneAtATime<TrainingText>& text, const ByteArray& data, const Int64Array& offsets, std::size_t threads) {
    SignalPoll poll;
    const GilRelease unlocked;
    text.use()->add(text_view(data, offsets), threads, poll);
}

// Returns code points and counts of a vocabulary's characters, as `covered_characters`; nothing for a text without
// characters. If a text consists of separate pieces only, it has the characters that mark their ends, but its
// vocabulary is empty.
std::optional<std::vector<std::pair<std::uint32_t, std::int64_t>>> covered(OneAtATime<TrainingText>& text,
                                                                           const std::vector<std::uint32_t>& required,
                                                                           float coverage) {
    std::vector<CharacterCount> found;
    {
        const GilRelease unlocked;
        found = text.use()->characters();
        if (found.empty()) return std::nullopt;
        found = sentencepiece::covered_characters(found, checked_points(required), coverage);
    }
    std::vector<std::pair<std::uint32_t, std::int64_t>> characters;
    characters.reserve(found.size());
    for (const auto& [point, count] : found) characters.emplace_back(point, count);
    return characters;
}

PieceOptions piece_options(std::uint32_t longest, bool split_by_script, bool split_by_number, bool split_by_whitespace,
                           bool split_digits, bool whitespace_is_suffix, bool whitespace_only_pieces) {
    if (longest < 1 || longest > kLongestPiece) throw nb::value_error("pieces have 1 to 512 characters");
    return {longest,      split_by_script,      split_by_number,       split_by_whitespace,
            split_digits, whitespace_is_suffix, whitespace_only_pieces};
}

// Returns the pieces of up to `merges` merges in order, then the characters, as bytes and offsets. Frees the words of
// the text.
auto learn_bpe(OneAtATime<TrainingText>& held, const PieceOptions& options,
               const std::vector<std::uint32_t>& characters, std::size_t merges, std::size_t threads,
               const nb::callable& progress) {
    const auto text = held.use();
    if (text->has_marks()) throw nb::value_error("the words have marks, which BPE does not read");
    if (merges > INT32_MAX) throw nb::value_error("there are too many merges");
    SignalPoll poll;
    const auto report = [&](std::size_t found) {
        poll();
        const GilAcquire locked;
        progress(found);
    };
    std::vector<char32_t> points = checked_points(characters);
    std::ranges::sort(points);
    Texts pieces;
    {
        const GilRelease unlocked;
        BpeTrainer trainer(options, std::move(points), threads);
        trainer.read(text->words());
        text->release();
        trainer.learn(merges, report);
        pieces = trainer.pieces();
        for (const char32_t point : characters) {
            append_utf8(pieces.bytes, point);
            pieces.offsets.push_back(static_cast<std::int64_t>(pieces.bytes.size()));
        }
    }
    return std::pair(nb::bytes(pieces.bytes.data(), pieces.bytes.size()), own_by_numpy(std::move(pieces.offsets)));
}

nb::bytes write_pieces(const ByteArray& data, const Int64Array& offsets, const FloatArray& scores,
                       const ByteArray& types) {
    const TextView texts = text_view(data, offsets);
    if (scores.size() != texts.lines || types.size() != texts.lines)
        throw nb::value_error("there must be a score and a type for each piece");
    for (std::size_t i = 0; i < texts.lines; ++i)
        if (!is_utf8({reinterpret_cast<const char*>(texts.line(i)), texts.size(i)}))
            throw nb::value_error("a piece is not UTF-8");
    const std::string bytes = sentencepiece::write_pieces(texts, scores.data(), types.data());
    return nb::bytes(bytes.data(), bytes.size());
}

}  // namespace

void bind_sentencepiece_training(nb::module_& module) {
    module.def("write_sentencepiece_pieces", &write_pieces, nb::arg("data"), nb::arg("offsets"), nb::arg("scores"),
               nb::arg("types"));
    nb::class_<PieceOptions>(module, "SentencePieceOptions")
        .def(nb::new_(&piece_options), nb::arg("longest"), nb::arg("split_by_script"), nb::arg("split_by_number"),
             nb::arg("split_by_whitespace"), nb::arg("split_digits"), nb::arg("whitespace_is_suffix"),
             nb::arg("whitespace_only_pieces"));
    nb::class_<OneAtATime<TrainingText>>(module, "SentencePieceTrainingText")
        .def("__init__", &make_text, nb::arg("charsmap"), nb::arg("add_dummy_prefix"),
             nb::arg("remove_extra_whitespaces"), nb::arg("whitespace_is_suffix"), nb::arg("split_by_whitespace"),
             nb::arg("whitespace_only_pieces"), nb::arg("separate"), nb::arg("delimiter"), nb::arg("longest_line"),
             nb::arg("most_lines"), nb::arg("mark_finals") = false)
        .def("add", &add, nb::arg("data"), nb::arg("offsets"), nb::arg("threads"))
        .def_prop_ro("lines", one_call(&TrainingText::lines))
        .def_prop_ro("too_long", one_call(&TrainingText::too_long))
        .def_prop_ro("training_memory", one_call(&TrainingText::training_memory))
        .def("covered", &covered, nb::arg("required"), nb::arg("coverage"))
        .def("learn_bpe", &learn_bpe, nb::arg("options"), nb::arg("characters"), nb::arg("merges"), nb::arg("threads"),
             nb::arg("progress"));
}

}  // namespace nmt_prep
