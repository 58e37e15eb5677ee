// Counts pairs of neighbours for BPE training, and lists the places of the frequent ones.
//
// Places are sorted by their left symbol. Those of one left symbol are then counted by the right one, in a table that
// stays in the cache. Left symbols do not depend on each other, so threads share them.
#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "sentencepiece/bpe_trainer.h"
#include "text/parallel.h"

namespace nmt_prep::sentencepiece {
namespace {

constexpr std::size_t kSparePlaces = std::size_t{1} << 20;
constexpr std::size_t kPlacesPerThread = std::size_t{1} << 16;  // for fewer, starting a thread takes longer
constexpr std::size_t kSharesPerThread = 8;                     // so that threads end together

}  // namespace

class BpeTrainer::Scan {
   public:
    explicit Scan(const BpeTrainer& trainer)
        : trainer_(trainer),
          threads_(std::clamp<std::size_t>(trainer.text_.size() / kPlacesPerThread, 1,
                                           std::max<std::size_t>(trainer.threads_, 1))),
          scratch_(threads_) {
        sort_by_left();
        share_lefts();
    }

    // Returns the pairs that occur `floor_` times or more and make valid pieces, without places.
    std::vector<Pair> frequent() {
        std::vector<std::vector<Pair>> found(shares());
        parallel_for(shares(), threads_, [&](std::size_t share, std::size_t thread) {
            for (std::size_t left = share_bounds_[share]; left < share_bounds_[share + 1]; ++left)
                count(static_cast<std::int32_t>(left), scratch_of(thread), found[share]);
        });
        std::vector<Pair> pairs;
        first_pairs_.push_back(0);
        for (std::vector<Pair>& each : found) {
            pairs.insert(pairs.end(), each.begin(), each.end());
            first_pairs_.push_back(pairs.size());
            std::vector<Pair>().swap(each);
        }
        return pairs;
    }

    // Writes the places of these pairs, in ascending order, from where each pair's list starts.
    void list(const std::vector<Pair>& pairs, std::uint32_t* places) {
        parallel_for(shares(), threads_, [&](std::size_t share, std::size_t thread) {
            for (std::size_t i = first_pairs_[share]; i < first_pairs_[share + 1];) {
                std::size_t end = i + 1;
                while (end < first_pairs_[share + 1] && left_of(pairs[end].key) == left_of(pairs[i].key)) ++end;
                list_left({pairs.data() + i, pairs.data() + end}, scratch_of(thread), places);
                i = end;
            }
        });
    }

   private:
    // An occurrence of a left symbol, and what follows it.
    struct Occurrence {
        std::uint32_t place;
        std::int32_t right;
    };
    struct Total {
        std::int64_t count = 0;
        std::uint32_t places = 0;
    };
    // Where the next place of a pair is written; `step` is 0 for pairs that are not listed.
    struct Cursor {
        std::uint32_t* next = nullptr;
        std::size_t step = 0;
    };
    // Tables of one thread, by right symbol.
    struct Scratch {
        std::vector<Total> totals;
        std::vector<Cursor> cursors;
        std::vector<std::int32_t> distinct;
    };

    std::size_t shares() const { return share_bounds_.size() - 1; }
    std::size_t symbols() const { return trainer_.symbols_.size(); }

    Scratch& scratch_of(std::size_t thread) {
        Scratch& scratch = scratch_[thread];
        scratch.totals.resize(symbols());
        scratch.cursors.resize(symbols());
        scratch.distinct.resize(symbols() + 1);
        return scratch;
    }

    // Calls visit(occurrence, left symbol) for each pair of neighbours between two ends of words.
    template <class Visit>
    void for_each_pair(std::size_t begin, std::size_t end, const Visit& visit) const {
        const std::int32_t* const text = trainer_.text_.data();
        for (std::size_t at = begin; at < end;) {
            const std::int32_t left = text[at];
            if (left < 0) {
                ++at;
                continue;
            }
            const std::size_t following = at + trainer_.length(left);
            if (const std::int32_t right = text[following]; right >= 0)
                visit(Occurrence{static_cast<std::uint32_t>(at), right}, static_cast<std::size_t>(left));
            at = following;
        }
    }

