#include "clean/han.h"

#include "text/utf8.h"

namespace nmt_prep::clean {

void han_counts(const Lines& lines, double* simplified, double* traditional) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const Line line = lines[i];
        std::uint64_t one = 0, other = 0;
        for (const std::uint8_t* at = line.ascii ? line.end : line.begin; at < line.end;) {
            const char32_t index = next_utf8(at) - kHanFirst;  // huge for lower characters
            if (index >= kHanEnd - kHanFirst) continue;
            one += kSimplifiedOnly[index / 64] >> index % 64 & 1;
            other += kTraditionalOnly[index / 64] >> index % 64 & 1;
        }
        simplified[i] = static_cast<double>(one);
        traditional[i] = static_cast<double>(other);
    }
}

}  // namespace nmt_prep::clean
