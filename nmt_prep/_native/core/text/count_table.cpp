#include "text/count_table.h"

#include <algorithm>

#include "text/byte_hash.h"
#include "text/errors.h"

namespace nmt_prep {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 16;

}  // namespace

CountTable::CountTable() : slots_(1024, Slot{0, 0}) {}

void CountTable::add(std::string_view token, std::int64_t count) {
    const std::uint64_t hash = hash_bytes(reinterpret_cast<const std::uint8_t*>(token.data()), token.size());
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    while (slots_[at].entry != 0) {
        if (slots_[at].tag == tag) {
            TokenCount& entry = entries_[slots_[at].entry - 1];
            if (entry.token == token) {
                entry.count += count;
                return;
            }
        }
        at = (at + 1) & mask;
    }
    if (entries_.size() == UINT32_MAX - 1)
        throw TrainingError("more than 4294967294 distinct tokens; sample less text");
    entries_.push_back({{keep(token), token.size()}, count});
    bytes_ += static_cast<std::int64_t>(token.size());
    characters_ += std::count_if(token.begin(), token.end(),
                                 [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; });
    slots_[at] = {tag, static_cast<std::uint32_t>(entries_.size())};
    if (entries_.size() * 8 > slots_.size() * 5) grow();
}

void CountTable::grow() {
    std::vector<Slot> slots(slots_.size() * 2, Slot{0, 0});
    const std::size_t mask = slots.size() - 1;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        const std::string_view token = entries_[i].token;
        const std::uint64_t hash = hash_bytes(reinterpret_cast<const std::uint8_t*>(token.data()), token.size());
        std::size_t at = hash & mask;
        while (slots[at].entry != 0) at = (at + 1) & mask;
        slots[at] = {static_cast<std::uint32_t>(hash >> 32), static_cast<std::uint32_t>(i + 1)};
    }
    slots_.swap(slots);
}

const char* CountTable::keep(std::string_view token) {
    if (token.size() > block_left_) {
        const std::size_t size = std::max(kBlockBytes, token.size());
        blocks_.push_back(std::make_unique_for_overwrite<char[]>(size));
        block_end_ = blocks_.back().get() + size;
        block_left_ = size;
    }
    char* const copy = block_end_ - block_left_;
    block_left_ -= token.size();
    std::ranges::copy(token, copy);
    return copy;
}

CountTable& join_tables(std::vector<CountTable>& tables) {
    if (tables.empty()) tables.resize(1);
    for (; tables.size() > 1; tables.pop_back())
        for (const TokenCount& entry : tables.back().entries()) tables.front().add(entry.token, entry.count);
    return tables.front();
}

}  // namespace nmt_prep
