#include "health/line_hashes.h"

#include <cstddef>

#include "text/byte_hash.h"

namespace nmt_prep::health {
namespace {

// Space, tab, line feed, vertical tab, form feed, carriage return.
bool is_space(std::uint8_t byte) { return byte == ' ' || static_cast<std::uint8_t>(byte - '\t') < 5; }

}  // namespace

void line_hashes(const TextView& text, std::uint64_t* hashes) {
    for (std::size_t i = 0; i < text.lines; ++i) {
        const std::uint8_t* begin = text.line(i);
        const std::uint8_t* end = begin + text.size(i);
        while (begin < end && is_space(end[-1])) --end;
        while (begin < end && is_space(*begin)) ++begin;
        hashes[i] = hash_bytes(begin, static_cast<std::size_t>(end - begin));
    }
}

}  // namespace nmt_prep::health
