#include "clean/grams.h"

#include <bit>
#include <cstring>

#include "clean/scripts.h"
#include "text/properties.h"
#include "text/utf8.h"

namespace nmt_prep::clean {
namespace {

constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15u;
// The first byte of characters of scripts without spaces between words is at least this.
constexpr std::uint8_t kFirstWordless = 0xE0;

std::uint64_t mix(std::uint64_t hash) {
    hash = (hash ^ hash >> 32) * 0xD6E8FEB86659FD93u;
    hash = (hash ^ hash >> 32) * 0xD6E8FEB86659FD93u;
    return hash ^ hash >> 32;
}

std::uint64_t hash_bytes(const std::uint8_t* at, std::size_t size) {
    std::uint64_t hash = size * kFactor;
    std::uint64_t word = 0;
    for (; size >= sizeof word; at += sizeof word, size -= sizeof word) {
        std::memcpy(&word, at, sizeof word);
        hash = mix(hash ^ word) + kFactor;
    }
    word = 0;
    for (std::size_t i = 0; i < size; ++i) word |= std::uint64_t{at[i]} << 8 * i;
    return mix(hash ^ word);
}

bool is_wordless(char32_t point) { return tenths_per_word(word_script(point)) != 0; }

}  // namespace

void Grams::find(const KeyText& normal) {
    units_.clear();
    hashes_.clear();
    letters_ = 0;
    const std::uint8_t* const begin = normal.text().data();
    std::uint32_t start = 0;
    for (const std::uint32_t end : normal.word_ends()) {
        add_word(begin + start, begin + end);
        start = end;
    }
    for (std::size_t first = 0; first < units_.size(); ++first) {
        const std::size_t end = first + units_[first].gram;
        if (end > units_.size()) continue;
        std::uint64_t hash = units_[first].gram;
        for (std::size_t unit = first; unit < end; ++unit) hash = std::rotl(hash * kFactor, 29) + units_[unit].hash;
        hashes_.push_back(mix(hash));
    }
}

void Grams::add_word(const std::uint8_t* begin, const std::uint8_t* end) {
    std::uint8_t largest = 0;
    std::size_t letters = 0;
    for (const std::uint8_t* at = begin; at < end; ++at) {
        largest = *at > largest ? *at : largest;
        letters += *at > '9' ? 1 : 0;
    }
    if (largest >= kFirstWordless) return add_characters(begin, end);
    if (largest < 0x80) {
        letters_ += letters;  // normalized ASCII consists of small letters and digits
    } else {
        for (const std::uint8_t* at = begin; at < end;) letters_ += Properties::of(next_utf8(at)).letter() ? 1 : 0;
    }
    add_unit(begin, end, false);
}

// Adds the units of a word that may have characters of scripts without spaces between words.
void Grams::add_characters(const std::uint8_t* begin, const std::uint8_t* end) {
    const std::uint8_t* unit = begin;
    bool character = false;
    for (const std::uint8_t* at = begin; at < end;) {
        const std::uint8_t* const here = at;
        const char32_t point = next_utf8(at);
        const Properties properties = Properties::of(point);
        const bool wordless = is_wordless(point);
        letters_ += properties.letter() ? 1 + (wordless ? 1 : 0) : 0;
        if (here == begin) {
            character = wordless && !properties.mark();
        } else if (!properties.mark() && (wordless || character)) {
            add_unit(unit, here, character);
            unit = here;
            character = wordless;
        }
    }
    add_unit(unit, end, character);
}

void Grams::add_unit(const std::uint8_t* begin, const std::uint8_t* end, bool character) {
    const auto size = static_cast<std::size_t>(end - begin);
    units_.push_back({hash_bytes(begin, size), character ? kCharacterGram : kWordGram});
}

}  // namespace nmt_prep::clean
