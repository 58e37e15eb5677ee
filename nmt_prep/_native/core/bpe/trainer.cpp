#include "bpe/trainer.h"

#include <algorithm>
#include <utility>

#include "text/errors.h"

namespace nmt_prep::bpe {
namespace {

// The first floor is this fraction of all pairs. It is then divided by kFloorStep, and halved towards the
// end, where each step finds many more pairs.
constexpr std::int64_t kFirstFloor = 16384;
constexpr std::int64_t kFloorStep = 32;
constexpr std::int64_t kHalvedFrom = 4;
constexpr std::size_t kMaxBytes = std::size_t{1} << 28;  // of all merge texts
constexpr std::size_t kAhead = 8;  // number of places whose text is fetched from memory ahead of time

}  // namespace

Trainer::Trainer(std::vector<std::string> symbols, std::unordered_set<std::string> forbidden, Ties ties)
    : symbols_(std::move(symbols)), forbidden_(std::move(forbidden)), text_(symbols_.size()), pairs_(ties, symbols_) {
    for (const std::string& text : forbidden_) {
        forbidden_sizes_.resize(std::max(forbidden_sizes_.size(), text.size() + 1));
        forbidden_sizes_[text.size()] = true;
    }
}

void Trainer::Side::clear() {
    for (const Neighbour& neighbour : neighbours) index_of[static_cast<std::size_t>(neighbour.symbol)] = 0;
    neighbours.clear();
}

// Forgets all pairs, and lists the pairs that reach a lower floor.
void Trainer::lower_floor() {
    if (floor_ == 0)
        floor_ = text_.pairs() / kFirstFloor;
    else
        floor_ = floor_ > kHalvedFrom ? std::max(floor_ / kFloorStep, kHalvedFrom) : floor_ / 2;
    floor_ = std::max(floor_, lowest_);
    for (PlaceStore& store : stores_) store.clear();
    const std::vector<PairList> pairs = text_.frequent_pairs(floor_, stores_, threads_);
    pairs_.clear(pairs.size());
    for (const PairList& pair : pairs) pairs_.add(pair);
}

// Returns the best pair, nullptr if no pair is frequent enough.
PairList* Trainer::next() {
    for (;;) {
        if (PairList* const pair = pairs_.take(floor_); pair != nullptr) return pair;
        if (floor_ == lowest_) return nullptr;
        lower_floor();
    }
}

// Merges the pair at its places and counts the neighbors. Returns the number of places where the pair still occurred,
// and moves them to the front of its list.
std::size_t Trainer::merge_places(const PairList& pair, const LearntMerge& merge) {
    const auto left_length = static_cast<std::ptrdiff_t>(text_.length(merge.left));
    const auto right_length = static_cast<std::ptrdiff_t>(text_.length(merge.right));
    std::size_t merged = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(pair.length, kAhead); ++i)
        __builtin_prefetch(text_.at(pair.places[i].at), 1);
    for (std::size_t i = 0; i < pair.length; ++i) {
        if (i + kAhead < pair.length) __builtin_prefetch(text_.at(pair.places[i + kAhead].at), 1);
        const Place place = pair.places[i];
        std::int32_t* const right = text_.at(place.at);
        if (right[-1] != merge.left || right[0] != merge.right) continue;
        pair.places[merged++] = place;
        right[-1] = right[0] = TrainingText::kInside;
        right[-left_length] = right[right_length - 1] = merge.merged;
        if (const std::int32_t before = right[-left_length - 1]; before == merge.merged) {
            ++repeated_.places;
            repeated_.count += place.weight;
        } else if (before >= 0) {
            before_.add(before, place.weight);
        }
        if (const std::int32_t after = right[right_length]; after >= 0) after_.add(after, place.weight);
    }
    return merged;
}

