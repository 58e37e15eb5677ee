// Applies fixes to columns of text.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "clean/byte_scan.h"
#include "clean/fix.h"
#include "text/batch.h"

namespace nmt_prep::clean {

// The result of fixing a column. If no line was altered, `offsets` is empty, and `text` is the text of the column.
struct FixedText {
    std::string bytes;
    std::vector<std::int64_t> offsets;
    std::vector<std::int64_t> altered;  // number of lines that each fix altered
};

// Applies a list of fixes, in its order, to every line.
class Fixer {
   public:
    // At most 32 fixes.
    explicit Fixer(std::vector<std::unique_ptr<Fix>> fixes);
    Fixer(const Fixer&) = delete;
    Fixer& operator=(const Fixer&) = delete;

    // Throws InvalidTextError naming a line that is not UTF-8.
    FixedText apply(const TextView& text) const;

   private:
    std::vector<std::uint8_t> suspect_lines(const TextView& text) const;
    bool suspects(const Place& place) const;
    bool may_alter(std::size_t fix, std::string_view line) const;
    bool apply_line(std::string_view line, std::string& fixed, std::string& scratch,
                    std::vector<std::int64_t>& altered) const;

    std::vector<std::unique_ptr<Fix>> fixes_;
    std::array<std::uint32_t, 256> fixes_of_byte_{};
    bool checks_spaces_ = false;
    ByteScan scan_;                // finds the triggers of all fixes
    std::vector<ByteScan> scans_;  // for each fix, finds its triggers
};

}  // namespace nmt_prep::clean
