#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>

#include "sentencepiece/charsmap.h"
#include "sentencepiece/file.h"
#include "sentencepiece/model.h"
#include "sentencepiece/spans.h"
#include "text.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

using sentencepiece::Model;
using sentencepiece::ModelFile;
using sentencepiece::PieceTracer;
using sentencepiece::PieceType;

// A model file and, if the core supports it, its encoder.
struct Loaded {
    ModelFile file;
    std::unique_ptr<Model> model;
    std::string not_covered;

    const Model& at_work() const {
        if (!model) throw std::logic_error("only the library supports this model");
        return *model;
    }
    // Returns the id of a control piece, -1 if the model has none of this name.
    std::int64_t control(const std::string& text) const { return find(text, PieceType::kControl); }
    std::int64_t find(const std::string& text, PieceType type) const {
        const auto found = std::ranges::find_if(
            file.pieces, [&](const sentencepiece::Piece& piece) { return *piece.text == text && piece.type == type; });
        return found == file.pieces.end() ? -1 : found - file.pieces.begin();
    }
};

void load(Loaded* place, const ByteArray& data, bool fairseq_ids) {
    Loaded loaded;
    {
        GilRelease unlocked;
        loaded.file = sentencepiece::read_model(data.data(), data.size());
        if (fairseq_ids) sentencepiece::use_fairseq_ids(loaded.file);
        try {
            loaded.model = std::make_unique<Model>(loaded.file);
        } catch (const sentencepiece::NotCovered& error) {
            loaded.not_covered = error.what();
        }
    }
    new (place) Loaded(std::move(loaded));
}

Utf8Text checked(const std::string& text) {
    std::optional<Utf8Text> found = Utf8Text::of(text);
    if (!found) throw std::invalid_argument("has a piece that is not UTF-8");
    return std::move(*found);
}

// Loads a model of tokenizers. `pieces`: text and type of each id; `merges`: left, right and merged id of each.
Loaded load_tokenizers(const nb::list& pieces, bool is_unigram, bool byte_fallback, const std::string& unk_surface,
                       bool strips_first_space, sentencepiece::TokenizersRules rules, const DoubleArray& scores,
                       const Int32Array& merges) {
    Loaded loaded;
    ModelFile& file = loaded.file;
    for (const nb::handle each : pieces) {
        const auto [text, type] = nb::cast<std::pair<std::string, std::uint8_t>>(each);
        file.pieces.push_back({checked(text), 0, static_cast<PieceType>(type)});
    }
    GilRelease unlocked;
    file.kind = is_unigram ? sentencepiece::ModelKind::kUnigram : sentencepiece::ModelKind::kBpe;
    file.byte_fallback = byte_fallback;
    file.unk_surface = checked(unk_surface);
    file.normalizer.add_dummy_prefix = strips_first_space;
    file.normalizer.remove_extra_whitespaces = false;
    rules.scores.assign(scores.data(), scores.data() + scores.size());
    for (std::size_t i = 0; i + 2 < merges.size(); i += 3)
        rules.merges.push_back({merges.data()[i], merges.data()[i + 1], merges.data()[i + 2]});
    file.tokenizers = std::move(rules);
    sentencepiece::check_tokenizers(file);
    for (std::size_t i = 0; i < scores.size(); ++i) file.pieces[i].score = static_cast<float>(scores.data()[i]);
    try {
        loaded.model = std::make_unique<Model>(file);
    } catch (const sentencepiece::NotCovered& error) {
        loaded.not_covered = error.what();
    }
    return loaded;
}

// Returns a text of the file, which may be invalid UTF-8.
nb::object replaced(const std::string& bytes) {
    PyObject* const text = PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace");
    if (text == nullptr) throw nb::python_error();
    return nb::steal(text);
}

nb::list pieces(const Loaded& loaded) {
    nb::list texts;
    for (const sentencepiece::Piece& piece : loaded.file.pieces)
        texts.append(nb::str(piece.text->data(), piece.text->size()));
    return texts;
}

// Returns a number of each piece of the file.
template <class T, class Of>
NumpyArray of_pieces(const Loaded& loaded, const Of& of) {
    const std::size_t size = loaded.file.pieces.size();
    auto values = std::make_unique_for_overwrite<T[]>(size);
    std::ranges::transform(loaded.file.pieces, values.get(), of);
    return own_by_numpy(std::move(values), size);
}