    void sort_by_left() {
        // Ranges of the text end between words.
        const std::vector<std::int32_t>& text = trainer_.text_;
        std::vector<std::size_t> bounds{0};
        for (std::size_t i = 1; i < threads_; ++i) {
            std::size_t at = std::max(text.size() / threads_ * i, bounds.back());
            while (at < text.size() && text[at] != kBetween) ++at;
            bounds.push_back(at);
        }
        bounds.push_back(text.empty() ? 0 : text.size() - 1);
        std::vector<std::vector<std::uint32_t>> next(threads_, std::vector<std::uint32_t>(symbols(), 0));
        parallel_for(threads_, threads_, [&](std::size_t range, std::size_t) {
            std::uint32_t* const counts = next[range].data();
            for_each_pair(bounds[range], bounds[range + 1],
                          [&](const Occurrence&, std::size_t left) { ++counts[left]; });
        });
        starts_.reserve(symbols() + 1);
        std::uint32_t start = 0;
        for (std::size_t left = 0; left < symbols(); ++left) {
            starts_.push_back(start);
            for (std::vector<std::uint32_t>& of_range : next) {
                const std::uint32_t size = of_range[left];
                of_range[left] = start;
                start += size;
            }
        }
        starts_.push_back(start);
        sorted_ = std::make_unique_for_overwrite<Occurrence[]>(start);
        parallel_for(threads_, threads_, [&](std::size_t range, std::size_t) {
            std::uint32_t* const to = next[range].data();
            Occurrence* const sorted = sorted_.get();
            for_each_pair(bounds[range], bounds[range + 1],
                          [&](const Occurrence& found, std::size_t left) { sorted[to[left]++] = found; });
        });
    }

    // Divides the left symbols into shares with about equally many places.
    void share_lefts() {
        const std::size_t most = starts_.back() / (kSharesPerThread * threads_) + 1;
        share_bounds_.push_back(0);
        for (std::size_t left = 0; left < symbols(); ++left)
            if (starts_[left + 1] - starts_[share_bounds_.back()] >= most || left + 1 == symbols())
                share_bounds_.push_back(left + 1);
    }

    std::span<const Occurrence> occurrences(std::int32_t left) const {
        const auto number = static_cast<std::size_t>(left);
        return {sorted_.get() + starts_[number], sorted_.get() + starts_[number + 1]};
    }

    void count(std::int32_t left, Scratch& scratch, std::vector<Pair>& found) const {
        Total* const totals = scratch.totals.data();
        std::int32_t* const distinct = scratch.distinct.data();
        std::size_t size = 0;
        RunOfPlace run(trainer_);
        for (const auto& [place, right] : occurrences(left)) {
            Total& total = totals[right];
            distinct[size] = right;
            size += total.places == 0;
            ++total.places;
            total.count += run.count(place);
        }
        for (const std::int32_t right : std::span(distinct, size)) {
            const Total total = std::exchange(totals[right], {});
            const std::uint64_t key = key_of(left, right);
            if (total.count >= trainer_.floor_ && trainer_.valid(key))
                found.push_back({key, total.count, 0, total.places});
        }
    }

    // Lists the places of pairs with the same left symbol.
    void list_left(std::span<const Pair> pairs, Scratch& scratch, std::uint32_t* places) const {
        const std::span<const Occurrence> all = occurrences(left_of(pairs.front().key));
        Cursor* const cursors = scratch.cursors.data();
        // Places of other pairs are all written to one number, since branches would be mispredicted.
        std::uint32_t ignored = 0;
        for (const Occurrence& each : all) cursors[each.right].next = &ignored;
        for (const Pair& pair : pairs) cursors[right_of(pair.key)] = {places + pair.start, 1};
        for (const auto& [place, right] : all) {
            Cursor& cursor = cursors[right];
            *cursor.next = place;
            cursor.next += cursor.step;
        }
        for (const Pair& pair : pairs) cursors[right_of(pair.key)] = {};
    }

    const BpeTrainer& trainer_;
    std::size_t threads_;
    std::vector<std::uint32_t> starts_;      // by left symbol, of its places in `sorted_`
    std::unique_ptr<Occurrence[]> sorted_;   // by left symbol, then by place
    std::vector<std::size_t> share_bounds_;  // of left symbols
    std::vector<std::size_t> first_pairs_;   // of shares
    std::vector<Scratch> scratch_;           // of threads
};

// Finds the pairs that occur `floor_` times or more, and their places.
void BpeTrainer::scan() {
    pairs_.clear();
    queue_.clear();
    places_ = {};
    Scan scan(*this);
    pairs_ = scan.frequent();
    numbers_.clear(pairs_.size());
    std::size_t start = 0;
    for (std::uint32_t pair = 0; pair < pairs_.size(); ++pair) {
        numbers_.insert(pairs_[pair].key, pair);
        pairs_[pair].start = start;
        start += pairs_[pair].length;
    }
    // Without a floor the text is not scanned again, since that does not find pairs that no longer occur.
    const std::size_t room = start + text_.size() / 4 + kSparePlaces;
    most_places_ = floor_ == 0 ? SIZE_MAX : room;
    places_.reserve(room);
    places_.resize(start);
    scan.list(pairs_, places_.data());
    queue_.reserve(pairs_.size());
    for (std::uint32_t pair = 0; pair < pairs_.size(); ++pair)
        queue_.push_back({pairs_[pair].count, rank_of(pairs_[pair].key), pair});
    std::ranges::make_heap(queue_, [this](const Candidate& a, const Candidate& b) { return after(a, b); });
}

}  // namespace nmt_prep::sentencepiece
