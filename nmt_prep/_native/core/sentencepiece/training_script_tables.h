// Runs of code points with the same script, in the version of Unicode that the library uses.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nmt_prep::sentencepiece {

extern const std::size_t kScriptRuns;
extern const std::uint32_t kScriptRunStarts[];  // ascending: the first code point (24 bits), then the script (8 bits)

}  // namespace nmt_prep::sentencepiece
