#include "align/marks.h"

#include <algorithm>

#include "text/properties.h"
#include "text/utf8.h"

namespace nmt_prep::align {
namespace {

MarkKind kind_of(char32_t point) {
    switch (point) {
        case '.':
        case 0x3002:
        case 0xFF0E:
        case 0xFF61:
        case 0x0964:
        case 0x06D4:
        case 0x2026: return MarkKind::kStop;
        case '?':
        case 0xFF1F:
        case 0x061F:
        case 0x037E: return MarkKind::kQuestion;
        case '!':
        case 0xFF01: return MarkKind::kExclamation;
        case ',':
        case ';':
        case 0xFF0C:
        case 0x3001:
        case 0x060C:
        case 0xFF1B:
        case 0x061B: return MarkKind::kComma;
        case ':':
        case 0xFF1A: return MarkKind::kColon;
        case '"':
        case '\'':
        case '`':
        case 0x201E:
        case 0x201A:
        case 0x300C:
        case 0x300D:
        case 0x300E:
        case 0x300F: return MarkKind::kQuote;
        default: break;
    }
    const Properties properties = Properties::of(point);
    if (properties.decimal()) return MarkKind::kNumber;
    switch (properties.category()) {
        case Category::kPi:
        case Category::kPf: return MarkKind::kQuote;
        case Category::kPs:
        case Category::kPe: return MarkKind::kBracket;
        default: break;
    }
    const bool word = properties.letter() || properties.mark() || properties.number() ||
                      properties.category() == Category::kPc || properties.category() == Category::kCf;
    return word ? MarkKind::kWord : MarkKind::kOther;
}

// The value of a decimal digit: digit blocks begin at a multiple of 16, or at 6 after it.
std::uint32_t digit_of(char32_t point) {
    const std::uint32_t low = point & 15;
    return low < 10 && (low < 6 || !Properties::of(point + 15 - low).decimal()) ? low : low - 6;
}

}  // namespace

std::uint32_t mark_of(const std::uint8_t* begin, const std::uint8_t* end) {
    const std::uint8_t* at = begin;
    const MarkKind kind = kind_of(next_utf8(at));
    std::uint32_t characters = 0;
    std::uint32_t digits = 0;
    for (at = begin; at < end; ++characters) {
        const char32_t point = next_utf8(at);
        if (kind == MarkKind::kNumber && Properties::of(point).decimal())
            digits = (digits + digit_of(point) + 1) * 2654435769u;
    }
    return static_cast<std::uint32_t>(kind) | std::min(characters, 255u) << 4 | (digits ^ digits >> 12) << 12;
}

}  // namespace nmt_prep::align
