#include "subword_nmt/equal_texts.h"

#include <algorithm>
#include <queue>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "bpe/training_text.h"
#include "subword_nmt/words.h"

namespace nmt_prep::subword_nmt {
namespace {

class Learner {
   public:
    void add(std::string_view text, std::int64_t count) {
        Word word{{}, count};
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t size = character_size(static_cast<std::uint8_t>(text[at]));
            std::string symbol(text.substr(at, size));
            at += size;
            if (at == text.size()) symbol += kWordEnd;
            word.symbols.push_back(id(std::move(symbol)));
        }
        words_.push_back(std::move(word));
        count_pairs(words_.size() - 1, 1);
    }

    Merges learn(std::size_t wanted, std::int64_t least, const std::function<void(std::size_t merges)>& progress) {
        Merges merges;
        queue_changed();
        while (merges.size() < wanted && !queue_.empty()) {
            const Candidate best = queue_.top();
            queue_.pop();
            if (best.count < least) break;
            if (pairs_[best.pair].count != best.count) continue;  // it was queued again
            const auto left = static_cast<std::int32_t>(best.pair >> 32);
            const auto right = static_cast<std::int32_t>(best.pair & UINT32_MAX);
            merges.emplace_back(texts_[index(left)], texts_[index(right)]);
            merge(best.pair, left, right);
            progress(merges.size());
        }
        return merges;
    }

   private:
    struct Word {
        std::vector<std::int32_t> symbols;
        std::int64_t count;
    };
    struct Pair {
        std::int64_t count = 0;
        std::vector<std::size_t> words;  // words that had the pair, perhaps repeatedly
    };
    struct Candidate {
        std::int64_t count;
        std::uint64_t pair;
    };
    struct Later {
        const std::vector<std::string>& texts;

        bool operator()(const Candidate& one, const Candidate& other) const {
            if (one.count != other.count) return one.count < other.count;
            const std::uint64_t left = one.pair >> 32, other_left = other.pair >> 32;
            if (left != other_left) return texts[left] < texts[other_left];
            return texts[one.pair & UINT32_MAX] < texts[other.pair & UINT32_MAX];
        }
    };

    static std::size_t index(std::int32_t symbol) { return static_cast<std::size_t>(symbol); }

    std::int32_t id(std::string text) {
        const auto [found, is_new] = ids_.try_emplace(text, static_cast<std::int32_t>(texts_.size()));
        if (is_new) texts_.push_back(std::move(text));
        return found->second;
    }

    void count_pairs(std::size_t number, std::int64_t sign) {
        const Word& word = words_[number];
        for (std::size_t i = 1; i < word.symbols.size(); ++i) {
            const std::uint64_t key = bpe::pair_key(word.symbols[i - 1], word.symbols[i]);
            Pair& pair = pairs_[key];
            pair.count += sign * word.count;
            if (sign > 0 && (pair.words.empty() || pair.words.back() != number)) pair.words.push_back(number);
            changed_.insert(key);
        }
    }

    void merge(std::uint64_t key, std::int32_t left, std::int32_t right) {
        const std::int32_t merged = id(texts_[index(left)] + texts_[index(right)]);
        std::vector<std::size_t> numbers = std::exchange(pairs_[key].words, {});
        std::ranges::sort(numbers);
        const auto repeated = std::ranges::unique(numbers);
        numbers.erase(repeated.begin(), repeated.end());
        for (const std::size_t number : numbers) {
            count_pairs(number, -1);
            std::vector<std::int32_t>& symbols = words_[number].symbols;
            std::size_t size = 0;
            for (std::size_t i = 0; i < symbols.size(); ++i) {
                const bool found = symbols[i] == left && i + 1 < symbols.size() && symbols[i + 1] == right;
                symbols[size++] = found ? merged : symbols[i];
                i += found;
            }
            symbols.resize(size);
            count_pairs(number, 1);
        }
        queue_changed();
    }

    void queue_changed() {
        for (const std::uint64_t key : changed_)
            if (pairs_[key].count > 0) queue_.push({pairs_[key].count, key});
        changed_.clear();
    }

    std::vector<std::string> texts_;
    std::unordered_map<std::string, std::int32_t> ids_;
    std::vector<Word> words_;
    std::unordered_map<std::uint64_t, Pair> pairs_;
    std::unordered_set<std::uint64_t> changed_;
    std::priority_queue<Candidate, std::vector<Candidate>, Later> queue_{Later{texts_}};
};

}  // namespace

Merges learn_equal_texts(const CountTable& words, std::size_t wanted, std::uint64_t min_frequency,
                         const std::function<void(std::size_t merges)>& progress) {
    Learner learner;
    for (const TokenCount& word : words.entries()) learner.add(word.token(), word.count);
    return learner.learn(wanted, static_cast<std::int64_t>(std::clamp<std::uint64_t>(min_frequency, 1, INT64_MAX)),
                         progress);
}

}  // namespace nmt_prep::subword_nmt
