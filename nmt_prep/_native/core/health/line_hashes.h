// Hashes of lines, to count equal ones.
#pragma once

#include <cstdint>

#include "text/batch.h"

namespace nmt_prep::health {

// Writes the hash of each line without its ASCII white space at both ends. Hashes are the same on every little-endian
// processor, and different lines have different ones for all practical purposes.
void line_hashes(const TextView& text, std::uint64_t* hashes);

}  // namespace nmt_prep::health
