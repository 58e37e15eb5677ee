// Bindings of modifiers: pairs made of parts of others, and typos.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.h"
#include "modify/labels.h"
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
        const nb::gil_scoped_release unlocked;
        made = modify::rewrite_pairs(left, right, {{links.data(), links.size()}, {offsets.data(), offsets.size()}},
                                     spaces);
    }
    return std::tuple(own_by_numpy(std::move(made.source.data)), own_by_numpy(std::move(made.source.offsets)),
                      own_by_numpy(std::move(made.target.data)), own_by_numpy(std::move(made.target.offsets)),
                      own_by_numpy(std::move(made.links.links)), own_by_numpy(std::move(made.links.offsets)));
}

using KeyArray = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using TextArrays = std::tuple<ByteArray, Int64Array>;

// Returns lines and offsets, and those of the links, which are empty without links. A kind of typo is its number.
auto type_lines(const TextArrays& lines, const std::optional<TextArrays>& links, const KeyArray& keys,
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
        const nb::gil_scoped_release unlocked;
        made = modify::type_lines(text, linked, {keys.data(), keys.size()}, kinds, spaces);
    }
    return std::tuple(own_by_numpy(std::move(made.text.data)), own_by_numpy(std::move(made.text.offsets)),
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
    module.attr("TYPOS") = typo_names();
}

}  // namespace nmt_prep
