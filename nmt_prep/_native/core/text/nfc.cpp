#include "text/nfc.h"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <vector>

namespace nmt_prep {
namespace {

// Appends the full canonical decomposition of a character.
void decompose(char32_t point, std::vector<char32_t>& points) {
    if (decompose_hangul(point, points)) return;
    const std::span table(kDecompositions, kDecompositionCount);
    const auto found = std::ranges::lower_bound(table, point, {}, &Decomposition::point);
    if (found == table.end() || found->point != point) {
        points.push_back(point);
        return;
    }
    decompose(found->first, points);
    if (found->second != 0) points.push_back(found->second);  // the second character never decomposes further
}

std::unordered_map<std::uint64_t, char32_t> make_compositions() {
    std::unordered_map<std::uint64_t, char32_t> map;
    for (const Decomposition& entry : std::span(kDecompositions, kDecompositionCount))
        if (entry.composes) map[std::uint64_t{entry.first} << 32 | entry.second] = entry.point;
    return map;
}

// Returns the character that two characters combine to; 0 if they do not combine.
char32_t composition(char32_t first, char32_t second) {
    if (first >= kLeads && first < kLeads + kLeadCount && second >= kVowels && second < kVowels + kVowelCount)
        return kSyllables + ((first - kLeads) * kVowelCount + (second - kVowels)) * kFinalCount;
    if (first >= kSyllables && first < kSyllables + kSyllableCount && (first - kSyllables) % kFinalCount == 0 &&
        second > kFinals && second < kFinals + kFinalCount)
        return first + (second - kFinals);
    static const auto kCompositions = make_compositions();
    const auto found = kCompositions.find(std::uint64_t{first} << 32 | second);
    return found == kCompositions.end() ? 0 : found->second;
}

// Combines characters with the last character of class 0 before them, unless a character between the two blocks this.
void compose(std::vector<char32_t>& points) {
    std::size_t written = 0;
    std::size_t starter = points.size();  // none yet
    int previous = -1;                    // class of the last character kept after the starter, -1 if there is none
    for (const char32_t point : points) {
        const int combining_class = normalization_kind(point).combining_class;
        if (starter < written && previous < combining_class) {
            const char32_t combined = composition(points[starter], point);
            if (combined != 0) {
                points[starter] = combined;
                continue;
            }
        }
        if (combining_class == 0) starter = written;
        previous = combining_class == 0 ? -1 : combining_class;
        points[written++] = point;
    }
    points.resize(written);
}

}  // namespace

bool may_change_in_nfc(const std::uint8_t* line, std::size_t size) {
    constexpr std::uint8_t kFirstLead = 0xCC;  // first byte of U+0300, the first character that may change
    const std::uint8_t* const end = line + size;
    for (const std::uint8_t* at = line; at != end;) {
        if (*at >= kFirstLead && may_change_in_nfc(at, end)) return true;
        at += character_size(*at);
    }
    return false;
}

void append_nfc(std::string_view line, std::string& normal) {
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(line.data());
    const std::uint8_t* const end = begin + line.size();
    std::vector<char32_t> points;
    for (const std::uint8_t* at = begin; at < end;) decompose(next_utf8(at), points);
    reorder_marks(points);
    compose(points);
    for (const char32_t point : points) append_utf8(normal, point);
}

}  // namespace nmt_prep