nb::list self_tests(const Loaded& loaded) {
    nb::list tests;
    for (const sentencepiece::SelfTest& test : loaded.file.self_tests)
        tests.append(nb::make_tuple(replaced(test.input), replaced(test.expected)));
    return tests;
}

// Returns a mark for each text, or null for an empty array.
const std::uint8_t* marks(const ByteArray& continued, const Int64Array& offsets) {
    if (continued.size() == 0) return nullptr;
    if (continued.size() + 1 != offsets.size()) throw std::invalid_argument("each text needs one mark");
    return continued.data();
}

auto encode(const Loaded& loaded, const ByteArray& data, const Int64Array& offsets, const ByteArray& continued,
            std::size_t threads) {
    SignalPoll poll;
    RaggedIds rows;
    {
        GilRelease unlocked;
        rows = loaded.at_work().encode(text_view(data, offsets), marks(continued, offsets), threads, poll);
    }
    return ragged_arrays(std::move(rows));
}

auto sample(const Loaded& loaded, const ByteArray& data, const Int64Array& offsets, const ByteArray& continued,
            std::size_t threads, double dropout, double alpha, std::size_t nbest, std::uint64_t seed,
            std::uint64_t first_line) {
    SignalPoll poll;
    RaggedIds rows;
    {
        GilRelease unlocked;
        rows = loaded.at_work().sample(text_view(data, offsets), marks(continued, offsets), threads,
                                       {dropout, alpha, nbest, seed, first_line}, poll);
    }
    return ragged_arrays(std::move(rows));
}

nb::list decode(const Loaded& loaded, const Int32Array& values, const Int64Array& offsets, std::size_t threads) {
    SignalPoll poll;
    Texts texts;
    {
        GilRelease unlocked;
        check_rows(offsets.data(), offsets.size(), values.size());
        texts = loaded.at_work().decode(values.data(), offsets.data(), offsets.size() - 1, threads, poll);
    }
    nb::list strings;
    for (std::size_t i = 0; i + 1 < texts.offsets.size(); ++i) {
        PyObject* const text = PyUnicode_DecodeUTF8(texts.bytes.data() + texts.offsets[i],
                                                    texts.offsets[i + 1] - texts.offsets[i], "strict");
        if (text == nullptr) throw nb::python_error();
        strings.append(nb::steal(text));
    }
    return strings;
}

void load_tracer(PieceTracer* place, const ByteArray& data, bool fairseq_ids) {
    ModelFile file = sentencepiece::read_model(data.data(), data.size());
    if (fairseq_ids) sentencepiece::use_fairseq_ids(file);
    new (place) PieceTracer(file);
}

nb::list normalized(const PieceTracer& tracer, const ByteArray& data, const Int64Array& offsets) {
    const TextView text = text_view(data, offsets);
    nb::list texts;
    for (std::size_t i = 0; i < text.lines; ++i) texts.append(replaced(tracer.normalized(text, i)));
    return texts;
}

auto spans(const PieceTracer& tracer, const ByteArray& data, const Int64Array& offsets, const Int32Array& values,
           const Int64Array& row_offsets) {
    const TextView text = text_view(data, offsets);
    if (row_offsets.size() != offsets.size()) throw nb::value_error("there must be a row of ids for each line");
    check_rows(row_offsets.data(), row_offsets.size(), values.size());
    sentencepiece::PieceSpans found;
    {
        GilRelease unlocked;
        found = tracer.spans(text, values.data(), row_offsets.data());
    }
    const auto size = static_cast<std::size_t>(row_offsets.data()[text.lines]);
    return std::tuple(own_by_numpy(std::move(found.begins), size), own_by_numpy(std::move(found.ends), size),
                      own_by_numpy(std::move(found.found), text.lines));
}

}  // namespace

