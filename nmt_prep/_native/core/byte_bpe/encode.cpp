#include <algorithm>
#include <memory>
#include <utility>

#include "byte_bpe/run.h"
#include "text/byte_hash.h"

namespace nmt_prep::byte_bpe {
namespace {

// Random numbers for dropout: a keyed hash of the merge's position, so that the order of drawing does not matter.
std::uint64_t draw(std::uint64_t key, std::uint64_t a, std::uint64_t b) {
    return mix_bits(mix_bits(key ^ 0x9E3779B97F4A7C15u, a ^ 0xD1B54A32D192ED03u), b ^ 0xA0761D6478BD642Fu);
}

}  // namespace

std::int32_t* Model::encode_with_dropout(const std::uint8_t* word, std::size_t size, double dropout, std::uint64_t key,
                                         Scratch& scratch, std::int32_t* out) const {
    // Compares the top 53 bits with those of the probability: exact, and 0 and 1 mean never and always.
    const auto limit = static_cast<std::uint64_t>(dropout * 9007199254740992.0);
    spell(word, size, out);
    return out + scratch.merger.merge_with_dropout(out, size, pairs_, [&](std::size_t step, std::size_t position) {
        return draw(key, step, position) >> 11 < limit;
    });
}

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
        run.finish();
    };
    RaggedIds rows = encode_runs(text, threads, encode_run, poll);
    for (std::unique_ptr<Scratch>& each : scratch)
        if (each) scratch_.give_back(std::move(each));
    return rows;
}

}  // namespace nmt_prep::byte_bpe
