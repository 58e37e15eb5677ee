#include "byte_bpe/run.h"

#include <algorithm>

namespace nmt_prep::byte_bpe {
namespace {

// True if a word begins with a character of three or more bytes, perhaps after a space or another short character. In
// Chinese, Japanese, Korean or Hindi, no token crosses most boundaries. Other scripts have few such boundaries.
bool has_units(const std::uint8_t* word) { return word[0] >= 0xE0 || word[1] >= 0xE0; }

}  // namespace

void Model::Run::finish() {
    // Room after the ids, since entries of caches and tables are copied as a whole or four ids at a time.
    constexpr std::size_t kPadding = std::max(PhraseCache::kPadding, IdCache::kMaxIds);
    if (scratch_.ids.size() < bytes_ + kPadding) scratch_.ids.resize(bytes_ + kPadding);
    if (merged_.size() < bytes_ + bpe::WordMerger::kMaxSymbols) merged_.resize(bytes_ + bpe::WordMerger::kMaxSymbols);
    for (std::size_t i = 0; i < size_; ++i)
        if (is_phrase(block_[i].size)) scratch_.phrases.prefetch_phrase(block_[i].key.low);

    std::int32_t* out = scratch_.ids.data();
    for (std::size_t i = 0; i < size_; ++i) {
        const Pretoken& pretoken = block_[i];
        if (pretoken.size <= IdCache::kMaxBytes) {
            const std::size_t found = scratch_.words.find(pretoken.key, out);
            if (found > 0 && found != IdCache::kElsewhere) {
                out += found;
                continue;
            }
            out = found == 0 ? encode_missing(pretoken, out) : encode_elsewhere(pretoken, hash(pretoken), out);
        } else if (pretoken.size == kEndOfLine) {
            marks_.push_back({static_cast<std::size_t>(out - scratch_.ids.data()), pretoken.key.low, 0, 0});
        } else if (pretoken.size == kName) {
            *out++ = static_cast<std::int32_t>(pretoken.key.low);
        } else {
            out = encode_elsewhere(pretoken, pretoken.key.low, out);
        }
    }
    merge_missing();
    encode_units();
    write(out);
    size_ = bytes_ = 0;
}

std::int32_t* Model::Run::encode_elsewhere(const Pretoken& pretoken, std::uint64_t hash, std::int32_t* out) {
    if (pretoken.size <= PhraseCache::kMaxBytes)
        if (const std::size_t found = scratch_.phrases.find(hash, pretoken.word, pretoken.size, out))
            return out + found;
    return encode_missing(pretoken, out);
}

// Encodes a pretoken that no cache has, or leaves it to `merge_missing` or `encode_units`.
std::int32_t* Model::Run::encode_missing(const Pretoken& pretoken, std::int32_t* out) {
    const auto [word, size, key] = pretoken;
    if (const std::int32_t* const id = model_.whole_word(word, size)) {
        put(pretoken, id, 1);
        *out = *id;
        return out + 1;
    }
    const Missing missing{&pretoken, marks_.size()};
    marks_.push_back({static_cast<std::size_t>(out - scratch_.ids.data()), kNoLine, 0, 0});
    std::int32_t symbols[kMaxStart];
    const std::size_t count =
        size > IdCache::kMaxBytes && has_units(word) ? 0 : model_.start_of_word(word, size, symbols);
    if (count == 0) {
        units_.add(word, size, key.high);
        missing_in_units_.push_back(missing);
        return out;
    }
    if (scratch_.word_merger.size() == bpe::WordMerger::kMaxWords) merge_missing();
    missing_[scratch_.word_merger.size()] = missing;
    scratch_.word_merger.add(model_.pairs_, symbols, count);
    return out;
}

void Model::Run::merge_missing() {
    bpe::WordMerger& merger = scratch_.word_merger;
    merger.merge(model_.pairs_);
    for (std::size_t i = 0; i < merger.size(); ++i) set_ids(missing_[i], merger.write(i, &merged_[merged_size_]));
    merger.clear();
}

void Model::Run::encode_units() {
    units_.encode();
    for (std::size_t i = 0; i < units_.size(); ++i) {
        const std::int32_t* const end = units_.write(i, &merged_[merged_size_]);
        set_ids(missing_in_units_[i], static_cast<std::size_t>(end - &merged_[merged_size_]));
    }
    units_.clear();
    missing_in_units_.clear();
}

// Notes that the last `count` merged ids are the ids of a pretoken.
void Model::Run::set_ids(const Missing& missing, std::size_t count) {
    Mark& mark = marks_[missing.mark];
    mark.start = merged_size_;
    mark.count = count;
    put(*missing.pretoken, &merged_[merged_size_], count);
    merged_size_ += count;
}

void Model::Run::put(const Pretoken& pretoken, const std::int32_t* ids, std::size_t count) {
    const auto [word, size, key] = pretoken;
    if (size <= IdCache::kMaxBytes) {
        if (count <= scratch_.words.max_ids()) return scratch_.words.put(key, ids, count);
        scratch_.words.put_elsewhere(key);
    }
    if (size <= PhraseCache::kMaxBytes) scratch_.phrases.put(hash(pretoken), word, size, ids, count);
}

// Appends the ids of the block, with the ids of merged words in their places.
void Model::Run::write(const std::int32_t* end) {
    const std::int32_t* from = scratch_.ids.data();
    std::int32_t* out = ids_.room(static_cast<std::size_t>(end - from) + merged_size_ + kCopyStep);
    const std::int32_t* const start = out;
    for (const Mark& mark : marks_) {
        const std::int32_t* const to = scratch_.ids.data() + mark.at;
        out = copy_ids(from, static_cast<std::size_t>(to - from), out);
        from = to;
        if (mark.line == kNoLine)
            out = copy_ids(&merged_[mark.start], mark.count, out);
        else
            ends_[mark.line] = static_cast<std::int64_t>(ids_.size()) + (out - start);
    }
    out = std::copy(from, end, out);
    ids_.grow(static_cast<std::size_t>(out - start));
    marks_.clear();
    merged_size_ = 0;
}

}  // namespace nmt_prep::byte_bpe
