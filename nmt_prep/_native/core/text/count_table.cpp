#include "text/count_table.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "text/byte_hash.h"
#include "text/errors.h"

namespace nmt_prep {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 16;
constexpr unsigned kFirstBits = 10;

// Returns up to eight bytes as a number, the first one lowest on little-endian processors.
std::uint64_t short_word(std::string_view text) {
    const char* const data = text.data();
    const std::size_t size = text.size();
    std::uint64_t word = 0;
    if (size >= 4) {
        std::uint32_t first, last;
        std::memcpy(&first, data, 4);
        std::memcpy(&last, data + size - 4, 4);
        std::memcpy(&word, &first, 4);
        std::memcpy(reinterpret_cast<char*>(&word) + size - 4, &last, 4);
    } else {
        auto* const bytes = reinterpret_cast<char*>(&word);
        for (std::size_t i = 0; i < size; ++i) bytes[i] = data[i];
    }
    return word;
}

// Masks of the first n of 16 bytes, by n.
constexpr auto kMasks = [] {
    std::array<std::array<std::uint64_t, 2>, 17> masks{};
    for (std::size_t size = 0; size < masks.size(); ++size) {
        std::array<std::uint8_t, 16> bytes{};
        for (std::size_t i = 0; i < size; ++i) bytes[i] = 0xFF;
        masks[size] = std::bit_cast<std::array<std::uint64_t, 2>>(bytes);
    }
    return masks;
}();

}  // namespace

CountTable::CountTable() : slots_(std::size_t{1} << kFirstBits, Slot{0, 0}), shift_(32 - kFirstBits) {}

// `padded`: at least 16 bytes may be read.
inline CountTable::Key CountTable::key_of(std::string_view token, bool padded) {
    constexpr std::uint64_t kOdd[2] = {0x9E3779B97F4A7C15u, 0xD1B54A32D192ED03u};
    const std::size_t size = token.size();
    if (size > TokenCount::kShort) {
        const std::uint64_t hash = hash_bytes(reinterpret_cast<const std::uint8_t*>(token.data()), size);
        return {0, 0, static_cast<std::uint32_t>(hash >> 32)};
    }
    std::uint64_t first = 0, second = 0;
    if (padded) {
        std::memcpy(&first, token.data(), sizeof first);
        std::memcpy(&second, token.data() + sizeof first, sizeof second);
        first &= kMasks[size][0];
        second &= kMasks[size][1];
    } else if (size >= sizeof first) {
        std::memcpy(&first, token.data(), sizeof first);
        second = short_word(token.substr(sizeof first));
    } else {
        first = short_word(token);
    }
    const std::uint64_t hash = mix_bits(first ^ (size * kOdd[0]), second ^ kOdd[1]);
    return {first, second, static_cast<std::uint32_t>(hash >> 32)};
}

inline void CountTable::add(Key key, std::string_view token, std::int64_t count) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = key.tag >> shift_;
    for (; slots_[at].entry != 0; at = (at + 1) & mask) {
        if (slots_[at].tag != key.tag) continue;
        TokenCount& entry = entries_[slots_[at].entry - 1];
        if (entry.size_ != token.size()) continue;
        const bool same = token.size() <= TokenCount::kShort
                              ? entry.words_[0] == key.first && entry.words_[1] == key.second
                              : std::memcmp(entry.text(), token.data(), token.size()) == 0;
        if (!same) continue;
        entry.count += count;
        return;
    }
    insert(at, key, token, count);
}

void CountTable::add(std::string_view token, std::int64_t count) { add(key_of(token, false), token, count); }

void CountTable::insert(std::size_t at, Key key, std::string_view token, std::int64_t count) {
    if (entries_.size() == UINT32_MAX - 1)
        throw TrainingError("more than 4294967294 distinct tokens; sample less text");
    if (token.size() > UINT32_MAX) throw TrainingError("a token of more than 4294967295 bytes; leave out its line");
    TokenCount entry;
    entry.count = count;
    entry.words_ = {key.first, key.second};
    if (token.size() > TokenCount::kShort)
        entry.words_[0] = static_cast<std::uint64_t>(std::bit_cast<std::uintptr_t>(keep(token)));
    entry.size_ = static_cast<std::uint32_t>(token.size());
    entry.tag_ = key.tag;
    entries_.push_back(entry);
    bytes_ += static_cast<std::int64_t>(token.size());
    characters_ += std::count_if(token.begin(), token.end(),
                                 [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; });
    slots_[at] = {key.tag, static_cast<std::uint32_t>(entries_.size())};
    if (entries_.size() * 8 > slots_.size() * 5) grow();
}

void CountTable::add_each(std::span<const Token> tokens, const char* readable_end) {
    constexpr std::size_t kGroup = 32;
    std::array<Key, kGroup> keys;
    for (; !tokens.empty(); tokens = tokens.subspan(std::min(tokens.size(), kGroup))) {
        const std::size_t size = std::min(tokens.size(), kGroup);
        for (std::size_t i = 0; i < size; ++i) {
            keys[i] = key_of(tokens[i].text(), readable_end - tokens[i].data >= 16);
            __builtin_prefetch(&slots_[keys[i].tag >> shift_]);
        }
        for (std::size_t i = 0; i < size; ++i)
            if (const Slot& slot = slots_[keys[i].tag >> shift_]; slot.tag == keys[i].tag && slot.entry != 0)
                __builtin_prefetch(&entries_[slot.entry - 1], 1);
        for (std::size_t i = 0; i < size; ++i) add(keys[i], tokens[i].text(), 1);
    }
}

void CountTable::add_all(const CountTable& other) {
    for (const TokenCount& entry : other.entries_) {
        const bool is_short = entry.size_ <= TokenCount::kShort;
        add({is_short ? entry.words_[0] : 0, is_short ? entry.words_[1] : 0, entry.tag_}, entry.token(), entry.count);
    }
}

void CountTable::grow() {
    if (shift_ == 0) throw TrainingError("too many distinct tokens; sample less text");
    --shift_;
    slots_.assign(slots_.size() * 2, Slot{0, 0});
    // Frequent strings usually come first, and so they are found at once.
    const std::size_t mask = slots_.size() - 1;
    for (std::uint32_t entry = 0; entry < entries_.size(); ++entry) {
        const std::uint32_t tag = entries_[entry].tag_;
        std::size_t at = tag >> shift_;
        while (slots_[at].entry != 0) at = (at + 1) & mask;
        slots_[at] = {tag, entry + 1};
    }
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
    for (; tables.size() > 1; tables.pop_back()) {
        if (tables.back().entries().size() > tables.front().entries().size()) std::swap(tables.front(), tables.back());
        tables.front().add_all(tables.back());
    }
    return tables.front();
}

}  // namespace nmt_prep
