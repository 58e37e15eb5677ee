#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "clean/copy.h"
#include "clean/currency.h"
#include "clean/han.h"
#include "clean/html.h"
#include "clean/judge.h"
#include "clean/lengths.h"
#include "clean/lines.h"
#include "clean/links.h"
#include "clean/noise.h"
#include "clean/numbers.h"
#include "clean/numerals.h"
#include "clean/punctuation.h"
#include "clean/repetition.h"
#include "clean/scripts.h"
#include "clean/shares.h"
#include "text.h"
#include "text/exp_log.h"
#include "text/properties.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

using Values = NumpyArray;
using ValueTable = ArrayView<const double, nb::ndim<2>>;
using Flags = ArrayView<const bool>;

// Lines together with the arrays that hold their text.
struct HeldLines {
    HeldLines(const ByteArray& bytes, const Int64Array& bounds)
        : data(bytes), offsets(bounds), lines(checked(text_view(bytes, bounds))) {}

    static clean::Lines checked(const TextView& text) {
        const GilRelease unlocked;
        return clean::Lines(text);
    }

    ByteArray data;
    Int64Array offsets;
    clean::Lines lines;
};

// Calls kernel(values) without the GIL and returns the values, one for each line.
template <class Kernel>
Values values_of(std::size_t size, Kernel&& kernel) {
    auto values = std::make_unique<double[]>(size);
    {
        const GilRelease unlocked;
        kernel(values.get());
    }
    return own_by_numpy(std::move(values), size);
}

template <class Kernel>
Values line_values(const HeldLines& held, Kernel&& kernel) {
    return values_of(held.lines.size(), [&](double* out) { kernel(held.lines, out); });
}

template <class Kernel>
Values pair_values(const HeldLines& source, const HeldLines& target, Kernel&& kernel) {
    if (source.lines.size() != target.lines.size()) throw nb::value_error("the sides have different numbers of lines");
    return values_of(source.lines.size(), [&](double* out) { kernel(source.lines, target.lines, out); });
}

// Returns the position of a name in a list.
template <std::size_t kSize>
std::size_t choice(const std::array<std::string_view, kSize>& names, const std::string& name) {
    for (std::size_t i = 0; i < kSize; ++i)
        if (names[i] == name) return i;
    throw nb::value_error(("there is no choice " + name).c_str());
}

clean::Unit unit_of(const std::string& name) {
    constexpr std::array<std::string_view, 5> kNames{"char", "byte", "letter", "token", "word"};
    return static_cast<clean::Unit>(choice(kNames, name));
}

Values script_shares(const HeldLines& held, const std::vector<std::uint8_t>& scripts) {
    return line_values(held, [&](const clean::Lines& lines, double* out) {
        clean::script_shares(lines, scripts.data(), scripts.size(), out);
    });
}

Values repetitions(const HeldLines& held, std::size_t times, std::size_t min, std::size_t max) {
    if (times < 1 || min < 1 || min > max + 1)
        throw nb::value_error("a repetition needs 1 <= times and 1 <= min <= max");
    SignalPoll poll;
    return line_values(
        held, [&](const clean::Lines& lines, double* out) { clean::repetitions(lines, {times, min, max}, out, poll); });
}

// Returns the weights of each line's letters, and the shares of letters in the scripts.
std::pair<Values, Values> script_weights(const HeldLines& held, const std::vector<std::uint8_t>& scripts) {
    const std::size_t size = held.lines.size();
    auto shares = std::make_unique<double[]>(size);
    Values weights = values_of(size, [&](double* out) {
        clean::script_weights(held.lines, scripts.data(), scripts.size(), out, shares.get());
    });
    return {std::move(weights), own_by_numpy(std::move(shares), size)};
}

// Returns the numbers of characters of each line that are in Simplified or in Traditional Chinese only.
std::pair<Values, Values> han_counts(const HeldLines& held) {
    auto traditional = std::make_unique<double[]>(held.lines.size());
    Values simplified =
        line_values(held, [&](const clean::Lines& lines, double* out) { han_counts(lines, out, traditional.get()); });
    return {std::move(simplified), own_by_numpy(std::move(traditional), held.lines.size())};
}

