#include "text/split_lines.h"

#include <cstring>
#include <limits>

namespace nmt_prep {

bool split_lines(const std::uint8_t* data, std::size_t size, const LineRange* left_out, std::size_t ranges,
                 bool strip_returns, std::size_t lines, std::uint8_t* text, std::int32_t* offsets) {
    constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
    const std::uint8_t* at = data;
    const std::uint8_t* const end = data + size;
    const LineRange* next = left_out;
    const LineRange* const last = left_out + ranges;
    std::size_t kept = 0;
    std::size_t written = 0;
    offsets[0] = 0;
    for (std::int64_t number = 0; at != end; ++number) {
        const auto* newline =
            static_cast<const std::uint8_t*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
        const std::uint8_t* const stop = newline == nullptr ? end : newline;
        while (next != last && number >= next->first && number - next->first >= next->count) ++next;
        if (next == last || number < next->first) {
            auto length = static_cast<std::size_t>(stop - at);
            if (strip_returns && newline != nullptr && length > 0 && stop[-1] == '\r') --length;
            if (kept == lines || length > kMost - written) return false;
            std::memcpy(text + written, at, length);
            written += length;
            offsets[++kept] = static_cast<std::int32_t>(written);
        }
        at = newline == nullptr ? end : newline + 1;
    }
    return kept == lines;
}

void copy_spans(const std::uint8_t* data, const std::int64_t* starts, std::size_t spans, const std::int64_t* offsets,
                std::uint8_t* text) {
    for (std::size_t i = 0; i < spans; ++i) {
        const auto size = static_cast<std::size_t>(offsets[i + 1] - offsets[i]);
        if (size > 0) std::memcpy(text + offsets[i], data + starts[i], size);
    }
}

}  // namespace nmt_prep
