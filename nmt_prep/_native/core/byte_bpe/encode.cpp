#include <algorithm>
#include <memory>
#include <utility>

#include "byte_bpe/model.h"
#include "text/byte_hash.h"

namespace nmt_prep::byte_bpe {
namespace {

bool is_phrase(std::size_t size) { return size > IdCache::kMaxBytes && size <= PhraseCache::kMaxBytes; }

// Random numbers for dropout: a keyed hash of the merge's position, so that the order of drawing does not matter.
std::uint64_t draw(std::uint64_t key, std::uint64_t a, std::uint64_t b) {
    return mix_bits(mix_bits(key ^ 0x9E3779B97F4A7C15u, a ^ 0xD1B54A32D192ED03u), b ^ 0xA0761D6478BD642Fu);
}

}  // namespace

Model::Pretoken Model::look_ahead(const std::uint8_t* word, std::size_t size, std::size_t readable,
                                  Scratch& scratch) const {
    Pretoken pretoken{word, size, {0, 0}};
    if (size <= IdCache::kMaxBytes) {
        pretoken.key = IdCache::key(word, size, readable);
        scratch.words.prefetch(pretoken.key);
    } else if (is_phrase(size)) {
        pretoken.key.low = hash_bytes(word, size);
        scratch.phrases.prefetch(pretoken.key.low);
    }
    return pretoken;
}

std::int32_t* Model::encode_pretoken(const Pretoken& pretoken, Scratch& scratch, std::int32_t* out) const {
    const auto [word, size, key] = pretoken;
    if (size > IdCache::kMaxBytes) return encode_phrase(word, size, key.low, scratch, out);
    const std::size_t found = scratch.words.find(key, out);
    if (found == IdCache::kElsewhere) return encode_phrase(word, size, hash_bytes(word, size), scratch, out);
    if (found > 0) return out + found;
    std::int32_t* const end = encode_word(word, size, scratch, out);
    const auto count = static_cast<std::size_t>(end - out);
    if (count <= scratch.words.max_ids()) {
        scratch.words.put(key, out, count);
    } else {
        scratch.words.put_elsewhere(key);
        scratch.phrases.put(hash_bytes(word, size), word, size, out, count);
    }
    return end;
}

std::int32_t* Model::encode_phrase(const std::uint8_t* word, std::size_t size, std::uint64_t hash, Scratch& scratch,
                                   std::int32_t* out) const {
    if (size > PhraseCache::kMaxBytes) return encode_word(word, size, scratch, out);
    if (const std::size_t count = scratch.phrases.find(hash, word, size, out)) return out + count;
    std::int32_t* const end = encode_word(word, size, scratch, out);
    scratch.phrases.put(hash, word, size, out, static_cast<std::size_t>(end - out));
    return end;
}

std::int32_t* Model::encode_with_dropout(const std::uint8_t* word, std::size_t size, double dropout, std::uint64_t key,
                                         Scratch& scratch, std::int32_t* out) const {
    // Compares the top 53 bits with those of the probability: exact, and 0 and 1 mean never and always.
    const auto limit = static_cast<std::uint64_t>(dropout * 9007199254740992.0);
    spell(word, size, out);
    return out + scratch.merger.merge_with_dropout(out, size, pairs_, [&](std::size_t step, std::size_t position) {
        return draw(key, step, position) >> 11 < limit;
    });
}

// Encodes lines one after another. Pretokens wait in a short queue, which does not end with a line, until their cache
// entries have been prefetched.
class Model::Run {
   public:
    // `ends`: by line, where to write the number of ids after it.
    Run(const Model& model, Scratch& scratch, IdBuffer& ids, std::int64_t* ends)
        : model_(model), scratch_(scratch), ids_(ids), ends_(ends) {}

    void encode(const Splitter& splitter, const Splitter::Part& line, std::size_t number) {
        const auto on_part = [&](const Splitter::Part& part) {
            make_room(part.size);
            splitter.for_each_pretoken(part.text, part.size, [&](const std::uint8_t* word, std::size_t size) {
                const std::size_t readable = part.readable - static_cast<std::size_t>(word - part.text);
                push(model_.look_ahead(word, size, readable, scratch_));
            });
            if (part.text < line.text || part.text >= line.text + line.size) drain();  // is in scratch space
        };
        splitter.for_each_part(line, scratch_.split, on_part, [&](std::int32_t id) {
            make_room(1);
            push({nullptr, 0, {kName, static_cast<std::uint64_t>(id)}});
        });
        push({nullptr, 0, {kEndOfLine, number}});
    }

