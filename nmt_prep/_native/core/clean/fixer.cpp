#include "clean/fixer.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace nmt_prep::clean {

Fixer::Fixer(std::vector<std::unique_ptr<Fix>> fixes) : fixes_(std::move(fixes)) {
    ByteSet all;
    for (std::size_t i = 0; i < fixes_.size(); ++i) {
        const ByteSet triggers = fixes_[i]->triggers();
        for (std::size_t byte = 0; byte < 256; ++byte)
            if (triggers[byte]) fixes_of_byte_[byte] |= std::uint32_t{1} << i;
        all |= triggers;
        checks_spaces_ |= fixes_[i]->checks_spaces();
    }
    scan_ = ByteScan(all, checks_spaces_);
}

bool Fixer::suspects(const Place& place) const {
    for (std::uint32_t rest = fixes_of_byte_[*place.at]; rest != 0; rest &= rest - 1)
        if (fixes_[static_cast<std::size_t>(std::countr_zero(rest))]->suspects(place)) return true;
    return checks_spaces_ && place[0] == ' ' && place[1] == ' ';
}

// Returns 1 for each line that some fix may alter.
std::vector<std::uint8_t> Fixer::suspect_lines(const TextView& text) const {
    std::vector<std::uint8_t> suspect(text.lines);
    if (text.lines == 0) return suspect;
    const std::uint8_t* const begin = text.line(0);
    const std::uint8_t* const end = text.line(text.lines);
    const auto size = static_cast<std::size_t>(end - begin);
    const auto end_of = [&](std::size_t i) { return static_cast<std::size_t>(text.line(i + 1) - begin); };
    std::size_t line = 0;
    for (std::size_t at = scan_.find(begin, 0, size); at < size;) {
        while (end_of(line) <= at) ++line;
        const bool found = suspects({begin, begin + at, end});
        suspect[line] |= static_cast<std::uint8_t>(found);
        at = scan_.find(begin, found ? end_of(line) : at + 1, size);
    }
    for (std::size_t i = 0; checks_spaces_ && i < text.lines; ++i)
        if (text.size(i) != 0 && (text.line(i)[0] == ' ' || text.line(i + 1)[-1] == ' ')) suspect[i] = 1;
    return suspect;
}

// Writes the fixed line to `fixed`; returns whether it differs from the line.
bool Fixer::apply_line(std::string_view line, std::string& fixed, std::string& scratch,
                       std::vector<std::int64_t>& altered) const {
    fixed = line;
    for (std::size_t i = 0; i < fixes_.size(); ++i) {
        scratch.clear();
        fixes_[i]->apply(fixed, scratch);
        if (scratch == fixed) continue;
        ++altered[i];
        fixed.swap(scratch);
    }
    return fixed != line;
}

FixedText Fixer::apply(const TextView& text) const {
    check_lines(text, 0, text.lines);
    FixedText result;
    result.altered.resize(fixes_.size());
    const std::vector<std::uint8_t> suspect = suspect_lines(text);
    std::string fixed;
    std::string scratch;
    std::size_t copied = 0;  // lines whose text is in `bytes`
    const auto copy = [&](std::size_t last) {
        result.bytes.append(text.line(copied), text.line(last));
        for (std::size_t i = copied; i < last; ++i)
            result.offsets.push_back(result.offsets.back() + static_cast<std::int64_t>(text.size(i)));
        copied = last;
    };
    for (std::size_t i = 0; i < text.lines; ++i) {
        if (suspect[i] == 0) continue;
        const std::string_view line(reinterpret_cast<const char*>(text.line(i)), text.size(i));
        if (!apply_line(line, fixed, scratch, result.altered)) continue;
        if (result.offsets.empty()) {
            result.bytes.reserve(static_cast<std::size_t>(text.line(text.lines) - text.line(0)));
            result.offsets.reserve(text.lines + 1);
            result.offsets.push_back(0);
        }
        copy(i);
        result.bytes += fixed;
        result.offsets.push_back(static_cast<std::int64_t>(result.bytes.size()));
        copied = i + 1;
    }
    if (!result.offsets.empty()) copy(text.lines);
    return result;
}

}  // namespace nmt_prep::clean
