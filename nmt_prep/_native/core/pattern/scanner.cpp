#include "pattern/scanner.h"

#include <map>
#include <utility>

namespace nmt_prep::pattern {

std::optional<Scanner> Scanner::of(std::string_view expression, Syntax syntax, Unmatched unmatched) {
    const std::optional<Node> node = parse(expression, syntax);
    if (!node) return std::nullopt;
    const std::optional<Automaton> automaton = compile(*node);
    if (!automaton) return std::nullopt;
    const std::size_t stride = std::bit_ceil(std::max(automaton->classes + 1, kMinStride));
    if (stride * automaton->steps.size() > std::size_t{1} << 16) return std::nullopt;
    return Scanner(*automaton, unmatched);
}

Scanner::Scanner(const Automaton& automaton, Unmatched unmatched) : unmatched_(unmatched) {
    place_classes(automaton);
    place_steps(automaton);
}

void Scanner::place_classes(const Automaton& automaton) {
    constexpr std::size_t kPage = 256;
    std::map<std::vector<std::uint8_t>, std::uint16_t> numbers;
    std::size_t at = 0;
    for (char32_t first = 0; first <= CodeSet::kLast; first += kPage) {
        std::vector<std::uint8_t> page;
        for (char32_t point = first; point < first + kPage; ++point) {
            while (automaton.ranges[at].last < point) ++at;
            page.push_back(automaton.class_of[at]);
        }
        const auto [place, is_new] = numbers.emplace(std::move(page), static_cast<std::uint16_t>(numbers.size()));
        if (is_new) of_points_.insert(of_points_.end(), place->first.begin(), place->first.end());
        pages_.push_back(place->second);
    }
    for (std::size_t point = 0; point < kLowPoints; ++point)
        of_low_points_[point] = of_points_[std::size_t{pages_[point >> 8]} << 8 | (point & 0xFF)];
    end_class_ = automaton.classes;
}

void Scanner::place_steps(const Automaton& automaton) {
    const std::size_t stride = std::bit_ceil(std::max(automaton.classes + 1, kMinStride));
    start_ = stride;
    steps_.resize(stride * automaton.steps.size());
    for (std::size_t state = 0; state < automaton.steps.size(); ++state) {
        for (std::size_t symbol = 0; symbol <= automaton.classes; ++symbol) {
            const auto [next, matched] = automaton.steps[state][symbol];
            steps_[stride * state + symbol] =
                static_cast<Step>(stride * next | (matched ? kMatched : 0) | facts_of(automaton, next));
        }
    }
}

Scanner::Step Scanner::facts_of(const Automaton& automaton, std::size_t state) const {
    const auto stays = [&](char first, char last) {
        for (char letter = first; letter <= last; ++letter) {
            const auto [next, matched] = automaton.steps[state][of_low_points_[static_cast<std::uint8_t>(letter)]];
            if (next != state || matched) return false;
        }
        return state != 0;
    };
    if (!stays('a', 'z')) return 0;
    return stays('A', 'Z') ? kLetters : kLower;
}

}  // namespace nmt_prep::pattern
