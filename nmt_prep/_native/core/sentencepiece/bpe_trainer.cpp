#include "sentencepiece/bpe_trainer.h"

#include <algorithm>
#include <array>
#include <bit>

#include "text/errors.h"
#include "text/point_table.h"
#include "text/utf8.h"

namespace nmt_prep::sentencepiece {
namespace {

constexpr unsigned kBlockBits = 6;     // places that share the first run to look at
constexpr unsigned kLengthBits = 10;   // of the rank; no piece has 1024 characters
constexpr std::int64_t kLowering = 4;  // of the floor at a time

// Returns the numbers of the entries, by descending count.
std::vector<std::uint32_t> by_descending_count(const std::vector<TokenCount>& entries) {
    constexpr std::int64_t kRare = 1024;
    std::array<std::size_t, kRare> ends{};  // of the entries that occur so often
    std::vector<std::pair<std::int64_t, std::uint32_t>> frequent;
    for (std::uint32_t i = 0; i < entries.size(); ++i) {
        const std::int64_t count = entries[i].count;
        if (count < kRare)
            ++ends[static_cast<std::size_t>(count)];
        else
            frequent.emplace_back(-count, i);
    }
    std::ranges::sort(frequent);
    std::size_t end = frequent.size();
    for (std::size_t count = kRare; count-- > 0;) {
        end += ends[count];
        ends[count] = end;
    }
    std::vector<std::uint32_t> order(entries.size());
    for (std::size_t i = 0; i < frequent.size(); ++i) order[i] = frequent[i].second;
    for (std::size_t i = entries.size(); i-- > 0;)
        if (entries[i].count < kRare)
            order[--ends[static_cast<std::size_t>(entries[i].count)]] = static_cast<std::uint32_t>(i);
    return order;
}

}  // namespace

void PairNumbers::clear(std::size_t pairs) {
    const std::size_t size = std::bit_ceil(std::max<std::size_t>(2 * pairs, 1024));
    slots_.assign(size, {0, kNone});
    shift_ = 64 - static_cast<unsigned>(std::countr_zero(size));
    used_ = 0;
}

void PairNumbers::insert(std::uint64_t key, std::uint32_t number) {
    if (2 * (used_ + 1) > slots_.size()) {
        std::vector<Slot> old;
        old.swap(slots_);
        clear(2 * used_ + 1);
        for (const Slot& slot : old)
            if (slot.number != kNone) insert(slot.key, slot.number);
    }
    slots_[slot_of(key)] = {key, number};
    ++used_;
}

BpeTrainer::BpeTrainer(const PieceOptions& options, std::vector<char32_t> characters, std::size_t threads)
    : rules_(options),
      threads_(threads),
      characters_(std::move(characters)),
      character_bits_(static_cast<unsigned>(std::max<int>(static_cast<int>(std::bit_width(characters_.size())), 1))) {
    for (std::size_t id = 0; id < characters_.size(); ++id) {
        symbols_.push_back({id, rules_.shape(characters_[id])});
        lengths_.push_back(1);
        spelling_.push_back(static_cast<std::int32_t>(id));
    }
}

void BpeTrainer::read(const CountTable& words) {
    PointTable<std::int32_t> ids(kBetween);
    for (std::size_t id = 0; id < characters_.size(); ++id) ids.at(characters_[id]) = static_cast<std::int32_t>(id);
    ids.at(' ') = ids[kSpacePoint];

    const std::vector<TokenCount>& entries = words.entries();
    const std::size_t size = static_cast<std::size_t>(words.characters()) + entries.size() + 2;
    if (size >= PairNumbers::kNone)
        throw TrainingError("the distinct words have more than 4294967292 characters; train on a sample of the text");
    const std::vector<std::uint32_t> order = by_descending_count(entries);

    text_.reserve(size);
    text_.push_back(kBetween);
    for (const std::uint32_t number : order) {
        const TokenCount& word = entries[number];
        if (runs_.empty() || runs_.back().count != word.count)
            runs_.push_back({static_cast<std::uint32_t>(text_.size()), word.count});
        const std::string_view token = word.token();
        const auto* at = reinterpret_cast<const std::uint8_t*>(token.data());
        const std::uint8_t* const end = at + token.size();
        const std::size_t start = text_.size();
        while (at != end) text_.push_back(ids[next_utf8(at)]);
        if (text_.size() - start < 2)
            text_.resize(start);
        else
            text_.push_back(kBetween);
    }
    std::size_t run = 0;
    for (std::size_t place = 0; place < text_.size(); place += std::size_t{1} << kBlockBits) {
        while (run + 1 < runs_.size() && runs_[run + 1].start <= place) ++run;
        run_of_block_.push_back(static_cast<std::uint32_t>(run));
    }
}

void BpeTrainer::RunOfPlace::find(std::uint32_t place) {
    const std::vector<Run>& runs = trainer_.runs_;
    std::size_t run = trainer_.run_of_block_[place >> kBlockBits];
    while (run + 1 < runs.size() && runs[run + 1].start <= place) ++run;
    start_ = runs[run].start;
    size_ = (run + 1 < runs.size() ? runs[run + 1].start : UINT32_MAX) - start_;
    count_ = runs[run].count;
}

bool BpeTrainer::valid(std::uint64_t key) const {
    return rules_.accepts(rules_.joined(symbol(left_of(key)).shape, symbol(right_of(key)).shape));
}

std::int32_t BpeTrainer::character_at(std::uint64_t key, std::uint32_t position) const {
    const Symbol& left = symbol(left_of(key));
    if (position < left.shape.length) return spelling_[left.start + position];
    return spelling_[symbol(right_of(key)).start + position - left.shape.length];
}

std::uint64_t BpeTrainer::rank_of(std::uint64_t key) const {
    const std::uint32_t size = length(left_of(key)) + length(right_of(key));
    std::uint64_t rank = size;
    unsigned left = 64 - kLengthBits;
    for (std::uint32_t i = 0; left >= character_bits_; ++i, left -= character_bits_)
        rank = rank << character_bits_ | (i < size ? static_cast<std::uint64_t>(character_at(key, i)) : 0);
    return rank << left;
}

// True if candidate `a` comes after `b`.
bool BpeTrainer::after(const Candidate& a, const Candidate& b) const {
    if (a.count != b.count) return a.count < b.count;
    if (a.rank != b.rank) return a.rank > b.rank;
    const std::uint64_t first = pairs_[a.pair].key, second = pairs_[b.pair].key;
    const std::uint32_t size = length(left_of(first)) + length(right_of(first));
    for (std::uint32_t i = (64 - kLengthBits) / character_bits_; i < size; ++i) {
        const std::int32_t one = character_at(first, i), other = character_at(second, i);
        if (one != other) return one > other;
    }
    return false;
}

void BpeTrainer::add_pair(std::uint64_t key, std::int64_t count, std::uint32_t length, std::size_t start) {
    numbers_.insert(key, static_cast<std::uint32_t>(pairs_.size()));
    pairs_.push_back({key, count, start, length});
}

void BpeTrainer::queue(std::uint32_t pair) {
    queue_.push_back({pairs_[pair].count, rank_of(pairs_[pair].key), pair});
    std::ranges::push_heap(queue_, [this](const Candidate& a, const Candidate& b) { return after(a, b); });
}

// Sets `pair` to the best one; false if there is none.
bool BpeTrainer::next(std::uint32_t& pair) {
    const auto order = [this](const Candidate& a, const Candidate& b) { return after(a, b); };
    for (;;) {
        while (!queue_.empty()) {
            std::ranges::pop_heap(queue_, order);
            Candidate top = queue_.back();
            queue_.pop_back();
            const std::int64_t count = pairs_[top.pair].count;
            if (top.count == count) {
                pair = top.pair;
                return true;
            }
            if (count < floor_) continue;
            top.count = count;
            queue_.push_back(top);
            std::ranges::push_heap(queue_, order);
        }
        if (!lower_floor()) return false;
    }
}

bool BpeTrainer::lower_floor() {
    if (floor_ == 0) return false;
    if (floor_ == 1) {
        restart();
        floor_ = 0;
    } else {
        floor_ = std::max<std::int64_t>(floor_ / kLowering, 1);
    }
    scan();
    return true;
}

// Undoes all merges. All pairs that ever occur are needed now, and those that were rare are not known.
void BpeTrainer::restart() {
    for (std::size_t at = 0; at < text_.size();) {
        if (text_[at] < 0) {
            ++at;
            continue;
        }
        const Symbol& whole = symbol(text_[at]);
        std::copy_n(spelling_.begin() + static_cast<std::ptrdiff_t>(whole.start), whole.shape.length,
                    text_.begin() + static_cast<std::ptrdiff_t>(at));
        at += whole.shape.length;
    }
    symbols_.resize(characters_.size());
    lengths_.resize(characters_.size());
    spelling_.resize(characters_.size());
}

std::uint32_t BpeTrainer::change_of(ChangeOf& by_symbol, std::int32_t neighbour, std::uint64_t key) {
    std::uint32_t& change = by_symbol[static_cast<std::size_t>(neighbour)];
    if (change == PairNumbers::kNone) {
        change = static_cast<std::uint32_t>(changes_.size());
        changes_.push_back({.key = key, .valid = valid(key)});
        touched_.emplace_back(&by_symbol, neighbour);
    }
    return change;
}

void BpeTrainer::merge_at(std::uint32_t place, RunOfPlace& run, std::uint64_t key, std::int32_t merged) {
    const std::int32_t left = left_of(key), right = right_of(key);
    const std::uint32_t middle = place + length(left);
    if (text_[place] != left || text_[middle] != right) return;
    const std::uint32_t end = middle + length(right);
    const std::int64_t count = run.count(place);

    const auto add = [&](std::uint32_t number, std::uint32_t at) {
        Change& change = changes_[number];
        if (!change.valid) return;
        change.added += count;
        ++change.places;
        new_places_.push_back({number, at});
    };
    if (const std::int32_t before = text_[place - 1]; before >= 0) {
        changes_[change_of(left_of_old_, before, key_of(before, left))].added -= count;
        // The new symbol next to itself is one pair, not a left and a right one.
        ChangeOf& by_symbol = before == merged ? right_of_new_ : left_of_new_;
        add(change_of(by_symbol, before, key_of(before, merged)), place - length(before));
    }
    if (const std::int32_t following = text_[end]; following >= 0) {
        changes_[change_of(right_of_old_, following, key_of(right, following))].added -= count;
        add(change_of(right_of_new_, following, key_of(merged, following)), place);
    }
    text_[middle] = kInside;
    text_[place] = merged;
    text_[end - 1] = merged;
}

// Updates the counts of pairs, and tracks new ones that are frequent enough.
void BpeTrainer::apply_changes(std::int32_t left, std::int32_t merged) {
    // The new symbol before its own left half, as in "aaaa" and "abab", may have come and gone.
    const std::uint32_t came = right_of_new_[static_cast<std::size_t>(left)];
    const std::uint32_t gone = left_of_old_[static_cast<std::size_t>(merged)];
    if (came != PairNumbers::kNone && gone != PairNumbers::kNone) changes_[came].added += changes_[gone].added;

    const std::size_t known = pairs_.size();
    std::size_t start = places_.size();
    for (Change& change : changes_) {
        if (!change.valid) continue;
        if (change.places == 0) {
            if (const std::uint32_t number = numbers_.find(change.key); number != PairNumbers::kNone)
                pairs_[number].count += change.added;
        } else if (change.added >= floor_) {
            change.tracked = true;
            change.start = start;
            start += change.places;
        }
    }
    places_.resize(start);
    for (const Change& change : changes_)
        if (change.tracked) add_pair(change.key, change.added, change.places, change.start);
    for (const NewPlace& added : new_places_) {
        Change& change = changes_[added.change];
        if (change.tracked) places_[change.start++] = added.place;
    }
    for (std::size_t pair = known; pair < pairs_.size(); ++pair) queue(static_cast<std::uint32_t>(pair));
    for (const auto& [by_symbol, neighbour] : touched_)
        (*by_symbol)[static_cast<std::size_t>(neighbour)] = PairNumbers::kNone;
    touched_.clear();
    changes_.clear();
    new_places_.clear();
}

void BpeTrainer::accept(std::uint32_t pair) {
    const std::uint64_t key = pairs_[pair].key;
    const auto merged = static_cast<std::int32_t>(symbols_.size());
    const Symbol left = symbol(left_of(key)), right = symbol(right_of(key));
    symbols_.push_back({spelling_.size(), rules_.joined(left.shape, right.shape)});
    lengths_.push_back(symbols_.back().shape.length);
    for (const Symbol& half : {left, right})
        for (std::size_t i = 0; i < half.shape.length; ++i) spelling_.push_back(spelling_[half.start + i]);
    for (ChangeOf* by_symbol : {&left_of_new_, &right_of_new_, &left_of_old_, &right_of_old_})
        by_symbol->resize(symbols_.size(), PairNumbers::kNone);
    constexpr std::size_t kAhead = 8;
    const std::uint32_t* const places = places_.data() + pairs_[pair].start;
    const std::size_t size = pairs_[pair].length;
    RunOfPlace run(*this);
    for (std::size_t i = 0; i < size; ++i) {
        if (i + kAhead < size) __builtin_prefetch(&text_[places[i + kAhead]], 1);
        merge_at(places[i], run, key, merged);
    }
    apply_changes(left_of(key), merged);
    if (places_.size() > most_places_) scan();
}

void BpeTrainer::learn(std::size_t merges, const Progress& progress) {
    // Roughly, a quarter of the places would be merged if all merges were as rare as this.
    floor_ = 1;
    if (!runs_.empty()) {
        std::uint64_t occurrences = 0;
        for (std::size_t run = 0; run < runs_.size(); ++run) {
            const std::size_t end = run + 1 < runs_.size() ? runs_[run + 1].start : text_.size();
            occurrences += (end - runs_[run].start) * static_cast<std::uint64_t>(runs_[run].count);
        }
        floor_ = std::max<std::int64_t>(static_cast<std::int64_t>(occurrences / (4 * (merges + 1))), 1);
    }
    scan();
    std::uint32_t pair = 0;
    while (symbols_.size() - characters_.size() < merges && next(pair)) {
        accept(pair);
        if ((symbols_.size() - characters_.size()) % 64 == 0) progress(symbols_.size() - characters_.size());
    }
    progress(symbols_.size() - characters_.size());
}

std::vector<std::string> BpeTrainer::pieces() const {
    std::vector<std::string> texts;
    for (std::size_t id = characters_.size(); id < symbols_.size(); ++id) {
        std::string text;
        for (std::size_t i = 0; i < symbols_[id].shape.length; ++i)
            append_utf8(text, characters_[static_cast<std::size_t>(spelling_[symbols_[id].start + i])]);
        texts.push_back(std::move(text));
    }
    return texts;
}

}  // namespace nmt_prep::sentencepiece
