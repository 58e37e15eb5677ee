#include "adequacy/texts.h"

#include <algorithm>
#include <cmath>

#include "adequacy/sides.h"
#include "text/exp_log.h"

namespace nmt_prep::adequacy {
namespace {

using align::MarkKind;

// The number of equal numbers in two ascending sequences.
std::size_t common(const std::vector<std::uint32_t>& first, const std::vector<std::uint32_t>& second) {
    std::size_t both = 0;
    for (auto a = first.begin(), b = second.begin(); a != first.end() && b != second.end();) {
        if (*a == *b) {
            ++both;
            ++a;
            ++b;
        } else if (*a < *b) {
            ++a;
        } else {
            ++b;
        }
    }
    return both;
}

}  // namespace

void TextJudge::Sums::fill(const SideMarks& side) {
    kinds.fill(0);
    characters = 0;
    end = MarkKind::kWord;
    numbers.clear();
    for (std::size_t i = 0; i < side.size; ++i) {
        const MarkKind kind = align::kind_of_mark(side.marks[i]);
        kinds[static_cast<std::size_t>(kind)] += 1;
        characters += align::characters_of_mark(side.marks[i]);
        if (kind == MarkKind::kNumber) numbers.push_back(align::digits_of_mark(side.marks[i]));
        if (kind != MarkKind::kQuote && kind != MarkKind::kBracket) end = kind;
    }
    if (end == MarkKind::kNumber) end = MarkKind::kWord;
    std::ranges::sort(numbers);
}

void TextJudge::write(const SideMarks& source, const SideMarks& target, double* out) {
    source_.fill(source);
    target_.fill(target);
    const Sums& a = source_;
    const Sums& b = target_;
    const auto m = static_cast<double>(source.size);
    const auto n = static_cast<double>(target.size);
    const double scale = std::sqrt(std::min(m, n));
    const double words = (log((m + 1) / (n + 1)) - ratios_.words) * scale;
    const double characters = (log((a.characters + 1) / (b.characters + 1)) - ratios_.characters) * scale;
    const auto difference = [&](MarkKind kind) { return a.of(kind) - b.of(kind); };
    const std::size_t both = common(a.numbers, b.numbers);
    const double stops =
        difference(MarkKind::kStop) + difference(MarkKind::kQuestion) + difference(MarkKind::kExclamation);
    const double features[kTextFeatures] = {
        log(1 + m),
        log(1 + n),
        std::max(words, 0.0),
        std::max(-words, 0.0),
        std::max(characters, 0.0),
        std::max(-characters, 0.0),
        longer_by(a.numbers.size() - both),
        longer_by(b.numbers.size() - both),
        longer_by(both),
        a.end == b.end ? 0.0 : 1.0,
        std::abs(difference(MarkKind::kQuestion)),
        std::abs(difference(MarkKind::kExclamation)),
        difference(MarkKind::kComma) / std::sqrt(a.characters + b.characters + 1),
        std::abs(difference(MarkKind::kQuote)),
        std::abs(difference(MarkKind::kBracket)),
        std::abs(difference(MarkKind::kColon)),
        std::max(stops, 0.0),
        std::max(-stops, 0.0),
    };
    std::ranges::copy(features, out);
}

}  // namespace nmt_prep::adequacy
