#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fasttext/dictionary.h"
#include "fasttext/model.h"
#include "text.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

using fasttext::Contest;
using fasttext::Model;
using fasttext::Role;

void make_model(Model* place, const ByteArray& data) {
    GilRelease unlocked;
    new (place) Model(data.data(), data.size());
}

nb::list labels(const Model& model) {
    nb::list texts;
    for (const std::string_view label : model.labels()) texts.append(nb::bytes(label.data(), label.size()));
    return texts;
}

NumpyArray probabilities(const Model& model, const ByteArray& data, const Int64Array& offsets,
                         const std::vector<std::uint32_t>& asked, std::size_t threads) {
    const TextView text = text_view(data, offsets);
    for (const std::uint32_t label : asked)
        if (label >= model.labels().size()) throw nb::value_error("there is no such label");
    auto result = std::make_unique_for_overwrite<float[]>(text.lines * asked.size());
    SignalPoll poll;
    {
        GilRelease unlocked;
        model.probabilities(text, asked, result.get(), threads, poll);
    }
    return own_table_by_numpy<float>(std::move(result), text.lines, asked.size());
}

std::pair<NumpyArray, NumpyArray> top(const Model& model, const ByteArray& data, const Int64Array& offsets,
                                      std::size_t most, std::size_t threads) {
    const TextView text = text_view(data, offsets);
    if (most == 0) throw nb::value_error("at least one label must be asked for");
    most = std::min(most, model.labels().size());
    auto found = std::make_unique_for_overwrite<std::int32_t[]>(text.lines * most);
    auto result = std::make_unique_for_overwrite<float[]>(text.lines * most);
    SignalPoll poll;
    {
        GilRelease unlocked;
        model.top(text, most, found.get(), result.get(), threads, poll);
    }
    return {own_table_by_numpy<std::int32_t>(std::move(found), text.lines, most),
            own_table_by_numpy<float>(std::move(result), text.lines, most)};
}

// Returns own and rival probabilities, and the rival's label, of each line.
nb::tuple contest(const Model& model, const ByteArray& data, const Int64Array& offsets, const ByteArray& roles,
                  float least, std::size_t threads) {
    const TextView text = text_view(data, offsets);
    if (roles.size() != model.labels().size()) throw nb::value_error("there must be a role for each label");
    std::vector<Role> parts;
    for (std::size_t i = 0; i < roles.size(); ++i) {
        if (roles.data()[i] > static_cast<std::uint8_t>(Role::kRival)) throw nb::value_error("there is no such role");
        parts.push_back(static_cast<Role>(roles.data()[i]));
    }
    auto own = std::make_unique_for_overwrite<float[]>(text.lines);
    auto rival = std::make_unique_for_overwrite<float[]>(text.lines);
    auto label = std::make_unique_for_overwrite<std::int32_t[]>(text.lines);
    SignalPoll poll;
    {
        GilRelease unlocked;
        std::vector<Contest> results(text.lines);
        model.contest(text, parts, least, results.data(), threads, poll);
        for (std::size_t i = 0; i < text.lines; ++i) {
            own[i] = results[i].own;
            rival[i] = results[i].rival;
            label[i] = results[i].label;
        }
    }
    return nb::make_tuple(own_by_numpy(std::move(own), text.lines), own_by_numpy(std::move(rival), text.lines),
                          own_by_numpy(std::move(label), text.lines));
}

}  // namespace

void bind_fasttext(nb::module_& module) {
    nb::class_<Model>(module, "FastTextModel")
        .def("__init__", &make_model, nb::arg("data"), nb::keep_alive<1, 2>())
        .def_prop_ro("labels", &labels)
        .def("probabilities", &probabilities, nb::arg("data"), nb::arg("offsets"), nb::arg("labels"),
             nb::arg("threads"))
        .def("top", &top, nb::arg("data"), nb::arg("offsets"), nb::arg("most"), nb::arg("threads"))
        .def("contest", &contest, nb::arg("data"), nb::arg("offsets"), nb::arg("roles"), nb::arg("least"),
             nb::arg("threads"));
}

}  // namespace nmt_prep
