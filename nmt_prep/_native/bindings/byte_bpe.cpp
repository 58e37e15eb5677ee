#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <string_view>
#include <utility>

#include "bpe/last_merges.h"
#include "bpe/trainer.h"
#include "byte_bpe/counts.h"
#include "byte_bpe/model.h"
#include "byte_bpe/ranks.h"
#include "byte_bpe/splitter.h"
#include "one_at_a_time.h"
#include "text.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

using bpe::PairRule;
using byte_bpe::Model;
using byte_bpe::Splitter;
using byte_bpe::WordCounter;

// Converts merges from Python: left, right and merged id of each in turn.
std::vector<PairRule> read_merges(const Int32Array& flat, std::size_t tokens) {
    if (flat.size() % 3 != 0) throw nb::value_error("merges must have three ids each");
    if (flat.size() / 3 > bpe::PairTable::kMaxPairs) throw nb::value_error("there are too many merges");
    std::vector<PairRule> merges;
    merges.reserve(flat.size() / 3);
    for (std::size_t i = 0; i < flat.size(); i += 3) {
        const PairRule rule{flat.data()[i], flat.data()[i + 1], flat.data()[i + 2]};
        for (const std::int32_t id : {rule.left, rule.right, rule.merged})
            if (id < 0 || std::cmp_greater_equal(id, tokens))
                throw nb::value_error("a merge refers to an unknown token id");
        merges.push_back(rule);
    }
    return merges;
}

template <class Rules>
NumpyArray merges_array(const Rules& merges) {
    auto flat = std::make_unique_for_overwrite<std::int32_t[]>(3 * merges.size());
    std::size_t at = 0;
    for (const auto& rule : merges)
        for (const std::int32_t id : {rule.left, rule.right, rule.merged}) flat[at++] = id;
    return own_by_numpy(std::move(flat), at);
}

std::vector<std::string> read_tokens(const std::vector<nb::bytes>& tokens) {
    std::vector<std::string> strings;
    strings.reserve(tokens.size());
    for (const nb::bytes& token : tokens) strings.emplace_back(token.c_str(), token.size());
    return strings;
}

void make_model(Model* place, const std::vector<nb::bytes>& tokens,
                const std::vector<std::pair<std::int32_t, nb::bytes>>& specials, const Int32Array& merges,
                bool whole_words) {
    std::vector<std::pair<std::int32_t, std::string>> special_texts;
    for (const auto& [id, text] : specials) {
        if (id < 0 || static_cast<std::size_t>(id) >= tokens.size())
            throw nb::value_error("a special token has an unknown id");
        special_texts.emplace_back(id, std::string(text.c_str(), text.size()));
    }
    std::vector<std::string> strings = read_tokens(tokens);
    std::vector<PairRule> rules = read_merges(merges, tokens.size());
    GilRelease unlocked;
    new (place) Model(std::move(strings), special_texts, rules, whole_words);
}

auto encode(const Model& model, const ByteArray& data, const Int64Array& offsets, const Splitter& splitter,
            std::size_t threads, double dropout, std::uint64_t seed) {
    SignalPoll poll;
    RaggedIds rows;
    {
        GilRelease unlocked;
        rows = model.encode(text_view(data, offsets), splitter, threads, {dropout, seed}, poll);
    }
    return ragged_arrays(std::move(rows));
}

Texts decode(const Model& model, const Int32Array& values, const Int64Array& offsets, std::size_t threads) {
    SignalPoll poll;
    GilRelease unlocked;
    check_rows(offsets.data(), offsets.size(), values.size());
    return model.decode(values.data(), offsets.data(), offsets.size() - 1, threads, poll);
}

// Decodes rows to texts; invalid UTF-8 becomes U+FFFD if `replace`, else raises EncodeError.
nb::list decode_texts(const Model& model, const Int32Array& values, const Int64Array& offsets, std::size_t threads,
                      bool replace) {
    const Texts texts = decode(model, values, offsets, threads);
    nb::list strings;
    for (std::size_t row = 0; row + 1 < texts.offsets.size(); ++row) {
        const char* const bytes = texts.bytes.data() + texts.offsets[row];
        const auto size = static_cast<std::size_t>(texts.offsets[row + 1] - texts.offsets[row]);
        PyObject* const text =
            PyUnicode_DecodeUTF8(bytes, static_cast<Py_ssize_t>(size), replace ? "replace" : "strict");
        if (text == nullptr) {
            if (!PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) throw nb::python_error();
            PyErr_Clear();
            const std::size_t at = find_invalid_utf8(reinterpret_cast<const std::uint8_t*>(bytes), size);
            throw EncodeError("row " + std::to_string(row) + ": the decoded bytes are not UTF-8 from byte " +
                              std::to_string(at) + " on; decode with errors=\"replace\", or use decode_bytes");
        }
        strings.append(nb::steal(text));
    }
    return strings;
}

