#include "bpe/training_text.h"

#include <algorithm>
#include <utility>

#include "text/errors.h"
#include "text/parallel.h"

namespace nmt_prep::bpe {
namespace {

constexpr std::size_t kBlockPlaces = std::size_t{1} << 15;
constexpr std::size_t kRangePositions = std::size_t{1} << 14;  // least positions of a thread
constexpr std::size_t kFewSymbols = 512;                       // a table of all their pairs stays in the cache
constexpr std::uint32_t kNoPlace = UINT32_MAX;

}  // namespace

Place* PlaceStore::allocate(std::size_t size) {
    if (size > left_) {
        const std::size_t block = std::max(size, kBlockPlaces);
        blocks_.push_back(std::make_unique_for_overwrite<Place[]>(block));
        if (size == block) return blocks_.back().get();  // the rest of the block before stays in use
        free_ = blocks_.back().get();
        left_ = block;
    }
    left_ -= size;
    return std::exchange(free_, free_ + size);
}

void PlaceStore::clear() {
    blocks_.clear();
    left_ = 0;
}

void TrainingText::add_word(std::span<const std::int32_t> symbols, std::uint64_t count) {
    if (symbols.size() < 2) return;
    const std::size_t start = text_.size();
    if (symbols.size() >= UINT32_MAX - start)
        throw TrainingError("the distinct words have more than 4294967294 symbols; train on a sample of the text");
    text_.insert(text_.end(), symbols.begin(), symbols.end());
    text_.push_back(kBetween);
    words_.push_back(
        {static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(std::min<std::uint64_t>(count, UINT32_MAX))});
    if (count > UINT32_MAX) add_word(symbols, count - UINT32_MAX);  // as one more word, so that sums are the same
}

std::int64_t TrainingText::pairs() const {
    std::int64_t pairs = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) {
        const std::size_t end = i + 1 < words_.size() ? words_[i + 1].start : text_.size();
        pairs += static_cast<std::int64_t>(end - words_[i].start - 2) * words_[i].count;
    }
    return pairs;
}

// Words that one thread reads, and its counts: by symbol, or by pair of symbols if nothing was merged yet.
struct TrainingText::Range {
    std::size_t first, last;  // the first word, and the word after the last
    std::size_t end = 0;      // end of the rewritten text
    std::vector<std::int64_t> weights;
    // Number of pairs that begin with the symbol; later the place for the next of these pairs.
    std::vector<std::uint32_t> pairs;
    std::vector<std::uint32_t> starts;
};

template <class Visit>
void TrainingText::for_each_pair(const Range& range, Visit&& visit) const {
    for (std::size_t i = range.first; i < range.last; ++i) {
        const Word word = words_[i];
        std::int32_t left = text_[word.start];
        std::uint32_t at = word.start + 1;
        for (std::int32_t right; (right = text_[at]) != kBetween; left = right, ++at)
            visit(left, right, Place{at, word.count});
    }
}

std::vector<TrainingText::Range> TrainingText::cut(std::size_t threads) const {
    const std::size_t size = std::clamp<std::size_t>(text_.size() / kRangePositions, 1, threads);
    std::vector<Range> ranges(size);
    std::size_t word = 0;
    for (std::size_t i = 0; i < size; ++i) {
        const std::size_t bound = i + 1 < size ? text_.size() * (i + 1) / size : text_.size();
        ranges[i].first = word;
        while (word < words_.size() && words_[word].start < bound) ++word;
        ranges[i].last = word;
    }
    return ranges;
}

// Rewrites the words of a range from the start of its first word on.
void TrainingText::compact(Range& range) {
    range.weights.assign(lengths_.size(), 0);
    range.pairs.assign(lengths_.size(), 0);
    if (range.first == range.last) return;
    std::uint32_t to = words_[range.first].start;
    std::size_t kept = range.first;
    for (std::size_t i = range.first; i < range.last; ++i) {
        const Word word = words_[i];
        std::int32_t symbol = text_[word.start];
        std::uint32_t from = word.start + length(symbol);
        if (text_[from] == kBetween) continue;
        words_[kept++] = {to, word.count};
        for (std::int32_t next; (next = text_[from]) != kBetween; symbol = next) {
            range.weights[static_cast<std::size_t>(symbol)] += word.count;
            ++range.pairs[static_cast<std::size_t>(symbol)];
            text_[to++] = symbol;
            from += length(next);
        }
        range.weights[static_cast<std::size_t>(symbol)] += word.count;
        text_[to++] = symbol;
        text_[to++] = kBetween;
    }
    range.last = kept;
    range.end = to;
}

