#include "text/line_ends.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "text/byte_hash.h"
#include "text/errors.h"
#include "text/properties.h"
#include "text/utf8.h"

namespace nmt_prep {
namespace {

const std::uint8_t* newline_in(const std::uint8_t* begin, const std::uint8_t* end) {
    return static_cast<const std::uint8_t*>(std::memchr(begin, '\n', static_cast<std::size_t>(end - begin)));
}

// Number of bytes i for which test(byte) is 1. The test must not branch, so that the compiler can use vectors.
template <class Test>
std::size_t count_bytes(const std::uint8_t* data, std::size_t size, Test&& test) {
    std::size_t total = 0;
    for (std::size_t first = 0; first < size;) {
        const std::size_t last = size - first < 240 ? size : first + 240;
        std::uint8_t count = 0;
        for (std::size_t i = first; i < last; ++i) count = static_cast<std::uint8_t>(count + test(data[i]));
        total += count;
        first = last;
    }
    return total;
}

bool is_space(char32_t point) { return Properties::of(point).space(); }

// True for the visible characters of ASCII, which most lines begin and end with.
bool is_visible(std::uint8_t byte) { return byte > 0x20 && byte < 0x7F; }

// Size of the white space character at `at`, 0 if there is none. White space has at most three bytes in UTF-8; the
// text need not be valid.
std::size_t space_at(const std::uint8_t* at, const std::uint8_t* end) {
    const auto left = end - at;
    if (*at < 0x80) return is_space(*at) ? 1 : 0;
    if ((*at & 0xE0) == 0xC0) {
        return left >= 2 && is_space(static_cast<char32_t>((*at & 0x1F) << 6 | (at[1] & 0x3F))) ? 2 : 0;
    }
    if ((*at & 0xF0) != 0xE0 || left < 3) return 0;
    return is_space(static_cast<char32_t>((*at & 0x0F) << 12 | (at[1] & 0x3F) << 6 | (at[2] & 0x3F))) ? 3 : 0;
}

std::size_t space_before(const std::uint8_t* begin, const std::uint8_t* end) {
    const auto most = std::min<std::size_t>(3, static_cast<std::size_t>(end - begin));
    for (std::size_t size = 1; size <= most; ++size) {
        const std::uint8_t lead = *(end - size);
        if (lead < 0x80 || lead >= 0xC0) return space_at(end - size, end) == size ? size : 0;
    }
    return 0;
}

}  // namespace

std::size_t count_newlines(const std::uint8_t* data, std::size_t size) {
    return count_bytes(data, size, [](std::uint8_t byte) -> std::uint8_t { return byte == '\n'; });
}

void find_newlines(const std::uint8_t* data, std::size_t size, std::size_t count, std::int64_t* positions) {
    const std::uint8_t* at = data;
    for (std::size_t i = 0; i < count; ++i) {
        at = newline_in(at, data + size);
        positions[i] = at++ - data;
    }
}

bool has_carriage_returns(const std::uint8_t* data, std::size_t size) {
    const std::uint8_t* end = data + size;
    for (const std::uint8_t* at = data; at < end; ++at) {
        at = static_cast<const std::uint8_t*>(std::memchr(at, '\r', static_cast<std::size_t>(end - at)));
        if (at == nullptr || at + 1 == end) return false;
        if (at[1] == '\n') return true;
    }
    return false;
}

void find_blank(const std::uint8_t* data, const std::int64_t* offsets, std::size_t strings, bool* blank) {
    for (std::size_t i = 0; i < strings; ++i) {
        const std::uint8_t* at = data + offsets[i];
        const std::uint8_t* const end = data + offsets[i + 1];
        while (at < end && !is_visible(*at)) {
            const std::size_t space = space_at(at, end);
            if (space == 0) break;
            at += space;
        }
        blank[i] = at == end;
    }
}

bool has_outer_space(const std::uint8_t* data, const std::int64_t* offsets, std::size_t strings) {
    for (std::size_t i = 0; i < strings; ++i) {
        const std::uint8_t* const begin = data + offsets[i];
        const std::uint8_t* const end = data + offsets[i + 1];
        if (begin == end || (is_visible(*begin) && is_visible(end[-1]))) continue;
        if (space_at(begin, end) != 0 || space_before(begin, end) != 0) return true;
    }
    return false;
}

std::uint64_t hash_block(const std::uint8_t* data, std::size_t size) {
    // Four independent chains, because a single chain would wait for a multiplication at each word.
    const std::size_t part = size / 4;
    std::uint64_t chains[4];
    const std::size_t words = part / 8;
    constexpr std::uint64_t kOdd[4] = {0x9E3779B97F4A7C15u, 0xD1B54A32D192ED03u, 0xA0761D6478BD642Fu,
                                       0xE7037ED1A0B428DBu};
    for (std::size_t c = 0; c < 4; ++c) chains[c] = kOdd[c];
    for (std::size_t i = 0; i < words; ++i) {
        for (std::size_t c = 0; c < 4; ++c) {
            std::uint64_t word;
            std::memcpy(&word, data + (i * 4 + c) * 8, 8);
            chains[c] = mix_bits(chains[c] ^ word, kOdd[c]);
        }
    }
    const std::uint64_t rest = hash_bytes(data + words * 32, size - words * 32);
    return mix_bits(mix_bits(chains[0] ^ rest, chains[1] ^ kOdd[3]) ^ size, mix_bits(chains[2], chains[3] ^ kOdd[0]));
}

LineSampler::Taken LineSampler::feed(const std::uint8_t* data, std::size_t size, bool last) {
    taken_ = {std::make_unique_for_overwrite<std::uint8_t[]>(begun_.size() + size + 1), 0};
    counted_ = 0;
    const std::uint8_t* at = data;
    const std::uint8_t* end = data + size;
    constexpr std::size_t kWindow = 4096;
    constexpr std::int64_t kWorthCounting = 16;
    while (at < end && !done()) {
        if (ahead_ > kWorthCounting) {
            const std::size_t window = std::min(kWindow, static_cast<std::size_t>(end - at));
            const auto newlines = static_cast<std::int64_t>(count_newlines(at, window));
            if (newlines < ahead_) {
                ahead_ -= newlines;
                at += window;
                continue;
            }
        }
        for (; ahead_ > 0 && at != end; --ahead_) {
            const std::uint8_t* newline = newline_in(at, end);
            at = newline == nullptr ? end : newline + 1;
            if (newline == nullptr) break;
        }
        if (ahead_ > 0 || at == end) break;
        const std::uint8_t* stop = newline_in(at, end);
        if (stop == nullptr || !begun_.empty()) {
            begun_.insert(begun_.end(), at, stop == nullptr ? end : stop);
            if (stop == nullptr) break;
            take(begun_.data(), begun_.data() + begun_.size());
            begun_.clear();
        } else {
            take(at, stop);
        }
        at = stop + 1;
        ahead_ = stride_ - 1;
    }
    if (size > 0) inside_ = end[-1] != '\n';
    if (last && inside_ && !done()) {
        if (ahead_ > 0) {
            --ahead_;
        } else {
            take(begun_.data(), begun_.data() + begun_.size());
            begun_.clear();
            ahead_ = stride_ - 1;
        }
        inside_ = false;
    }
    count_characters();
    if (find_invalid_utf8(taken_.bytes.get(), taken_.size) != taken_.size)
        throw InvalidTextError("a line is not UTF-8");
    return std::move(taken_);
}

void LineSampler::take(const std::uint8_t* begin, const std::uint8_t* end) {
    while (begin < end && !is_visible(*begin)) {
        const std::size_t space = space_at(begin, end);
        if (space == 0) break;
        begin += space;
    }
    while (begin < end && !is_visible(end[-1])) {
        const std::size_t space = space_before(begin, end);
        if (space == 0) break;
        end -= space;
    }
    const auto size = static_cast<std::size_t>(end - begin);
    if (size > 0) std::memcpy(taken_.bytes.get() + taken_.size, begin, size);
    taken_.size += size;
    taken_.bytes[taken_.size++] = '\n';
    ++lines_;
    // A character has at least one byte, so the budget cannot be used up earlier.
    if (std::cmp_greater_equal(taken_.size - counted_, budget_)) count_characters();
}

void LineSampler::count_characters() {
    const auto is_counted = [](std::uint8_t byte) -> std::uint8_t {
        return static_cast<std::uint8_t>((static_cast<std::int8_t>(byte) >= -0x40) & (byte != '\n'));
    };
    budget_ -=
        static_cast<std::int64_t>(count_bytes(taken_.bytes.get() + counted_, taken_.size - counted_, is_counted));
    counted_ = taken_.size;
}

}  // namespace nmt_prep
