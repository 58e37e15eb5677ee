#include "bpe/possible_merges.h"

#include <algorithm>

namespace nmt_prep::bpe {

// Adds a merge, whose span was found last if it was found before; returns false if there are too many.
bool MergeFinder::add(Merge merge, std::size_t begin, std::size_t end, std::uint32_t middles) {
    const auto covers = [&](const Found& found) { return found.begin == begin && found.end == end; };
    for (std::size_t i = count_; i > 0 && covers(found_[i - 1]); --i) {
        if (found_[i - 1].merge != merge) continue;
        found_[i - 1].middles |= middles;
        return true;
    }
    if (count_ == kMaxMerges) return false;
    // Only places between begin and end, since a span without a second symbol is not one that was made.
    const std::uint32_t between = ((std::uint32_t{1} << end) - 1) & ~PossibleMerges::positions_up_to(begin);
    found_[count_++] = {merge, static_cast<std::uint8_t>(begin), static_cast<std::uint8_t>(end), middles & between};
    return true;
}

std::span<const std::uint32_t> MergeFinder::store(const std::int32_t* symbols, std::size_t size) {
    const auto goes_first = [](const Found& one, const Found& other) {
        const std::uint32_t first = merge_priority(one.merge), second = merge_priority(other.merge);
        return first != second ? first < second : one.begin < other.begin;
    };
    std::sort(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(count_), goes_first);

    using Span = PossibleMerges::Span;
    const std::size_t spans = PossibleMerges::kHeader + size, made = spans + (count_ + 1) * PossibleMerges::kSpanWords,
                      touching = made + count_ + 1 + size, numbers = touching + 2 * (size - 1);
    words_.assign(numbers + (size * size + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t), 0);
    auto* const number_of = reinterpret_cast<std::uint8_t*>(words_.data() + numbers);
    std::uint64_t possible = 0, touches[kMaxSymbols + 1] = {};
    for (std::size_t number = 1; number <= count_; ++number) {
        const Found& found = found_[number - 1];
        std::uint8_t& first = number_of[found.begin * size + found.end - 1];
        const Span span = {found.begin, found.end, first, found.middles};
        first = static_cast<std::uint8_t>(number);
        std::memcpy(words_.data() + spans + number * PossibleMerges::kSpanWords, &span, sizeof span);
        words_[made + number] = static_cast<std::uint32_t>(merge_symbol(found.merge));
        const std::uint64_t own = std::uint64_t{1} << number;
        touches[found.begin] |= own;
        touches[found.end] |= own;
        if (found.end - found.begin == 2) possible |= own;
    }
    for (std::size_t i = 0; i < size; ++i) {
        words_[made + count_ + 1 + i] = static_cast<std::uint32_t>(symbols[i]);
        number_of[i * size + i] = static_cast<std::uint8_t>(count_ + 1 + i);
    }
    std::memcpy(words_.data() + touching, touches + 1, (size - 1) * sizeof *touches);
    words_[0] = static_cast<std::uint32_t>(size | count_ << 8);
    std::memcpy(words_.data() + 1, &possible, sizeof possible);
    add_outcome();
    return words_;
}

// Adds what results without dropout.
void MergeFinder::add_outcome() {
    std::uint8_t places[kMaxSymbols];
    std::int32_t symbols[kMaxSymbols];
    std::size_t steps = 0;
    const auto note = [&](std::size_t, std::size_t place) {
        places[steps++] = static_cast<std::uint8_t>(place);
        return false;
    };
    const std::size_t left = PossibleMerges(words_.data()).sample<Merger::Skips::kForGood>(note, symbols);
    std::memcpy(words_.data() + PossibleMerges::kHeader, symbols, left * sizeof *symbols);
    std::memcpy(words_.data() + PossibleMerges::kHeader + left, places, steps);
    words_[0] |= static_cast<std::uint32_t>(steps) << 16;
}

}  // namespace nmt_prep::bpe
