// Runs of code points of the same script, for one version of Unicode (that of the tables).
#pragma once

#include <cstddef>
#include <cstdint>

namespace nmt_prep::sentencepiece {

extern const std::size_t kScriptRuns;
extern const std::uint32_t kScriptRunStarts[];  // ascending: the first code point (24 bits), then the script (8 bits)

}  // namespace nmt_prep::sentencepiece
