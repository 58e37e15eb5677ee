#include "pattern/scanner.h"

#include <map>
#include <set>
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
    place_pairs();
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
    walk_.resize(steps_.size());
    for (std::size_t state = 0; state < automaton.steps.size(); ++state) {
        for (std::size_t symbol = 0; symbol <= automaton.classes; ++symbol) {
            const auto [next, matched] = automaton.steps[state][symbol];
            const std::size_t first = automaton.steps[1][symbol].state;
            const std::size_t at = stride * state + symbol;
            steps_[at] = static_cast<Step>(stride * next | (matched ? kMatched : 0));
            if (next != 0)
                walk_[at] = static_cast<Step>(stride * next);
            else
                walk_[at] = matched && first != 0 ? static_cast<Step>(stride * first | kEndsPart) : kUnusual;
        }
    }
}

void Scanner::place_pairs() {
    stride_bits_ = static_cast<unsigned>(std::countr_zero(start_));
    if (walk_.size() << stride_bits_ > kMaxPairSteps) return;
    constexpr std::size_t kAscii = 0x80;
    const std::set<std::size_t> classes(of_low_points_.begin(), of_low_points_.begin() + kAscii);
    pair_walk_.assign(walk_.size() << stride_bits_, kUnusual);
    for (std::size_t state = start_; state < walk_.size(); state += start_) {
        for (const std::size_t first : classes) {
            const Step one = walk_[state + first];
            if (one & kUnusual) continue;
            for (const std::size_t second : classes) {
                const Step two = walk_[(one & ~kFacts) + second];
                if (two & kUnusual) continue;
                pair_walk_[((state + first) << stride_bits_) + second] =
                    static_cast<Step>((two & ~kFacts) | (one & kEndsPart) | (two & kEndsPart ? kEndsSecond : 0));
            }
        }
    }
}

}  // namespace nmt_prep::pattern
