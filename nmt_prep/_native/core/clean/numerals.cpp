#include "clean/numerals.h"

#include <cstdint>
#include <vector>

#include "clean/matching.h"

namespace nmt_prep::clean {
namespace {

void read_digits(const Line& line, std::vector<std::uint8_t>& digits) {
    digits.clear();
    const std::uint8_t* const bytes = line.begin;
    const auto digit = [bytes](std::size_t i) {
        return static_cast<std::uint8_t>(static_cast<std::uint8_t>(bytes[i] - '1') < 9);
    };
    if (count_where(line.size(), digit) == 0) return;
    for (std::size_t i = 0; i < line.size() && digits.size() < kMostCompared; ++i)
        if (digit(i) != 0) digits.push_back(bytes[i]);
}

}  // namespace

void numerals(const Lines& source, const Lines& target, double* out, const Poll& poll) {
    std::vector<std::uint8_t> a;
    std::vector<std::uint8_t> b;
    SequenceMatcher<std::uint8_t> matcher(poll);
    for (std::size_t i = 0; i < source.size(); ++i) {
        read_digits(source[i], a);
        read_digits(target[i], b);
        const std::size_t size = a.size() + b.size();
        if (size == 0 || (a == b && b.size() < 200)) {
            out[i] = 1.0;
            continue;
        }
        matcher.set(a, b);
        out[i] = 2.0 * static_cast<double>(matcher.matched()) / static_cast<double>(size);
    }
}

}  // namespace nmt_prep::clean
