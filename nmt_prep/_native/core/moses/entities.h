// Moses' escapes of characters that have a meaning in its files.
#pragma once

#include <string>
#include <string_view>

namespace nmt_prep::moses {

// The escape of a character, empty if it has none.
constexpr std::string_view escape_of(char character) {
    switch (character) {
        case '&': return "&amp;";
        case '|': return "&#124;";
        case '<': return "&lt;";
        case '>': return "&gt;";
        case '\'': return "&apos;";
        case '"': return "&quot;";
        case '[': return "&#91;";
        case ']': return "&#93;";
        default: return {};
    }
}

void append_escaped(std::string_view text, std::string& out);

// Undoes escapes, those of older versions included. `&amp;` is undone last: `&amp;lt;` becomes `&lt;`.
void append_unescaped(std::string_view text, std::string& out);

}  // namespace nmt_prep::moses
