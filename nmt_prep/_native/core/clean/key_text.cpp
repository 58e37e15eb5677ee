#include "clean/key_text.h"

#include <algorithm>
#include <bitset>

#include "clean/key_tables.h"
#include "text/normalization.h"
#include "text/utf8.h"

namespace nmt_prep::clean {
namespace {

// Replacement of each ASCII character; 0 if it is dropped.
struct AsciiTable {
    AsciiTable() {
        for (unsigned point = 0; point < 0x80; ++point) {
            const std::uint16_t code = key_code(point);
            if (code == kKept) becomes[point] = static_cast<std::uint8_t>(point);
            if (code > kKept)
                becomes[point] = static_cast<std::uint8_t>(kReplacementPoints[kReplacementStart[code - 2]]);
        }
    }
    std::uint8_t becomes[0x80] = {};
};

const AsciiTable& ascii_table() {
    static const AsciiTable kTable;
    return kTable;
}

// Characters of the first plane that stay unchanged and do not combine with others; few texts use other planes.
using PointSet = std::bitset<0x10000>;

const PointSet& plain_points() {
    static const PointSet kPlain = [] {
        PointSet plain;
        for (char32_t point = 0; point < plain.size(); ++point)
            plain[point] = key_code(point) == kKept && normalization_kind(point).combining_class == 0 &&
                           !is_hangul_syllable(point);
        return plain;
    }();
    return kPlain;
}

}  // namespace

template <bool kWords>
void KeyText::normalize_line(const TextView& text, std::size_t line) {
    const std::uint8_t* const begin = text.line(line);
    const std::uint8_t* const end = begin + text.size(line);
    if (bytes_.size() < text.size(line) + kReadable) bytes_.resize(text.size(line) + kReadable);
    if (kWords && ends_.size() < text.size(line) / 2 + 2) ends_.resize(text.size(line) / 2 + 2);
    const std::uint8_t* const becomes = ascii_table().becomes;
    const PointSet& plain = plain_points();
    size_ = words_ = 0;
    std::uint8_t last_class = 0;
    unsigned in_word = 0;
    bool checked = false;
    for (const std::uint8_t* at = begin; at < end;) {
        std::size_t size = size_;
        std::size_t words = words_;
        std::uint8_t* const bytes = bytes_.data();  // locals, because the stores could alter members
        std::uint32_t* const ends = ends_.data();
        for (; at < end && *at < 0x80; ++at) {  // writes every byte, but advances only after bytes that are kept
            const std::uint8_t byte = becomes[*at];
            const unsigned kept = byte != 0 ? 1 : 0;
            bytes[size] = byte;
            if constexpr (kWords) {
                ends[words] = static_cast<std::uint32_t>(size);
                words += in_word & (kept ^ 1);
                in_word = kept;
            }
            size += kept;
        }
        if (size > size_) last_class = 0;
        size_ = size;
        words_ = words;
        if (at == end) break;
        if (!checked) check_utf8(text, line);
        checked = true;
        const std::uint8_t* const same = at;
        while (at < end && *at >= 0x80) {
            const std::uint8_t* next = at;
            const char32_t point = next_utf8(next);
            if (point >= plain.size() || !plain[point]) break;
            at = next;
        }
        if (at > same) {
            std::copy(same, at, bytes_.data() + size_);  // fits, since there is room for the rest of the line
            size_ += static_cast<std::size_t>(at - same);
            last_class = 0;
            in_word = 1;
            continue;
        }
        const char32_t point = next_utf8(at);
        const std::span<const char32_t> points = replacement(point);
        if (points.empty()) {
            if (kWords && in_word != 0) end_word(size_);
            in_word = 0;
            continue;
        }
        const std::size_t needed = size_ + 4 * points.size() + static_cast<std::size_t>(end - at) + kReadable;
        if (bytes_.size() < needed) bytes_.resize(2 * needed);
        for (const char32_t written : points) {
            const std::uint8_t combining = normalization_kind(written).combining_class;
            if (combining != 0 && combining < last_class) return normalize_points<kWords>(begin, end);
            last_class = combining;
            size_ += write_utf8(bytes_.data() + size_, written);
        }
        in_word = 1;
    }
    if (kWords && in_word != 0) end_word(size_);
}

// Normalizes a line with marks that must be reordered.
template <bool kWords>
void KeyText::normalize_points(const std::uint8_t* at, const std::uint8_t* end) {
    points_.clear();
    words_ = 0;
    while (at < end) {
        const std::span<const char32_t> points = replacement(next_utf8(at));
        points_.insert(points_.end(), points.begin(), points.end());
        if (kWords && points.empty()) end_word(points_.size());
    }
    if constexpr (kWords) end_word(points_.size());
    reorder_marks(points_);
    if (bytes_.size() < 4 * points_.size() + kReadable) bytes_.resize(4 * points_.size() + kReadable);
    size_ = 0;
    std::size_t word = 0;
    for (std::size_t point = 0; point < points_.size();) {
        size_ += write_utf8(bytes_.data() + size_, points_[point++]);
        if (kWords && word < words_ && ends_[word] == point) ends_[word++] = static_cast<std::uint32_t>(size_);
    }
}

// Returns the replacement of a character; nothing if it is dropped.
std::span<const char32_t> KeyText::replacement(char32_t point) {
    const std::uint16_t code = key_code(point);
    if (code == kDropped) return {};
    if (code > kKept) {
        const std::uint16_t* const start = kReplacementStart + (code - 2);
        return {kReplacementPoints + start[0], kReplacementPoints + start[1]};
    }
    syllable_.clear();
    if (!decompose_hangul(point, syllable_)) syllable_.push_back(point);
    return syllable_;
}

// Records the end of a word, unless all its characters were dropped.
void KeyText::end_word(std::size_t size) {
    if (size == (words_ == 0 ? 0 : ends_[words_ - 1])) return;
    if (words_ == ends_.size()) ends_.resize(2 * words_ + 1);
    ends_[words_++] = static_cast<std::uint32_t>(size);
}

template void KeyText::normalize_line<false>(const TextView& text, std::size_t line);
template void KeyText::normalize_line<true>(const TextView& text, std::size_t line);

}  // namespace nmt_prep::clean
