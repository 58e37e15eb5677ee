// Cache for the outcomes of BPE-dropout for words: bounded, for one thread at a time. Results never depend on the
// content of the cache.
//
// The outcomes of a word are a tree. The root skips no merge. A child of an outcome also skips one of the merges that
// the outcome makes after its last skipped merge; earlier decisions are the same. So a sample decides repeatedly which
// merge is skipped next, until none is skipped. An outcome is added when a sample ends there.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "bpe/merge.h"
#include "text/phrase_cache.h"

namespace nmt_prep::bpe {

class OutcomeCache {
   public:
    static constexpr std::size_t kMaxBytes = PhraseCache::kMaxBytes;  // bytes of a word
    static constexpr std::size_t kPadding = 3;                        // symbols after an outcome that may be read

    struct Word {
        const std::uint8_t* text;
        std::size_t size;    // at most kMaxBytes, and at least the number of initial symbols
        std::uint64_t hash;  // of the text
    };

    // An outcome, valid until the next call that adds one.
    class Outcome {
       public:
        explicit Outcome(std::uint32_t* words) : words_(words) {}

        // The number of merges after the last skipped one, and their beginnings among the initial symbols.
        std::size_t merges() const { return words_[0] & 0xFFFF; }
        const std::uint8_t* places() const {
            return reinterpret_cast<const std::uint8_t*>(words_ + 1 + size() + merges());
        }

        std::size_t size() const { return words_[0] >> 16; }
        std::span<const std::int32_t> symbols() const {
            return {reinterpret_cast<const std::int32_t*>(words_ + 1), size()};
        }

       private:
        friend class OutcomeCache;

        // The place of the child that skips a merge, 0 for an unknown child.
        std::uint32_t* child(std::size_t merge) const { return words_ + 1 + size() + merge; }

        std::uint32_t* words_;  // sizes, symbols, children, and as bytes, places
    };

    // The path to an unknown outcome.
    class Path {
       public:
        // True if the outcome without skipped merges is unknown too.
        bool is_empty() const { return size_ == 0; }

       private:
        friend class OutcomeCache;
        template <class Drop>
        friend class Replay;

        static constexpr std::size_t kMaxSize = 16;

        std::size_t size_ = 0;
        std::array<std::uint8_t, kMaxSize> made_{};  // number of merges between two skipped merges
        std::uint32_t* place_ = nullptr;  // where to store the place of the outcome; null if the path is too long
    };

    // Decides about one merge after another, first as on the path, then by drop(candidate); notes what add() needs.
    template <class Drop>
    class Replay {
       public:
        Replay(const Path& path, const Drop& drop) : path_(path), drop_(drop) {}

        bool operator()(const Merger::Candidate& candidate) {
            const bool known = level_ < path_.size_;
            const bool dropped = known ? made_ == path_.made_[level_] : drop_(candidate);
            if (dropped) {
                leaves_ |= !known;
                level_ += known;
                made_ = 0;
            } else {
                places_[made_++] = static_cast<std::uint8_t>(candidate.begin);
            }
            return dropped;
        }

       private:
        friend class OutcomeCache;

        const Path& path_;
        const Drop& drop_;
        std::size_t level_ = 0, made_ = 0;
        bool leaves_ = false;  // the decisions leave the path
        std::array<std::uint8_t, kMaxBytes> places_;
    };

    // `with_places`: true if decisions need Outcome::places.
    explicit OutcomeCache(bool with_places) : with_places_(with_places) {}

    void prefetch(std::uint64_t hash) const { words_.prefetch(hash); }
    // Returns true if the word is cached, and rarely also otherwise, since it does not compare bytes as contains()
    // does.
    bool prefetch_word(std::uint64_t hash) const { return words_.prefetch_phrase(hash); }
    bool contains(const Word& word) const { return !words_.view(word.hash, word.text, word.size).empty(); }

    // Returns the symbols of the outcome that decisions lead to; for an unknown outcome no symbols, and its path.
    // decide(outcome) returns the merge count of an outcome before the first skipped merge; all of them if none is
    // skipped.
    template <class Decide>
    std::span<const std::int32_t> find(const Word& word, const Decide& decide, Path& path) const {
        std::uint32_t* words = words_.view(word.hash, word.text, word.size).data();
        if (words == nullptr) return {};
        for (;;) {
            const Outcome outcome(words);
            const std::size_t made = decide(outcome);
            if (made == outcome.merges()) return outcome.symbols();
            path.made_[path.size_++] = static_cast<std::uint8_t>(made);
            path.place_ = path.size_ < Path::kMaxSize ? outcome.child(made) : nullptr;
            if (path.place_ == nullptr || *path.place_ == 0) return {};
            words = words_.appended(*path.place_);
        }
    }

    // Adds the outcome without skipped merges of an unknown word. Requires a cache without places.
    void add_word(const Word& word, std::size_t merges, std::span<const std::int32_t> symbols) {
        begin_outcome(merges, symbols, 0);
        words_.put(word.hash, word.text, word.size, outcome_.data(), outcome_.size());
    }

    // Adds the outcome of a path, unless decisions left the path.
    template <class Drop>
    void add(const Word& word, const Path& path, const Replay<Drop>& replay, std::span<const std::int32_t> symbols) {
        if (replay.leaves_) return;
        const std::size_t merges = replay.made_;
        const std::size_t place_words = with_places_ ? (merges + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t) : 0;
        std::uint32_t* const places = begin_outcome(merges, symbols, place_words);
        if (with_places_ && merges > 0) std::memcpy(places, replay.places_.data(), merges);
        if (path.is_empty())
            words_.put(word.hash, word.text, word.size, outcome_.data(), outcome_.size());
        else if (path.place_ != nullptr)
            *path.place_ = words_.append(outcome_.data(), outcome_.size());
    }

    // Notes that a word occurs; returns true if this word, or rarely another one, has occurred before.
    bool meet(std::uint64_t hash) {
        const std::size_t place = hash >> 16 & (kMetBits - 1);
        const std::uint64_t bit = std::uint64_t{1} << (place % 64);
        if ((met_[place / 64] & bit) != 0) return true;
        if (++met_count_ > kMetBits / 4) {
            std::ranges::fill(met_, 0);
            met_count_ = 1;
        }
        met_[place / 64] |= bit;
        return false;
    }

   private:
    static constexpr unsigned kBuckets = 15;  // logarithm of their number
    static constexpr std::size_t kBytes = std::size_t{1} << 24;
    static constexpr std::size_t kMetBits = std::size_t{1} << 19;

    // Writes an outcome except its places, and returns where these begin.
    std::uint32_t* begin_outcome(std::size_t merges, std::span<const std::int32_t> symbols, std::size_t place_words) {
        const std::size_t places = 1 + symbols.size() + merges;
        outcome_.assign(places + place_words, 0);
        outcome_[0] = static_cast<std::uint32_t>(symbols.size() << 16 | merges);
        std::ranges::copy(symbols, outcome_.begin() + 1);
        return outcome_.data() + places;
    }

    bool with_places_;
    PhraseCache words_{kBuckets, kBytes};
    std::vector<std::uint32_t> outcome_;
    // A bit for the hash of each word that occurred.
    std::vector<std::uint64_t> met_ = std::vector<std::uint64_t>(kMetBits / 64);
    std::size_t met_count_ = 0;
};

}  // namespace nmt_prep::bpe
