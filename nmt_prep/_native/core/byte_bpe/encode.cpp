#include <algorithm>
#include <memory>

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
    if (const std::int32_t* const id = whole_word(word, size)) {
        *out = *id;
        return out + 1;
    }
    if (size <= IdCache::kMaxBytes) {
        if (const std::size_t count = scratch.words.find(key, out)) return out + count;
        std::int32_t* const end = encode_word(word, size, scratch, out);
        const auto count = static_cast<std::size_t>(end - out);
        if (count <= scratch.words.max_ids()) scratch.words.put(key, out, count);
        return end;
    }
    if (size > PhraseCache::kMaxBytes) return encode_word(word, size, scratch, out);
    if (const std::size_t count = scratch.phrases.find(key.low, word, size, out)) return out + count;
    std::int32_t* const end = encode_word(word, size, scratch, out);
    scratch.phrases.put(key.low, word, size, out, static_cast<std::size_t>(end - out));
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

std::int32_t* Model::encode_part(const Splitter::Part& part, const Splitter& splitter, const EncodeOptions& options,
                                 Scratch& scratch, std::int32_t* out) const {
    const std::uint8_t* const text = part.text;
    if (options.dropout > 0) {
        const std::uint64_t part_key = hash_bytes(text, part.size);
        splitter.for_each_pretoken(text, part.size, [&](const std::uint8_t* word, std::size_t length) {
            const std::uint64_t key = draw(part_key, options.seed, static_cast<std::uint64_t>(word - text));
            out = encode_with_dropout(word, length, options.dropout, key, scratch, out);
        });
        return out;
    }
    // Pretokens wait in a short queue until their cache entries have been prefetched.
    constexpr std::size_t kAhead = 16;
    Pretoken waiting[kAhead];
    std::size_t seen = 0;
    splitter.for_each_pretoken(text, part.size, [&](const std::uint8_t* word, std::size_t length) {
        Pretoken& place = waiting[seen % kAhead];
        if (seen >= kAhead) out = encode_pretoken(place, scratch, out);
        place = look_ahead(word, length, part.readable - static_cast<std::size_t>(word - text), scratch);
        ++seen;
        const Pretoken& halfway = waiting[(seen + kAhead / 2) % kAhead];
        if (seen >= kAhead / 2 && is_phrase(halfway.size)) scratch.phrases.prefetch_phrase(halfway.key.low);
    });
    for (std::size_t i = seen < kAhead ? 0 : seen - kAhead; i < seen; ++i)
        out = encode_pretoken(waiting[i % kAhead], scratch, out);
    return out;
}

RaggedIds Model::encode(const TextView& text, const Splitter& splitter, std::size_t threads,
                        const EncodeOptions& options, const Poll& poll) const {
    std::vector<std::unique_ptr<Scratch>> scratch(std::max<std::size_t>(threads, 1));
    const std::uint8_t* const end = text.data + text.offsets[text.lines];
    const auto encode_one = [&](std::size_t i, std::size_t thread, IdBuffer& ids) {
        if (!scratch[thread]) scratch[thread] = scratch_.borrow([] { return std::make_unique<Scratch>(); });
        Scratch& own = *scratch[thread];
        const std::uint8_t* const line = text.line(i);
        const auto on_part = [&](const Splitter::Part& part) {
            // At most one id per byte; entries of caches and tables are copied as a whole, or four at a time.
            constexpr std::size_t kPadding = std::max(PhraseCache::kPadding, IdCache::kMaxIds);
            std::int32_t* const out = ids.room(part.size + kPadding);
            ids.grow(static_cast<std::size_t>(encode_part(part, splitter, options, own, out) - out));
        };
        splitter.for_each_part({line, text.size(i), static_cast<std::size_t>(end - line)}, own.split, on_part,
                               [&](std::int32_t id) { ids.push(id); });
    };
    RaggedIds rows = encode_lines(text, threads, encode_one, poll);
    for (std::unique_ptr<Scratch>& each : scratch)
        if (each) scratch_.give_back(std::move(each));
    return rows;
}

}  // namespace nmt_prep::byte_bpe
