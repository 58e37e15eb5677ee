#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "one_at_a_time.h"
#include "sentencepiece/training_text.h"
#include "sentencepiece/unigram_training/trainer.h"
#include "sentencepiece/unigram_training/words.h"
#include "text.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

using sentencepiece::CharacterCount;
using sentencepiece::PieceOptions;
using sentencepiece::TrainingText;
using sentencepiece::TrainingWords;
using sentencepiece::UnigramOptions;

constexpr int kMostIterations = 1000;
constexpr std::size_t kMostLanes = 1024;

void make_options(UnigramOptions* place, std::size_t size, std::size_t desired_size, std::size_t seeds,
                  float shrinking_factor, int sub_iterations, std::size_t lanes, const PieceOptions& pieces) {
    if (!(shrinking_factor > 0 && shrinking_factor < 1) || sub_iterations < 0 || sub_iterations > kMostIterations ||
        lanes < 1 || lanes > kMostLanes)
        throw nb::value_error("an option of unigram training is out of range");
    new (place) UnigramOptions{size, desired_size, seeds, shrinking_factor, sub_iterations, lanes, pieces};
}

// Returns pieces and scores, the best ones first. `characters`: as of `covered`. Frees the text's words.
std::vector<std::pair<std::string, float>> learn_unigram(
    OneAtATime<TrainingText>& held, const UnigramOptions& options,
    const std::vector<std::pair<std::uint32_t, std::int64_t>>& characters, std::size_t threads,
    const nb::callable& progress) {
    const auto text = held.use();
    if (!text->has_last_word()) throw nb::value_error("the text has no words with marks");
    if (characters.size() > std::min(options.size, options.desired_size))
        throw nb::value_error("there must be as many pieces as characters, or more");
    SignalPoll poll;
    const auto report = [&](std::size_t pieces) {
        const GilAcquire locked;
        progress(pieces);
    };
    std::vector<std::uint32_t> points;
    points.reserve(characters.size());
    for (const auto& [point, count] : characters) points.push_back(point);
    const std::vector<char32_t> covered = checked_points(points);
    std::vector<CharacterCount> required;
    required.reserve(characters.size());
    for (const auto& [point, count] : characters) required.emplace_back(point, count);
    const GilRelease unlocked;
    const TrainingWords words = sentencepiece::read_words(text->words(), covered, text->last_word());
    text->release();
    return sentencepiece::train_unigram(words, required, options, threads, poll, report);
}

}  // namespace

void bind_unigram_training(nb::module_& module) {
    nb::class_<UnigramOptions>(module, "UnigramOptions")
        .def("__init__", &make_options, nb::kw_only(), nb::arg("size"), nb::arg("desired_size"), nb::arg("seeds"),
             nb::arg("shrinking_factor"), nb::arg("sub_iterations"), nb::arg("lanes"), nb::arg("pieces"));
    module.def("learn_unigram", &learn_unigram, nb::arg("text"), nb::arg("options"), nb::arg("characters"),
               nb::arg("threads"), nb::arg("progress"));
}

}  // namespace nmt_prep
