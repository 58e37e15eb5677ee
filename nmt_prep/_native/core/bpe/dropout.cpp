#include "bpe/dropout.h"

namespace nmt_prep::bpe {

void DropoutCache::append(std::span<const Decision> decisions, std::span<const std::int32_t> ids,
                          std::vector<std::uint32_t>& path) {
    path.clear();
    path.push_back(static_cast<std::uint32_t>(ids.size() << 16 | decisions.size()));
    for (const Decision& decision : decisions) path.push_back(packed(decision));
    path.insert(path.end(), ids.begin(), ids.end());
}

void DropoutCache::put(std::uint64_t hash, const std::uint8_t* word, std::size_t size,
                       std::span<const Decision> decisions, std::span<const std::int32_t> ids) {
    if (decisions.size() + ids.size() >= PhraseCache::kMaxWords) return;
    if (paths_.empty()) {
        paths_.reserve(kMaxPaths);
        paths_.push_back(0);
    }
    std::uint32_t* at = words_.view(hash, word, size).data();
    std::uint32_t* link = nullptr;
    std::size_t made = 0;
    while (at != nullptr) {
        const std::size_t count = *at & 0xFFFF;
        std::size_t same = 0;
        while (same < count && made < decisions.size() && own_bits(at[1 + same]) == packed(decisions[made]))
            ++same, ++made;
        if (same == count || made == decisions.size()) return;  // known, or in contradiction to what is known
        ++made;
        link = at + 1 + same;
        at = other_path(*link) != 0 ? &paths_[other_path(*link)] : nullptr;
    }
    append(decisions.subspan(made), ids, path_);
    if (link == nullptr) {
        words_.put(hash, word, size, path_.data(), path_.size());
        return;
    }
    if (paths_.size() + path_.size() > kMaxPaths) {
        words_.clear();
        paths_.resize(1);
        return;
    }
    *link |= static_cast<std::uint32_t>(paths_.size()) << kOwnBits;
    paths_.insert(paths_.end(), path_.begin(), path_.end());
}

}  // namespace nmt_prep::bpe
