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
    if (stride * automaton->steps.size() > kMaxSteps) return std::nullopt;
    return Scanner(*automaton, unmatched);
}

Scanner::Scanner(const Automaton& automaton, Unmatched unmatched) : boundaries_(automaton), unmatched_(unmatched) {
    place_classes(automaton);
    place_steps(automaton);
    place_walk(automaton);
    if (column_bits_ > 0) add_pairs();
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
            steps_[stride * state + symbol] = static_cast<Step>(stride * next | (matched ? kMatched : 0));
        }
    }
}

void Scanner::place_walk(const Automaton& automaton) {
    if (steps_.size() * start_ <= kMaxSteps) {
        column_bits_ = static_cast<unsigned>(std::countr_zero(start_));
        alone_ = end_class_;
    }
    walk_.assign(steps_.size() << column_bits_, kUnusual);
    for (std::size_t state = 0; state < automaton.steps.size(); ++state) {
        for (std::size_t symbol = 0; symbol <= automaton.classes; ++symbol) {
            const auto [next, matched] = automaton.steps[state][symbol];
            const std::size_t first = automaton.steps[1][symbol].state;
            Step& step = walk_[((start_ * state + symbol) << column_bits_) + alone_];
            if (next != 0)
                step = static_cast<Step>(start_ * next << column_bits_);
            else if (matched && first != 0)
                step = static_cast<Step>(start_ * first << column_bits_ | kEndsPart);
        }
    }
}

void Scanner::add_pairs() {
    constexpr std::size_t kAscii = 0x80;
    const std::set<std::size_t> classes(of_low_points_.begin(), of_low_points_.begin() + kAscii);
    for (std::size_t state = start_ << column_bits_; state < walk_.size(); state += start_ << column_bits_) {
        for (const std::size_t first : classes) {
            Step* const steps = &walk_[state + (first << column_bits_)];
            const Step one = steps[alone_];
            if (one & kUnusual) continue;
            for (const std::size_t second : classes) {
                const Step two = walk_[(one & ~kFacts) + (second << column_bits_) + alone_];
                if (two & kUnusual) continue;
                steps[second] =
                    static_cast<Step>((two & ~kFacts) | (one & kEndsPart) | (two & kEndsPart ? kEndsSecond : 0));
            }
        }
    }
}

}  // namespace nmt_prep::pattern
