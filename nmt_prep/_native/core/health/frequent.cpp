#include "health/frequent.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>

namespace nmt_prep::health {

FrequentHashes::FrequentHashes(std::size_t kept)
    : kept_(kept), mask_(std::bit_ceil(4 * kept) - 1), slots_(mask_ + 1, HashCount{0, 0}) {}

void FrequentHashes::add(std::uint64_t hash) {
    for (std::size_t slot = hash & mask_; slots_[slot].count != 0; slot = (slot + 1) & mask_)
        if (slots_[slot].hash == hash) {
            ++slots_[slot].count;
            return;
        }
    if (size_ == 2 * kept_) purge();
    insert(hash, 1);
}

std::vector<HashCount> FrequentHashes::above(std::int64_t least) const {
    std::vector<HashCount> found;
    std::ranges::copy_if(slots_, std::back_inserter(found),
                         [&](const HashCount& entry) { return entry.count != 0 && entry.count + error_ > least; });
    std::ranges::sort(found, {}, &HashCount::hash);
    return found;
}

void FrequentHashes::insert(std::uint64_t hash, std::int64_t count) {
    std::size_t slot = hash & mask_;
    while (slots_[slot].count != 0) slot = (slot + 1) & mask_;
    slots_[slot] = {hash, count};
    ++size_;
}

void FrequentHashes::purge() {
    std::vector<HashCount> entries;  // those with a count of 2 or more: mostly few
    std::ranges::copy_if(slots_, std::back_inserter(entries), [](const HashCount& entry) { return entry.count > 1; });
    std::int64_t subtracted = 1;
    if (entries.size() >= kept_) {
        const auto middle = entries.begin() + static_cast<std::ptrdiff_t>(kept_ - 1);
        std::ranges::nth_element(entries, middle, std::ranges::greater{}, &HashCount::count);
        subtracted = middle->count;
    }
    error_ += subtracted;
    std::ranges::fill(slots_, HashCount{0, 0});
    size_ = 0;
    for (const HashCount& entry : entries)
        if (entry.count > subtracted) insert(entry.hash, entry.count - subtracted);
}

}  // namespace nmt_prep::health
