// Bindings of the text of word alignment: words, line columns, links as text, and piece links.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "align/piece_links.h"
#include "align/text.h"
#include "align/vocabulary.h"
#include "align/words.h"
#include "arrays.h"
#include "text.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

void require(bool good, const char* message) {
    if (!good) throw nb::value_error(message);
}

// Returns word hashes and stems, counts, and the word count of each line.
auto count_words(const ByteArray& data, const Int64Array& offsets, bool spaces, unsigned stem, std::size_t threads) {
    const TextView text = text_view(data, offsets);
    std::vector<align::WordCount> words;
    auto sizes = std::make_unique_for_overwrite<std::int64_t[]>(text.lines);
    {
        const GilRelease unlocked;
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

// Returns the first and last bytes of words within their lines, and the offsets of each line's words.
auto word_spans(const ByteArray& data, const Int64Array& offsets, bool spaces) {
    const TextView text = text_view(data, offsets);
    std::vector<std::int32_t> begins;
    std::vector<std::int32_t> ends;
    std::vector<std::int64_t> words{0};
    {
        const GilRelease unlocked;
        std::vector<align::Place> places;
        for (std::size_t line = 0; line < text.lines; ++line) {
            check_utf8(text, line);
            align::find_words(text.line(line), text.line(line + 1), spaces, places);
            for (const align::Place& word : places) {
                begins.push_back(static_cast<std::int32_t>(word.begin));
                ends.push_back(static_cast<std::int32_t>(word.end));
            }
            words.push_back(static_cast<std::int64_t>(begins.size()));
        }
    }
    return std::tuple(own_by_numpy(std::move(begins)), own_by_numpy(std::move(ends)), own_by_numpy(std::move(words)));
}

// Returns both columns of lines, and the first line without exactly two columns and its number of columns; if there is
// no such line, the number of lines and 2.
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
        const GilRelease unlocked;
        uneven = align::split_columns({data.data(), starts.data(), ends.data(), starts.size()}, mark, source, target);
    }
    const align::UnevenLine wrong = uneven.value_or(align::UnevenLine{starts.size(), 2});
    return std::tuple(own_by_numpy(std::move(source.data)), own_by_numpy(std::move(source.offsets)),
                      own_by_numpy(std::move(target.data)), own_by_numpy(std::move(target.offsets)), wrong.line,
                      wrong.columns);
}

// Returns the text of each pair's links, and its offsets.
auto link_lines(const Int32Array& links, const Int64Array& offsets, const std::string& end, std::size_t threads) {
    require(links.size() % 2 == 0 && offsets.size() > 0, "links have two words each, and pairs have offsets");
    check_rows(offsets.data(), offsets.size(), links.size() / 2);
    align::OwnedText text;
    {
        const GilRelease unlocked;
        text = align::link_lines({links.data(), offsets.data(), offsets.size() - 1}, end, threads);
    }
    return std::tuple(own_by_numpy(std::move(text.data)), own_by_numpy(std::move(text.offsets)));
}

// Returns the links of each pair as numbers, and their offsets; a pair with a wrong link has none.
auto parse_links(const ByteArray& data, const Int64Array& offsets, const Int64Array& source_words,
                 const Int64Array& target_words) {
    const TextView text = text_view(data, offsets);
    require(source_words.size() == text.lines && target_words.size() == text.lines,
            "there must be numbers of words for each line of links");
    align::OwnedLinks found;
    {
        const GilRelease unlocked;
        for (std::size_t i = 0; i < text.lines; ++i) {
            const std::string_view line(reinterpret_cast<const char*>(text.line(i)), text.size(i));
            align::parse_links(line, source_words.data()[i], target_words.data()[i], found.links);
            found.offsets.push_back(static_cast<std::int64_t>(found.links.size() / 2));
        }
    }
    return std::tuple(own_by_numpy(std::move(found.links)), own_by_numpy(std::move(found.offsets)));
}