// Updates the counts of pairs that the merge dissolved, and prepares lists of the new pairs. Returns false if no new
// pair is frequent.
bool Trainer::list_new_pairs(const LearntMerge& merge) {
    const auto dissolve = [this](std::uint64_t key, std::int64_t count) {
        if (PairList* const pair = pairs_.find(key); pair != nullptr) pair->count -= count;
    };
    bool any = false;
    const auto add = [&](std::uint64_t key, Neighbour& neighbour) {
        if (neighbour.count < floor_ || neighbour.places == 0) return;
        neighbour.next = stores_.front().allocate(neighbour.places);
        pairs_.add({key, neighbour.count, neighbour.next, neighbour.places});
        any = true;
    };
    for (Neighbour& neighbour : before_.neighbours) {
        dissolve(pair_key(neighbour.symbol, merge.left), neighbour.count);
        add(pair_key(neighbour.symbol, merge.merged), neighbour);
    }
    for (Neighbour& neighbour : after_.neighbours) {
        dissolve(pair_key(merge.right, neighbour.symbol), neighbour.count);
        if (neighbour.symbol == merge.left) {  // some of these symbols have become the new symbol too
            neighbour.count -= repeated_.count;
            neighbour.places -= repeated_.places;
        }
        add(pair_key(merge.merged, neighbour.symbol), neighbour);
    }
    add(pair_key(merge.merged, merge.merged), repeated_);
    return any;
}

void Trainer::write_places(const PairList& pair, std::size_t merged, const LearntMerge& merge) {
    const std::uint32_t left_length = text_.length(merge.left), right_length = text_.length(merge.right);
    const auto write = [](Neighbour& neighbour, const Place& place) {
        if (neighbour.next != nullptr) *neighbour.next++ = place;
    };
    for (std::size_t i = 0; i < merged; ++i) {
        if (i + kAhead < merged) __builtin_prefetch(text_.at(pair.places[i + kAhead].at));
        const auto [at, weight] = pair.places[i];
        const std::uint32_t start = at - left_length, end = at + right_length;
        if (const std::int32_t before = *text_.at(start - 1); before == merge.merged)
            write(repeated_, {start, weight});
        else if (before >= 0)
            write(before_[before], {start, weight});
        if (const std::int32_t after = *text_.at(end); after >= 0 && after != merge.merged)
            write(after_[after], {end, weight});
    }
}

void Trainer::merge(const PairList& pair, const LearntMerge& merge) {
    before_.index_of.resize(symbols_.size());
    after_.index_of.resize(symbols_.size());
    const std::size_t merged = merge_places(pair, merge);
    pairs_.prefetch_next();
    if (list_new_pairs(merge)) write_places(pair, merged, merge);
    before_.clear();
    after_.clear();
    repeated_ = {-1};
}

bool Trainer::is_forbidden(const std::string& text) const {
    return text.size() < forbidden_sizes_.size() && forbidden_sizes_[text.size()] && forbidden_.contains(text);
}

const std::vector<LearntMerge>& Trainer::learn(std::size_t size, std::uint64_t min_frequency, std::size_t threads,
                                               const TrainingProgress& progress) {
    threads_ = threads;
    lowest_ = static_cast<std::int64_t>(std::clamp<std::uint64_t>(min_frequency, 1, INT64_MAX));
    std::size_t bytes = 0;
    while (symbols_.size() < size) {
        const PairList* const best = next();
        if (best == nullptr) break;
        const PairList pair = *best;  // a copy, since new pairs are added
        const LearntMerge merge{static_cast<std::int32_t>(pair.key >> 32), static_cast<std::int32_t>(pair.key),
                                static_cast<std::int32_t>(symbols_.size())};
        std::string text =
            symbols_[static_cast<std::size_t>(merge.left)] + symbols_[static_cast<std::size_t>(merge.right)];
        if (is_forbidden(text)) continue;
        bytes += text.size();
        if (bytes > kMaxBytes)
            throw TrainingError(
                "the merges spell pieces of more than 256 MiB, because words are too long; separate "
                "the words of the text by spaces, or learn fewer merges");
        symbols_.push_back(std::move(text));
        text_.add_symbol(merge.left, merge.right);
        merges_.push_back(merge);
        this->merge(pair, merge);
        if (merges_.size() % 64 == 0) progress(symbols_.size());
    }
    progress(symbols_.size());
    return merges_;
}

}  // namespace nmt_prep::bpe
