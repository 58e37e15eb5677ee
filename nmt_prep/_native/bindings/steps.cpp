// Bindings of the steps.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "clean/fixes.h"
#include "clean/step.h"
#include "moses/detokenizer.h"
#include "moses/simple_steps.h"
#include "moses/tokenizer.h"
#include "moses/truecaser.h"
#include "one_at_a_time.h"
#include "text.h"
#include "text/normalization.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

using Forms = std::vector<std::vector<std::string>>;
using CaseTrainer = OneAtATime<moses::TruecaserTrainer>;

// Returns the changed lines and their offsets, or no offsets if no line was altered; the number of lines that each step
// altered, and the first ones.
auto apply_steps(const nb::tuple& steps, const ByteArray& data, const Int64Array& offsets, std::size_t threads) {
    std::vector<const clean::Step*> chain;
    for (const nb::handle step : steps) chain.push_back(&nb::cast<const clean::Step&>(step));
    const TextView text = text_view(data, offsets);
    SignalPoll poll;
    clean::SteppedText made;
    {
        const GilRelease unlocked;
        made = clean::apply_steps(chain, text, threads, poll);
    }
    return std::tuple(own_by_numpy(std::move(made.lines.bytes)), own_by_numpy(std::move(made.lines.offsets)),
                      own_by_numpy(std::move(made.altered)), own_by_numpy(std::move(made.first)));
}

std::unique_ptr<clean::Step> simple_step(const std::string& name, const std::string& language) {
    std::unique_ptr<clean::Step> step = moses::simple_step(name, language);
    if (step == nullptr) throw nb::value_error(("there is no step " + name).c_str());
    return step;
}

std::unique_ptr<clean::Step> entities(clean::Entities texts) { return clean::html_entities_fix(std::move(texts)); }

std::unique_ptr<clean::Step> tokenizer(std::string language, std::vector<std::pair<std::string, bool>> prefixes,
                                       bool aggressive, bool escape, bool skip_tags) {
    return std::make_unique<moses::Tokenizer>(
        moses::TokenizerOptions{std::move(language), std::move(prefixes), aggressive, escape, skip_tags});
}

std::unique_ptr<clean::Step> detokenizer(std::string language, bool upper) {
    return std::make_unique<moses::Detokenizer>(std::move(language), upper);
}

std::unique_ptr<clean::Step> truecaser(const Forms& forms, bool lower_first) {
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

void bind_steps(nb::module_& module) {
    module.attr("NORMALIZATION_UNICODE_VERSION") = nb::str(kNormalizationVersion);
    [[maybe_unused]] const nb::class_<clean::Step> step(module, "TextStep");
    module.def("apply_steps", apply_steps, nb::arg("steps"), nb::arg("data"), nb::arg("offsets"), nb::arg("threads"));
    module.def("simple_step", simple_step, nb::arg("name"), nb::arg("language") = "");
    module.def("entities_step", entities, nb::arg("texts"));
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
