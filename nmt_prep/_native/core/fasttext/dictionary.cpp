#include "fasttext/dictionary.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "text/byte_hash.h"

namespace nmt_prep::fasttext {

std::uint32_t hash_word(std::string_view word) {
    std::uint32_t hash = kHashStart;
    for (const char byte : word) hash = add_to_hash(hash, static_cast<std::uint8_t>(byte));
    return hash;
}

Dictionary::Dictionary(const ModelFile& file)
    : words_(static_cast<std::uint32_t>(file.words.size())),
      word_ngrams_(file.has_ngrams() ? file.word_ngrams : 1),
      min_chars_(file.min_chars),
      max_chars_(file.has_ngrams() ? file.max_chars : 0),
      bucket_(file.buckets),
      pruned_(file.pruned) {
    texts_.reserve(file.words.size() + file.labels.size());
    for (const Entry& entry : file.words) texts_.push_back(entry.text);
    for (const Entry& entry : file.labels) texts_.push_back(entry.text);
    for (const std::string_view text : texts_) longest_ = std::max(longest_, text.size());
    slots_.assign(std::bit_ceil(2 * texts_.size() + 1), kNone);
    // If several entries have the same text, the last one is used, as in fastText.
    for (std::size_t i = 0; i < texts_.size(); ++i) slots_[slot(texts_[i])] = static_cast<std::uint32_t>(i);
    if (!pruned_ || !file.has_ngrams()) return;

    std::map<std::uint32_t, std::uint32_t> kept;
    for (const KeptBucket& bucket : file.kept) kept[bucket.bucket] = bucket.row;
    kept_bits_.resize(file.buckets / 64 + 1);
    for (const auto& [bucket, row] : kept) {
        kept_bits_[bucket / 64] |= std::uint64_t{1} << bucket % 64;
        kept_rows_.push_back(words_ + row);
    }
    std::uint32_t before = 0;
    for (const std::uint64_t bits : kept_bits_) {
        kept_before_.push_back(before);
        before += static_cast<std::uint32_t>(std::popcount(bits));
    }
}

std::size_t Dictionary::slot(std::string_view token) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash_bytes(reinterpret_cast<const std::uint8_t*>(token.data()), token.size()) & mask;
    while (slots_[at] != kNone && texts_[slots_[at]] != token) at = (at + 1) & mask;
    return at;
}

std::uint32_t Dictionary::find(std::string_view token) const {
    return token.size() > longest_ ? kNone : slots_[slot(token)];
}

Dictionary::Kind Dictionary::append_rows(std::string_view token, std::string& bracketed,
                                         std::vector<std::uint32_t>& rows) const {
    const std::uint32_t index = find(token);
    if (index != kNone) {
        if (index >= words_) return Kind::kLabel;
        rows.push_back(index);
    } else if (token.starts_with(kLabelPrefix)) {
        return Kind::kLabel;
    }
    if (max_chars_ > 0 && token != kLineEnd) append_characters(token, bracketed, rows);
    return Kind::kWord;
}

// N-grams consist of the characters, not bytes, in the word between < and >. The signs < and > alone are not n-grams.
void Dictionary::append_characters(std::string_view word, std::string& bracketed,
                                   std::vector<std::uint32_t>& rows) const {
    bracketed.assign(1, '<').append(word).push_back('>');
    const std::string_view bytes = bracketed;
    const auto continues = [&](std::size_t i) { return (bytes[i] & 0xC0) == 0x80; };
    const std::int32_t shortest = min_chars_;  // locals, because the compiler would load members for each n-gram
    const std::int32_t longest = max_chars_;
    const Remainder bucket = bucket_;
    std::array<std::uint32_t, kBuffered> buckets;
    std::size_t count = 0;
    for (std::size_t begin = 0; begin < bytes.size(); ++begin) {
        if (continues(begin)) continue;
        std::uint32_t hash = kHashStart;
        std::size_t end = begin;
        for (std::int32_t chars = 1; end < bytes.size() && chars <= longest; ++chars) {
            do hash = add_to_hash(hash, static_cast<std::uint8_t>(bytes[end++]));
            while (end < bytes.size() && continues(end));
            if (chars < shortest || (chars == 1 && (begin == 0 || end == bytes.size()))) continue;
            buckets[count++] = bucket.of(hash);
            if (count == kBuffered) append_kept(buckets, std::exchange(count, 0), rows);
        }
    }
    append_kept(buckets, count, rows);
}

void Dictionary::append_ngrams(const std::vector<std::uint32_t>& hashes, std::vector<std::uint32_t>& rows) const {
    // Hashes are sign-extended to 64 bits.
    const auto wide = [&](std::size_t i) {
        return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(hashes[i])});
    };
    std::array<std::uint32_t, kBuffered> buckets;
    std::size_t count = 0;
    for (std::size_t begin = 0; begin < hashes.size(); ++begin) {
        std::uint64_t hash = wide(begin);
        for (std::size_t i = begin + 1; i < hashes.size() && i - begin < static_cast<std::size_t>(word_ngrams_); ++i) {
            hash = hash * 116049371U + wide(i);
            buckets[count++] = bucket_.of_wide(hash);
            if (count == kBuffered) append_kept(buckets, std::exchange(count, 0), rows);
        }
    }
    append_kept(buckets, count, rows);
}

// Appends the rows of the first buckets. Drops pruned buckets, without a branch, which could not be predicted.
void Dictionary::append_kept(std::array<std::uint32_t, kBuffered>& buckets, std::size_t count,
                             std::vector<std::uint32_t>& rows) const {
    if (!pruned_) {
        for (std::size_t i = 0; i < count; ++i) rows.push_back(words_ + buckets[i]);
        return;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t bucket = buckets[i];
        buckets[kept] = bucket;
        kept += kept_bits_[bucket / 64] >> bucket % 64 & 1;
    }
    for (std::size_t i = 0; i < kept; ++i) {
        const std::uint32_t bucket = buckets[i];
        const std::uint64_t before = (std::uint64_t{1} << bucket % 64) - 1;
        const auto rank = static_cast<std::uint32_t>(std::popcount(kept_bits_[bucket / 64] & before));
        rows.push_back(kept_rows_[kept_before_[bucket / 64] + rank]);
    }
}

}  // namespace nmt_prep::fasttext
