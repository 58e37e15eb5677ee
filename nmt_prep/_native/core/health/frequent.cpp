#include "health/frequent.h"

#include <algorithm>
#include <functional>

namespace nmt_prep::health {

FrequentHashes::FrequentHashes(std::size_t kept) : kept_(kept), counts_(2 * kept) {}

void FrequentHashes::add(std::uint64_t hash) {
    if (std::int64_t* const count = counts_.find(hash)) {
        ++*count;
        return;
    }
    if (counts_.size() == 2 * kept_) purge();
    counts_.add(hash) = 1;
}

std::vector<HashCount> FrequentHashes::above(std::int64_t least) const {
    std::vector<HashCount> found;
    for (const auto& slot : counts_.slots())
        if (!slot.free() && slot.value + error_ > least) found.push_back({slot.key, slot.value});
    std::ranges::sort(found, {}, &HashCount::hash);
    return found;
}

void FrequentHashes::purge() {
    std::vector<HashCount> entries;  // entries with a count of 2 or more, mostly few
    for (const auto& slot : counts_.slots())
        if (slot.value > 1) entries.push_back({slot.key, slot.value});
    std::int64_t subtracted = 1;
    if (entries.size() >= kept_) {
        const auto middle = entries.begin() + static_cast<std::ptrdiff_t>(kept_ - 1);
        std::ranges::nth_element(entries, middle, std::ranges::greater{}, &HashCount::count);
        subtracted = middle->count;
    }
    error_ += subtracted;
    counts_.clear(2 * kept_);
    for (const HashCount& entry : entries)
        if (entry.count > subtracted) counts_.add(entry.hash) = entry.count - subtracted;
}

}  // namespace nmt_prep::health