nb::list decode_bytes(const Model& model, const Int32Array& values, const Int64Array& offsets, std::size_t threads) {
    const Texts texts = decode(model, values, offsets, threads);
    nb::list rows;
    for (std::size_t row = 0; row + 1 < texts.offsets.size(); ++row)
        rows.append(nb::bytes(texts.bytes.data() + texts.offsets[row],
                              static_cast<std::size_t>(texts.offsets[row + 1] - texts.offsets[row])));
    return rows;
}

NumpyArray rank_merges(const std::vector<nb::bytes>& tokens) {
    const std::vector<std::string> strings = read_tokens(tokens);
    SignalPoll poll;
    std::vector<PairRule> merges;
    {
        GilRelease unlocked;
        merges = byte_bpe::merges_of_ranks(strings, poll);
    }
    return merges_array(merges);
}

// The last merge on the way to each text, given the symbols that each begins with. `merges`: all merges in order of
// rank; or none, and `ranks` has the rank of each text, and any two symbols that spell it merge.
NumpyArray last_merges(const Int32Array& symbols, const Int64Array& offsets, const Int64Array& ranks,
                       const Int32Array& merges) {
    check_rows(offsets.data(), offsets.size(), symbols.size());
    const std::size_t texts = offsets.size() - 1;
    constexpr std::size_t kMost = bpe::PairTable::kMaxSymbols;
    if (texts > kMost || (ranks.size() != 0 && ranks.size() != texts))
        throw nb::value_error("there are too many texts");
    for (std::size_t i = 0; i < symbols.size(); ++i)
        if (std::cmp_greater_equal(symbols.data()[i], kMost)) throw nb::value_error("a symbol is too large");
    for (std::size_t i = 0; i < ranks.size(); ++i)
        if (ranks.data()[i] < 0 || std::cmp_greater(ranks.data()[i], kMost))
            throw nb::value_error("a rank is too large");
    const std::vector<PairRule> rules = read_merges(merges, kMost);
    SignalPoll poll;
    std::vector<PairRule> found;
    {
        GilRelease unlocked;
        bpe::PairTable all(rules.size());
        for (const PairRule& rule : rules) all.add(rule.left, rule.right, rule.merged);
        const auto merge_of = [&](std::int32_t left, std::int32_t right, std::int32_t id) {
            if (ranks.size() == 0) return all(left, right);
            return bpe::make_merge(static_cast<std::uint32_t>(ranks.data()[id]), id);
        };
        const bpe::SpelledTexts spelled{{symbols.data(), symbols.size()}, {offsets.data(), offsets.size()}};
        found = bpe::last_merges(spelled, merge_of, poll);
    }
    return merges_array(found);
}

// Learns merges of words that are rows of symbols, the most frequent pair first. `texts`: those of the symbols;
// `forbidden`: texts that no merge may make. Returns left, right and merged symbol of each.
NumpyArray learn_merges(const std::vector<nb::bytes>& texts, const Int32Array& values, const Int64Array& offsets,
                        const Int64Array& counts, const std::vector<nb::bytes>& forbidden, std::size_t merges,
                        std::uint64_t min_frequency, std::size_t threads) {
    check_rows(offsets.data(), offsets.size(), values.size());
    if (counts.size() + 1 != offsets.size()) throw nb::value_error("there must be a count for each word");
    for (std::size_t i = 0; i < values.size(); ++i)
        if (values.data()[i] < 0 || std::cmp_greater_equal(values.data()[i], texts.size()))
            throw nb::value_error("a word has an unknown symbol");
    for (std::size_t i = 0; i < counts.size(); ++i)
        if (counts.data()[i] < 1) throw nb::value_error("counts must be 1 or more");
    std::vector<std::string> symbols = read_tokens(texts);
    const std::vector<std::string> never = read_tokens(forbidden);
    SignalPoll poll;
    std::vector<bpe::LearntMerge> learnt;
    {
        GilRelease unlocked;
        const std::size_t size = symbols.size() + merges;
        bpe::Trainer trainer(std::move(symbols), {never.begin(), never.end()}, bpe::Ties::kLowKeys);
        for (std::size_t i = 0; i < counts.size(); ++i) {
            const auto begin = static_cast<std::size_t>(offsets.data()[i]);
            const auto end = static_cast<std::size_t>(offsets.data()[i + 1]);
            trainer.add_word({values.data() + begin, end - begin}, static_cast<std::uint64_t>(counts.data()[i]));
        }
        learnt = trainer.learn(size, min_frequency, threads, [&](std::size_t) { poll(); });
    }
    return merges_array(learnt);
}

