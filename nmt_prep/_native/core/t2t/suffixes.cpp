// Prefix doubling (Larsson and Sadakane, "Faster suffix sorting", 2007) from a radix sort of the first few symbols of
// each suffix, packed in one word. Natural text is almost sorted after that; the compared length of the rest doubles in
// each round. Common prefix lengths come from the words if these differ, else from a walk in text order (Kasai et al.
// 2001), which is valid here because it runs over distinct suffixes.
#include "t2t/suffixes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace nmt_prep::t2t {
namespace {

constexpr std::size_t kDigitBits = 11;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
constexpr std::size_t kRadixFrom = 2048;  // below this many, comparison sorting is faster
constexpr std::uint32_t kUnknown = UINT32_MAX;

struct Item {
    std::uint64_t key;
    std::uint32_t position;
};

std::uint64_t key_of(const Item& item) { return item.key; }
std::uint64_t key_of(std::uint64_t item) { return item >> 32; }

// Stable ascending sort by the low `bits` of the keys; `spare` is scratch of at least the same size.
template <class T>
void radix_sort(T* items, T* spare, std::size_t size, std::size_t bits, const Poll& poll) {
    const std::size_t passes = (bits + kDigitBits - 1) / kDigitBits;
    std::vector<std::array<std::uint32_t, kDigits>> starts(passes);
    for (std::size_t i = 0; i < size; ++i) {
        std::uint64_t key = key_of(items[i]);
        for (auto& digits : starts) {
            ++digits[key % kDigits];
            key >>= kDigitBits;
        }
    }
    T* from = items;
    T* to = spare;
    for (std::size_t pass = 0; pass < passes; ++pass) {
        auto& start = starts[pass];
        const std::size_t shift = pass * kDigitBits;
        if (start[key_of(from[0]) >> shift & (kDigits - 1)] == size) continue;  // all keys have the same digit
        std::uint32_t sum = 0;
        for (std::uint32_t& count : start) sum += std::exchange(count, sum);
        for (std::size_t block = 0; block < size; block += kPollEvery) {
            poll();
            const std::size_t end = std::min(size, block + kPollEvery);
            for (std::size_t i = block; i < end; ++i) to[start[key_of(from[i]) >> shift & (kDigits - 1)]++] = from[i];
        }
        std::swap(from, to);
    }
    if (from != items) std::copy(from, from + size, items);
}

class Sorter {
   public:
    Sorter(const TokenText& tokens, const Poll& poll)
        : tokens_(tokens),
          text_(tokens.text),
          poll_(poll),
          bits_(std::bit_width(tokens.symbols)),
          packed_(64 / bits_) {}

    Suffixes run() {
        sort_by_first_symbols();
        for (std::size_t compared = packed_; !groups_.empty(); compared *= 2) refine(compared);
        std::vector<Group>().swap(groups_);
        std::vector<std::uint64_t>().swap(keys_);
        collect_leaves();
        complete_common();
        return std::move(result_);
    }

   private:
    struct Group {
        std::uint32_t begin, end;
    };

    // Returns true if the key contains the whole suffix: its last symbol is padding or the end of the token.
    bool is_whole(std::uint64_t key) const {
        const std::uint64_t symbol = key & ((std::uint64_t{1} << bits_) - 1);
        return symbol == 0 || symbol == tokens_.last;
    }

    std::vector<Item> sorted_items() {
        const std::size_t size = text_.size();
        std::vector<Item> items(size), spare(size);
        const std::size_t top = bits_ * (packed_ - 1);
        std::uint64_t key = 0;
        for (std::size_t i = size; i-- > 0;) {
            const std::uint64_t symbol = text_[i];
            key = symbol == tokens_.last ? symbol << top : symbol << top | key >> bits_;
            items[i] = {key, static_cast<std::uint32_t>(i)};
        }
        radix_sort(items.data(), spare.data(), size, bits_ * packed_, poll_);
        return items;
    }

    // A rank is twice the first index of a group, plus one if the group's suffixes are equal as a whole.
    void set_rank(std::size_t begin, std::size_t end, bool whole) {
        const auto rank = static_cast<std::uint32_t>(begin << 1 | (whole ? 1 : 0));
        for (std::size_t i = begin; i < end; ++i) rank_[order_[i]] = rank;
    }

