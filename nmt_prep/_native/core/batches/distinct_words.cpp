#include "batches/distinct_words.h"

#include <stdexcept>

#include "text/byte_hash.h"
#include "text/byte_words.h"

namespace nmt_prep {
namespace {

// Numbers distinct words in order of their first occurrence, in a hash table with open addressing.
class WordNumbers {
   public:
    explicit WordNumbers(std::string& words) : words_(words), places_(std::size_t{1} << kFirstBits) {}

    // `readable` is the number of readable bytes from the beginning of the word.
    std::int32_t number(std::string_view word, std::size_t readable) {
        const std::uint64_t key = key_of(word, readable);
        for (std::size_t at = slot(key, word.size());; at = next(at)) {
            Place& place = places_[at];
            if (place.number < 0) return add(place, key, word);
            if (place.key == key && place.size == word.size() &&
                (word.size() <= kKeyBytes || words_.compare(place.begin, word.size(), word) == 0))
                return place.number;
        }
    }

   private:
    static constexpr unsigned kFirstBits = 12;
    static constexpr std::size_t kKeyBytes = sizeof(std::uint64_t);

    struct Place {
        std::uint64_t key = 0;
        std::size_t begin = 0;
        std::uint32_t size = 0;  // a line has no more bytes
        std::int32_t number = -1;
    };

    // Returns the bytes of a short word, the first byte lowest, or the hash of a longer word.
    static std::uint64_t key_of(std::string_view word, std::size_t readable) {
        const auto* const bytes = reinterpret_cast<const std::uint8_t*>(word.data());
        if (word.size() > kKeyBytes) return hash_bytes(bytes, word.size());
        if (readable >= kKeyBytes) return read_word(bytes) & ~std::uint64_t{0} >> 8 * (kKeyBytes - word.size());
        std::uint64_t key = 0;
        for (std::size_t i = 0; i < word.size(); ++i) key |= std::uint64_t{bytes[i]} << 8 * i;
        return key;
    }

    std::size_t slot(std::uint64_t key, std::size_t size) const {
        return mix_bits(key ^ 0x9E3779B97F4A7C15u, size ^ 0xD1B54A32D192ED03u) & (places_.size() - 1);
    }

    std::size_t next(std::size_t at) const { return (at + 1) & (places_.size() - 1); }

    std::int32_t add(Place& place, std::uint64_t key, std::string_view word) {
        const std::int32_t number = count_++;
        place = {key, words_.size(), static_cast<std::uint32_t>(word.size()), number};
        words_.append(word).push_back(' ');
        if (2 * static_cast<std::size_t>(count_) > places_.size()) grow();
        return number;
    }

    void grow() {
        std::vector<Place> before(2 * places_.size());
        before.swap(places_);
        for (const Place& place : before) {
            if (place.number < 0) continue;
            std::size_t at = slot(place.key, place.size);
            while (places_[at].number >= 0) at = next(at);
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
    found.numbers.reserve((text.size() + sizes.size()) / 2);  // a space follows each word but the last
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
            found.numbers.push_back(
                numbers.number({first, at}, static_cast<std::size_t>(text.data() + text.size() - first)));
            ++words;
        }
        found.lengths.push_back(words);
        begin += static_cast<std::size_t>(size);
    }
    if (begin != text.size()) throw std::invalid_argument("the lines are shorter than their text");
    return found;
}

}  // namespace nmt_prep