    void drain() {
        for (std::size_t i = seen_ < kAhead ? 0 : seen_ - kAhead; i < seen_; ++i) pop(waiting_[i % kAhead]);
        seen_ = 0;
        make_room(0);
    }

   private:
    static constexpr std::size_t kAhead = 16;
    // Entries without text have one of these as the low half of the key, and the id or the line as its high half.
    static constexpr std::uint64_t kName = 0, kEndOfLine = 1;

    // There is at most one id per byte; entries of caches and tables are copied as a whole, or four at a time.
    void make_room(std::size_t size) {
        constexpr std::size_t kPadding = std::max(PhraseCache::kPadding, IdCache::kMaxIds);
        ids_.grow(static_cast<std::size_t>(out_ - start_));
        waiting_bytes_ += size;
        start_ = out_ = ids_.room(waiting_bytes_ + kPadding);
    }

    void push(const Pretoken& pretoken) {
        Pretoken& place = waiting_[seen_ % kAhead];
        if (seen_ >= kAhead) pop(place);
        place = pretoken;
        ++seen_;
        const Pretoken& halfway = waiting_[(seen_ + kAhead / 2) % kAhead];
        if (seen_ >= kAhead / 2 && is_phrase(halfway.size)) scratch_.phrases.prefetch_phrase(halfway.key.low);
    }

    void pop(const Pretoken& pretoken) {
        if (pretoken.size > 0) {
            waiting_bytes_ -= pretoken.size;
            out_ = model_.encode_pretoken(pretoken, scratch_, out_);
        } else if (pretoken.key.low == kName) {
            --waiting_bytes_;
            *out_++ = static_cast<std::int32_t>(pretoken.key.high);
        } else {
            ends_[pretoken.key.high] = static_cast<std::int64_t>(ids_.size()) + (out_ - start_);
        }
    }

    const Model& model_;
    Scratch& scratch_;
    IdBuffer& ids_;
    std::int64_t* ends_;
    Pretoken waiting_[kAhead];
    std::size_t seen_ = 0;
    std::size_t waiting_bytes_ = 0;  // what may still become ids
    std::int32_t* start_ = nullptr;  // of the ids that `ids_` does not count yet
    std::int32_t* out_ = nullptr;
};

void Model::encode_line_with_dropout(const Splitter& splitter, const Splitter::Part& line, const EncodeOptions& options,
                                     Scratch& scratch, IdBuffer& ids) const {
    const auto on_part = [&](const Splitter::Part& part) {
        const std::uint64_t part_key = hash_bytes(part.text, part.size);
        std::int32_t* const start = ids.room(part.size);
        std::int32_t* out = start;
        splitter.for_each_pretoken(part.text, part.size, [&](const std::uint8_t* word, std::size_t size) {
            const std::uint64_t key = draw(part_key, options.seed, static_cast<std::uint64_t>(word - part.text));
            out = encode_with_dropout(word, size, options.dropout, key, scratch, out);
        });
        ids.grow(static_cast<std::size_t>(out - start));
    };
    splitter.for_each_part(line, scratch.split, on_part, [&](std::int32_t id) { ids.push(id); });
}

RaggedIds Model::encode(const TextView& text, const Splitter& splitter, std::size_t threads,
                        const EncodeOptions& options, const Poll& poll) const {
    std::vector<std::unique_ptr<Scratch>> scratch(std::max<std::size_t>(threads, 1));
    const std::uint8_t* const end = text.data + text.offsets[text.lines];
    const auto encode_run = [&](std::size_t first, std::size_t last, std::size_t thread, IdBuffer& ids,
                                std::int64_t* ends) {
        if (!scratch[thread]) scratch[thread] = scratch_.borrow([this] { return make_scratch(); });
        Scratch& own = *scratch[thread];
        const auto line = [&](std::size_t i) {
            return Splitter::Part{text.line(i), text.size(i), static_cast<std::size_t>(end - text.line(i))};
        };
        if (options.dropout > 0) {
            for (std::size_t i = first; i < last; ++i) {
                encode_line_with_dropout(splitter, line(i), options, own, ids);
                ends[i] = static_cast<std::int64_t>(ids.size());
            }
            return;
        }
        Run run(*this, own, ids, ends);
        for (std::size_t i = first; i < last; ++i) run.encode(splitter, line(i), i);
        run.drain();
    };
    RaggedIds rows = encode_runs(text, threads, encode_run, poll);
    for (std::unique_ptr<Scratch>& each : scratch)
        if (each) scratch_.give_back(std::move(each));
    return rows;
}

}  // namespace nmt_prep::byte_bpe
