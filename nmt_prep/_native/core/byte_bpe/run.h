// Encodes lines one after another, a block of pretokens at a time. While a block is filled, the cache entries of its
// pretokens are fetched from memory; then the pretokens that no cache has are merged together.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "byte_bpe/model.h"
#include "byte_bpe/units.h"
#include "text/byte_hash.h"

namespace nmt_prep::byte_bpe {

class Model::Run {
   public:
    // `ends`: for each line, where to write the number of ids up to its end.
    Run(const Model& model, Scratch& scratch, IdBuffer& ids, std::int64_t* ends)
        : model_(model), scratch_(scratch), ids_(ids), ends_(ends), units_(model, scratch) {}

    // Lines must stay valid until `finish`.
    void encode(const Splitter& splitter, const Splitter::Part& line, std::size_t number) {
        const auto on_part = [&](const Splitter::Part& part) {
            const std::uint8_t* const readable = part.text + part.readable;
            splitter.for_each_pretoken(part.text, part.size, [&](const std::uint8_t* word, std::size_t size) {
                push(word, size, static_cast<std::size_t>(readable - word));
            });
            if (part.text < line.text || part.text >= line.text + line.size) finish();  // the text is in scratch space
        };
        splitter.for_each_part(line, scratch_.split, on_part,
                               [&](std::int32_t id) { push(kName, static_cast<std::size_t>(id)); });
        push(kEndOfLine, number);
    }

    // Encodes the waiting pretokens.
    void finish();

   private:
    static constexpr std::size_t kBlock = 256;
    // Entries without text have one of these values as their size, and the id or the line as their key.
    static constexpr std::size_t kName = SIZE_MAX, kEndOfLine = SIZE_MAX - 1;

    // A pretoken with its key in the word cache. For the phrase cache, `low` is the hash, and `high` the number of
    // readable bytes from `word`.
    struct Pretoken {
        const std::uint8_t* word;
        std::size_t size;
        IdCache::Key key;
    };

    // The end of a line, or a word without ids, after the first `at` ids of the block.
    struct Mark {
        std::size_t at;
        std::size_t line;   // line that ends here; kNoLine for a word without ids
        std::size_t start;  // its ids are merged_[start, start + count)
        std::size_t count;
    };
    static constexpr std::size_t kNoLine = SIZE_MAX;

    struct Missing {
        const Pretoken* pretoken;
        std::size_t mark;
    };

    static bool is_phrase(std::size_t size) { return size > IdCache::kMaxBytes && size <= PhraseCache::kMaxBytes; }

    void push(const std::uint8_t* word, std::size_t size, std::size_t readable) {
        Pretoken& pretoken = block_[size_];
        pretoken.word = word;
        pretoken.size = size;
        bytes_ += size;
        if (size <= IdCache::kMaxBytes) {
            pretoken.key = IdCache::key(word, size, readable);
            scratch_.words.prefetch(pretoken.key);
        } else {
            pretoken.key.high = readable;
            if (is_phrase(size)) {
                pretoken.key.low = hash_bytes(word, size);
                scratch_.phrases.prefetch(pretoken.key.low);
            }
        }
        if (++size_ == kBlock) finish();
    }
    void push(std::size_t kind, std::size_t value) {
        block_[size_] = {nullptr, kind, {value, 0}};
        ++bytes_;
        if (++size_ == kBlock) finish();
    }

    static std::uint64_t hash(const Pretoken& pretoken) {
        return pretoken.size > IdCache::kMaxBytes ? pretoken.key.low : hash_bytes(pretoken.word, pretoken.size);
    }
    std::int32_t* encode_elsewhere(const Pretoken& pretoken, std::uint64_t hash, std::int32_t* out);
    std::int32_t* encode_missing(const Pretoken& pretoken, std::int32_t* out);
    void merge_missing();
    void encode_units();
    void set_ids(const Missing& missing, std::size_t count);
    void put(const Pretoken& pretoken, const std::int32_t* ids, std::size_t count);
    void write(const std::int32_t* end);

    const Model& model_;
    Scratch& scratch_;
    IdBuffer& ids_;
    std::int64_t* ends_;
    std::array<Pretoken, kBlock> block_;
    std::size_t size_ = 0;   // size of the block
    std::size_t bytes_ = 0;  // an upper limit of the block's ids
    std::vector<Mark> marks_;
    std::array<Missing, bpe::WordMerger::kMaxWords> missing_;  // words in the merger
    Units units_;
    std::vector<Missing> missing_in_units_;
    std::vector<std::int32_t> merged_;  // its first `merged_size_` are in use
    std::size_t merged_size_ = 0;
};

}  // namespace nmt_prep::byte_bpe
