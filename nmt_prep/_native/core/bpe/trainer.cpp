#include "bpe/trainer.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "text/errors.h"

namespace nmt_prep::bpe {

Trainer::Trainer(const std::array<std::int32_t, 256>& alphabet, std::vector<std::string> symbols,
                 std::unordered_set<std::string> forbidden)
    : alphabet_(alphabet),
      symbols_(std::move(symbols)),
      forbidden_(std::move(forbidden)),
      lengths_(symbols_.size(), 1),
      text_(1, kBetween) {}

void Trainer::add_word(std::string_view word, std::uint64_t count) {
    const std::size_t start = text_.size();
    for (const char byte : word)
        if (const std::int32_t id = alphabet_[static_cast<std::uint8_t>(byte)]; id >= 0) text_.push_back(id);
    if (text_.size() - start < 2) {
        text_.resize(start);
        return;
    }
    text_.push_back(kBetween);
    if (text_.size() >= kNone)
        throw TrainingError("the distinct words have more than 4294967294 bytes; train on a sample of the text");
    starts_.push_back(static_cast<std::uint32_t>(start));
    counts_.push_back(count);
}

void PairIndex::grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    --shift_;
    for (const Slot& slot : old)
        if (slot.number != kNone) find(slot.key) = slot;
}

void Trainer::queue(const Candidate& candidate) {
    if (candidate.count < floor_) {
        deferred_.push_back(candidate);
        return;
    }
    queue_.push_back(candidate);
    std::ranges::push_heap(queue_, std::less<>());
}

// Moves deferred candidates that are now frequent enough into the queue.
void Trainer::lower_floor() {
    floor_ = std::max<std::int64_t>(floor_ / 4, 1);
    const auto rare = [this](Candidate& candidate) {
        candidate.count = pair_counts_[candidate.pair];
        return candidate.count < floor_;
    };
    const auto frequent = std::ranges::partition(deferred_, rare).begin();
    queue_.assign(frequent, deferred_.end());
    deferred_.erase(frequent, deferred_.end());
    std::ranges::make_heap(queue_, std::less<>());
}

// Returns the best candidate with its current count; false if there is none.
bool Trainer::next(Candidate& top) {
    for (;;) {
        while (queue_.empty()) {
            if (floor_ == 1) return false;
            lower_floor();
        }
        std::ranges::pop_heap(queue_, std::less<>());
        top = queue_.back();
        queue_.pop_back();
        const std::int64_t count = pair_counts_[top.pair];
        if (top.count == count) return true;
        top.count = count;
        queue(top);
    }
}

void Trainer::count_pairs() {
    std::vector<std::uint64_t> keys;
    std::vector<std::uint32_t> lengths;
    for (std::uint32_t word = 0; word < starts_.size(); ++word) {
        for (std::uint32_t at = starts_[word]; text_[at + 1] != kBetween; ++at) {
            const std::uint64_t key = key_of(text_[at], text_[at + 1]);
            const std::uint32_t pair = pair_index_(key);
            if (pair == keys.size()) {
                keys.push_back(key);
                lengths.push_back(0);
                pair_counts_.push_back(0);
            }
            ++lengths[pair];
            pair_counts_[pair] += static_cast<std::int64_t>(counts_[word]);
        }
    }
    std::vector<std::size_t> ends;
    std::size_t start = 0;
    for (std::uint32_t pair = 0; pair < keys.size(); ++pair) {
        queue({pair_counts_[pair], keys[pair], pair, lengths[pair], start});
        ends.push_back(start);
        start += lengths[pair];
    }
    places_.resize(start);
    for (std::uint32_t word = 0; word < starts_.size(); ++word)
        for (std::uint32_t at = starts_[word]; text_[at + 1] != kBetween; ++at)
            places_[ends[pair_index_(key_of(text_[at], text_[at + 1]))]++] = {at, word};
}

std::uint32_t Trainer::change_of(std::vector<std::uint32_t>& by_symbol, std::int32_t neighbour, std::uint64_t key) {
    std::uint32_t& change = by_symbol[static_cast<std::size_t>(neighbour)];
    if (change == kNone) {
        change = static_cast<std::uint32_t>(changes_.size());
        changes_.push_back({key});
        touched_.emplace_back(&by_symbol, neighbour);
    }
    return change;
}

