#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "byte_bpe/splitter.h"
#include "pattern/scanner.h"
#include "text.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

using byte_bpe::NameFinder;
using byte_bpe::Splitter;
using pattern::Scanner;

// Returns null for an expression that is not recognized.
std::shared_ptr<Scanner> make_scanner(std::string_view expression, bool of_tiktoken, bool keep_unmatched) {
    const GilRelease unlocked;
    std::optional<Scanner> scanner =
        Scanner::of(expression, of_tiktoken ? pattern::Syntax::kTiktoken : pattern::Syntax::kTokenizers,
                    keep_unmatched ? pattern::Unmatched::kKept : pattern::Unmatched::kDropped);
    return scanner ? std::make_shared<Scanner>(std::move(*scanner)) : nullptr;
}

NameFinder::Names read_names(const std::vector<std::pair<nb::bytes, std::int32_t>>& given) {
    NameFinder::Names names;
    for (const auto& [name, id] : given) {
        if (name.size() == 0) throw nb::value_error("the name of an added token is empty");
        names.emplace_back(std::string(name.c_str(), name.size()), id);
    }
    return names;
}

void make_splitter(Splitter* place, const std::vector<std::shared_ptr<Scanner>>& scanners, bool prefix_space, bool nfc,
                   const std::vector<std::pair<nb::bytes, std::int32_t>>& before,
                   const std::vector<std::pair<nb::bytes, std::int32_t>>& after) {
    if (std::ranges::count(scanners, nullptr) > 0) throw nb::value_error("a scanner is missing");
    new (place)
        Splitter({read_names(before), nfc, read_names(after), prefix_space, {scanners.begin(), scanners.end()}});
}

// Returns the ends of the pretokens of one part of a line.
std::vector<std::size_t> pretoken_ends(const Splitter& splitter, const ByteArray& line) {
    if (find_invalid_utf8(line.data(), line.size()) != line.size()) throw InvalidTextError("the line is not UTF-8");
    std::vector<std::size_t> ends;
    splitter.for_each_pretoken(line.data(), line.size(), [&](const std::uint8_t* word, std::size_t size) {
        ends.push_back(static_cast<std::size_t>(word - line.data()) + size);
    });
    return ends;
}

}  // namespace

void bind_byte_bpe_split(nb::module_& module) {
    module.def("byte_bpe_scanner", &make_scanner, nb::arg("expression"), nb::arg("of_tiktoken"),
               nb::arg("keep_unmatched"));
    [[maybe_unused]] const nb::class_<Scanner> scanner(module, "ByteBPEScanner");
    nb::class_<Splitter>(module, "ByteBPESplitter")
        .def("__init__", &make_splitter, nb::arg("scanners"), nb::arg("prefix_space"), nb::arg("nfc"),
             nb::arg("before"), nb::arg("after"))
        .def("pretoken_ends", &pretoken_ends, nb::arg("line"));
}

}  // namespace nmt_prep
