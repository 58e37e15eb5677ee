// Bindings of modifiers: pairs made from parts of other pairs, typos, titles and tags.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.h"
#include "modify/labels.h"
#include "modify/tags.h"
#include "modify/title.h"
#include "modify/typos.h"
#include "text.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

// Lines and offsets; begins, ends, labels and offsets of parts; inserted text.
using SideArrays = std::tuple<ByteArray, Int64Array, Int32Array, Int32Array, Int32Array, Int64Array, ByteArray>;

modify::PartColumn part_column(const SideArrays& side) {
    const auto& [data, lines, begins, ends, labels, offsets, inserted] = side;
    return {text_view(data, lines),           {begins.data(), begins.size()},
            {ends.data(), ends.size()},       {labels.data(), labels.size()},
            {offsets.data(), offsets.size()}, {reinterpret_cast<const char*>(inserted.data()), inserted.size()}};
}

// Returns lines and offsets of the new source and target, and their links and offsets.
auto rewrite_pairs(const SideArrays& source, const SideArrays& target, const Int32Array& links,
                   const Int64Array& offsets, bool spaces) {
    const modify::PartColumn left = part_column(source), right = part_column(target);
    modify::RewrittenPairs made;
    {
        const GilRelease unlocked;
        made = modify::rewrite_pairs(left, right, {{links.data(), links.size()}, {offsets.data(), offsets.size()}},
                                     spaces);
    }
    return std::tuple(own_by_numpy(std::move(made.source.data)), own_by_numpy(std::move(made.source.offsets)),
                      own_by_numpy(std::move(made.target.data)), own_by_numpy(std::move(made.target.offsets)),
                      own_by_numpy(std::move(made.links.links)), own_by_numpy(std::move(made.links.offsets)));
}

using TextArrays = std::tuple<ByteArray, Int64Array>;

// Returns the lines and their offsets, and the links and their offsets, which are empty without links. A kind of typo
// is given by its number.
auto type_lines(const TextArrays& lines, const std::optional<TextArrays>& links, const UInt64Array& keys,
                const std::vector<std::pair<std::size_t, double>>& chances, bool spaces) {
    const TextView text = text_view(std::get<0>(lines), std::get<1>(lines));
    std::optional<TextView> linked;
    if (links) linked = text_view(std::get<0>(*links), std::get<1>(*links));
    std::vector<modify::TypoChance> kinds;
    for (const auto& [kind, probability] : chances) {
        if (kind >= modify::kTypos.size()) throw nb::value_error("there is no such kind of typo");
        kinds.push_back({static_cast<modify::Typo>(kind), probability});
    }
    modify::TypedLines made;
    {
        const GilRelease unlocked;
        made = modify::type_lines(text, linked, {keys.data(), keys.size()}, kinds, spaces);
    }
    return std::tuple(own_by_numpy(std::move(made.text.data)), own_by_numpy(std::move(made.text.offsets)),
                      own_by_numpy(std::move(made.links.data)), own_by_numpy(std::move(made.links.offsets)));
}

auto title_lines(const ByteArray& data, const Int64Array& offsets) {
    const TextView text = text_view(data, offsets);
    align::OwnedText made;
    {
        const GilRelease unlocked;
        made = modify::title_lines(text);
    }
    return std::tuple(own_by_numpy(std::move(made.data)), own_by_numpy(std::move(made.offsets)));
}

// Returns lines and offsets of sources, targets and links. `form` has the three texts of the form; `ranges` are ranges
// of characters.
auto tag_lines(const TextArrays& source, const TextArrays& target, const TextArrays& links, const UInt64Array& keys,
               double probability, const std::tuple<double, double, double>& shares,
               const std::tuple<std::string, std::string, std::string>& form, bool source_first,
               std::pair<bool, bool> is_icu, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& ranges,
               bool spaces) {
    const auto view = [](const TextArrays& lines) { return text_view(std::get<0>(lines), std::get<1>(lines)); };
    const modify::LinkedLines lines{view(source), view(target), view(links)};
    modify::TagOptions options{probability,
                               {std::get<0>(shares), std::get<1>(shares), std::get<2>(shares)},
                               {std::get<0>(form), std::get<1>(form), std::get<2>(form)},
                               source_first,
                               {is_icu.first, is_icu.second},
                               {},
                               spaces};
    for (const auto& [first, end] : ranges) {
        if (first >= end || end > 0x110000 || (first < 0xE000 && end > 0xD800))
            throw nb::value_error("a range has no characters, or surrogates");
        options.ranges.emplace_back(first, end);
    }
    modify::TaggedLines made;
    {
        const GilRelease unlocked;
        made = modify::tag_lines(lines, {keys.data(), keys.size()}, options);
    }
    return std::tuple(own_by_numpy(std::move(made.source.data)), own_by_numpy(std::move(made.source.offsets)),
                      own_by_numpy(std::move(made.target.data)), own_by_numpy(std::move(made.target.offsets)),
                      own_by_numpy(std::move(made.links.data)), own_by_numpy(std::move(made.links.offsets)));
}

nb::tuple typo_names() {
    nb::list names;
    for (const std::string_view name : modify::kTypos) names.append(nb::str(name.data(), name.size()));
    return nb::tuple(names);
}

}  // namespace

void bind_modify(nb::module_& module) {
    module.def("rewrite_pairs", rewrite_pairs, nb::arg("source"), nb::arg("target"), nb::arg("links"),
               nb::arg("offsets"), nb::arg("spaces"));
    module.def("type_lines", type_lines, nb::arg("lines"), nb::arg("links").none(), nb::arg("keys"), nb::arg("chances"),
               nb::arg("spaces"));
    module.def("title_lines", title_lines, nb::arg("data"), nb::arg("offsets"));
    module.def("tag_lines", tag_lines, nb::arg("source"), nb::arg("target"), nb::arg("links"), nb::arg("keys"),
               nb::arg("probability"), nb::arg("shares"), nb::arg("form"), nb::arg("source_first"), nb::arg("is_icu"),
               nb::arg("ranges"), nb::arg("spaces"));
    module.attr("TYPOS") = typo_names();
}

}  // namespace nmt_prep