// Moves the rewritten words of all ranges together.
void TrainingText::close_gaps(std::vector<Range>& ranges) {
    std::uint32_t to = 1;
    std::size_t word = 0;
    for (Range& range : ranges) {
        const std::size_t first = std::exchange(range.first, word);
        if (first < range.last) {
            const std::uint32_t start = words_[first].start;
            std::copy(text_.begin() + start, text_.begin() + static_cast<std::ptrdiff_t>(range.end),
                      text_.begin() + to);
            for (std::size_t i = first; i < range.last; ++i)
                words_[word++] = {words_[i].start - start + to, words_[i].count};
            to += static_cast<std::uint32_t>(range.end - start);
        }
        range.last = word;
    }
    text_.resize(to);
    words_.resize(word);
}

// Lists the places of frequent pairs: groups all pairs by their left symbols, then each group by its right symbols.
class TrainingText::Listing {
   public:
    Listing(const TrainingText& text, std::vector<Range>& ranges, std::int64_t floor)
        : text_(text), ranges_(ranges), floor_(floor), frequent_(text.lengths_.size()) {
        std::uint32_t size = 0;
        for (Range& range : ranges) range.starts.resize(frequent_.size());
        for (std::size_t symbol = 0; symbol < frequent_.size(); ++symbol) {
            std::int64_t weight = 0;
            for (const Range& range : ranges) weight += range.weights[symbol];
            frequent_[symbol] = weight >= floor;
            for (Range& range : ranges) {
                range.starts[symbol] = size;
                if (frequent_[symbol]) size += range.pairs[symbol];
                range.pairs[symbol] = range.starts[symbol];
            }
        }
        pairs_ = std::make_unique_for_overwrite<Pair[]>(size);
        size_ = size;
    }

    // Puts the pairs of a range into the groups of their left symbols, without pairs of rare symbols.
    void group(Range& range) {
        text_.for_each_pair(range, [&](std::int32_t left, std::int32_t right, const Place& place) {
            if (frequent_[static_cast<std::size_t>(left)] && frequent_[static_cast<std::size_t>(right)])
                pairs_[range.pairs[static_cast<std::size_t>(left)]++] = {right, place};
        });
    }

    // Returns the first symbols of `shares` shares with about the same pair count, and the end of the last share.
    std::vector<std::size_t> cut(std::size_t shares) const {
        std::vector<std::size_t> bounds{0};
        const auto& starts = ranges_.front().starts;
        for (std::size_t i = 1; i < shares; ++i)
            bounds.push_back(static_cast<std::size_t>(
                std::ranges::lower_bound(starts, std::size_t{size_} * i / shares) - starts.begin()));
        bounds.push_back(starts.size());
        return bounds;
    }

    // Lists the frequent pairs whose left symbols are in [first, last).
    std::vector<PairList> list(std::size_t first, std::size_t last, PlaceStore& store) const {
        std::vector<PairList> lists;
        std::vector<Right> rights(frequent_.size());
        std::vector<std::int32_t> seen;
        for (std::size_t left = first; left < last; ++left) {
            for_each_pair(left, [&](const Pair& pair) {
                Right& right = rights[static_cast<std::size_t>(pair.right)];
                if (right.places++ == 0) seen.push_back(pair.right);
                right.count += pair.place.weight;
            });
            for (const std::int32_t symbol : seen) {
                Right& right = rights[static_cast<std::size_t>(symbol)];
                if (right.count < floor_) continue;
                right.next = store.allocate(right.places);
                lists.push_back(
                    {pair_key(static_cast<std::int32_t>(left), symbol), right.count, right.next, right.places});
            }
            for_each_pair(left, [&](const Pair& pair) {
                if (Right& right = rights[static_cast<std::size_t>(pair.right)]; right.next != nullptr)
                    *right.next++ = pair.place;
            });
            for (const std::int32_t symbol : seen) rights[static_cast<std::size_t>(symbol)] = {};
            seen.clear();
        }
        return lists;
    }

