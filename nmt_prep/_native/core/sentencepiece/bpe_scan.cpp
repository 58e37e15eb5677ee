// Counts pairs of neighbours for BPE training, and lists the places of the frequent ones.
//
// The text is rewritten with one place per symbol, and the counts of all pairs are added up in a small table by their
// hashes. Only pairs whose sum is high enough can be frequent, and only they are counted by themselves. Threads share
// the sections of the text.
#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "sentencepiece/bpe_trainer.h"
#include "text/parallel.h"

namespace nmt_prep::sentencepiece {
namespace {

constexpr std::size_t kSparePlaces = std::size_t{1} << 20;
constexpr std::size_t kPlacesPerThread = std::size_t{1} << 16;  // for fewer, starting a thread takes longer
constexpr int kLeastSumBits = 12, kMostSumBits = 17;            // of the table, so that it stays in the cache

// Sums of counts, by hashes of pairs.
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

class BpeTrainer::Scan {
   public:
    explicit Scan(BpeTrainer& trainer) : trainer_(trainer) {
        divide();
        shorten();
        close_gaps();
        divide();
        count();
        join();
    }

    // Returns the pairs that occur `floor_` times or more and make valid pieces, with the starts of their lists.
    std::vector<Pair> frequent() {
        std::vector<Pair> found;
        std::size_t start = 0;
        for (Pair& pair : shares_[0].pairs) {
            const bool is_frequent = pair.count >= trainer_.floor_ && trainer_.valid(pair.key);
            pair.start = is_frequent ? start : kUnlisted;
            if (!is_frequent) continue;
            found.push_back(pair);
            start += pair.length;
        }
        return found;
    }

    // Writes the places of these pairs, in ascending order.
    void list(std::uint32_t* places) {
        for_each_share([&](Share& share) {
            // Places of other pairs are all written to one number, since branches would be mispredicted.
            std::uint32_t ignored = 0;
            std::vector<Cursor> cursors(share.numbers.size(), {&ignored, 0});
            for (std::size_t i = 0; i < cursors.size(); ++i)
                if (const std::size_t start = shares_[0].pairs[share.numbers[i]].start; start != kUnlisted)
                    cursors[i] = {places + start + share.offsets[i], 1};
            for (const Occurrence& each : std::span(share.occurrences, share.found)) {
                Cursor& cursor = cursors[each.pair];
                *cursor.next = each.place;
                cursor.next += cursor.step;
            }
        });
    }

   private:
    static constexpr std::size_t kUnlisted = SIZE_MAX;
    static constexpr std::size_t kGroup = 64;

    struct Occurrence {
        std::uint32_t place;
        std::uint32_t pair;  // index in its share
    };
    // Where the next place of a pair is written; `step` is 0 for pairs that are not listed.
    struct Cursor {
        std::uint32_t* next;
        std::size_t step;
    };
    // Consecutive sections, which one thread reads.
    struct Share {
        std::span<Section> sections{};
        std::size_t places = 0;
        std::vector<std::int32_t> whole{};
        PairNumbers table{};
        std::vector<Pair> pairs{};  // those of the first share are the pairs of all
        Occurrence* occurrences = nullptr;
        std::size_t found = 0;
        std::vector<std::uint32_t> numbers{};  // of the pairs, in the first share
        std::vector<std::uint32_t> offsets{};  // of their places, in the lists of all places
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
            while (at < sections.size() && sections[at].start + sections[at].size <= wanted)
                shares_[number].places += sections[at++].size;
            shares_[number].sections = sections.subspan(first, at - first);
        }
    }

    // Rewrites the text with one place per symbol, in each section by itself, and adds up the sums.
    void shorten() {
        sums_.assign(shares_.size(), Sums(trainer_.text_.size()));
        parallel_for(shares_.size(), shares_.size(), [&](std::size_t number, std::size_t) {
            for (Section& section : shares_[number].sections) shorten(section, shares_[number].whole, sums_[number]);
        });
        for (const Share& share : shares_)
            trainer_.whole_.insert(trainer_.whole_.end(), share.whole.begin(), share.whole.end());
        for (; sums_.size() > 1; sums_.pop_back()) sums_.front().add_all(sums_.back());
        std::ranges::fill(trainer_.widths_, 1);
    }

