// Bindings of the Moses steps.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "moses/detokenizer.h"
#include "moses/step.h"
#include "moses/tokenizer.h"
#include "moses/truecaser.h"
#include "one_at_a_time.h"
#include "text.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

using Forms = std::vector<std::vector<std::string>>;
using CaseTrainer = OneAtATime<moses::TruecaserTrainer>;

// Returns the changed lines and their offsets, and the number of lines that each step altered.
auto apply_steps(const nb::tuple& steps, const ByteArray& data, const Int64Array& offsets, std::size_t threads) {
    std::vector<const moses::Step*> chain;
    for (const nb::handle step : steps) chain.push_back(&nb::cast<const moses::Step&>(step));
    const TextView text = text_view(data, offsets);
    SignalPoll poll;
    moses::SteppedText made;
    {
        const GilRelease unlocked;
        made = moses::apply_steps(chain, text, threads, poll);
    }
    return std::tuple(own_by_numpy(std::move(made.lines.bytes)), own_by_numpy(std::move(made.lines.offsets)),
                      own_by_numpy(std::move(made.altered)));
}

std::unique_ptr<moses::Step> simple_step(const std::string& name) {
    std::unique_ptr<moses::Step> step = moses::simple_step(name);
    if (step == nullptr) throw nb::value_error(("there is no step " + name).c_str());
    return step;
}

std::unique_ptr<moses::Step> tokenizer(std::string language, std::vector<std::pair<std::string, bool>> prefixes,
                                       bool aggressive, bool escape, bool skip_tags) {
    return std::make_unique<moses::Tokenizer>(
        moses::TokenizerOptions{std::move(language), std::move(prefixes), aggressive, escape, skip_tags});
}

std::unique_ptr<moses::Step> detokenizer(std::string language, bool upper) {
    return std::make_unique<moses::Detokenizer>(std::move(language), upper);
}

std::unique_ptr<moses::Step> truecaser(const Forms& forms, bool lower_first) {
    return std::make_unique<moses::Truecaser>(forms, lower_first);
}

void add_lines(CaseTrainer& trainer, const ByteArray& data, const Int64Array& offsets) {
    const auto use = trainer.use();
    const TextView text = text_view(data, offsets);
    SignalPoll poll;
    const GilRelease unlocked;
    use->add(text, poll);
}

}  // namespace

void bind_moses(nb::module_& module) {
    [[maybe_unused]] const nb::class_<moses::Step> step(module, "TextStep");
    module.def("apply_steps", apply_steps, nb::arg("steps"), nb::arg("data"), nb::arg("offsets"), nb::arg("threads"));
    module.def("simple_step", simple_step, nb::arg("name"));
    module.def("punctuation_step", moses::punctuation_step, nb::arg("moses"), nb::arg("language"));
    module.def("moses_tokenizer", tokenizer, nb::arg("language"), nb::arg("prefixes"), nb::arg("aggressive"),
               nb::arg("escape"), nb::arg("skip_tags"));
    module.def("moses_detokenizer", detokenizer, nb::arg("language"), nb::arg("upper"));
    module.def("truecaser", truecaser, nb::arg("forms"), nb::arg("lower_first"));
    nb::class_<CaseTrainer>(module, "TruecaserTrainer")
        .def(nb::init<bool>(), nb::arg("first_tokens"))
        .def("add", add_lines, nb::arg("data"), nb::arg("offsets"))
        .def("model", one_call(&moses::TruecaserTrainer::model));
}

}  // namespace nmt_prep
