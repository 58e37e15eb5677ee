#include "batches/pair_batches.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace nmt_prep {
namespace {

PairBatchOptions checked(const PairBatchOptions& options) {
    if (options.buffer_size < 1 || options.batch_size < 1 || options.bucket_width < 1 || options.source_width < 1 ||
        options.drains < 1)
        throw std::invalid_argument("sizes and widths are at least 1");
    if (options.buckets < 0) throw std::invalid_argument("there are at least 0 buckets");
    return options;
}

// Hands out the ids of a side's rows, one row after the other.
class RowReader {
   public:
    RowReader(const IdRows& rows, std::int64_t width) : rows_(rows), width_(width) {}

    std::span<const std::int32_t> next() {
        const std::int64_t length = rows_.lengths[row_++];
        if (length < 0 || length > static_cast<std::int64_t>(rows_.ids.size() - at_) / width_)
            throw std::invalid_argument("the lengths do not match the ids");
        const auto size = static_cast<std::size_t>(length * width_);
        return rows_.ids.subspan(std::exchange(at_, at_ + size), size);
    }

   private:
    const IdRows& rows_;
    std::int64_t width_;
    std::size_t row_ = 0, at_ = 0;
};

}  // namespace

PairBatches::PairBatches(const PairBatchOptions& options)
    : options_(checked(options)),
      buffer_(static_cast<std::uint64_t>(options.buffer_size)),
      windows_(static_cast<std::size_t>(options.buckets) + 1) {}

PaddedBatches PairBatches::add(const IdRows& source, const IdRows& target, std::span<const std::int64_t> random) {
    const std::size_t pairs = std::min(source.lengths.size(), target.lengths.size());
    if (random.size() < pairs) throw std::invalid_argument("there must be a random number for each pair");
    std::vector<Window> complete;
    RowReader sources(source, options_.source_width), targets(target, 1);
    for (std::size_t pair = 0; pair < pairs; ++pair) {
        const auto source_ids = sources.next(), target_ids = targets.next();
        auto ids = std::make_unique_for_overwrite<std::int32_t[]>(source_ids.size() + target_ids.size());
        std::ranges::copy(target_ids, std::ranges::copy(source_ids, ids.get()).out);
        const auto length = static_cast<std::int64_t>(source_ids.size()) / options_.source_width;
        buffer_.put({std::move(ids), static_cast<std::int32_t>(length), static_cast<std::int32_t>(target_ids.size())});
        random_.push_back(static_cast<std::uint32_t>(random[pair]));
        if (buffer_.full()) take(complete);
    }
    return padded(complete);
}

PaddedBatches PairBatches::drain() {
    if (options_.drains < 1) throw std::invalid_argument("everything was drained before");
    std::vector<Window> complete;
    for (std::uint64_t left = buffer_.held() / static_cast<std::uint64_t>(options_.drains--); left > 0; --left)
        take(complete);
    if (options_.drains == 0) {
        for (Window& window : windows_) {
            if (!window.empty()) complete.push_back(std::exchange(window, {}));
        }
    }
    return padded(complete);
}

void PairBatches::take(std::vector<Window>& complete) {
    Pair pair = buffer_.take(random_.front());
    random_.pop_front();
    if (pair.source_length == 0 || pair.target_length == 0) return;
    Window& window = windows_[bucket_of(pair)];
    window.push_back(std::move(pair));
    if (std::cmp_equal(window.size(), options_.batch_size)) complete.push_back(std::exchange(window, {}));
}

std::size_t PairBatches::bucket_of(const Pair& pair) const {
    const std::int64_t longer = std::max<std::int64_t>(pair.source_length, std::int64_t{pair.target_length} + 1);
    return static_cast<std::size_t>(std::min(longer / options_.bucket_width, options_.buckets));
}

PaddedBatches PairBatches::padded(const std::vector<Window>& windows) const {
    PaddedBatches batches;
    std::int64_t rows = 0, source_cells = 0, target_cells = 0;
    for (const Window& window : windows) {
        std::int64_t source = 0, target = 0;
        for (const Pair& pair : window) {
            source = std::max(source, pair.source_length * options_.source_width);
            target = std::max<std::int64_t>(target, pair.target_length + 1);
        }
        const auto count = static_cast<std::int64_t>(window.size());
        batches.places.insert(batches.places.end(), {rows, count, source_cells, count * source, count, source,
                                                     target_cells, count * target, count, target});
        rows += count;
        source_cells += count * source;
        target_cells += count * target;
    }
    const auto sized = [](std::int64_t size) { return AlignedIds(static_cast<std::size_t>(size)); };
    batches.source = sized(source_cells);
    batches.target_input = sized(target_cells);
    batches.target_output = sized(target_cells);
    batches.source_lengths = sized(rows);
    batches.target_lengths = sized(rows);
    std::int32_t* source = batches.source.data();
    std::int32_t *input = batches.target_input.data(), *output = batches.target_output.data();
    std::int32_t *source_length = batches.source_lengths.data(), *target_length = batches.target_lengths.data();
    const std::int64_t* place = batches.places.data();
    for (const Window& window : windows) {
        const std::int64_t source_columns = place[5], target_columns = place[9];
        for (const Pair& pair : window) {
            *source_length++ = pair.source_length;
            *target_length++ = pair.target_length + 1;
            const std::int64_t source_ids = pair.source_length * options_.source_width;
            const std::int32_t* const target_ids = pair.ids.get() + source_ids;
            const std::int64_t empty = target_columns - pair.target_length - 1;
            source = std::fill_n(std::copy_n(pair.ids.get(), source_ids, source), source_columns - source_ids,
                                 options_.source_padding);
            *input++ = options_.sos;
            input = std::fill_n(std::copy_n(target_ids, pair.target_length, input), empty, options_.eos);
            output = std::fill_n(std::copy_n(target_ids, pair.target_length, output), empty + 1, options_.eos);
        }
        place += PaddedBatches::kPlace;
    }
    return batches;
}

}  // namespace nmt_prep
