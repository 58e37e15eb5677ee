#include "clean/key_text.h"

#include <algorithm>

#include "clean/key_tables.h"
#include "clean/normalization.h"
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

}  // namespace

template <bool kWords>
void KeyText::normalize_line(const TextView& text, std::size_t line) {
    const std::uint8_t* const begin = text.line(line);
    const std::uint8_t* const end = begin + text.size(line);
    if (bytes_.size() < text.size(line)) bytes_.resize(text.size(line));
    if (kWords && ends_.size() < text.size(line) / 2 + 2) ends_.resize(text.size(line) / 2 + 2);
    const std::uint8_t* const becomes = ascii_table().becomes;
    std::size_t size = 0;
    std::size_t words = 0;
    bool in_word = false;
    const std::uint8_t* at = begin;
    for (; at < end && *at < 0x80; ++at) {  // writes every byte, but advances only after bytes that are kept
        const std::uint8_t byte = becomes[*at];
        const bool kept = byte != 0;
        bytes_[size] = byte;
        if constexpr (kWords) {
            ends_[words] = static_cast<std::uint32_t>(size);
            words += in_word && !kept ? 1 : 0;
            in_word = kept;
        }
        size += kept ? 1 : 0;
    }
    size_ = size;
    words_ = words;
    if (at < end) {
        check_utf8(text, line);
        normalize_points<kWords>(at, end);
    }
    if constexpr (kWords) end_word(size_);
}

// Normalizes the rest of a line after its first ASCII characters.
template <bool kWords>
void KeyText::normalize_points(const std::uint8_t* at, const std::uint8_t* end) {
    points_.assign(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(size_));
    while (at < end) {
        const bool kept = add(next_utf8(at));
        if constexpr (kWords)
            if (!kept) end_word(points_.size());
    }
    reorder_marks(points_);
    encoded_.clear();
    std::size_t word = 0;
    for (std::size_t point = 0; point < points_.size(); ++point) {
        if constexpr (kWords)
            while (word < words_ && ends_[word] == point) ends_[word++] = static_cast<std::uint32_t>(encoded_.size());
        append_utf8(encoded_, points_[point]);
    }
    if constexpr (kWords)
        for (; word < words_; ++word) ends_[word] = static_cast<std::uint32_t>(encoded_.size());
    if (bytes_.size() < encoded_.size()) bytes_.resize(encoded_.size());
    std::copy(encoded_.begin(), encoded_.end(), bytes_.begin());
    size_ = encoded_.size();
}

// Appends what a character becomes; returns false if it is dropped.
bool KeyText::add(char32_t point) {
    const std::uint16_t code = key_code(point);
    if (code == kDropped) return false;
    if (code > kKept) {
        const std::uint16_t* const start = kReplacementStart + (code - 2);
        points_.insert(points_.end(), kReplacementPoints + start[0], kReplacementPoints + start[1]);
    } else if (!decompose_hangul(point, points_)) {
        points_.push_back(point);
    }
    return true;
}

// Notes the end of a word, unless there is nothing since the last one.
void KeyText::end_word(std::size_t size) {
    if (size > (words_ == 0 ? 0 : ends_[words_ - 1])) {
        if (words_ == ends_.size()) ends_.resize(2 * words_ + 1);
        ends_[words_++] = static_cast<std::uint32_t>(size);
    }
}

template void KeyText::normalize_line<false>(const TextView& text, std::size_t line);
template void KeyText::normalize_line<true>(const TextView& text, std::size_t line);

}  // namespace nmt_prep::clean