    void shorten(Section& section, std::vector<std::int32_t>& whole, Sums& sums) const {
        std::int32_t* const text = trainer_.text_.data() + section.start;
        const std::uint32_t count = limited(section.count);
        const auto characters = static_cast<std::int32_t>(trainer_.characters_.size());
        std::size_t out = 1, word = 1;  // the end, and the begin of its last word
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
                if (text[word] >= characters) whole.push_back(text[word]);
                out = word;
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

    // Counts the pairs whose sums are high enough, and notes where they are.
    void count() {
        occurrences_ = std::make_unique_for_overwrite<Occurrence[]>(trainer_.text_.size() + shares_.size());
        Occurrence* next = occurrences_.get();
        for (Share& share : shares_) next = (share.occurrences = next) + share.places + 1;
        for_each_share([&](Share& share) {
            for (const Section& section : share.sections) count(section, share);
        });
    }

    void count(const Section& section, Share& share) const {
        const std::int32_t* const text = trainer_.text_.data() + section.start;
        const std::uint32_t floor = limited(trainer_.floor_);
        const Sums& sums = sums_.front();
        // In groups, so that the processor waits for several places of the table at once.
        std::array<std::uint64_t, kGroup> keys;
        for (std::size_t begin = 1; begin < section.size; begin += kGroup) {
            const std::size_t end = std::min(begin + kGroup, section.size);
            Occurrence* const found = share.occurrences + share.found;
            std::size_t size = 0;
            for (std::size_t at = begin; at < end; ++at) {
                const std::int32_t left = text[at - 1], right = text[at];
                keys[size] = key_of(left, right);
                found[size].place = static_cast<std::uint32_t>(section.start + at - 1);
                size += (left | right) >= 0 && sums[keys[size]] >= floor;
            }
            for (std::size_t i = 0; i < size; ++i) share.table.prefetch(keys[i]);
            for (std::size_t i = 0; i < size; ++i) {
                const auto next = static_cast<std::uint32_t>(share.pairs.size());
                found[i].pair = share.table.number(keys[i], next);
                if (found[i].pair == next) share.pairs.push_back({keys[i], 0, 0, 0});
            }
            for (std::size_t i = 0; i < size; ++i) {
                Pair& pair = share.pairs[found[i].pair];
                pair.count += section.count;
                ++pair.length;
            }
            share.found += size;
        }
    }

    // Adds the pairs of all shares to those of the first one.
    void join() {
        Share& all = shares_[0];
        for (Share& share : shares_) {
            if (&share == &all) {
                share.offsets.assign(share.pairs.size(), 0);
                share.numbers.resize(share.pairs.size());
                std::iota(share.numbers.begin(), share.numbers.end(), 0);
                continue;
            }
            for (const Pair& pair : share.pairs) {
                const std::uint32_t number = all.table.number(pair.key, static_cast<std::uint32_t>(all.pairs.size()));
                if (number == all.pairs.size()) all.pairs.push_back({pair.key, 0, 0, 0});
                share.numbers.push_back(number);
                share.offsets.push_back(all.pairs[number].length);
                all.pairs[number].count += pair.count;
                all.pairs[number].length += pair.length;
            }
            share.table = PairNumbers();
            share.pairs = {};
        }
        all.table = PairNumbers();
    }

    BpeTrainer& trainer_;
    std::vector<Share> shares_;
    std::vector<Sums> sums_;  // of shares, then of all
    // Of all shares. A thread of its own would keep the memory.
    std::unique_ptr<Occurrence[]> occurrences_;
};

// Finds the pairs that occur `floor_` times or more, and their places.
void BpeTrainer::scan() {
    pairs_.clear();
    queue_.clear();
    places_ = {};
    Scan scan(*this);
    pairs_ = scan.frequent();
    const std::size_t size = pairs_.empty() ? 0 : pairs_.back().start + pairs_.back().length;
    most_places_ = size + text_.size() / 4 + kSparePlaces;
    places_.reserve(most_places_);
    places_.resize(size);
    scan.list(places_.data());
    for (std::uint32_t pair = 0; pair < pairs_.size(); ++pair) queue(pair);
}

}  // namespace nmt_prep::sentencepiece
