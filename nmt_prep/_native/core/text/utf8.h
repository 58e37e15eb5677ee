// UTF-8: validation once on input, then decoding without checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace nmt_prep {

// Position of the first byte that is not part of well-formed UTF-8 (no overlong forms, no surrogates, nothing above
// U+10FFFF), or `size` when all of it is well formed.
std::size_t find_invalid_utf8(const std::uint8_t* data, std::size_t size);

inline bool is_utf8(std::string_view text) {
    return find_invalid_utf8(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()) == text.size();
}

// Well-formed text, which may be decoded without checks.
class Utf8Text {
   public:
    // Returns nothing for other text.
    static std::optional<Utf8Text> of(std::string text) {
        if (!is_utf8(text)) return std::nullopt;
        return Utf8Text(std::move(text));
    }
    // Text of the program itself.
    template <std::size_t kSize>
    static Utf8Text literal(const char (&text)[kSize]) {
        return Utf8Text(text);
    }

    const std::string& operator*() const { return text_; }
    const std::string* operator->() const { return &text_; }

   private:
    explicit Utf8Text(std::string text) : text_(std::move(text)) {}

    std::string text_;
};

// True if all of it is well formed; also false if the processor lacks the instructions for blockwise validation.
bool is_utf8_by_blocks(const std::uint8_t* data, std::size_t size);

// Returns the byte count of the character that begins with this byte.
inline std::size_t character_size(std::uint8_t lead) { return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4; }

// Decodes the character at `at` and advances `at`. Requires well-formed text.
inline char32_t next_utf8(const std::uint8_t*& at) {
    const char32_t lead = *at;
    if (lead < 0x80) {
        at += 1;
        return lead;
    }
    if (lead < 0xE0) {
        const char32_t point = (lead & 0x1F) << 6 | (at[1] & 0x3F);
        at += 2;
        return point;
    }
    if (lead < 0xF0) {
        const char32_t point = (lead & 0x0F) << 12 | (at[1] & 0x3Fu) << 6 | (at[2] & 0x3Fu);
        at += 3;
        return point;
    }
    const char32_t point = (lead & 0x07) << 18 | (at[1] & 0x3Fu) << 12 | (at[2] & 0x3Fu) << 6 | (at[3] & 0x3Fu);
    at += 4;
    return point;
}

// Writes a code point, and returns the number of its bytes, 4 at most. Surrogates have three (Python's
// "surrogatepass").
inline std::size_t write_utf8(std::uint8_t* out, char32_t point) {
    const auto tail = [point](unsigned shift) { return static_cast<std::uint8_t>(0x80 | (point >> shift & 0x3F)); };
    if (point < 0x80) {
        out[0] = static_cast<std::uint8_t>(point);
        return 1;
    }
    if (point < 0x800) {
        out[0] = static_cast<std::uint8_t>(0xC0 | point >> 6);
        out[1] = tail(0);
        return 2;
    }
    if (point < 0x10000) {
        out[0] = static_cast<std::uint8_t>(0xE0 | point >> 12);
        out[1] = tail(6);
        out[2] = tail(0);
        return 3;
    }
    out[0] = static_cast<std::uint8_t>(0xF0 | point >> 18);
    out[1] = tail(12);
    out[2] = tail(6);
    out[3] = tail(0);
    return 4;
}

// Appends a code point.
inline void append_utf8(std::string& text, char32_t point) {
    std::uint8_t bytes[4];
    text.append(reinterpret_cast<const char*>(bytes), write_utf8(bytes, point));
}

}  // namespace nmt_prep
