#include "fasttext/dictionary.h"

#include <algorithm>
#include <bit>
#include <map>

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

std::uint32_t Dictionary::find(std::string_view token) const { return slots_[slot(token)]; }

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

// N-grams are of characters, not bytes, of the word between < and >. The signs < and > alone are not n-grams.
void Dictionary::append_characters(std::string_view word, std::string& bracketed,
                                   std::vector<std::uint32_t>& rows) const {
    std::string& bytes = bracketed;
    bytes.assign(1, '<').append(word).push_back('>');
    const std::size_t size = bytes.size();
    const std::size_t first = rows.size();
    const auto continues = [&](std::size_t i) { return (bytes[i] & 0xC0) == 0x80; };
    for (std::size_t begin = 0; begin < size; ++begin) {
        if (continues(begin)) continue;
        std::uint32_t hash = kHashStart;
        std::size_t end = begin;
        for (std::int32_t chars = 1; end < size && chars <= max_chars_; ++chars) {
            do hash = add_to_hash(hash, static_cast<std::uint8_t>(bytes[end++]));
            while (end < size && continues(end));
            if (chars < min_chars_ || (chars == 1 && (begin == 0 || end == size))) continue;
            rows.push_back(bucket_.of(hash));
        }
    }
    replace_buckets(rows, first);
}

void Dictionary::append_ngrams(const std::vector<std::uint32_t>& hashes, std::vector<std::uint32_t>& rows) const {
    // Hashes are sign-extended to 64 bits.
    const auto wide = [&](std::size_t i) {
        return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(hashes[i])});
    };
    const std::size_t first = rows.size();
    for (std::size_t begin = 0; begin < hashes.size(); ++begin) {
        std::uint64_t hash = wide(begin);
        for (std::size_t i = begin + 1; i < hashes.size() && i - begin < static_cast<std::size_t>(word_ngrams_); ++i) {
            hash = hash * 116049371U + wide(i);
            rows.push_back(bucket_.of_wide(hash));
        }
    }
    replace_buckets(rows, first);
}

// Replaces buckets by their rows, from index `first` on. Drops pruned buckets, without a branch, which could not be
// predicted.
void Dictionary::replace_buckets(std::vector<std::uint32_t>& rows, std::size_t first) const {
    if (!pruned_) {
        for (std::size_t i = first; i < rows.size(); ++i) rows[i] += words_;
        return;
    }
    std::size_t kept = first;
    for (std::size_t i = first; i < rows.size(); ++i) {
        const std::uint32_t bucket = rows[i];
        rows[kept] = bucket;
        kept += kept_bits_[bucket / 64] >> bucket % 64 & 1;
    }
    rows.resize(kept);
    for (std::size_t i = first; i < kept; ++i) {
        const std::uint32_t bucket = rows[i];
        const std::uint64_t before = (std::uint64_t{1} << bucket % 64) - 1;
        const auto rank = static_cast<std::uint32_t>(std::popcount(kept_bits_[bucket / 64] & before));
        rows[i] = kept_rows_[kept_before_[bucket / 64] + rank];
    }
}

}  // namespace nmt_prep::fasttext
