#include "sentencepiece/bpe_trainer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "text/errors.h"
#include "text/point_table.h"
#include "text/utf8.h"

namespace nmt_prep::sentencepiece {
namespace {

constexpr unsigned kLengthBits = 10;   // bits of the length in a rank; no piece has 1024 characters
constexpr std::int64_t kLowering = 4;  // the floor is divided by this number
constexpr std::size_t kSectionPlaces = std::size_t{1} << 16;
constexpr std::uint32_t kNoChange = UINT32_MAX;

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

BpeTrainer::BpeTrainer(const PieceOptions& options, std::vector<char32_t> characters, std::size_t threads)
    : rules_(options),
      threads_(threads),
      characters_(std::move(characters)),
      character_bits_(static_cast<unsigned>(std::max<int>(static_cast<int>(std::bit_width(characters_.size())), 1))) {
    for (std::size_t id = 0; id < characters_.size(); ++id) {
        symbols_.push_back({id, rules_.shape(characters_[id]), 0});
        spelling_.push_back(static_cast<std::int32_t>(id));
    }
    widths_.assign(symbols_.size(), 1);
}

void BpeTrainer::read(const CountTable& words) {
    PointTable<std::int32_t> ids(kBetween);
    for (std::size_t id = 0; id < characters_.size(); ++id) ids.at(characters_[id]) = static_cast<std::int32_t>(id);
    ids.at(' ') = ids[kSpacePoint];

    const std::vector<TokenCount>& entries = words.entries();
    // Sections begin with a block, and so they leave places free.
    const std::size_t size = static_cast<std::size_t>(words.characters()) + entries.size();
    const std::size_t room = size + size / kBlock + (size / kSectionPlaces + 2) * kBlock;
    if (room >= UINT32_MAX)
        throw TrainingError(
            "the distinct words have more than about 4000000000 characters; train on a sample of the text");

    text_.reserve(room);
    std::int64_t count = 0;
    for (const std::uint32_t number : by_descending_count(entries)) {
        const TokenCount& word = entries[number];
        if (word.count != count || text_.size() - sections_.back().start > kSectionPlaces) {
            end_section();
            count = word.count;
            sections_.push_back({text_.size(), 0, count});
            text_.push_back(kBetween);
        }
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
    end_section();
}

// Ends the last section with the end of a block.
void BpeTrainer::end_section() {
    if (sections_.empty()) return;
    text_.resize((text_.size() + kBlock - 1) / kBlock * kBlock, kBetween);
    sections_.back().size = text_.size() - sections_.back().start;
    weights_.resize(text_.size() / kBlock, sections_.back().count);
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
    const std::uint32_t first = std::min(size, (64 - kLengthBits) / character_bits_);
    std::uint64_t rank = size;
    for (std::uint32_t i = 0; i < first; ++i)
        rank = rank << character_bits_ | static_cast<std::uint64_t>(character_at(key, i));
    return rank << (64 - kLengthBits - first * character_bits_);
}

bool BpeTrainer::spells_later(std::uint64_t first, std::uint64_t second) const {
    const std::uint32_t size = length(left_of(first)) + length(right_of(first));
    for (std::uint32_t i = (64 - kLengthBits) / character_bits_; i < size; ++i) {
        const std::int32_t one = character_at(first, i), other = character_at(second, i);
        if (one != other) return one > other;
    }
    return false;
}

// True if candidate `a` comes after `b`.
bool BpeTrainer::after(const Candidate& a, const Candidate& b) const {
    if (a.count != b.count) return a.count < b.count;
    if (a.rank != b.rank) return a.rank > b.rank;
    return spells_later(pairs_[a.pair].key, pairs_[b.pair].key);
}

void BpeTrainer::queue(std::uint32_t pair) {
    queue_.push({pairs_[pair].count, rank_of(pairs_[pair].key), pair},
                [this](const Candidate& a, const Candidate& b) { return after(a, b); });
}

// Counts a pair, and drops the places from its list where it no longer occurs.
std::int64_t BpeTrainer::recount(Pair& pair) {
    constexpr std::size_t kAhead = 16;
    const std::int32_t left = left_of(pair.key), right = right_of(pair.key);
    const std::uint32_t step = width(left);
    std::uint32_t* const places = places_.data() + pair.start;
    const std::int32_t* const text = text_.data();
    std::int64_t count = 0;
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < std::min<std::size_t>(pair.length, kAhead); ++i)
        __builtin_prefetch(text + places[i], 1);
    for (std::uint32_t i = 0; i < pair.length; ++i) {
        if (i + kAhead < pair.length) __builtin_prefetch(text + places[i + kAhead], 1);
        const std::uint32_t place = places[i];
        // Without a branch, as half of the places of many pairs have changed.
        const bool occurs = (text[place] == left) & (text[place + step] == right);
        places[kept] = place;
        kept += occurs;
        count += weight(place) & -std::int64_t{occurs};
    }
    pair.length = kept;
    pair.count = count;
    return count;
}

// Sets `pair` to the best one; false if none occurs.
bool BpeTrainer::next(std::uint32_t& pair) {
    const auto order = [this](const Candidate& a, const Candidate& b) { return after(a, b); };
    for (;;) {
        Candidate top;
        while (queue_.pop(top, order)) {
            const std::int64_t count = recount(pairs_[top.pair]);
            if (count == top.count) {
                pair = top.pair;
                return true;
            }
            if (count < floor_) continue;
            top.count = count;
            queue_.push(top, order);
        }
        if (floor_ == 1) return false;
        floor_ = std::max<std::int64_t>(floor_ / kLowering, 1);
        scan();
    }
}

void BpeTrainer::add_symbol(std::uint64_t pair) {
    const std::int32_t left = left_of(pair), right = right_of(pair);
    const std::size_t start = spelling_.size();
    spelling_.resize(start + length(left) + length(right));
    auto to = spelling_.begin() + static_cast<std::ptrdiff_t>(start);
    for (const std::int32_t half : {left, right})
        to = std::copy_n(spelling_.begin() + static_cast<std::ptrdiff_t>(symbol(half).start), length(half), to);
    symbols_.push_back({start, rules_.joined(symbol(left).shape, symbol(right).shape), pair});
    widths_.push_back(width(left) + width(right));
}

inline BpeTrainer::Change& BpeTrainer::change_of(std::vector<std::uint32_t>& by_symbol, std::int32_t neighbour) {
    std::uint32_t& index = by_symbol[static_cast<std::size_t>(neighbour)];
    if (index == kNoChange) {
        index = static_cast<std::uint32_t>(changes_.size());
        changes_.push_back({.neighbour = neighbour, .neighbour_is_left = &by_symbol == &left_changes_});
    }
    return changes_[index];
}

// Writes the new symbol at all places of its pair, and keeps only the places where it was written in the list. Returns
// their number.
std::size_t BpeTrainer::merge_places(const Pair& pair, std::int32_t merged) {
    const std::int32_t left = left_of(pair.key), right = right_of(pair.key);
    const std::uint32_t to_middle = width(left), to_last = width(merged) - 1;
    std::uint32_t* const places = places_.data() + pair.start;
    std::int32_t* const text = text_.data();
    std::size_t kept = 0;
    for (std::uint32_t i = 0; i < pair.length; ++i) {
        const std::uint32_t place = places[i];
        if (text[place] != left || text[place + to_middle] != right) continue;  // one before overlapped
        text[place + to_middle] = kInside;
        text[place] = merged;
        text[place + to_last] = merged;
        places[kept++] = place;
    }
    return kept;
}

// Counts the pairs of the new symbol, which is at these places, by its neighbors.
void BpeTrainer::count_neighbours(std::span<const std::uint32_t> places, std::int32_t merged) {
    const std::uint32_t size = width(merged);
    for (const std::uint32_t place : places) {
        const auto add = [&](Change& change) {
            change.count += weight(place);
            ++change.places;
        };
        // The new symbol next to itself is one pair: it is on the right.
        if (const std::int32_t before = text_[place - 1]; before >= 0 && before != merged)
            add(change_of(left_changes_, before));
        if (const std::int32_t following = text_[place + size]; following >= 0)
            add(change_of(right_changes_, following));
    }
}

// Tracks the new pairs that are frequent enough. Returns true if there are any.
bool BpeTrainer::add_tracked(std::int32_t merged) {
    const std::size_t known = pairs_.size();
    std::size_t start = places_.size();
    for (Change& change : changes_) {
        if (change.count < floor_) continue;
        const std::uint64_t key =
            change.neighbour_is_left ? key_of(change.neighbour, merged) : key_of(merged, change.neighbour);
        if (!valid(key)) continue;
        change.tracked = true;
        change.next = start;
        pairs_.push_back({key, change.count, start, change.places});
        start += change.places;
    }
    places_.resize(start);
    for (std::size_t pair = known; pair < pairs_.size(); ++pair) queue(static_cast<std::uint32_t>(pair));
    return pairs_.size() > known;
}

// Lists the places of the new pairs that are tracked.
void BpeTrainer::list_places(std::span<const std::uint32_t> places, std::int32_t merged) {
    const std::uint32_t size = width(merged);
    for (const std::uint32_t place : places) {
        if (const std::int32_t before = text_[place - 1]; before >= 0 && before != merged)
            if (Change& change = change_of(left_changes_, before); change.tracked)
                places_[change.next++] = place - width(before);
        if (const std::int32_t following = text_[place + size]; following >= 0)
            if (Change& change = change_of(right_changes_, following); change.tracked) places_[change.next++] = place;
    }
}

// Merges a pair. Its list must be up to date.
void BpeTrainer::accept(Pair pair) {
    const auto merged = static_cast<std::int32_t>(symbols_.size());
    const std::size_t start = pair.start;
    add_symbol(pair.key);
    left_changes_.push_back(kNoChange);
    right_changes_.push_back(kNoChange);
    const std::size_t size = merge_places(pair, merged);
    count_neighbours({places_.data() + start, size}, merged);
    if (add_tracked(merged)) list_places({places_.data() + start, size}, merged);
    for (const Change& change : changes_)
        (change.neighbour_is_left ? left_changes_ : right_changes_)[static_cast<std::size_t>(change.neighbour)] =
            kNoChange;
    changes_.clear();
    if (places_.size() > most_places_) scan();
}

void BpeTrainer::learn(std::size_t merges, const Progress& progress) {
    // Roughly, a quarter of the places would be merged if all merges were as rare as this.
    std::uint64_t occurrences = 0;
    for (const Section& section : sections_) occurrences += section.size * static_cast<std::uint64_t>(section.count);
    floor_ = std::max<std::int64_t>(static_cast<std::int64_t>(occurrences / (4 * (merges + 1))), 1);
    left_changes_.assign(symbols_.size(), kNoChange);
    right_changes_.assign(symbols_.size(), kNoChange);
    scan();
    for (std::uint32_t pair = 0; this->merges() < merges;) {
        if (!next(pair)) {
            finish(merges, progress);
            break;
        }
        accept(pairs_[pair]);
        if (this->merges() % kMergesPerReport == 0) progress(this->merges());
    }
    progress(this->merges());
}

Texts BpeTrainer::pieces() const {
    Texts texts{{}, {0}};
    texts.offsets.reserve(merges() + 1);
    for (std::size_t id = characters_.size(); id < symbols_.size(); ++id) {
        for (std::size_t i = 0; i < symbols_[id].shape.length; ++i)
            append_utf8(texts.bytes, characters_[static_cast<std::size_t>(spelling_[symbols_[id].start + i])]);
        texts.offsets.push_back(static_cast<std::int64_t>(texts.bytes.size()));
    }
    return texts;
}

}  // namespace nmt_prep::sentencepiece