void bind_tokenizers_rules(nb::module_& module) {
    using Rules = sentencepiece::TokenizersRules;
    nb::class_<Rules>(module, "TokenizersRules")
        .def(
            "__init__",
            [](Rules* place, const nb::bytes& charsmap, bool strip_left_first, bool strip_right_first, bool strip_left,
               bool strip_right, bool collapse_spaces, bool split_white_space, int prefix, bool prefix_first_only,
               bool split_escaped, bool fuse_unknown) {
                Rules rules;
                rules.charsmap.assign(charsmap.c_str(), charsmap.size());
                rules.strip_left_first = strip_left_first;
                rules.strip_right_first = strip_right_first;
                rules.strip_left = strip_left;
                rules.strip_right = strip_right;
                rules.collapse_spaces = collapse_spaces;
                rules.split_white_space = split_white_space;
                rules.prefix = static_cast<Rules::Prefix>(prefix);
                rules.prefix_first_only = prefix_first_only;
                rules.split_escaped = split_escaped;
                rules.fuse_unknown = fuse_unknown;
                new (place) Rules(std::move(rules));
            },
            nb::kw_only(), nb::arg("charsmap"), nb::arg("strip_left_first"), nb::arg("strip_right_first"),
            nb::arg("strip_left"), nb::arg("strip_right"), nb::arg("collapse_spaces"), nb::arg("split_white_space"),
            nb::arg("prefix"), nb::arg("prefix_first_only"), nb::arg("split_escaped"), nb::arg("fuse_unknown"));
}

void bind_sentencepiece(nb::module_& module) {
    bind_tokenizers_rules(module);
    nb::class_<Loaded>(module, "SentencePieceModel")
        .def("__init__", &load, nb::arg("data"), nb::arg("fairseq_ids"))
        .def_static("of_tokenizers", &load_tokenizers, nb::arg("pieces"), nb::arg("is_unigram"),
                    nb::arg("byte_fallback"), nb::arg("unk_surface"), nb::arg("strips_first_space"), nb::arg("rules"),
                    nb::arg("scores"), nb::arg("merges"))
        .def("__len__", [](const Loaded& loaded) { return loaded.file.pieces.size(); })
        .def("pieces", &pieces)
        .def("scores",
             [](const Loaded& loaded) {
                 return of_pieces<float>(loaded, [](const sentencepiece::Piece& piece) { return piece.score; });
             })
        .def("types",
             [](const Loaded& loaded) {
                 return of_pieces<std::uint8_t>(
                     loaded, [](const sentencepiece::Piece& piece) { return static_cast<std::uint8_t>(piece.type); });
             })
        .def("self_tests", &self_tests)
        .def("encode", &encode, nb::arg("data"), nb::arg("offsets"), nb::arg("continued"), nb::arg("threads"))
        .def("sample", &sample, nb::arg("data"), nb::arg("offsets"), nb::arg("continued"), nb::arg("threads"),
             nb::arg("dropout"), nb::arg("alpha"), nb::arg("nbest"), nb::arg("seed"), nb::arg("first_line"))
        .def("decode", &decode, nb::arg("values"), nb::arg("offsets"), nb::arg("threads"))
        .def_prop_ro(
            "numbering",
            [](const Loaded& loaded) { return nb::bytes(loaded.file.numbering.data(), loaded.file.numbering.size()); })
        .def_prop_ro("rest",
                     [](const Loaded& loaded) { return nb::bytes(loaded.file.rest.data(), loaded.file.rest.size()); })
        .def_prop_ro("not_covered", [](const Loaded& loaded) { return loaded.not_covered; })
        .def_prop_ro("kind", [](const Loaded& loaded) { return static_cast<int>(loaded.file.kind); })
        .def_prop_ro("unk_id",
                     [](const Loaded& loaded) { return loaded.find(loaded.file.unk_piece, PieceType::kUnknown); })
        .def_prop_ro("bos_id", [](const Loaded& loaded) { return loaded.control(loaded.file.bos_piece); })
        .def_prop_ro("eos_id", [](const Loaded& loaded) { return loaded.control(loaded.file.eos_piece); })
        .def_prop_ro("pad_id", [](const Loaded& loaded) { return loaded.control(loaded.file.pad_piece); });
    nb::class_<PieceTracer>(module, "SentencePieceTracer")
        .def("__init__", &load_tracer, nb::arg("data"), nb::arg("fairseq_ids"))
        .def("normalized", &normalized, nb::arg("data"), nb::arg("offsets"))
        .def("spans", &spans, nb::arg("data"), nb::arg("offsets"), nb::arg("values"), nb::arg("row_offsets"));
}

}  // namespace nmt_prep
