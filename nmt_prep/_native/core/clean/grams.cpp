#include "clean/grams.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "clean/scripts.h"
#include "text/properties.h"
#include "text/utf8.h"

namespace nmt_prep::clean {
namespace {

constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15u;
// The first byte of script characters without spaces between words is at least this.
constexpr std::uint8_t kFirstWordless = 0xE0;

std::uint64_t mix(std::uint64_t hash) {
    hash = (hash ^ hash >> 32) * 0xD6E8FEB86659FD93u;
    hash = (hash ^ hash >> 32) * 0xD6E8FEB86659FD93u;
    return hash ^ hash >> 32;
}

// Hashes a word. The function must stay as it is even if hashes of other tables change: signatures of near duplicates
// depend on it. Reads up to 7 bytes beyond the end of the word.
std::uint64_t hash_word(const std::uint8_t* at, std::size_t size) {
    static_assert(KeyText::kReadable >= sizeof(std::uint64_t));
    std::uint64_t hash = size * kFactor;
    std::uint64_t word = 0;
    for (; size > sizeof word; at += sizeof word, size -= sizeof word) {
        std::memcpy(&word, at, sizeof word);
        hash = mix(hash ^ word) + kFactor;
    }
    std::memcpy(&word, at, sizeof word);
    return mix(hash ^ (word & ~std::uint64_t{0} >> 8 * (sizeof word - size)));
}

bool is_wordless(char32_t point) { return tenths_per_word(word_script(point)) != 0; }

}  // namespace

void Grams::find(const KeyText& normal) {
    units_.clear();
    hashes_.clear();
    letters_ = 0;
    std::uint8_t bits = 0;
    for (const std::uint8_t byte : normal.text()) {
        bits |= byte;
        letters_ += byte > '9' ? 1 : 0;  // normalized ASCII consists of small letters and digits
    }
    const bool ascii = bits < 0x80;
    if (!ascii) letters_ = 0;
    const std::uint8_t* begin = normal.text().data();
    const std::uint8_t* const start = begin;
    for (const std::uint32_t word_end : normal.word_ends()) {
        const std::uint8_t* const end = start + word_end;
        if (ascii)
            add_unit(begin, end, false);
        else
            add_word(begin, end);
        begin = end;
    }
    for (std::size_t first = 0; first < units_.size(); ++first) {
        const std::size_t end = first + units_[first].gram;
        if (end > units_.size()) continue;
        std::uint64_t hash = units_[first].gram;
        for (std::size_t unit = first; unit < end; ++unit) hash = std::rotl(hash * kFactor, 29) + units_[unit].hash;
        hashes_.push_back(mix(hash));
    }
}

// Adds the units and letters of a word.
void Grams::add_word(const std::uint8_t* begin, const std::uint8_t* end) {
    if (*std::max_element(begin, end) >= kFirstWordless) return add_characters(begin, end);
    for (const std::uint8_t* at = begin; at < end;) {
        const char32_t point = next_utf8(at);
        letters_ += point < 0x80 ? (point > '9' ? 1 : 0) : (Properties::of(point).letter() ? 1 : 0);
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
    units_.push_back({hash_word(begin, size), character ? kCharacterGram : kWordGram});
}

}  // namespace nmt_prep::clean
