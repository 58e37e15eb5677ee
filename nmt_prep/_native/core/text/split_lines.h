// The lines of a block as one column of text.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nmt_prep {

// Consecutive lines, counted from 0.
struct LineRange {
    std::int64_t first;
    std::int64_t count;
};

// Copies the lines of a block one after another, without the '\n' at their ends: line i of those that are kept becomes
// text[offsets[i]:offsets[i + 1]]. The end of the last line may lack its '\n'.
//
// left_out: `ranges` ranges of lines that are not copied, ascending and apart; none begins before line 0.
// strip_returns: a '\r' before a '\n' belongs to the end of the line.
// lines: the number of lines to copy; `text` has room for the block, `offsets` for one more than this.
//
// Returns false, with unspecified results, if the number of copied lines is not `lines`, or `text` would be too large
// for the offsets.
bool split_lines(const std::uint8_t* data, std::size_t size, const LineRange* left_out, std::size_t ranges,
                 bool strip_returns, std::size_t lines, std::uint8_t* text, std::int32_t* offsets);

// Copies spans of bytes that begin at `starts` one after another: span i becomes text[offsets[i]:offsets[i + 1]], so
// the offsets, one more than there are spans, give their sizes.
void copy_spans(const std::uint8_t* data, const std::int64_t* starts, std::size_t spans, const std::int64_t* offsets,
                std::uint8_t* text);

}  // namespace nmt_prep