auto judge(const ValueTable& values, const std::vector<std::tuple<double, double, bool, bool>>& bounds) {
    if (values.shape(0) != bounds.size()) throw nb::value_error("there must be bounds for each column of values");
    std::vector<clean::Bounds> columns;
    columns.reserve(bounds.size());
    for (const auto& [low, high, above, below] : bounds) columns.push_back({low, high, above, below});
    const std::size_t pairs = values.shape(1);
    auto pass = std::make_unique<std::uint8_t[]>(pairs);
    {
        const GilRelease unlocked;
        clean::judge(values.data(), pairs, columns, pass.get());
    }
    return own_by_numpy(std::move(pass), pairs);
}

auto histogram(const ValueTable& values, const std::vector<double>& edges, const Flags& kept) {
    if (edges.size() < 2) throw nb::value_error("a histogram needs two edges or more");
    for (std::size_t i = 1; i < edges.size(); ++i)
        if (!(edges[i - 1] < edges[i])) throw nb::value_error("the edges of a histogram must ascend");
    if (kept.size() != values.shape(1)) throw nb::value_error("there must be a flag for each pair");
    const std::size_t bins = edges.size() - 1;
    const std::size_t columns = values.shape(0);
    auto counts = std::make_unique<std::int64_t[]>(columns * 2 * bins);
    {
        const GilRelease unlocked;
        for (std::size_t column = 0; column < columns; ++column)
            clean::histogram(values.data() + column * kept.size(), kept.size(), edges,
                             reinterpret_cast<const std::uint8_t*>(kept.data()), counts.get() + column * 2 * bins);
    }
    return own_by_numpy(std::move(counts), columns * 2 * bins);
}

std::vector<std::pair<std::string, std::string>> script_names() {
    std::vector<std::pair<std::string, std::string>> names;
    names.reserve(kScripts);
    for (std::size_t i = 0; i < kScripts; ++i) names.emplace_back(kScriptNames[i][0], kScriptNames[i][1]);
    return names;
}

void bind_lines(nb::module_& module) {
    nb::class_<HeldLines>(module, "Lines")
        .def(nb::init<const ByteArray&, const Int64Array&>(), nb::arg("data"), nb::arg("offsets"))
        .def("__len__", [](const HeldLines& held) { return held.lines.size(); });
}

void bind_line_values(nb::module_& module) {
    using Lines = clean::Lines;
    module.def(
        "line_lengths",
        [](const HeldLines& held, const std::string& unit) {
            return line_values(
                held, [unit = unit_of(unit)](const Lines& lines, double* out) { clean::lengths(lines, unit, out); });
        },
        nb::arg("lines"), nb::arg("unit"));
    const auto plain = [&module](const char* name, void (*kernel)(const Lines&, double*)) {
        module.def(name, [kernel](const HeldLines& held) { return line_values(held, kernel); }, nb::arg("lines"));
    };
    plain("longest_tokens", &clean::longest_tokens);
    plain("longest_words", &clean::longest_words);
    plain("average_tokens", &clean::average_tokens);
    plain("letter_word_shares", &clean::letter_word_shares);
    plain("word_character_shares", &clean::word_character_shares);
    plain("number_shares", &clean::number_shares);
    plain("possible_capitals", &clean::possible_capitals);
    plain("sentence_ends", &clean::sentence_ends);
    plain("address_shares", &clean::address_shares);
    plain("unbalanced_brackets", &clean::unbalanced_brackets);
    module.def(
        "alphabetic_shares",
        [](const HeldLines& held, bool spaces) {
            return line_values(
                held, [spaces](const Lines& lines, double* out) { clean::alphabetic_shares(lines, spaces, out); });
        },
        nb::arg("lines"), nb::arg("spaces"));
    module.def("script_shares", &script_shares, nb::arg("lines"), nb::arg("scripts"));
    module.def("han_counts", &han_counts, nb::arg("lines"));
    module.def("script_weights", &script_weights, nb::arg("lines"), nb::arg("scripts"));
    module.def(
        "html_tags",
        [](const HeldLines& held, bool known) {
            return line_values(held, [known](const Lines& lines, double* out) {
                clean::html_tags(lines, known ? clean::Tags::kKnown : clean::Tags::kAny, out);
            });
        },
        nb::arg("lines"), nb::arg("known"));
    module.def("repetitions", &repetitions, nb::arg("lines"), nb::arg("times"), nb::arg("shortest"),
               nb::arg("longest"));
    module.def(
        "noise_kinds",
        [](const HeldLines& held, std::uint8_t wanted) {
            return line_values(held,
                               [wanted](const Lines& lines, double* out) { clean::noise_kinds(lines, wanted, out); });
        },
        nb::arg("lines"), nb::arg("wanted"));
}

