// Encodes a column of lines, or samples their segmentations. A few lines at a time are normalised and split, so that
// the memory that their segments need is prefetched.
#include <algorithm>
#include <cmath>

#include "sentencepiece/model.h"
#include "sentencepiece/stretches.h"
#include "text/batch.h"

namespace nmt_prep::sentencepiece {
namespace {

constexpr std::size_t kGroupBytes = 2048;
constexpr std::size_t kGroupStretches = 4096;

}  // namespace

void Model::encode_run(const TextView& text, const std::uint8_t* continued, std::size_t first, std::size_t last,
                       Samples* samples, Scratch& scratch, IdBuffer& ids, std::int64_t* ends) const {
    Line line{ids.size(), 0, ends + first, samples};
    for (std::size_t i = first; i < last;) {
        scratch.length = 0;
        do {
            cut_line(text.line(i), text.size(i), continued != nullptr && continued[i] != 0, line, scratch, ids);
        } while (++i < last && scratch.length < kGroupBytes);
        encode_group(line, scratch, ids);
    }
}

// Normalises a line and adds its segments to the group; encodes the group when it is full.
void Model::cut_line(const std::uint8_t* text, std::size_t size, bool continued, Line& line, Scratch& scratch,
                     IdBuffer& ids) const {
    const std::size_t from = scratch.length;
    scratch.length = normalize(text, size, continued, scratch.text, from);
    const std::uint8_t* const begin = scratch.text.data() + from;
    const bool has_runs = unigram_ && (!tokenizers_ || line.samples != nullptr);
    const auto add = [&](const std::uint8_t* at, std::size_t bytes, char32_t first, bool is_run) {
        if (scratch.stretches.size() >= kGroupStretches || scratch.unigram.runs.size >= kGroupStretches)
            encode_group(line, scratch, ids);
        add_stretch(at, bytes, first, is_run && has_runs, line.samples != nullptr, scratch);
    };
    if (bpe_ && vocabulary_.has_unused) {
        // The split of an unused piece depends on the whole line.
        scratch.stretches.push_back({from, scratch.length - from, 0, Stretch::Kind::kOther, {}, {}});
    } else if (line.samples == nullptr && unigram_ && !tokenizers_) {
        for_each_stretch<true>(begin, scratch.length - from, joints_, add);
    } else if (line.samples != nullptr || bpe_ || unigram_->sums_are_exact(scratch.length - from)) {
        for_each_stretch<false>(begin, scratch.length - from, joints_, add);
    } else {
        for_each_pretoken(begin, scratch.length - from, vocabulary_.splits_at_spaces, add);
    }
    scratch.stretches.push_back({scratch.length, 0, 0, Stretch::Kind::kLineEnd, {}, {}});
}

void Model::add_stretch(const std::uint8_t* text, std::size_t size, char32_t first, bool is_run, bool sampled,
                        Scratch& scratch) const {
    if (is_run && !sampled && size <= kMaxRun) {
        add_run(text, size, scratch);
        return;
    }
    Stretch& stretch = scratch.stretches.emplace_back();
    stretch.begin = static_cast<std::size_t>(text - scratch.text.data());
    stretch.size = size;
    stretch.first = first;
    if (size == character_size(*text)) {
        stretch.kind = Stretch::Kind::kCharacter;
    } else if (is_run && size <= kMaxRun) {
        stretch.kind = Stretch::Kind::kRun;
        stretch.run = unigram_->add_run(text, size, scratch.unigram);
    } else if (sampled && size <= PhraseCache::kMaxBytes) {
        stretch.kind = Stretch::Kind::kPhrase;
        // Any hash would do, as long as words of that size always have this one.
        stretch.key.low = size <= IdCache::kMaxBytes ? IdCache::hash(IdCache::key(text, size, Normalizer::kPadding))
                                                     : hash_bytes(text, size);
        prefetch_samples(stretch, scratch);
    } else if (size <= IdCache::kMaxBytes) {
        stretch.kind = Stretch::Kind::kWord;
        stretch.key = IdCache::key(text, size, Normalizer::kPadding);
        scratch.words.prefetch(stretch.key);
    } else if (size <= PhraseCache::kMaxBytes) {
        stretch.kind = Stretch::Kind::kPhrase;
        stretch.key.low = hash_bytes(text, size);
        scratch.phrases.prefetch(stretch.key.low);
    } else {
        stretch.kind = Stretch::Kind::kOther;
    }
}

void Model::add_run(const std::uint8_t* text, std::size_t size, Scratch& scratch) const {
    const auto add = [&](const std::uint8_t* at, std::size_t bytes, Stretch::Kind kind) -> Stretch& {
        const auto begin = static_cast<std::size_t>(at - scratch.text.data());
        return scratch.stretches.emplace_back(Stretch{begin, bytes, 0, kind, {}, {}});
    };
    unigram_->add_parts_of_run(
        text, size, scratch.unigram,
        [&](const std::uint8_t* at, std::size_t bytes, const Lattice::Run& run) {
            add(at, bytes, Stretch::Kind::kRun).run = run;
        },
        [&](const std::uint8_t* at, std::size_t bytes, std::size_t count) {
            add(at, bytes, Stretch::Kind::kStrangers).characters = count;
        });
}

// Encodes the segments of the group, which may begin and end within lines, and clears it.
void Model::encode_group(Line& line, Scratch& scratch, IdBuffer& ids) const {
    if (unigram_) unigram_->find_in_runs(scratch.unigram);
    if (line.samples != nullptr)
        sample_group(line, scratch, ids);
    else
        for (const Stretch& stretch : scratch.stretches) encode_stretch(stretch, line, scratch, ids);
    scratch.stretches.clear();
    Unigram::clear_runs(scratch.unigram);
}

// Appends the ids of a cached word or phrase and adds their scores; returns false if it is not cached.
bool Model::find_cached(const Stretch& stretch, Line& line, Scratch& scratch, IdBuffer& ids) const {
    const std::uint8_t* const text = scratch.text.data() + stretch.begin;
    const bool is_word = stretch.kind == Stretch::Kind::kWord;
    std::int32_t* const found = ids.room(stretch.size + IdCache::kMaxIds);
    if (is_word) {
        if (const std::size_t count = scratch.words.find(stretch.key, found)) {
            if (unigram_) unigram_->add_few(line.score, found, count);
            ids.grow(count);
            return true;
        }
    }
    const std::uint64_t hash = is_word ? hash_bytes(text, stretch.size) : stretch.key.low;
    const std::size_t count = scratch.phrases.find(hash, text, stretch.size, found);
    if (unigram_)
        for (std::size_t i = 0; i < count; ++i) unigram_->add(line.score, found[i]);
    ids.grow(count);
    return count != 0;
}

void Model::encode_stretch(const Stretch& stretch, Line& line, Scratch& scratch, IdBuffer& ids) const {
    const std::uint8_t* const text = scratch.text.data() + stretch.begin;
    switch (stretch.kind) {
        case Stretch::Kind::kCharacter: {
            const std::int32_t id = vocabulary_.characters[stretch.first];
            if (id >= 0)
                ids.push(id);
            else
                vocabulary_.push_unknown(text, stretch.size, line.start, ids);
            if (unigram_) unigram_->add(line.score, id >= 0 ? id : vocabulary_.unk_id);
            return;
        }
        case Stretch::Kind::kRun:
            unigram_->encode_run(stretch.run, text, stretch.size, line.start, line.score, scratch.unigram, ids);
            return;
        case Stretch::Kind::kStrangers:
            vocabulary_.push_unknown(text, stretch.size, line.start, ids);
            unigram_->add_unknown(line.score, stretch.characters);
            return;
        case Stretch::Kind::kWord:
        case Stretch::Kind::kPhrase: encode_repeated(stretch, line, scratch, ids); return;
        case Stretch::Kind::kOther: solve(stretch, line, scratch, ids); return;
        case Stretch::Kind::kLineEnd: end_line(line, ids); return;
    }
}

void Model::end_line(Line& line, const IdBuffer& ids) {
    *line.end++ = static_cast<std::int64_t>(ids.size());
    line.start = ids.size();
    line.score = 0;
}

void Model::encode_repeated(const Stretch& stretch, Line& line, Scratch& scratch, IdBuffer& ids) const {
    const bool cached = tokenizers_ || std::abs(line.score) <= Unigram::kTrusted;
    if (cached && find_cached(stretch, line, scratch, ids)) return;
    const std::size_t before = ids.size();
    const bool keep = solve(stretch, line, scratch, ids);
    const std::size_t count = ids.size() - before;
    const bool reusable = !vocabulary_.has_unknown(ids, before, line.start);
    if (!cached || !keep || !reusable || count == 0 || count > stretch.size) return;
    const std::uint8_t* const text = scratch.text.data() + stretch.begin;
    if (stretch.kind == Stretch::Kind::kPhrase)
        scratch.phrases.put(stretch.key.low, text, stretch.size, ids.data() + before, count);
    else if (count > scratch.words.max_ids())
        scratch.phrases.put(hash_bytes(text, stretch.size), text, stretch.size, ids.data() + before, count);
    else
        scratch.words.put(stretch.key, ids.data() + before, count);
}

// Appends the ids of a segment; returns true if they are the same wherever in a line it occurs.
bool Model::solve(const Stretch& stretch, Line& line, Scratch& scratch, IdBuffer& ids) const {
    const std::uint8_t* const text = scratch.text.data() + stretch.begin;
    if (unigram_ && tokenizers_) {
        unigram_->encode_pretoken(text, stretch.size, line.start, scratch.unigram, ids);
        return true;
    }
    if (unigram_) return unigram_->encode(text, stretch.size, line.start, line.score, scratch.unigram, ids);
    bpe_->encode(text, stretch.size, line.start, scratch.bpe, ids);
    return true;
}

}  // namespace nmt_prep::sentencepiece