    void sort_by_first_symbols() {
        const std::vector<Item> items = sorted_items();
        const std::size_t size = items.size();
        order_.resize(size);
        rank_.resize(size);
        result_.common.assign(size, kUnknown);
        for (std::size_t begin = 0, end; begin < size; begin = end) {
            const std::uint64_t key = items[begin].key;
            for (end = begin; end < size && items[end].key == key; ++end) order_[end] = items[end].position;
            if (begin > 0) {
                const auto differing = std::bit_width(items[begin - 1].key ^ key) - 1;
                result_.common[begin] =
                    static_cast<std::uint32_t>((bits_ * packed_ - 1 - static_cast<std::size_t>(differing)) / bits_);
            }
            const bool whole = end - begin == 1 || is_whole(key);
            set_rank(begin, end, whole);
            if (!whole) groups_.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
        }
        result_.common[0] = 0;
    }

    // Splits every group, whose first `compared` symbols are equal, by the rank of the rest.
    void refine(std::size_t compared) {
        std::vector<Group> groups;
        std::size_t since_poll = 0;
        for (const Group group : groups_) {
            const std::size_t size = group.end - group.begin;
            since_poll += size;
            if (since_poll >= kPollEvery) {
                poll_();
                since_poll = 0;
            }
            sort_group(group.begin, size, compared);
            for (std::size_t begin = 0, end; begin < size; begin = end) {
                const std::uint64_t rank = keys_[begin] >> 32;
                for (end = begin; end < size && keys_[end] >> 32 == rank; ++end)
                    order_[group.begin + end] = static_cast<std::uint32_t>(keys_[end]);
                const bool whole = end - begin == 1 || (rank & 1) != 0;
                set_rank(group.begin + begin, group.begin + end, whole);
                if (!whole)
                    groups.push_back({static_cast<std::uint32_t>(group.begin + begin),
                                      static_cast<std::uint32_t>(group.begin + end)});
            }
        }
        groups_.swap(groups);
    }

    // Writes the group's (rank of the rest, position) to keys_, ascending.
    void sort_group(std::size_t begin, std::size_t size, std::size_t compared) {
        const bool radix = size >= kRadixFrom;
        if (keys_.size() < size * (radix ? 2 : 1)) keys_.resize(size * (radix ? 2 : 1));
        for (std::size_t i = 0; i < size; ++i) {
            const std::uint32_t position = order_[begin + i];
            keys_[i] = std::uint64_t{rank_[position + compared]} << 32 | position;
        }
        if (radix)
            radix_sort(keys_.data(), keys_.data() + size, size, 32, poll_);
        else
            std::sort(keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(size));
    }

    // Converts ranks of positions to numbered leaves; order_ and common shrink in place.
    void collect_leaves() {
        std::size_t leaves = 0;
        for (std::size_t i = 0; i < order_.size(); ++i) {
            const std::uint32_t position = order_[i];
            if (rank_[position] >> 1 == i) {
                result_.common[leaves] = result_.common[i];
                order_[leaves++] = position;
            }
            rank_[position] = static_cast<std::uint32_t>(leaves - 1);
        }
        order_.resize(leaves);
        order_.shrink_to_fit();
        result_.common.resize(leaves);
        result_.common.shrink_to_fit();
        result_.position = std::move(order_);
        result_.leaf_of = std::move(rank_);
    }

    void complete_common() {
        result_.length.resize(result_.position.size());
        std::size_t begin = 0, since_poll = 0;
        for (const std::size_t end : tokens_.ends) {
            std::size_t shared = 0;
            for (std::size_t at = begin; at < end; ++at) {
                const std::uint32_t leaf = result_.leaf_of[at];
                result_.length[leaf] = static_cast<std::uint32_t>(end - at);
                if (shared > 0) --shared;
                if (result_.common[leaf] == kUnknown) {
                    const std::size_t before = result_.position[leaf - 1];
                    shared = std::max(shared, packed_);
                    while (text_[at + shared] == text_[before + shared]) ++shared;
                    result_.common[leaf] = static_cast<std::uint32_t>(shared);
                }
                shared = result_.common[leaf];
            }
            since_poll += end - begin;
            if (since_poll >= kPollEvery) {
                poll_();
                since_poll = 0;
            }
            begin = end;
        }
    }

    const TokenText& tokens_;
    const std::vector<std::uint32_t>& text_;
    const Poll& poll_;
    const std::size_t bits_;
    const std::size_t packed_;  // number of symbols in a key
    std::vector<std::uint32_t> order_;
    std::vector<std::uint32_t> rank_;
    std::vector<Group> groups_;
    std::vector<std::uint64_t> keys_;
    Suffixes result_;
};

}  // namespace

Suffixes sort_suffixes(const TokenText& text, const Poll& poll) { return Sorter(text, poll).run(); }

}  // namespace nmt_prep::t2t
