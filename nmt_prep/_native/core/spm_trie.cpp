#include "spm_trie.h"

#include <algorithm>

namespace nmt_prep::spm {

Trie::Trie(std::vector<std::pair<std::string, std::int32_t>> entries) {
    if (entries.empty()) return;
    std::sort(entries.begin(), entries.end());
    grow(4 * kBlock);

    struct Range {
        std::size_t first, last, depth;
        std::uint32_t node;
    };
    std::vector<Range> open{{0, entries.size(), 0, kRoot}};
    std::vector<std::uint8_t> labels;
    std::vector<std::size_t> starts;
    while (!open.empty()) {
        Range range = open.back();
        open.pop_back();
        if (entries[range.first].first.size() == range.depth) {
            units_[range.node].label_and_value |= (static_cast<std::uint32_t>(entries[range.first].second) + 1) << 8;
            if (++range.first == range.last) continue;
        }
        labels.clear();
        starts.clear();
        for (std::size_t i = range.first; i < range.last; ++i) {
            const auto label = static_cast<std::uint8_t>(entries[i].first[range.depth]);
            if (!labels.empty() && labels.back() == label) continue;
            labels.push_back(label);
            starts.push_back(i);
        }
        starts.push_back(range.last);
        const std::uint32_t base = find_base(labels);
        units_[range.node].base = base;
        base_taken_[base] = true;
        for (std::size_t i = 0; i < labels.size(); ++i) {
            const std::uint32_t child = base ^ labels[i];
            unit_taken_[child] = true;
            units_[child].label_and_value = labels[i];
            open.push_back({starts[i], starts[i + 1], range.depth + 1, child});
        }
    }
    units_.resize(end_);
    base_taken_ = {};
    unit_taken_ = {};
}

// Looks at some free units from the lowest on, then begins a new block, so that building stays linear.
std::uint32_t Trie::find_base(const std::vector<std::uint8_t>& labels) {
    constexpr std::size_t kTries = 128;
    std::size_t tries = 0;
    for (std::uint32_t unit = first_free_;; ++unit) {
        if (unit + kBlock >= units_.size()) grow(2 * units_.size());
        if (unit_taken_[unit]) {
            if (unit == first_free_) ++first_free_;
            continue;
        }
        const std::uint32_t base = unit ^ labels[0];
        const bool fits = !base_taken_[base] && std::none_of(labels.begin(), labels.end(), [&](std::uint8_t label) {
            return unit_taken_[base ^ label];
        });
        if (fits) {
            end_ = std::max(end_, (unit | (kBlock - 1)) + 1);
            return base;
        }
        if (++tries == kTries) unit = std::max(unit, end_ - 1);
    }
}

void Trie::grow(std::size_t size) {
    units_.resize(size);
    base_taken_.resize(size);
    unit_taken_.resize(size);
}

}  // namespace nmt_prep::spm