using SpanArrays = std::tuple<Int32Array, Int32Array, Int64Array>;  // begins, ends, offsets of lines

align::Stretches stretches(const SpanArrays& arrays) {
    const auto& [begins, ends, offsets] = arrays;
    return {{begins.data(), begins.size()}, {ends.data(), ends.size()}, {offsets.data(), offsets.size()}};
}

// Returns the numbers of linked pieces, in pairs, the offsets of each line's links, and the number of lines that
// lack some.
auto link_pieces(const Int32Array& links, const Int64Array& offsets, const SpanArrays& source_words,
                 const SpanArrays& target_words, const SpanArrays& source_pieces, const SpanArrays& target_pieces) {
    align::PieceLinks found;
    {
        const GilRelease unlocked;
        found = align::piece_links({{links.data(), links.size()}, {offsets.data(), offsets.size()}},
                                   {stretches(source_words), stretches(target_words)},
                                   {stretches(source_pieces), stretches(target_pieces)});
    }
    return std::tuple(own_by_numpy(std::move(found.links)), own_by_numpy(std::move(found.offsets)), found.cut);
}

align::EncodedLines encoded(const align::Vocabulary& vocabulary, const ByteArray& data, const Int64Array& offsets,
                            align::WordRule rule, bool marks, std::size_t threads) {
    const TextView text = text_view(data, offsets);
    const GilRelease unlocked;
    return align::encode_words(text, rule, vocabulary, marks, threads);
}

auto encode_words(const align::Vocabulary& vocabulary, const ByteArray& data, const Int64Array& offsets, bool spaces,
                  unsigned stem, std::size_t threads) {
    align::EncodedLines lines = encoded(vocabulary, data, offsets, {spaces, stem}, false, threads);
    return std::tuple(own_by_numpy(std::move(lines.numbers)), own_by_numpy(std::move(lines.offsets)));
}

auto encode_marked(const align::Vocabulary& vocabulary, const ByteArray& data, const Int64Array& offsets, bool spaces,
                   unsigned stem, std::size_t threads) {
    align::EncodedLines lines = encoded(vocabulary, data, offsets, {spaces, stem}, true, threads);
    return std::tuple(own_by_numpy(std::move(lines.numbers)), own_by_numpy(std::move(lines.offsets)),
                      own_by_numpy(std::move(lines.marks)));
}

}  // namespace

void bind_align_text(nb::module_& module) {
    module.def("count_words", count_words, nb::arg("data"), nb::arg("offsets"), nb::arg("spaces"), nb::arg("stem"),
               nb::arg("threads"));
    module.def("word_spans", word_spans, nb::arg("data"), nb::arg("offsets"), nb::arg("spaces"));
    module.def("split_columns", split_columns, nb::arg("data"), nb::arg("starts"), nb::arg("ends"), nb::arg("mark"));
    module.def("link_lines", link_lines, nb::arg("links"), nb::arg("offsets"), nb::arg("end"), nb::arg("threads"));
    module.def("parse_links", parse_links, nb::arg("data"), nb::arg("offsets"), nb::arg("source_words"),
               nb::arg("target_words"));
    module.def("piece_links", link_pieces, nb::arg("links"), nb::arg("offsets"), nb::arg("source_words"),
               nb::arg("target_words"), nb::arg("source_pieces"), nb::arg("target_pieces"));
    nb::class_<align::Vocabulary>(module, "WordNumbers")
        .def("__init__", [](align::Vocabulary* self,
                            const UInt64Array& hashes) { new (self) align::Vocabulary(hashes.data(), hashes.size()); })
        .def("encode", encode_words, nb::arg("data"), nb::arg("offsets"), nb::arg("spaces"), nb::arg("stem"),
             nb::arg("threads"))
        .def("encode_marked", encode_marked, nb::arg("data"), nb::arg("offsets"), nb::arg("spaces"), nb::arg("stem"),
             nb::arg("threads"));
}

}  // namespace nmt_prep
