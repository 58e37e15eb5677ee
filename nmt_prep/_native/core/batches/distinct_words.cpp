#include "batches/distinct_words.h"

#include <stdexcept>

#include "text/byte_hash.h"

namespace nmt_prep {
namespace {

// Numbers different words in order of their first occurrence: a hash table with open addressing.
class WordNumbers {
   public:
    explicit WordNumbers(std::string& words) : words_(words), places_(std::size_t{1} << kFirstBits) {}

    std::int32_t number(std::string_view word) {
        const std::uint64_t hash = hash_bytes(reinterpret_cast<const std::uint8_t*>(word.data()), word.size());
        for (std::size_t at = hash & mask();; at = (at + 1) & mask()) {
            Place& place = places_[at];
            if (place.number < 0) return add(place, hash, word);
            if (place.hash == hash && place.size == word.size() && words_.compare(place.begin, place.size, word) == 0)
                return place.number;
        }
    }

   private:
    static constexpr unsigned kFirstBits = 12;

    struct Place {
        std::uint64_t hash = 0;
        std::size_t begin = 0, size = 0;
        std::int32_t number = -1;
    };

    std::size_t mask() const { return places_.size() - 1; }

    std::int32_t add(Place& place, std::uint64_t hash, std::string_view word) {
        const std::int32_t number = count_++;
        place = {hash, words_.size(), word.size(), number};
        words_.append(word).push_back(' ');
        if (2 * static_cast<std::size_t>(count_) > places_.size()) grow();
        return number;
    }

    void grow() {
        std::vector<Place> before(2 * places_.size());
        before.swap(places_);
        for (const Place& place : before) {
            if (place.number < 0) continue;
            std::size_t at = place.hash & mask();
            while (places_[at].number >= 0) at = (at + 1) & mask();
            places_[at] = place;
        }
    }

    std::string& words_;
    std::vector<Place> places_;
    std::int32_t count_ = 0;
};

}  // namespace

DistinctWords distinct_words(std::string_view text, std::span<const std::int32_t> sizes, std::int64_t longest) {
    DistinctWords found;
    found.numbers.reserve(text.size() / 4);
    found.lengths.reserve(sizes.size());
    WordNumbers numbers(found.words);
    std::size_t begin = 0;
    for (const std::int32_t size : sizes) {
        if (size < 0 || static_cast<std::size_t>(size) > text.size() - begin)
            throw std::invalid_argument("the lines are longer than their text");
        const char* at = text.data() + begin;
        const char* const end = at + size;
        std::int64_t words = 0;
        while (words < longest) {
            while (at < end && *at == ' ') ++at;
            if (at == end) break;
            const char* const first = at;
            while (at < end && *at != ' ') ++at;
            found.numbers.push_back(numbers.number({first, at}));
            ++words;
        }
        found.lengths.push_back(words);
        begin += static_cast<std::size_t>(size);
    }
    if (begin != text.size()) throw std::invalid_argument("the lines are shorter than their text");
    return found;
}

}  // namespace nmt_prep
