// Shuffles pairs of rows as they arrive, and forms padded pair batches of similar length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "batches/shuffle_buffer.h"

namespace nmt_prep {

struct PairBatchOptions {
    std::int64_t buffer_size;   // pairs in the shuffle buffer
    std::int64_t batch_size;    // pairs in a batch
    std::int64_t buckets;       // index of the bucket with the longest pairs; 0 for a single bucket
    std::int64_t bucket_width;  // number of lengths in every other bucket
    std::int64_t source_width;  // ids of each item of a source
    std::int64_t drains;        // calls of `drain` at the end
    std::int32_t source_padding;
    std::int32_t sos;
    std::int32_t eos;  // also the padding of targets
};

// Rows of one side: the ids of all rows, and the number of items in each row.
struct IdRows {
    std::span<const std::int32_t> ids;
    std::span<const std::int64_t> lengths;
};

// Values in memory with the alignment that TensorFlow needs to take them over without a copy.
class AlignedIds {
   public:
    static constexpr std::align_val_t kAlignment{64};

    struct Free {
        void operator()(std::int32_t* values) const { ::operator delete[](values, kAlignment); }
    };

    explicit AlignedIds(std::size_t size = 0)
        : values_(static_cast<std::int32_t*>(::operator new[](size * sizeof(std::int32_t), kAlignment))), size_(size) {}

    std::int32_t* data() const { return values_.get(); }
    std::size_t size() const { return size_; }
    std::unique_ptr<std::int32_t[], Free> release() { return std::move(values_); }

   private:
    std::unique_ptr<std::int32_t[], Free> values_;
    std::size_t size_;
};

// Batches, one after the other; the matrices are padded.
struct PaddedBatches {
    AlignedIds source, target_input, target_output;
    AlignedIds source_lengths, target_lengths;
    // For each batch, kPlace numbers: first length and number of lengths; first id, ID count, rows and columns of
    // the source; and the same four numbers for each of the two targets.
    static constexpr std::size_t kPlace = 10;
    std::vector<std::int64_t> places;
};

class PairBatches {
   public:
    // Throws std::invalid_argument unless the sizes are positive.
    explicit PairBatches(const PairBatchOptions& options);
    PairBatches(const PairBatches&) = delete;
    PairBatches& operator=(const PairBatches&) = delete;

    // Adds pairs, and returns the batches that become complete. A pair with an empty side is shuffled, but is in no
    // batch. Additional rows of one side are ignored. Throws std::invalid_argument if there is no random number for
    // each pair, or lengths do not match the ids.
    PaddedBatches add(const IdRows& source, const IdRows& target, std::span<const std::int64_t> random);

    // To be called `drains` times after the last pair. Each call takes an equal part of the pairs from the shuffle
    // buffer; the last call empties the buckets too.
    PaddedBatches drain();

   private:
    struct Pair {
        std::unique_ptr<std::int32_t[]> ids;  // source, then target
        std::int32_t source_length = 0, target_length = 0;
    };

    using Window = std::vector<Pair>;

    // Takes a pair from the shuffle buffer; appends the window of the pair once it is complete.
    void take(std::vector<Window>& complete);
    std::size_t bucket_of(const Pair& pair) const;
    PaddedBatches padded(const std::vector<Window>& windows) const;

    PairBatchOptions options_;
    ShuffleBuffer<Pair> buffer_;
    std::deque<std::uint32_t> random_;  // a number for each pair in the buffer
    std::vector<Window> windows_;       // one for each bucket
};

}  // namespace nmt_prep
