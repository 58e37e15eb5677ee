#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "byte_bpe/run.h"
#include "text/byte_hash.h"

namespace nmt_prep::byte_bpe {
std::int32_t* Model::encode_with_dropout(const std::uint8_t* word, std::size_t size, const bpe::Chance& chance,
                                         std::uint64_t key, Scratch& scratch, std::int32_t* out) const {
    using bpe::OutcomeCache;
    const auto drop = [&](std::size_t step, std::size_t place) { return chance(bpe::draw(key, step, place)); };
    const auto merge = [&](const auto& drop_candidate) {
        spell(word, size, out);
        return out + scratch.merger.merge_with_dropout<bpe::Merger::Skips::kForStep>(out, size, pairs_, drop_candidate);
    };
    const auto drop_candidate = [&](const bpe::Merger::Candidate& each) { return drop(each.step, each.begin); };
    // Outcomes of long words, such as Chinese clauses, are too many to occur again.
    constexpr std::size_t kMaxCached = 31;
    if (size > kMaxCached) return merge(drop_candidate);
    const OutcomeCache::Word known{word, size, hash_bytes(word, size)};
    OutcomeCache::Path path;
    const auto find = [&] {
        std::size_t step = 0;
        const auto decide = [&](const OutcomeCache::Outcome& outcome) {
            const std::uint8_t* const places = outcome.places();
            std::size_t made = 0;
            while (made < outcome.merges() && !drop(step, places[made])) ++made, ++step;
            return made;
        };
        return scratch.outcomes->find(known, decide, path);
    };
    const auto merge_and_add = [&](const auto& drop_next) {
        OutcomeCache::Replay replay(path, drop_next);
        std::int32_t* const end = merge([&](const bpe::Merger::Candidate& each) { return replay(each); });
        scratch.outcomes->add(known, path, replay, {out, end});
        return end;
    };
    std::span<const std::int32_t> found = find();
    if (found.empty() && path.is_empty() && scratch.outcomes->meet(known.hash)) {
        merge_and_add([](const bpe::Merger::Candidate&) { return false; });
        found = find();
    }
    if (found.empty()) return merge_and_add(drop_candidate);
    return std::ranges::copy(found, out).out;
}

void Model::encode_line_with_dropout(const Splitter& splitter, const Splitter::Part& line, const EncodeOptions& options,
                                     Scratch& scratch, IdBuffer& ids) const {
    const bpe::Chance chance(options.dropout);
    if (!scratch.outcomes) scratch.outcomes = std::make_unique<bpe::OutcomeCache>(true);
    const auto on_part = [&](const Splitter::Part& part) {
        const std::uint64_t part_key = hash_bytes(part.text, part.size);
        std::int32_t* const start = ids.room(part.size);
        std::int32_t* out = start;
        splitter.for_each_pretoken(part.text, part.size, [&](const std::uint8_t* word, std::size_t size) {
            const std::uint64_t key = bpe::draw(part_key, options.seed, static_cast<std::uint64_t>(word - part.text));
            out = encode_with_dropout(word, size, chance, key, scratch, out);
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
