#include "clean/keys.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "text/byte_hash.h"

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
    if (size < 8) {
        rest[0] = last_bytes(data, size, length);
    } else {
        std::memcpy(rest, data, 8);
        rest[1] = last_bytes(data + 8, size - 8, length);
    }
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

std::span<const std::uint8_t> compared_text(const KeyText& normal, const TextView& text, std::size_t line) {
    const std::span<const std::uint8_t> kept = normal.text();
    const bool only_digits = std::ranges::all_of(kept, [](std::uint8_t byte) { return byte == '0'; });
    return only_digits ? std::span(text.line(line), text.size(line)) : kept;
}

Key normalized_key(const KeyText& normal, const TextView& text, std::size_t line) {
    const std::span<const std::uint8_t> compared = compared_text(normal, text, line);
    return hash_key(compared.data(), compared.size());
}

void line_keys(const TextView& text, bool normalized, Key* keys) {
    KeyText normal;
    for (std::size_t line = 0; line < text.lines; ++line) {
        if (normalized) normal.normalize(text, line);
        keys[line] = normalized ? normalized_key(normal, text, line) : hash_key(text.line(line), text.size(line));
    }
}

void pair_keys(const Key* source, const Key* target, std::size_t pairs, Key* keys) {
    for (std::size_t pair = 0; pair < pairs; ++pair) {
        const Key both[2] = {source[pair], target[pair]};
        keys[pair] = hash_key(reinterpret_cast<const std::uint8_t*>(both), sizeof both);
    }
}

}  // namespace nmt_prep::clean
