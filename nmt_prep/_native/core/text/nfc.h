// Unicode's normal form C, as defined by Unicode Standard Annex #15.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "text/normalization.h"
#include "text/utf8.h"

namespace nmt_prep {

// The quick check of the annex for the character at `at`: false if normal form C keeps the character, provided that it
// keeps the other characters of the line. Requires well-formed UTF-8 up to `end`.
inline bool may_change_in_nfc(const std::uint8_t* at, const std::uint8_t* end) {
    const NormalizationKind kind = normalization_kind(next_utf8(at));
    if (kind.composition != 0) return true;
    if (kind.combining_class == 0 || at == end) return false;
    const std::uint8_t next = normalization_kind(next_utf8(at)).combining_class;
    return next != 0 && next < kind.combining_class;
}

// Returns false if a line is certainly in normal form C already. Requires well-formed UTF-8.
bool may_change_in_nfc(const std::uint8_t* line, std::size_t size);

// Appends the normal form C of well-formed UTF-8.
void append_nfc(std::string_view line, std::string& normal);

}  // namespace nmt_prep