   private:
    struct Pair {
        std::int32_t right;
        Place place;
    };
    struct Right {
        std::int64_t count = 0;
        Place* next = nullptr;  // room for the next place; null for a rare pair
        std::uint32_t places = 0;
    };

    template <class Visit>
    void for_each_pair(std::size_t left, Visit&& visit) const {
        for (const Range& range : ranges_)
            for (std::uint32_t i = range.starts[left]; i < range.pairs[left]; ++i) visit(pairs_[i]);
    }

    const TrainingText& text_;
    const std::vector<Range>& ranges_;
    const std::int64_t floor_;
    std::vector<char> frequent_;  // symbols that occur often enough to be in a frequent pair
    std::unique_ptr<Pair[]> pairs_;
    std::uint32_t size_;
};

// Lists the frequent pairs of a text in which nothing was merged yet: few symbols, whose pairs all have a place in a
// table.
std::vector<PairList> TrainingText::first_pairs(std::int64_t floor, PlaceStore& store, std::size_t threads) const {
    const std::size_t symbols = lengths_.size();
    const auto number = [symbols](std::int32_t left, std::int32_t right) {
        return static_cast<std::size_t>(left) * symbols + static_cast<std::size_t>(right);
    };
    std::vector<Range> ranges = cut(threads);
    parallel_for(ranges.size(), threads, [&](std::size_t i, std::size_t) {
        ranges[i].weights.assign(symbols * symbols, 0);
        ranges[i].pairs.assign(symbols * symbols, 0);
        for_each_pair(ranges[i], [&](std::int32_t left, std::int32_t right, const Place& place) {
            ranges[i].weights[number(left, right)] += place.weight;
            ++ranges[i].pairs[number(left, right)];
        });
    });
    std::vector<PairList> lists;
    std::uint32_t size = 0;
    for (std::size_t pair = 0; pair < symbols * symbols; ++pair) {
        std::int64_t weight = 0;
        for (const Range& range : ranges) weight += range.weights[pair];
        const std::uint32_t begin = size;
        for (Range& range : ranges) {
            const std::uint32_t count = std::exchange(range.pairs[pair], weight >= floor ? size : kNoPlace);
            if (weight >= floor) size += count;
        }
        const auto left = static_cast<std::int32_t>(pair / symbols), right = static_cast<std::int32_t>(pair % symbols);
        if (weight >= floor) lists.push_back({pair_key(left, right), weight, nullptr, size - begin});
    }
    Place* const places = store.allocate(size);
    parallel_for(ranges.size(), threads, [&](std::size_t i, std::size_t) {
        for_each_pair(ranges[i], [&](std::int32_t left, std::int32_t right, const Place& place) {
            if (std::uint32_t& next = ranges[i].pairs[number(left, right)]; next != kNoPlace) places[next++] = place;
        });
    });
    Place* next = places;
    for (PairList& list : lists) list.places = std::exchange(next, next + list.length);
    return lists;
}

std::vector<PairList> TrainingText::frequent_pairs(std::int64_t floor, std::vector<PlaceStore>& stores,
                                                   std::size_t threads) {
    stores.resize(std::max({stores.size(), threads, std::size_t{1}}));
    if (lengths_.size() <= kFewSymbols && std::ranges::all_of(lengths_, [](auto length) { return length == 1; }))
        return first_pairs(floor, stores.front(), threads);
    std::vector<Range> ranges = cut(threads);
    parallel_for(ranges.size(), threads, [&](std::size_t i, std::size_t) { compact(ranges[i]); });
    close_gaps(ranges);
    std::ranges::fill(lengths_, 1);
    Listing listing(*this, ranges, floor);
    parallel_for(ranges.size(), threads, [&](std::size_t i, std::size_t) { listing.group(ranges[i]); });
    const std::vector<std::size_t> bounds = listing.cut(ranges.size());
    std::vector<std::vector<PairList>> parts(ranges.size());
    parallel_for(ranges.size(), threads,
                 [&](std::size_t i, std::size_t) { parts[i] = listing.list(bounds[i], bounds[i + 1], stores[i]); });
    std::vector<PairList> lists = std::move(parts.front());
    for (std::size_t i = 1; i < parts.size(); ++i) lists.insert(lists.end(), parts[i].begin(), parts[i].end());
    return lists;
}

}  // namespace nmt_prep::bpe