void count_column(OneAtATime<WordCounter>& counter, const ByteArray& data, const Int64Array& offsets,
                  const Splitter& splitter, std::size_t threads) {
    SignalPoll poll;
    GilRelease unlocked;
    counter.use()->add(text_view(data, offsets), splitter, threads, poll);
}

auto counted(OneAtATime<WordCounter>& counter) { return count_columns(counter.use()->words()); }

void add_counted(OneAtATime<WordCounter>& held, const ByteArray& data, const Int64Array& offsets,
                 const Int64Array& counts) {
    const auto counter = held.use();
    for_each_count(data, offsets, counts,
                   [&](std::string_view word, std::int64_t count) { counter->add_word(word, count); });
}

// Bytes of all distinct pretokens, plus one per pretoken; the memory of training is proportional to it.
std::int64_t places(OneAtATime<WordCounter>& held) {
    const auto counter = held.use();
    return counter->words().bytes() + static_cast<std::int64_t>(counter->words().entries().size());
}

// (tokens by id, merges). `symbols`: tokens before any merge, empty for specials; tokens of one byte are the alphabet.
std::pair<std::vector<nb::bytes>, NumpyArray> train(OneAtATime<WordCounter>& held,
                                                    const std::vector<nb::bytes>& symbols,
                                                    const std::vector<nb::bytes>& forbidden, std::size_t size,
                                                    std::uint64_t min_frequency, std::size_t threads,
                                                    const nb::callable& progress) {
    const auto counter = held.use();
    std::array<std::int32_t, 256> alphabet;
    alphabet.fill(-1);
    std::vector<std::string> texts = read_tokens(symbols);
    for (std::size_t id = 0; id < texts.size(); ++id)
        if (texts[id].size() == 1) alphabet[static_cast<std::uint8_t>(texts[id][0])] = static_cast<std::int32_t>(id);
    const std::vector<std::string> never = read_tokens(forbidden);

    SignalPoll poll;
    const auto report = [&](std::size_t found) {
        poll();
        const GilAcquire locked;
        progress(found);
    };
    std::vector<bpe::LearntMerge> merges;
    {
        GilRelease unlocked;
        bpe::Trainer trainer(std::move(texts), {never.begin(), never.end()}, bpe::Ties::kLowKeys);
        std::vector<std::int32_t> word;
        for (const TokenCount& entry : counter->words().entries()) {
            word.clear();
            for (const char byte : entry.token())
                if (const std::int32_t id = alphabet[static_cast<std::uint8_t>(byte)]; id >= 0) word.push_back(id);
            trainer.add_word(word, static_cast<std::uint64_t>(entry.count));
        }
        merges = trainer.learn(size, min_frequency, threads, report);
        texts = trainer.texts();
    }
    std::vector<nb::bytes> tokens;
    tokens.reserve(texts.size());
    for (const std::string& text : texts) tokens.emplace_back(text.data(), text.size());
    return {std::move(tokens), merges_array(merges)};
}

}  // namespace

void bind_byte_bpe(nb::module_& module) {
    module.def("byte_bpe_rank_merges", &rank_merges, nb::arg("tokens"));
    module.def("bpe_last_merges", &last_merges, nb::arg("symbols"), nb::arg("offsets"), nb::arg("ranks"),
               nb::arg("merges"));
    module.def("bpe_learn_merges", &learn_merges, nb::arg("texts"), nb::arg("values"), nb::arg("offsets"),
               nb::arg("counts"), nb::arg("forbidden"), nb::arg("merges"), nb::arg("min_frequency"),
               nb::arg("threads"));

    nb::class_<OneAtATime<WordCounter>>(module, "ByteBPEWordCounter")
        .def(nb::init<>())
        .def("add", &count_column, nb::arg("data"), nb::arg("offsets"), nb::arg("splitter"), nb::arg("threads"))
        .def("add_counted", &add_counted, nb::arg("data"), nb::arg("offsets"), nb::arg("counts"))
        .def("columns", &counted)
        .def("places", &places)
        .def("train", &train, nb::arg("symbols"), nb::arg("forbidden"), nb::arg("size"), nb::arg("min_frequency"),
             nb::arg("threads"), nb::arg("progress"));
    nb::class_<Model>(module, "ByteBPEModel")
        .def("__init__", &make_model, nb::arg("tokens"), nb::arg("specials"), nb::arg("merges"), nb::arg("whole_words"))
        .def("encode", &encode, nb::arg("data"), nb::arg("offsets"), nb::arg("splitter"), nb::arg("threads"),
             nb::arg("dropout"), nb::arg("seed"))
        .def("decode", &decode_texts, nb::arg("values"), nb::arg("offsets"), nb::arg("threads"), nb::arg("replace"))
        .def("decode_bytes", &decode_bytes, nb::arg("values"), nb::arg("offsets"), nb::arg("threads"))
        .def("reachable", &Model::reachable);
}

}  // namespace nmt_prep