void Trainer::merge_at(Place place, const LearntMerge& pair) {
    const std::uint32_t left_length = lengths_[static_cast<std::size_t>(pair.left)];
    const std::uint32_t right = place.at + left_length;
    if (text_[place.at] != pair.left || text_[right] != pair.right) return;
    const std::uint32_t end = right + lengths_[static_cast<std::size_t>(pair.right)];
    const auto count = static_cast<std::int64_t>(counts_[place.word]);

    const auto add = [&](std::uint32_t change, std::uint32_t at) {
        changes_[change].added += count;
        ++changes_[change].places;
        new_places_.push_back({change, {at, place.word}});
    };
    if (const std::int32_t before = text_[place.at - 1]; before >= 0) {
        changes_[change_of(left_of_old_, before, key_of(before, pair.left))].added -= count;
        // The new symbol next to itself is one pair, not a left and a right one.
        auto& by_symbol = before == pair.merged ? right_of_new_ : left_of_new_;
        add(change_of(by_symbol, before, key_of(before, pair.merged)),
            place.at - lengths_[static_cast<std::size_t>(before)]);
    }
    if (const std::int32_t after = text_[end]; after >= 0) {
        changes_[change_of(right_of_old_, after, key_of(pair.right, after))].added -= count;
        add(change_of(right_of_new_, after, key_of(pair.merged, after)), place.at);
    }
    text_[right] = kInside;
    text_[place.at] = pair.merged;
    text_[end - 1] = pair.merged;
}

void Trainer::apply_changes() {
    std::size_t start = places_.size();
    for (Change& change : changes_) {
        change.start = start;
        start += change.places;
    }
    places_.resize(start);
    for (const NewPlace& place : new_places_) {
        Change& change = changes_[place.change];
        places_[change.start + change.filled++] = place.place;
    }
    // All counts are updated first, since one pair may have changed in two ways.
    std::vector<std::uint32_t> pairs;
    for (const Change& change : changes_) {
        pairs.push_back(pair_index_(change.key));
        if (pairs.back() == pair_counts_.size()) pair_counts_.push_back(0);
        pair_counts_[pairs.back()] += change.added;
    }
    for (std::size_t i = 0; i < changes_.size(); ++i) {
        const Change& change = changes_[i];
        const std::int64_t count = pair_counts_[pairs[i]];
        if (change.places > 0 && count > 0) queue({count, change.key, pairs[i], change.places, change.start});
    }
    for (const auto& [by_symbol, neighbour] : touched_) (*by_symbol)[static_cast<std::size_t>(neighbour)] = kNone;
    touched_.clear();
    changes_.clear();
    new_places_.clear();
}

void Trainer::merge(const Candidate& candidate, const LearntMerge& pair) {
    for (auto* by_symbol : {&left_of_new_, &right_of_new_, &left_of_old_, &right_of_old_})
        by_symbol->resize(symbols_.size(), kNone);
    constexpr std::size_t kAhead = 8;
    const Place* const places = places_.data() + candidate.start;
    for (std::size_t i = 0; i < candidate.length; ++i) {
        if (i + kAhead < candidate.length) __builtin_prefetch(&text_[places[i + kAhead].at], 1);
        merge_at(places[i], pair);
    }
    apply_changes();
}

std::vector<LearntMerge> Trainer::learn(std::size_t size, std::uint64_t min_frequency,
                                        const TrainingProgress& progress) {
    count_pairs();
    std::vector<LearntMerge> merges;
    Candidate top{};
    while (symbols_.size() < size && next(top)) {
        if (top.count < 1 || std::cmp_less(top.count, min_frequency)) break;
        const LearntMerge pair{static_cast<std::int32_t>(top.key >> 32),
                               static_cast<std::int32_t>(top.key & 0xFFFFFFFFu),
                               static_cast<std::int32_t>(symbols_.size())};
        const auto left = static_cast<std::size_t>(pair.left), right = static_cast<std::size_t>(pair.right);
        std::string text = symbols_[left] + symbols_[right];
        if (forbidden_.contains(text)) continue;
        symbols_.push_back(std::move(text));
        lengths_.push_back(lengths_[left] + lengths_[right]);
        merges.push_back(pair);
        merge(top, pair);
        if (merges.size() % 64 == 0) progress(symbols_.size());
    }
    progress(symbols_.size());
    return merges;
}

}  // namespace nmt_prep::bpe
