// Completes the frame around a record that is already in place.
#pragma once

#include <cstdint>

#include "records/crc32c.h"
#include "records/format.h"

namespace nmt_prep {

// Writes the header before `data` and the footer at `end`, which frame the bytes between them; returns the end of the
// footer.
inline std::uint8_t* close_frame(std::uint8_t* data, std::uint8_t* end) {
    std::uint8_t* const frame = data - kFrameHeader;
    const auto length = static_cast<std::uint64_t>(end - data);
    store(frame, length);
    store(frame + 8, masked_crc32c(frame, 8));
    store(end, masked_crc32c(data, length));
    return end + kFrameFooter;
}

}  // namespace nmt_prep
