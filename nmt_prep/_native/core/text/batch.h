// Encodes a column of lines to ID rows on several threads, for every dialect's encode_batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace nmt_prep {

// Called periodically, only on the thread that called into the core; may throw to end the work.
using Poll = std::function<void()>;

// Steps of cheap work, such as bytes or symbols, after which Poll is called again.
inline constexpr std::size_t kPollEvery = std::size_t{1} << 20;

// Borrowed lines in Arrow's layout: line i is data[offsets[i], offsets[i + 1]).
struct TextView {
    const std::uint8_t* data;
    const std::int64_t* offsets;
    std::size_t lines;

    const std::uint8_t* line(std::size_t i) const { return data + offsets[i]; }
    std::size_t size(std::size_t i) const { return static_cast<std::size_t>(offsets[i + 1] - offsets[i]); }
};

// Ids in memory from `malloc`, so that large arrays can grow and shrink without a copy.
struct FreeIds {
    void operator()(std::int32_t* ids) const { std::free(ids); }
};
using IdArray = std::unique_ptr<std::int32_t[], FreeIds>;

// Rows of ids: row i is values[offsets[i], offsets[i + 1]). Plain arrays, so that NumPy can own them.
struct RaggedIds {
    IdArray values;
    std::unique_ptr<std::int64_t[]> offsets;
    std::size_t rows;
};

// Concatenated texts, the output of decoding: text i is bytes[offsets[i], offsets[i + 1]).
struct Texts {
    std::string bytes;
    std::vector<std::int64_t> offsets;
};

// A growing row of ids that is written through a pointer.
class IdBuffer {
   public:
    // Returns room for `extra` more ids; `grow` then sets how many were written.
    std::int32_t* room(std::size_t extra) {
        if (capacity_ - size_ < extra) reserve(extra);
        return ids_.get() + size_;
    }
    void grow(std::size_t written) { size_ += written; }
    void push(std::int32_t id) {
        *room(1) = id;
        ++size_;
    }
    const std::int32_t* data() const { return ids_.get(); }
    std::size_t size() const { return size_; }
    // Returns the ids in memory shrunk to their size.
    IdArray release();

   private:
    void reserve(std::size_t extra);
    void resize(std::size_t capacity);

    IdArray ids_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

// Throws InvalidTextError unless offsets ascend within `data_size` bytes.
void check_offsets(const TextView& text, std::size_t data_size);

// Throws InvalidTextError naming the line unless line `i` is well-formed UTF-8.
void check_utf8(const TextView& text, std::size_t i);

// Checks lines [first, last), faster than one by one.
void check_lines(const TextView& text, std::size_t first, std::size_t last);

// Divides lines into runs of about `bytes` bytes each: run r is lines [bounds[r], bounds[r + 1]).
std::vector<std::size_t> cut_lines(const TextView& text, std::size_t bytes);

// Appends the ids of line `i` to `ids`. `thread` is the index of scratch space that no concurrent call uses.
using EncodeLine = std::function<void(std::size_t i, std::size_t thread, IdBuffer& ids)>;

// Returns rows of ids for all lines, in order, whatever the number of threads. Validates every line before it is
// encoded.
RaggedIds encode_lines(const TextView& text, std::size_t threads, const EncodeLine& encode, const Poll& poll);

// Appends the ids of lines [first, last), and writes to ends[i] the number of ids after line i.
using EncodeRun =
    std::function<void(std::size_t first, std::size_t last, std::size_t thread, IdBuffer& ids, std::int64_t* ends)>;

// Works as encode_lines, for encoders that process many lines at a time.
RaggedIds encode_runs(const TextView& text, std::size_t threads, const EncodeRun& encode, const Poll& poll);

// Appends the text of a row.
using WriteRow = std::function<void(std::size_t row, std::string& text)>;

// Returns the texts of all rows, in order, whatever the number of threads.
Texts write_rows(std::size_t rows, std::size_t threads, const WriteRow& write, const Poll& poll);

// Appends the text of `size` ids.
using DecodeRow = std::function<void(const std::int32_t* ids, std::size_t size, std::string& text)>;

// Returns the texts of all rows, in order, whatever the number of threads. Requires offsets that ascend.
Texts decode_rows(const std::int32_t* values, const std::int64_t* offsets, std::size_t rows, std::size_t threads,
                  const DecodeRow& decode, const Poll& poll);

}  // namespace nmt_prep
