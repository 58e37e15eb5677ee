#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <utility>

#include "one_at_a_time.h"
#include "t2t/counts.h"
#include "t2t/model.h"
#include "t2t/trainer.h"
#include "text.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

using t2t::Candidate;
using t2t::Model;
using t2t::TokenCounter;
using t2t::Trainer;

void count_column(OneAtATime<TokenCounter>& counter, const ByteArray& data, const Int64Array& offsets,
                  std::size_t threads) {
    SignalPoll poll;
    GilRelease unlocked;
    counter.use()->add(text_view(data, offsets), threads, poll);
}

std::vector<std::pair<std::string, std::int64_t>> count_items(OneAtATime<TokenCounter>& held) {
    const auto counter = held.use();
    std::vector<std::pair<std::string, std::int64_t>> items;
    for (const TokenCount& entry : counter->merged().entries()) items.emplace_back(entry.token(), entry.count);
    return items;
}

auto counted(OneAtATime<TokenCounter>& counter) { return count_columns(counter.use()->merged()); }

void add_counted(OneAtATime<TokenCounter>& held, const ByteArray& data, const Int64Array& offsets,
                 const Int64Array& counts) {
    const auto counter = held.use();
    for_each_count(data, offsets, counts,
                   [&](std::string_view token, std::int64_t count) { counter->add_token(token, count); });
}

void make_trainer(OneAtATime<Trainer>* place, OneAtATime<TokenCounter>& counter,
                  const std::vector<std::string>& reserved, std::int64_t max_depth) {
    SignalPoll poll;
    GilRelease unlocked;
    const auto depth = max_depth < 0 || std::cmp_greater_equal(max_depth, t2t::kNone)
                           ? t2t::kNone
                           : static_cast<std::uint32_t>(max_depth);
    new (place) OneAtATime<Trainer>(counter.use()->merged(), reserved, depth, poll);
}

void check_count(std::int64_t min_count) {
    if (min_count < 1 || min_count == std::numeric_limits<std::int64_t>::max())
        throw nb::value_error("the minimum count is less than 1, or too large");
}

Candidate build(OneAtATime<Trainer>& trainer, std::int64_t min_count, int passes, std::size_t threads) {
    check_count(min_count);
    SignalPoll poll;
    GilRelease unlocked;
    return trainer.use()->build(min_count, passes, threads, poll);
}

std::size_t most_pieces(OneAtATime<Trainer>& trainer, std::int64_t min_count) {
    check_count(min_count);
    SignalPoll poll;
    GilRelease unlocked;
    return trainer.use()->most_pieces(min_count, poll);
}

auto encode(const Model& model, const ByteArray& data, const Int64Array& offsets, std::size_t threads) {
    SignalPoll poll;
    RaggedIds rows;
    {
        GilRelease unlocked;
        rows = model.encode(text_view(data, offsets), threads, poll);
    }
    return ragged_arrays(std::move(rows));
}

nb::list decode(const Model& model, const Int32Array& values, const Int64Array& offsets, std::size_t threads) {
    SignalPoll poll;
    Texts texts;
    {
        GilRelease unlocked;
        check_rows(offsets.data(), offsets.size(), values.size());
        texts = model.decode(values.data(), offsets.data(), offsets.size() - 1, threads, poll);
    }
    nb::list strings;
    for (std::size_t i = 0; i + 1 < texts.offsets.size(); ++i) {
        PyObject* const text = PyUnicode_DecodeUTF8(texts.bytes.data() + texts.offsets[i],
                                                    texts.offsets[i + 1] - texts.offsets[i], "surrogatepass");
        if (text == nullptr) throw nb::python_error();
        strings.append(nb::steal(text));
    }
    return strings;
}

bool point_is_alphanumeric(std::uint32_t point) {
    if (point > 0x10FFFF) throw nb::value_error("code points end at 0x10FFFF");
    return is_alphanumeric(point);
}

std::size_t invalid_utf8(const ByteArray& data) { return find_invalid_utf8(data.data(), data.size()); }

}  // namespace

void bind_t2t(nb::module_& module) {
    translate_text_errors();

    module.attr("UNICODE_VERSION") = nb::str(kUnicodeVersion);
    module.def("is_alphanumeric", &point_is_alphanumeric, nb::arg("point"));
    module.def("find_invalid_utf8", &invalid_utf8, nb::arg("data"));

    nb::class_<OneAtATime<TokenCounter>>(module, "T2TTokenCounter")
        .def(nb::init<>())
        .def("add", &count_column, nb::arg("data"), nb::arg("offsets"), nb::arg("threads"))
        .def("add_token", one_call(&TokenCounter::add_token), nb::arg("token"), nb::arg("count"))
        .def("add_counted", &add_counted, nb::arg("data"), nb::arg("offsets"), nb::arg("counts"))
        .def("columns", &counted)
        .def("characters", one_call(&TokenCounter::characters), nb::call_guard<GilRelease>())
        .def("items", &count_items);
    nb::class_<Candidate>(module, "T2TCandidate").def("__len__", [](const Candidate& candidate) {
        return candidate.pieces.size();
    });
    nb::class_<OneAtATime<Trainer>>(module, "T2TTrainer")
        .def("__init__", &make_trainer, nb::arg("counter"), nb::arg("reserved"), nb::arg("max_depth"))
        .def("build", &build, nb::arg("min_count"), nb::arg("passes"), nb::arg("threads"))
        .def("most_pieces", &most_pieces, nb::arg("min_count"))
        .def("pieces", one_call(&Trainer::pieces), nb::arg("candidate"));
    nb::class_<Model>(module, "T2TModel")
        .def(nb::init<std::vector<std::string>>(), nb::arg("pieces"))
        .def("__len__", &Model::size)
        .def("encode", &encode, nb::arg("data"), nb::arg("offsets"), nb::arg("threads"))
        .def("decode", &decode, nb::arg("values"), nb::arg("offsets"), nb::arg("threads"));
}

}  // namespace nmt_prep
