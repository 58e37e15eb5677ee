// Eight bytes of text as one number, the first byte lowest.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace nmt_prep {

// The same byte eight times.
constexpr std::uint64_t eight_times(std::uint8_t byte) { return byte * 0x0101010101010101u; }

inline std::uint64_t read_word(const std::uint8_t* at) {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    return word;
}

inline void write_word(std::uint8_t* at, std::uint64_t word) {
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    std::memcpy(at, &word, sizeof word);
}

// Calls visit(position) for each occurrence of a byte in a text, in ascending order.
template <class Visit>
void for_each_byte(std::string_view text, char byte, const Visit& visit) {
    constexpr std::size_t kWord = sizeof(std::uint64_t);
    constexpr std::uint64_t kLow = eight_times(0x7F);
    const std::uint64_t wanted = eight_times(static_cast<std::uint8_t>(byte));
    // A bit for each of eight bytes.
    const auto places_in_word = [&](std::size_t at) {
        const std::uint64_t others = read_word(reinterpret_cast<const std::uint8_t*>(text.data()) + at) ^ wanted;
        const std::uint64_t found = ~(((others & kLow) + kLow) | others | kLow);  // the high bit of each zero byte
        return (found >> 7) * 0x0102040810204080u >> 56;
    };
    const auto visit_all = [&](std::size_t at, std::uint64_t places) {
        for (; places != 0; places &= places - 1) visit(at + static_cast<std::size_t>(std::countr_zero(places)));
    };
    std::size_t at = 0;
    for (; text.size() - at >= 64; at += 64) {
        std::uint64_t places = 0;
        for (std::size_t i = 0; i < 8; ++i) places |= places_in_word(at + kWord * i) << (kWord * i);
        visit_all(at, places);
    }
    std::uint64_t places = 0;
    std::size_t done = 0;
    for (; text.size() - at - done >= kWord; done += kWord) places |= places_in_word(at + done) << done;
    const std::size_t rest = text.size() - at - done;
    if (rest != 0 && text.size() >= kWord) {
        places |= places_in_word(text.size() - kWord) >> (kWord - rest) << done;
    } else {
        for (std::size_t i = 0; i < rest; ++i) places |= std::uint64_t{text[i] == byte} << i;
    }
    visit_all(at, places);
}

}  // namespace nmt_prep
