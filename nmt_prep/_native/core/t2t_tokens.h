// How Tensor2Tensor's tokenizer cuts a line: runs of alphanumeric characters and runs of all others, without the runs
// that are one space between two others.
#pragma once

#include <cstddef>
#include <cstdint>

#include "unicode.h"
#include "utf8.h"

namespace nmt_prep::t2t {

// For a byte that starts a character: 0 or 1 is what is_alphanumeric says of the ASCII character, 2 asks for decoding.
struct AsciiClasses {
    std::uint8_t of[256];
    constexpr AsciiClasses() : of{} {
        for (int byte = 0; byte < 256; ++byte)
            of[byte] = byte >= 0x80 ? 2
                       : (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
    }
};
inline constexpr AsciiClasses kAsciiClasses;

// Whether the character at `at` is alphanumeric; moves past it.
inline bool next_is_alphanumeric(const std::uint8_t*& at) {
    const std::uint8_t known = kAsciiClasses.of[*at];
    if (known == 2) return is_alphanumeric(next_utf8(at));
    ++at;
    return known != 0;
}

// Calls visit(token, size) for every token of a line, in order. Requires well-formed UTF-8.
template <class Visit>
void for_each_token(const std::uint8_t* line, std::size_t size, Visit&& visit) {
    const std::uint8_t* const end = line + size;
    const std::uint8_t* token = line;
    if (token == end) return;
    const std::uint8_t* at = line;
    bool inside = next_is_alphanumeric(at);
    while (at != end) {
        const std::uint8_t* const character = at;
        const bool alphanumeric = next_is_alphanumeric(at);
        if (alphanumeric == inside) continue;
        inside = alphanumeric;
        const auto length = static_cast<std::size_t>(character - token);
        if (length != 1 || *token != ' ' || token == line) visit(token, length);
        token = character;
    }
    visit(token, static_cast<std::size_t>(end - token));
}

}  // namespace nmt_prep::t2t
