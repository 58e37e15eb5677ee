// External shuffle: pairs are encoded as framed records at once, written grouped by bucket, and sorted one bucket at a
// time. A bucket is a range of positions in one shard.
//
// A spilled record: position (8 bytes), tokens of the source and of the target and number of the corpus (4 bytes each),
// framed record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "records/example.h"
#include "records/shuffle.h"

namespace nmt_prep {

inline constexpr std::int64_t kMaxBuckets = std::int64_t{1} << 20;

// Shard s owns the positions [s * rows / shards, (s + 1) * rows / shards); its buckets divide those likewise.
class ShardLayout {
   public:
    // Throws std::invalid_argument unless there are 1 to kMaxBuckets buckets in all.
    ShardLayout(std::int64_t rows, std::int64_t shards, std::int64_t buckets_per_shard);

    std::int64_t buckets() const { return shards_ * buckets_per_shard_; }
    std::int64_t bucket_of(std::int64_t position) const;

   private:
    std::int64_t rows_;
    std::int64_t shards_;
    std::int64_t buckets_per_shard_;
};

// Content of a spilled record: the Example as written to a shard, or the raw ids of source and target, from which
// chunks are made.
enum class Payload : bool { kExample, kRaw };

// Unchecked input rows of ids.
struct IdColumn {
    Ids values;
    std::span<const std::int64_t> offsets;

    std::size_t rows() const { return offsets.size() - 1; }
    Ids row(std::size_t index) const {
        return values.subspan(static_cast<std::size_t>(offsets[index]),
                              static_cast<std::size_t>(offsets[index + 1] - offsets[index]));
    }
    // Throws std::invalid_argument unless the offsets ascend from at least 0 to at most the number of values.
    void check() const;
};

// Consecutive spilled records of one bucket.
struct Segment {
    std::int64_t bucket;
    std::int64_t offset;
    std::int64_t bytes;
};

// Collects pairs as spilled records until they are taken out, grouped by bucket.
class SpillBuffer {
   public:
    SpillBuffer(const Permutation& permutation, const ShardLayout& layout, Payload payload)
        : permutation_(permutation), layout_(layout), payload_(payload) {}

    // Adds pairs of one corpus whose rows in the whole split are first_row, first_row + 1, ...
    // Throws std::invalid_argument for columns of different length, rows outside the split or a record above 2 GiB.
    void add(std::int64_t first_row, const IdColumn& inputs, const IdColumn& targets, std::uint32_t corpus);

    std::size_t bytes() const { return size_; }

    // Bytes of memory in use: the records and their metadata.
    std::size_t held() const { return size_ + entries_.size() * sizeof(Entry); }

    // Writes bytes() bytes to `out`, empties the buffer, and returns the segments in order of bucket.
    std::vector<Segment> drain(std::uint8_t* out);

   private:
    struct Entry {
        std::int64_t bucket;
        std::size_t offset;
        std::size_t bytes;
    };

    void reserve(std::size_t more);

    Permutation permutation_;
    ShardLayout layout_;
    Payload payload_;
    std::vector<Entry> entries_;
    std::unique_ptr<std::uint8_t[]> data_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

// Header of a spilled pair.
struct PairInfo {
    std::uint32_t source;  // tokens
    std::uint32_t target;  // tokens
    std::uint32_t corpus;
    std::size_t bytes;  // of its framed record
};

// The spilled records of one bucket, gathered from all spill files in any order; `data` must outlive it.
class Bucket {
   public:
    // Throws std::runtime_error unless the data holds the positions [first, last), each once, with sound checksums.
    Bucket(std::span<const std::uint8_t> data, std::int64_t first, std::int64_t last, Payload payload);

    Payload payload() const { return payload_; }

    // Pairs, in order of position.
    std::size_t size() const { return frames_.size(); }
    PairInfo info(std::size_t index) const;

    // The raw ids of a pair, not aligned: those of the source, then those of the target.
    const std::uint8_t* ids(std::size_t index) const;

    std::int64_t source_tokens() const { return source_tokens_; }
    std::int64_t target_tokens() const { return target_tokens_; }
    std::size_t largest() const { return largest_; }

    // Copies the next framed records, in order of position, as many as fit; returns their bytes, 0 at the end.
    // `capacity` must be at least largest().
    std::size_t copy(std::uint8_t* out, std::size_t capacity);

   private:
    Payload payload_;
    std::vector<const std::uint8_t*> frames_;
    std::size_t next_ = 0;
    std::size_t largest_ = 0;
    std::int64_t source_tokens_ = 0;
    std::int64_t target_tokens_ = 0;
};

}  // namespace nmt_prep
