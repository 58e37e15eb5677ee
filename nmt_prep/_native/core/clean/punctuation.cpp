#include "clean/punctuation.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "text/exp_log.h"
#include "text/properties.h"
#include "text/utf8.h"

namespace nmt_prep::clean {
namespace {

std::uint8_t same(std::uint8_t byte, char mark) { return byte == static_cast<std::uint8_t>(mark) ? 1 : 0; }

// Number of . ? ! and … (E2 80 A6).
std::size_t marks(const Line& line) {
    const std::uint8_t* const bytes = line.begin;
    std::size_t count = count_where(line.size(), [bytes](std::size_t i) {
        const std::uint8_t byte = bytes[i];
        return static_cast<std::uint8_t>(same(byte, '.') + same(byte, '?') + same(byte, '!'));
    });
    if (line.ascii) return count;
    const auto next = [&line](const std::uint8_t* from) {
        return static_cast<const std::uint8_t*>(std::memchr(from, 0xE2, static_cast<std::size_t>(line.end - from)));
    };
    for (const std::uint8_t* at = next(line.begin); at != nullptr; at = next(at + 3))
        count += at[1] == 0x80 && at[2] == 0xA6 ? 1 : 0;
    return count;
}

bool is_end(char32_t point) {
    constexpr char32_t kEnds[] = {'.',    '!',    '?',    ':',    ';',    0x2026, 0x037E, 0x0589, 0x061B,
                                  0x061F, 0x06D4, 0x0964, 0x0965, 0x1362, 0x1367, 0x1368, 0x104A, 0x104B,
                                  0x17D4, 0x17D5, 0x203C, 0x203D, 0x2047, 0x2048, 0x2049, 0x3002, 0xFE56,
                                  0xFE57, 0xFF01, 0xFF0E, 0xFF1A, 0xFF1B, 0xFF1F, 0xFF61};
    return std::ranges::find(kEnds, point) != std::end(kEnds);
}

bool ends_sentence(const Line& line) {
    const std::uint8_t* end = line.end;
    while (end > line.begin) {
        const std::uint8_t* begin = end - 1;
        while ((*begin & 0xC0) == 0x80) --begin;
        const std::uint8_t* at = begin;
        const char32_t point = next_utf8(at);
        if (is_end(point)) return true;
        const Properties properties = Properties::of(point);
        if (properties.letter() || properties.mark() || properties.number()) return false;
        end = begin;
    }
    return false;
}

}  // namespace

void terminal_punctuation(const Lines& source, const Lines& target, double* out) {
    std::vector<double> logarithms(64);
    for (std::size_t i = 0; i < logarithms.size(); ++i) logarithms[i] = -log(static_cast<double>(i + 1));
    for (std::size_t i = 0; i < source.size(); ++i) {
        const std::size_t a = marks(source[i]);
        const std::size_t b = marks(target[i]);
        const std::size_t penalty = std::max(a, b) - std::min(a, b) + (a > 1 ? a - 1 : 0) + (b > 1 ? b - 1 : 0);
        out[i] = penalty < logarithms.size() ? logarithms[penalty] : -log(static_cast<double>(penalty + 1));
    }
}

void sentence_ends(const Lines& lines, double* out) {
    for (std::size_t i = 0; i < lines.size(); ++i) out[i] = ends_sentence(lines[i]) ? 1.0 : 0.0;
}

}  // namespace nmt_prep::clean
