// Counts pairs of neighbors for BPE training, and lists the places of the frequent ones.
//
// The text is rewritten with one place per symbol, and the counts of all pairs are added up in a small table by their
// hashes. Only pairs whose sum is high enough can be frequent. Their places are sorted by the left symbol, in memory
// that their lists need anyway. The places of one left symbol are then counted and sorted by the right symbol, in a
// table with an entry per symbol. Threads share the sections of the text first, then the left symbols.
#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "sentencepiece/bpe_trainer.h"
#include "text/parallel.h"

namespace nmt_prep::sentencepiece {
namespace {

constexpr std::size_t kSparePlaces = std::size_t{1} << 20;
constexpr std::size_t kPlacesPerThread = std::size_t{1} << 15;  // fewer are not worth a thread
constexpr std::size_t kPlacesPerTask = std::size_t{1} << 12;    // a task has no more, unless it is one left symbol
constexpr int kLeastSumBits = 12, kMostSumBits = 17;            // size of the table, which must stay in the cache

// Count sums, by hashes of pairs.
class Sums {
   public:
    explicit Sums(std::size_t pairs)
        : shift_(64 - std::clamp(static_cast<int>(std::bit_width(pairs)), kLeastSumBits, kMostSumBits)),
          sums_(std::size_t{1} << (64 - shift_)) {}

    void add(std::uint64_t key, std::uint32_t count) { add(sums_[key * kPairFactor >> shift_], count); }
    std::uint32_t operator[](std::uint64_t key) const { return sums_[key * kPairFactor >> shift_]; }
    void add_all(const Sums& other) {
        for (std::size_t i = 0; i < sums_.size(); ++i) add(sums_[i], other.sums_[i]);
    }

   private:
    static void add(std::uint32_t& sum, std::uint32_t count) {
        sum += count;
        if (sum < count) sum = UINT32_MAX;
    }

    int shift_;
    std::vector<std::uint32_t> sums_;
};

std::uint32_t limited(std::int64_t count) {
    return static_cast<std::uint32_t>(std::min<std::int64_t>(count, UINT32_MAX));
}

}  // namespace

// Sorts the places of a left symbol into lists, one for each right symbol.
class BpeTrainer::RightSymbols {
   public:
    explicit RightSymbols(const BpeTrainer& trainer) : trainer_(trainer), tallies_(trainer.symbols_.size()) {}

    // Appends the pairs of a left symbol that are frequent enough and make valid pieces. Sorts their places to the
    // front of the symbol's places, which begin at `start` among all: one list after the other, each in ascending
    // order.
    void list(std::int32_t left, std::size_t start, std::span<std::uint32_t> places, std::vector<Pair>& pairs) {
        count(places);
        const std::size_t known = pairs.size();
        std::uint32_t listed = 0;
        for (const std::int32_t right : found_) {
            Tally& tally = tally_of(right);
            const std::uint64_t key = key_of(left, right);
            if (tally.count < trainer_.floor_ || !trainer_.valid(key)) continue;
            pairs.push_back({key, tally.count, start + listed, tally.places});
            tally.next = listed;
            tally.is_listed = true;
            listed += tally.places;
        }
        if (pairs.size() > known) sort(places, listed);
        for (const std::int32_t right : found_) tally_of(right) = {};
        found_.clear();
    }

   private:
    static constexpr std::size_t kAhead = 16;

    struct Tally {
        std::int64_t count = 0;
        std::uint32_t places = 0;
        bool is_listed = false;
        std::size_t next = 0;  // where the next place is written
    };

    Tally& tally_of(std::int32_t right) { return tallies_[static_cast<std::size_t>(right)]; }

    void count(std::span<const std::uint32_t> places) {
        const std::int32_t* const text = trainer_.text_.data() + 1;
        if (rights_.size() < places.size()) rights_.resize(places.size());
        for (std::size_t i = 0; i < places.size(); ++i) {
            if (i + kAhead < places.size()) __builtin_prefetch(text + places[i + kAhead]);
            rights_[i] = text[places[i]];
            Tally& tally = tally_of(rights_[i]);
            if (tally.places++ == 0) found_.push_back(rights_[i]);
            tally.count += trainer_.weight(places[i]);
        }
    }

    // Sorts places, so that the places of listed pairs come first.
    void sort(std::span<std::uint32_t> places, std::size_t listed) {
        std::size_t next = listed;
        for (const std::int32_t right : found_) {
            Tally& tally = tally_of(right);
            if (tally.is_listed) continue;
            tally.next = next;
            next += tally.places;
        }
        if (sorted_.size() < places.size()) sorted_.resize(places.size());
        for (std::size_t i = 0; i < places.size(); ++i) sorted_[tally_of(rights_[i]).next++] = places[i];
        std::copy_n(sorted_.begin(), listed, places.begin());
    }

