#include "clean/punctuation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace nmt_prep::clean {
namespace {

// Number of . ? ! and … (E2 80 A6).
std::size_t marks(const Line& line) {
    const std::uint8_t* const bytes = line.begin;
    std::size_t count = count_where(line.size(), [bytes](std::size_t i) {
        return static_cast<std::uint8_t>((bytes[i] == '.') | (bytes[i] == '?') | (bytes[i] == '!'));
    });
    if (!line.ascii && line.size() >= 3)
        count += count_where(line.size() - 2, [bytes](std::size_t i) {
            return static_cast<std::uint8_t>((bytes[i] == 0xE2) & (bytes[i + 1] == 0x80) & (bytes[i + 2] == 0xA6));
        });
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
