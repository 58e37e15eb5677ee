// The dictionary of a fastText model: the rows of the input matrix for words and n-grams.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fasttext/file.h"

namespace nmt_prep::fasttext {

constexpr std::string_view kLineEnd = "</s>";           // the token that ends a line
constexpr std::string_view kLabelPrefix = "__label__";  // unknown tokens with this prefix are not words

// fastText's hash: FNV-1a over sign-extended bytes. It differs from standard FNV-1a for text outside ASCII.
constexpr std::uint32_t kHashStart = 2166136261U;
constexpr std::uint32_t add_to_hash(std::uint32_t hash, std::uint8_t byte) {
    return (hash ^ static_cast<std::uint32_t>(static_cast<std::int8_t>(byte))) * 16777619U;
}
std::uint32_t hash_word(std::string_view word);

// Computes remainders for a fixed divisor without a division (Lemire, Kaser and Kurz 2019, "Faster remainder by direct
// computation").
class Remainder {
   public:
    explicit Remainder(std::uint32_t divisor)
        : divisor_(divisor), factor_(divisor == 0 ? 0 : (~std::uint64_t{0} / divisor) + 1) {}

    std::uint32_t of(std::uint32_t value) const {
        __extension__ using Wide = unsigned __int128;
        return static_cast<std::uint32_t>(static_cast<Wide>(factor_ * value) * divisor_ >> 64);
    }
    std::uint32_t of_wide(std::uint64_t value) const { return static_cast<std::uint32_t>(value % divisor_); }

   private:
    std::uint32_t divisor_;
    std::uint64_t factor_;
};

class Dictionary {
   public:
    explicit Dictionary(const ModelFile& file);

    enum class Kind : std::uint8_t { kWord, kLabel };

    // Returns the kind of a token. For a word, appends the row of the word, then the rows of its character n-grams.
    // `bracketed` is scratch space.
    Kind append_rows(std::string_view token, std::string& bracketed, std::vector<std::uint32_t>& rows) const;

    // Appends the n-gram rows of a line's words, given their hashes.
    void append_ngrams(const std::vector<std::uint32_t>& hashes, std::vector<std::uint32_t>& rows) const;

    bool has_word_ngrams() const { return word_ngrams_ > 1; }

   private:
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};
    static constexpr std::size_t kBuffered = 64;  // buckets whose rows are looked up together

    std::uint32_t find(std::string_view token) const;
    std::size_t slot(std::string_view token) const;
    void append_characters(std::string_view word, std::string& bracketed, std::vector<std::uint32_t>& rows) const;
    void append_kept(std::array<std::uint32_t, kBuffered>& buckets, std::size_t count,
                     std::vector<std::uint32_t>& rows) const;

    std::vector<std::string_view> texts_;  // texts of the words, then the labels
    std::size_t longest_ = 0;              // size of the longest text
    std::vector<std::uint32_t> slots_;     // hash table with text indexes
    std::uint32_t words_;
    std::int32_t word_ngrams_, min_chars_, max_chars_;
    Remainder bucket_;
    bool pruned_;
    std::vector<std::uint64_t> kept_bits_;    // a bit for each bucket
    std::vector<std::uint32_t> kept_before_;  // for each word of kept_bits_, the number of kept buckets before it
    std::vector<std::uint32_t> kept_rows_;    // rows of the kept buckets, in ascending order of the buckets
};

}  // namespace nmt_prep::fasttext