    const BpeTrainer& trainer_;
    std::vector<Tally> tallies_;        // by right symbol
    std::vector<std::int32_t> found_;   // the right symbols
    std::vector<std::int32_t> rights_;  // right symbols of the places
    std::vector<std::uint32_t> sorted_;
};

class BpeTrainer::Scan {
   public:
    explicit Scan(BpeTrainer& trainer) : trainer_(trainer) {
        divide();
        shorten();
        close_gaps();
        divide();
        sort_places();
        divide_symbols();
        list_pairs();
    }

   private:
    // Consecutive sections, which one thread reads.
    struct Share {
        std::span<Section> sections{};
        std::vector<std::uint32_t> next{};  // by left symbol: its number of places, then where the next one is written
    };
    // Consecutive left symbols, and their pairs.
    struct Task {
        std::int32_t begin, end;
        std::vector<Pair> pairs{};
    };

    template <class Visit>
    void for_each_share(const Visit& visit) {
        parallel_for(shares_.size(), shares_.size(), [&](std::size_t share, std::size_t) { visit(shares_[share]); });
    }

    // Divides the sections into shares with about equally many places, one for each thread.
    void divide() {
        const std::size_t all = trainer_.text_.size();
        const std::size_t threads =
            std::clamp<std::size_t>(all / kPlacesPerThread, 1, std::max<std::size_t>(trainer_.threads_, 1));
        shares_.clear();
        shares_.resize(threads);
        const std::span<Section> sections(trainer_.sections_);
        std::size_t at = 0;
        for (std::size_t number = 0; number < threads; ++number) {
            const std::size_t first = at;
            const std::size_t wanted = number + 1 < threads ? all / threads * (number + 1) : SIZE_MAX;
            while (at < sections.size() && sections[at].start + sections[at].size <= wanted) ++at;
            shares_[number].sections = sections.subspan(first, at - first);
        }
    }

    // Rewrites the text with one place per symbol, in each section by itself, and adds up the sums.
    void shorten() {
        sums_.assign(shares_.size(), Sums(trainer_.text_.size()));
        parallel_for(shares_.size(), shares_.size(), [&](std::size_t number, std::size_t) {
            for (Section& section : shares_[number].sections) shorten(section, sums_[number]);
        });
        for (; sums_.size() > 1; sums_.pop_back()) sums_.front().add_all(sums_.back());
        std::ranges::fill(trainer_.widths_, 1);
    }

    void shorten(Section& section, Sums& sums) const {
        std::int32_t* const text = trainer_.text_.data() + section.start;
        const std::uint32_t count = limited(section.count);
        std::size_t out = 1, word = 1;  // the end of the text so far, and where its last word begins
        for (std::size_t at = 1; at < section.size;) {
            const std::int32_t id = text[at];
            if (id >= 0) {
                at += trainer_.width(id);
                if (out > word) sums.add(key_of(text[out - 1], id), count);
                text[out++] = id;
                continue;
            }
            ++at;
            if (out == word + 1) {
                out = word;  // the word is one symbol
            } else if (out > word) {
                text[out++] = kBetween;
                word = out;
            }
        }
        const std::size_t size = out == 1 ? 0 : (out + kBlock - 1) / kBlock * kBlock;
        for (; out < size; ++out) text[out] = kBetween;
        section.size = size;
    }

    // Moves the sections together, and drops empty ones.
    void close_gaps() {
        std::vector<std::int32_t>& text = trainer_.text_;
        std::vector<Section>& sections = trainer_.sections_;
        std::size_t end = 0, kept = 0;
        trainer_.weights_.clear();
        for (Section section : sections) {
            if (section.size == 0) continue;
            std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(section.start), section.size,
                        text.begin() + static_cast<std::ptrdiff_t>(end));
            section.start = end;
            end += section.size;
            trainer_.weights_.resize(end / kBlock, section.count);
            sections[kept++] = section;
        }
        text.resize(end);
        sections.resize(kept);
    }

