// Brings text into Unicode's normal form C, as defined by Unicode Standard Annex #15.
#include <algorithm>
#include <span>
#include <unordered_map>
#include <vector>

#include "clean/fixes.h"
#include "clean/normalization.h"
#include "text/utf8.h"

namespace nmt_prep::clean {
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

class Nfc final : public Fix {
   public:
    ByteSet triggers() const override {
        static const ByteSet kLeadBytes = [] {
            ByteSet set;
            std::string bytes;
            for (char32_t point = 0x80; point <= 0x10FFFF; ++point) {
                const NormalizationKind kind = normalization_kind(point);
                if (kind.combining_class == 0 && kind.composition == 0) continue;
                bytes.clear();
                append_utf8(bytes, point);
                set.set(static_cast<unsigned char>(bytes[0]));
            }
            return set;
        }();
        return kLeadBytes;
    }
    // The quick check of the annex: marks must ascend by class, and every character must be one that always stays.
    bool suspects(const Place& place) const override {
        const std::uint8_t* at = place.at;
        const NormalizationKind kind = normalization_kind(next_utf8(at));
        if (kind.composition != 0) return true;
        if (kind.combining_class == 0 || at == place.end) return false;
        const std::uint8_t next = normalization_kind(next_utf8(at)).combining_class;
        return next != 0 && next < kind.combining_class;
    }
    void apply(std::string_view line, std::string& fixed) const override {
        const auto* const begin = reinterpret_cast<const std::uint8_t*>(line.data());
        const std::uint8_t* const end = begin + line.size();
        std::vector<char32_t> points;
        for (const std::uint8_t* at = begin; at < end;) decompose(next_utf8(at), points);
        reorder_marks(points);
        compose(points);
        for (const char32_t point : points) append_utf8(fixed, point);
    }
};

}  // namespace

std::unique_ptr<Fix> nfc_fix() { return std::make_unique<Nfc>(); }

}  // namespace nmt_prep::clean
