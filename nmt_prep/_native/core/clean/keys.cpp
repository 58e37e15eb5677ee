#include "clean/keys.h"

#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "clean/key_tables.h"
#include "clean/normalization.h"
#include "text/errors.h"
#include "text/utf8.h"

namespace nmt_prep::clean {
namespace {

constexpr std::uint64_t kFirst = 0x87C37B91114253D5u;
constexpr std::uint64_t kSecond = 0x4CF5AD432745937Fu;

std::uint64_t spread_first(std::uint64_t word) { return std::rotl(word * kFirst, 31) * kSecond; }
std::uint64_t spread_second(std::uint64_t word) { return std::rotl(word * kSecond, 33) * kFirst; }

std::uint64_t finish(std::uint64_t hash) {
    hash = (hash ^ hash >> 33) * 0xFF51AFD7ED558CCDu;
    hash = (hash ^ hash >> 33) * 0xC4CEB9FE1A85EC53u;
    return hash ^ hash >> 33;
}

// Replacement of each ASCII character; 0 if it is dropped.
struct AsciiTable {
    AsciiTable() {
        for (unsigned point = 0; point < 0x80; ++point) {
            const std::uint16_t code = key_code(point);
            if (code == kKept) becomes[point] = static_cast<std::uint8_t>(point);
            if (code > kKept)
                becomes[point] = static_cast<std::uint8_t>(kReplacementPoints[kReplacementStart[code - 2]]);
        }
    }
    std::uint8_t becomes[0x80] = {};
};

// Normalizes lines; reuses its memory from line to line.
class Normalizer {
   public:
    // Returns the size of the normalized line, which is at data().
    std::size_t normalize(const TextView& text, std::size_t line) {
        const std::uint8_t* const begin = text.line(line);
        const std::uint8_t* const end = begin + text.size(line);
        if (bytes_.size() < text.size(line)) bytes_.resize(text.size(line));
        std::size_t size = 0;
        const std::uint8_t* at = begin;
        for (; at < end && *at < 0x80; ++at) {  // writes every byte, but advances only after bytes that are kept
            const std::uint8_t becomes = ascii_.becomes[*at];
            bytes_[size] = becomes;
            size += becomes != 0;
        }
        if (at == end) return size;
        check_utf8(text, line);
        points_.assign(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(size));
        while (at < end) add(next_utf8(at));
        reorder_marks(points_);
        encoded_.clear();
        for (const char32_t point : points_) append_utf8(encoded_, point);
        if (bytes_.size() < encoded_.size()) bytes_.resize(encoded_.size());
        std::memcpy(bytes_.data(), encoded_.data(), encoded_.size());
        return encoded_.size();
    }
    const std::uint8_t* data() const { return bytes_.data(); }

   private:
    void add(char32_t point) {
        const std::uint16_t code = key_code(point);
        if (code == kDropped) return;
        if (code > kKept) {
            const std::uint16_t* const start = kReplacementStart + (code - 2);
            points_.insert(points_.end(), kReplacementPoints + start[0], kReplacementPoints + start[1]);
        } else if (!decompose_hangul(point, points_)) {
            points_.push_back(point);
        }
    }

    const AsciiTable ascii_;
    std::vector<std::uint8_t> bytes_;
    std::vector<char32_t> points_;
    std::string encoded_;
};

}  // namespace

Key hash_key(const std::uint8_t* data, std::size_t size) {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    const std::uint64_t length = size;
    for (; size >= 16; data += 16, size -= 16) {
        std::uint64_t words[2];
        std::memcpy(words, data, 16);
        first = std::rotl(first ^ spread_first(words[0]), 27) + second;
        first = first * 5 + 0x52DCE729;
        second = std::rotl(second ^ spread_second(words[1]), 31) + first;
        second = second * 5 + 0x38495AB5;
    }
    std::uint64_t rest[2] = {0, 0};
    std::memcpy(rest, data, size);
    second ^= spread_second(rest[1]);
    first ^= spread_first(rest[0]);
    first ^= length;
    second ^= length;
    first += second;
    second += first;
    first = finish(first);
    second = finish(second);
    first += second;
    return {first, second + first};
}

void line_keys(const TextView& text, bool normalized, Key* keys) {
    Normalizer normalizer;
    for (std::size_t line = 0; line < text.lines; ++line) {
        const std::size_t size = normalized ? normalizer.normalize(text, line) : 0;
        keys[line] = size > 0 ? hash_key(normalizer.data(), size) : hash_key(text.line(line), text.size(line));
    }
}

void pair_keys(const Key* source, const Key* target, std::size_t pairs, Key* keys) {
    for (std::size_t pair = 0; pair < pairs; ++pair) {
        const Key both[2] = {source[pair], target[pair]};
        keys[pair] = hash_key(reinterpret_cast<const std::uint8_t*>(both), sizeof both);
    }
}

}  // namespace nmt_prep::clean
