#include "clean/punctuation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

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

}  // namespace

void terminal_punctuation(const Lines& source, const Lines& target, double* out) {
    std::vector<double> logarithms(64);
    for (std::size_t i = 0; i < logarithms.size(); ++i) logarithms[i] = -std::log(static_cast<double>(i + 1));
    for (std::size_t i = 0; i < source.size(); ++i) {
        const std::size_t a = marks(source[i]);
        const std::size_t b = marks(target[i]);
        const std::size_t penalty = std::max(a, b) - std::min(a, b) + (a > 1 ? a - 1 : 0) + (b > 1 ? b - 1 : 0);
        out[i] = penalty < logarithms.size() ? logarithms[penalty] : -std::log(static_cast<double>(penalty + 1));
    }
}

}  // namespace nmt_prep::clean
