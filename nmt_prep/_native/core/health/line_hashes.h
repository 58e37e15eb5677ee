// Hashes of lines, to count equal lines.
#pragma once

#include <cstdint>

#include "text/batch.h"

namespace nmt_prep::health {

// Writes the hash of each line without its ASCII white space at both ends. Hashes are the same on every little-endian
// processor, and practically never equal for different lines.
void line_hashes(const TextView& text, std::uint64_t* hashes);

}  // namespace nmt_prep::health
