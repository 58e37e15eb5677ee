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
        scans_.emplace_back(triggers, fixes_[i]->checks_spaces());
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
    std::size_t line = 0;
    for (std::size_t at = 0, next; at < size; at = next) {
        next = at + 64;
        for (std::uint64_t hits = scan_.hits(begin + at, size - at); hits != 0;) {
            const std::uint8_t* const hit = begin + at + std::countr_zero(hits);
            hits &= hits - 1;
            while (text.line(line + 1) <= hit) ++line;
            if (!suspects({begin, hit, end})) continue;
            suspect[line] = 1;
            const auto past = static_cast<std::size_t>(text.line(line + 1) - begin) - at;  // the rest of the line
            hits = past < 64 ? hits & ~std::uint64_t{0} << past : 0;
            next = at + std::max<std::size_t>(past, 64);
        }
    }
    for (std::size_t i = 0; checks_spaces_ && i < text.lines; ++i)
        if (text.size(i) != 0 && (text.line(i)[0] == ' ' || text.line(i + 1)[-1] == ' ')) suspect[i] = 1;
    return suspect;
}

// Returns false if the fix certainly leaves the line unchanged.
bool Fixer::may_alter(std::size_t fix, std::string_view line) const {
    if (fixes_[fix]->checks_spaces() && (line.starts_with(' ') || line.ends_with(' '))) return true;
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(line.data());
    for (std::size_t at = 0; at < line.size(); at += 64)
        for (std::uint64_t hits = scans_[fix].hits(begin + at, line.size() - at); hits != 0; hits &= hits - 1) {
            const std::uint8_t* const hit = begin + at + std::countr_zero(hits);
            // Only the first of two spaces is a hit: no fix has a space as trigger.
            if (*hit == ' ' || fixes_[fix]->suspects({begin, hit, begin + line.size()})) return true;
        }
    return false;
}

// Writes the fixed line to `fixed`; returns whether it differs from the line.
bool Fixer::apply_line(std::string_view line, std::string& fixed, std::string& scratch,
                       std::vector<std::int64_t>& altered) const {
    fixed = line;
    for (std::size_t i = 0; i < fixes_.size(); ++i) {
        if (!may_alter(i, fixed)) continue;
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
