#include "clean/fixes.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>

#include "clean/fixer.h"
#include "text.h"
#include "text/normalization.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

std::unique_ptr<clean::Fix> make_fix(const std::string& name, const std::string& mode, const std::string& language,
                                     const clean::Entities& entities) {
    if (name == "mojibake") return clean::mojibake_fix(language);
    if (name == "html_entities") return clean::html_entities_fix(entities);
    if (name == "control") return clean::control_fix();
    if (name == "soft_hyphens") return clean::soft_hyphens_fix();
    if (name == "bidi_marks") return clean::bidi_marks_fix();
    if (name == "nfc") return clean::nfc_fix();
    if (name == "whitespace") return clean::whitespace_fix(mode == "keep_no_break");
    if (name == "ligatures") return clean::ligatures_fix();
    if (name == "width") return clean::width_fix();
    if (name != "punctuation") throw nb::value_error(("there is no fix " + name).c_str());
    return clean::punctuation_fix(mode == "moses" ? clean::Punctuation::kMoses : clean::Punctuation::kSacremoses,
                                  language);
}

}  // namespace

void bind_fixes(nb::module_& module) {
    module.attr("NORMALIZATION_UNICODE_VERSION") = nb::str(kNormalizationVersion);
    nb::class_<clean::Fixer>(module, "TextFixer")
        .def(
            "__init__",
            [](clean::Fixer* place, const std::vector<std::pair<std::string, std::string>>& fixes,
               const std::string& language, const clean::Entities& entities) {
                std::vector<std::unique_ptr<clean::Fix>> made;
                made.reserve(fixes.size());
                for (const auto& [name, mode] : fixes) made.push_back(make_fix(name, mode, language, entities));
                new (place) clean::Fixer(std::move(made));
            },
            nb::arg("fixes"), nb::arg("language"), nb::arg("entities"))
        .def(
            "apply",
            [](const clean::Fixer& fixer, const ByteArray& data, const Int64Array& offsets) {
                clean::FixedText fixed;
                {
                    const GilRelease unlocked;
                    fixed = fixer.apply(text_view(data, offsets));
                }
                return nb::make_tuple(own_by_numpy(std::move(fixed.bytes)), own_by_numpy(std::move(fixed.offsets)),
                                      own_by_numpy(std::move(fixed.altered)));
            },
            nb::arg("data"), nb::arg("offsets"));
}

}  // namespace nmt_prep
