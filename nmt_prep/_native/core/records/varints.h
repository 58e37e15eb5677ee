// Ids as packed varints of protocol buffers: seven bits a byte, lowest first; ten bytes for a negative id.
#pragma once

#include <cstddef>
#include <cstdint>

#include "records/column.h"

namespace nmt_prep {

// write_packed may change this many bytes after the end of its output.
inline constexpr std::size_t kPackedSlack = 16;

// Returns the number of bytes that write_packed writes.
std::size_t packed_size(Ids ids);

// Writes ids to `out`, and returns the end of the output.
std::uint8_t* write_packed(std::uint8_t* out, Ids ids);

}  // namespace nmt_prep