void bind_pair_options(nb::module_& module) {
    using Lines = clean::Lines;
    module.def(
        "equal_letters",
        [](const HeldLines& source, const HeldLines& target, std::size_t min_letters) {
            return pair_values(source, target, [=](const Lines& a, const Lines& b, double* out) {
                clean::equal_letters(a, b, min_letters, out);
            });
        },
        nb::arg("source"), nb::arg("target"), nb::arg("min_letters"));
    module.def(
        "edit_similarity",
        [](const HeldLines& source, const HeldLines& target, bool tokens) {
            SignalPoll poll;
            return pair_values(source, target, [&](const Lines& a, const Lines& b, double* out) {
                clean::edit_similarity(a, b, tokens, out, poll);
            });
        },
        nb::arg("source"), nb::arg("target"), nb::arg("tokens"));
    module.def(
        "currency_similarity",
        [](const HeldLines& source, const HeldLines& target, bool missing) {
            return pair_values(source, target, [=](const Lines& a, const Lines& b, double* out) {
                clean::currency_similarity(a, b, missing, out);
            });
        },
        nb::arg("source"), nb::arg("target"), nb::arg("missing"));
    module.def(
        "number_similarity",
        [](const HeldLines& source, const HeldLines& target, std::uint64_t small) {
            return pair_values(source, target, [=](const Lines& a, const Lines& b, double* out) {
                clean::number_similarity(a, b, small, out);
            });
        },
        nb::arg("source"), nb::arg("target"), nb::arg("small"));
}

void bind_pair_values(nb::module_& module) {
    const auto plain = [&module](const char* name, void (*kernel)(const clean::Lines&, const clean::Lines&, double*)) {
        module.def(
            name,
            [kernel](const HeldLines& source, const HeldLines& target) { return pair_values(source, target, kernel); },
            nb::arg("source"), nb::arg("target"));
    };
    plain("terminal_punctuation", &clean::terminal_punctuation);
    plain("url_similarity", &clean::url_similarity);
    plain("bracket_differences", &clean::bracket_differences);
    using Polled = void (*)(const clean::Lines&, const clean::Lines&, double*, const Poll&);
    const auto polled = [&module](const char* name, Polled kernel) {
        module.def(
            name,
            [kernel](const HeldLines& source, const HeldLines& target) {
                SignalPoll poll;
                return pair_values(source, target, [&](const clean::Lines& a, const clean::Lines& b, double* out) {
                    kernel(a, b, out, poll);
                });
            },
            nb::arg("source"), nb::arg("target"));
    };
    polled("numerals", &clean::numerals);
    polled("common_substring", &clean::common_substring);
    bind_pair_options(module);
}

}  // namespace

void bind_clean(nb::module_& module) {
    bind_lines(module);
    bind_line_values(module);
    bind_pair_values(module);
    module.def(
        "natural_logarithms",
        [](const DoubleArray& values) {
            return values_of(values.size(), [&](double* out) {
                std::transform(values.data(), values.data() + values.size(), out, [](double x) { return log(x); });
            });
        },
        nb::arg("values"));
    module.def("judge", &judge, nb::arg("values"), nb::arg("bounds"));
    module.def("value_histogram", &histogram, nb::arg("values"), nb::arg("edges"), nb::arg("kept"));
    module.def("script_names", &script_names);
    module.def("script_of_name", [](const std::string& name) { return clean::script_of_name(name); }, nb::arg("name"));
    module.attr("PROPERTIES_UNICODE_VERSION") = nb::str(kPropertiesUnicodeVersion);
}

}  // namespace nmt_prep
