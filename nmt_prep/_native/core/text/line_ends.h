// Line ends in file blocks: finding, counting and taking every n-th line. A line ends at '\n' only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace nmt_prep {

// Number of '\n' in the data.
std::size_t count_newlines(const std::uint8_t* data, std::size_t size);

// Writes the positions of the first `count` newlines; the data must have `count` newlines or more.
void find_newlines(const std::uint8_t* data, std::size_t size, std::size_t count, std::int64_t* positions);

// True if "\r\n" occurs.
bool has_carriage_returns(const std::uint8_t* data, std::size_t size);

// For each string, writes whether it is empty or consists of white space, as Python's str.strip removes it. Requires
// valid UTF-8; string i is data[offsets[i]:offsets[i + 1]].
void find_blank(const std::uint8_t* data, const std::int64_t* offsets, std::size_t strings, bool* blank);

// True if a string begins or ends with white space: if Python's str.strip changes it. Requires valid UTF-8.
bool has_outer_space(const std::uint8_t* data, const std::int64_t* offsets, std::size_t strings);

// A file block's hash, to notice that a file changed; for blocks of some kilobytes or more.
std::uint64_t hash_block(const std::uint8_t* data, std::size_t size);

// Takes every n-th line of a file, stripped of white space as by Python's str.strip, until the lines have used up a
// budget of characters. The line that uses it up is the last one.
class LineSampler {
   public:
    // Requires stride >= 1 and budget >= 1.
    LineSampler(std::int64_t stride, std::int64_t budget) : stride_(stride), ahead_(stride - 1), budget_(budget) {}

    // Lines, each followed by '\n'.
    struct Taken {
        std::unique_ptr<std::uint8_t[]> bytes;
        std::size_t size = 0;
    };

    // Reads the next block of the file, of any size; the last one of a file ends its last line. Returns the lines that
    // it completes. Throws InvalidTextError if one of them is not UTF-8.
    Taken feed(const std::uint8_t* data, std::size_t size, bool last);

    bool done() const { return budget_ <= 0; }
    std::int64_t lines() const { return lines_; }

   private:
    void take(const std::uint8_t* begin, const std::uint8_t* end);
    void count_characters();

    std::int64_t stride_;
    std::int64_t ahead_;   // newlines before the next line to take
    std::int64_t budget_;  // characters of lines that are not counted yet are not subtracted
    std::int64_t lines_ = 0;
    bool inside_ = false;              // the last block ended inside a line
    std::vector<std::uint8_t> begun_;  // the part of that line read so far
    Taken taken_;
    std::size_t counted_ = 0;  // bytes of taken_ whose characters are counted
};

}  // namespace nmt_prep