    // Sorts the places of pairs whose sums are high enough by their left symbols.
    void sort_places() {
        candidates_.resize(trainer_.text_.size() / kBlock);
        for_each_share([&](Share& share) {
            share.next.assign(trainer_.symbols_.size(), 0);
            for (const Section& section : share.sections) find_candidates(section, share.next);
        });
        std::uint32_t begin = 0;
        for (std::size_t left = 0; left < trainer_.symbols_.size(); ++left) {
            starts_.push_back(begin);
            for (Share& share : shares_) begin += std::exchange(share.next[left], begin);
        }
        starts_.push_back(begin);
        trainer_.places_.resize(begin);
        std::uint32_t* const places = trainer_.places_.data();
        const std::int32_t* const text = trainer_.text_.data();
        for_each_share([&](Share& share) {
            for (const Section& section : share.sections)
                for (std::size_t at = section.start; at < section.start + section.size; at += kBlock)
                    for (std::uint32_t found = candidates_[at >> kBlockBits]; found != 0; found &= found - 1) {
                        const std::size_t place = at + static_cast<std::size_t>(std::countr_zero(found));
                        places[share.next[static_cast<std::size_t>(text[place])]++] = static_cast<std::uint32_t>(place);
                    }
        });
        candidates_ = {};
    }

    // Notes the places of pairs whose sums are high enough, and counts them by their left symbols.
    void find_candidates(const Section& section, std::vector<std::uint32_t>& counts) {
        const std::uint32_t floor = limited(trainer_.floor_);
        const Sums& sums = sums_.front();
        for (std::size_t begin = 0; begin < section.size; begin += kBlock) {
            const std::int32_t* const text = trainer_.text_.data() + section.start + begin;
            std::uint32_t found = 0;
            const auto look = [&](std::size_t i, std::int32_t right) {
                const bool is_candidate = ((text[i] | right) >= 0) & (sums[key_of(text[i], right)] >= floor);
                found |= static_cast<std::uint32_t>(is_candidate) << i;
            };
            for (std::size_t i = 0; i + 1 < kBlock; ++i) look(i, text[i + 1]);
            if (begin + kBlock < section.size) look(kBlock - 1, text[kBlock]);
            for (std::uint32_t left = found; left != 0; left &= left - 1)
                ++counts[static_cast<std::size_t>(text[std::countr_zero(left)])];
            candidates_[(section.start + begin) >> kBlockBits] = static_cast<std::uint16_t>(found);
        }
    }

    void divide_symbols() {
        const auto symbols = static_cast<std::int32_t>(trainer_.symbols_.size());
        for (std::int32_t at = 0; at < symbols;) {
            const std::int32_t begin = at;
            const std::size_t wanted = starts_[static_cast<std::size_t>(at)] + kPlacesPerTask;
            do ++at;
            while (at < symbols && starts_[static_cast<std::size_t>(at) + 1] <= wanted);
            tasks_.push_back({begin, at});
        }
    }

    // Lists the pairs that occur `floor_` times or more and make valid pieces, and their places.
    void list_pairs() {
        std::uint32_t* const places = trainer_.places_.data();
        std::vector<RightSymbols> rights(std::min(tasks_.size(), shares_.size()), RightSymbols(trainer_));
        parallel_for(tasks_.size(), rights.size(), [&](std::size_t number, std::size_t thread) {
            Task& task = tasks_[number];
            for (std::int32_t left = task.begin; left < task.end; ++left) {
                const std::size_t start = starts_[static_cast<std::size_t>(left)];
                const std::size_t end = starts_[static_cast<std::size_t>(left) + 1];
                if (start != end) rights[thread].list(left, start, {places + start, end - start}, task.pairs);
            }
        });
        std::size_t size = 0, pairs = 0;
        for (const Task& task : tasks_) pairs += task.pairs.size();
        trainer_.pairs_.reserve(pairs);
        for (Task& task : tasks_) {
            for (Pair& pair : task.pairs) {
                std::copy_n(places + pair.start, pair.length, places + size);
                pair.start = size;
                size += pair.length;
                trainer_.pairs_.push_back(pair);
            }
            task.pairs = {};
        }
        trainer_.places_.resize(size);
    }

    BpeTrainer& trainer_;
    std::vector<Share> shares_;
    std::vector<Sums> sums_;                 // sums of each share, then of all
    std::vector<std::uint16_t> candidates_;  // the places of each block
    std::vector<std::uint32_t> starts_;      // where the places of each left symbol begin, and where the last ones end
    std::vector<Task> tasks_;
};

// Finds the pairs that occur `floor_` times or more, and their places.
void BpeTrainer::scan() {
    pairs_ = {};
    queue_.clear();
    places_ = {};
    Scan scan(*this);
    most_places_ = places_.size() + text_.size() / 4 + kSparePlaces;
    for (std::uint32_t pair = 0; pair < pairs_.size(); ++pair) queue(pair);
}

}  // namespace nmt_prep::sentencepiece
