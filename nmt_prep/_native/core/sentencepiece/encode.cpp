// Encodes a column of lines, or samples their segmentations. A few lines at a time are normalized and split, so that
// the memory that their segments need is prefetched.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "sentencepiece/model.h"
#include "sentencepiece/stretches.h"
#include "text/batch.h"

namespace nmt_prep::sentencepiece {
namespace {

constexpr std::size_t kGroupBytes = 2048;
constexpr std::size_t kGroupSymbols = 1024;  // of runs

// Returns true for a single character of several bytes. It is likely to be in no piece, and its id in no cache.
bool is_lone_character(const std::uint8_t* text, std::size_t size) {
    return *text >= 0x80 && size == character_size(*text);
}

}  // namespace

void Model::encode_run(const TextView& text, const std::uint8_t* continued, std::size_t first, std::size_t last,
                       Samples* samples, Scratch& scratch, IdBuffer& ids, std::int64_t* ends) const {
    Line line(ids.size(), ends + first, samples);
    for (std::size_t i = first; i < last;) {
        scratch.length = 0;
        line.trusted = trusted_from(0, 0);
        do {
            if (run_reader_ && samples == nullptr && has_runs(text, i))
                read_runs(text.line(i), text.size(i), line, scratch, ids);
            else
                cut_line(text.line(i), text.size(i), continued != nullptr && continued[i] != 0, line, scratch, ids);
        } while (++i < last && scratch.length < kGroupBytes && scratch.runs.spelling.size < kGroupSymbols &&
                 !scratch.stretches.is_full());
        encode_group(line, scratch, ids);
    }
}

// Returns true if most of a line is likely to be in a script without spaces between words, or to have characters of
// several bytes. Looking up the words of such text, which are short, takes as long as reading all of it as one run; BPE
// takes longer if there are words.
bool Model::has_runs(const TextView& text, std::size_t i) const {
    const int spaces = bpe_ ? 2 : static_cast<int>(ByteClasses::kBytes);
    constexpr std::size_t kPlaces = 8;  // that are looked at
    const std::uint8_t *const line = text.line(i), *const end = text.data + text.offsets[text.lines];
    const std::size_t size = text.size(i);
    if (size == 0) return false;
    if (std::cmp_less(end - line, ByteClasses::kBytes)) {
        std::array<std::uint8_t, ByteClasses::kBytes> block{};
        std::copy_n(line, size, block.begin());
        return is_run_of_text(block.data(), size, spaces);
    }
    if (size < kPlaces * ByteClasses::kBytes) return is_run_of_text(line, size, spaces);
    std::size_t found = 0;
    for (std::size_t place = 0; place < kPlaces; ++place)
        found += is_run_of_text(line + size / kPlaces * place, ByteClasses::kBytes, spaces);
    return found > kPlaces / 2;
}

// Normalizes a line with runs and adds its parts to the group; encodes the group when it is full.
void Model::read_runs(const std::uint8_t* text, std::size_t size, Line& line, Scratch& scratch, IdBuffer& ids) const {
    struct Parts {
        const Model& model;
        Line& line;
        Scratch& scratch;
        IdBuffer& ids;

        Stretch& add(Stretch::Kind kind) {
            Stretch& stretch = scratch.stretches.add();
            return stretch = {scratch.length, 0, kind};
        }
        void make_room() {
            if (scratch.stretches.is_full() || scratch.runs.spelling.size >= kGroupSymbols)
                model.encode_group(line, scratch, ids);
        }
        void known(const Lattice::Run& run) { add(Stretch::Kind::kRun).set_run(run); }
        void character(std::int32_t id) { add(Stretch::Kind::kPiece).key.low = static_cast<std::uint32_t>(id); }
        void strangers(const std::uint8_t* begin, std::size_t bytes, std::size_t count) {
            Stretch& stretch = add(Stretch::Kind::kStrangers);
            stretch.key.low = count;
            if (!model.vocabulary_.byte_fallback) return;
            if (scratch.text.size() < scratch.length + bytes) scratch.text.resize(2 * (scratch.length + bytes));
            std::copy_n(begin, bytes, scratch.text.begin() + static_cast<std::ptrdiff_t>(scratch.length));
            stretch.size = bytes;
            scratch.length += bytes;
        }
    };
    run_reader_->read(text, size, scratch.runs.spelling, Parts{*this, line, scratch, ids});
    scratch.stretches.add({scratch.length, 0, Stretch::Kind::kLineEnd});
}

// Normalizes a line and adds its segments to the group; encodes the group when it is full.
void Model::cut_line(const std::uint8_t* text, std::size_t size, bool continued, Line& line, Scratch& scratch,
                     IdBuffer& ids) const {
    const std::size_t from = scratch.length;
    scratch.length = normalize(text, size, continued, scratch.text, from);
    const std::uint8_t* const begin = scratch.text.data() + from;
    const std::size_t bytes = scratch.length - from;
    const bool sampled = line.samples != nullptr, as_runs = unigram_ && (!tokenizers_ || sampled);
    const auto add = [&](const std::uint8_t* at, std::size_t part, bool is_run) {
        if (scratch.stretches.is_full() || scratch.runs.spelling.size >= kGroupStretches)
            encode_group(line, scratch, ids);
        const bool as_run = is_run && as_runs;
        if (!as_run && !sampled && part <= IdCache::kMaxBytes) [[likely]]
            add_word(at, part, scratch);
        else
            add_stretch(at, part, as_run, sampled, scratch);
    };
    if (bpe_ && vocabulary_.has_unused) {
        // The split of an unused piece depends on the whole line.
        if (bytes != 0) scratch.stretches.add({from, bytes, Stretch::Kind::kOther});
    } else if (bytes != 0 && (!tokenizers_ || sampled || bpe_ || unigram_->sums_are_exact(bytes))) {
        for_each_stretch(begin, bytes, joints_, add);
    } else {
        for_each_pretoken(begin, bytes, vocabulary_.splits_at_spaces, add);
    }
    scratch.stretches.add({scratch.length, 0, Stretch::Kind::kLineEnd});
}

inline void Model::add_word(const std::uint8_t* text, std::size_t size, Scratch& scratch) const {
    const IdCache::Key key = IdCache::key(text, size, Normalizer::kPadding);
    scratch.words.prefetch(key);
    Stretch& stretch = scratch.stretches.add();
    stretch.begin = static_cast<std::size_t>(text - scratch.text.data());
    stretch.size = size;
    stretch.kind = Stretch::Kind::kWord;
    stretch.key.low = key.low;
    stretch.key.high = key.high;
}

void Model::add_stretch(const std::uint8_t* text, std::size_t size, bool is_run, bool sampled, Scratch& scratch) const {
    if (is_run && !sampled && size <= kMaxRun) {
        add_run(text, size, scratch);
        return;
    }
    Stretch& stretch = scratch.stretches.add();
    stretch.begin = static_cast<std::size_t>(text - scratch.text.data());
    stretch.size = size;
    if (size == character_size(*text)) {
        stretch.kind = Stretch::Kind::kCharacter;
    } else if (is_run && size <= kMaxRun) {
        stretch.kind = Stretch::Kind::kRun;
        stretch.set_run(alphabet_->append(text, size, scratch.runs.spelling));
    } else if (sampled && size <= PhraseCache::kMaxBytes) {
        stretch.kind = Stretch::Kind::kPhrase;
        // Any hash would do, as long as words of that size always have this one.
        stretch.key.low = size <= IdCache::kMaxBytes ? IdCache::hash(IdCache::key(text, size, Normalizer::kPadding))
                                                     : hash_bytes(text, size);
        prefetch_samples(stretch, scratch);
    } else if (size <= PhraseCache::kMaxBytes) {
        stretch.kind = Stretch::Kind::kPhrase;
        stretch.key.low = hash_bytes(text, size);
        scratch.phrases.prefetch(stretch.key.low);
    } else {
        stretch.kind = Stretch::Kind::kOther;
    }
}

void Model::add_run(const std::uint8_t* text, std::size_t size, Scratch& scratch) const {
    alphabet_->append_parts(
        text, size, scratch.runs.spelling,
        [&](const Lattice::Run& run) {
            Stretch& stretch = scratch.stretches.add();
            stretch = {0, 0, Stretch::Kind::kRun};
            stretch.set_run(run);
        },
        [&](const std::uint8_t* at, std::size_t bytes, std::size_t count) {
            Stretch& stretch = scratch.stretches.add();
            stretch = {static_cast<std::size_t>(at - scratch.text.data()), bytes, Stretch::Kind::kStrangers};
            stretch.key.low = count;
        });
}

// Encodes the segments of the group, which may begin and end within lines, and clears it.
void Model::encode_group(Line& line, Scratch& scratch, IdBuffer& ids) const {
    if (scratch.runs.spelling.size != 0) {
        if (bpe_runs_)
            bpe_runs_->merge(scratch.runs, scratch.bpe_runs);
        else
            alphabet_->find_pieces(scratch.runs.spelling, scratch.runs.lattice);
    }
    if (line.samples != nullptr) {
        sample_group(line, scratch, ids);
    } else {
        for (const Stretch& stretch : scratch.stretches) {
            // Almost all segments are cached words.
            if (stretch.kind == Stretch::Kind::kWord && stretch.begin + stretch.size <= line.trusted) [[likely]] {
                const std::size_t count = scratch.words.find(stretch.key, ids.room(IdCache::kMaxIds));
                ids.grow(count);
                if (count != 0) [[likely]]
                    continue;
            }
            encode_stretch(stretch, line, scratch, ids);
        }
    }
    scratch.stretches.clear();
    scratch.unsolved.clear();
    scratch.runs.spelling.size = 0;
}

// Appends the ids of a cached word or phrase; returns false if it is not cached.
bool Model::find_cached(const Stretch& stretch, Scratch& scratch, IdBuffer& ids) const {
    const std::uint8_t* const text = scratch.text.data() + stretch.begin;
    const bool is_word = stretch.kind == Stretch::Kind::kWord;
    std::int32_t* const found = ids.room(stretch.size + IdCache::kMaxIds);
    if (is_word) {
        if (const std::size_t count = scratch.words.find(stretch.key, found)) {
            ids.grow(count);
            return true;
        }
    }
    const std::uint64_t hash = is_word ? hash_bytes(text, stretch.size) : stretch.key.low;
    const std::size_t count = scratch.phrases.find(hash, text, stretch.size, found);
    ids.grow(count);
    return count != 0;
}

void Model::encode_stretch(const Stretch& stretch, Line& line, Scratch& scratch, IdBuffer& ids) const {
    switch (stretch.kind) {
        case Stretch::Kind::kWord:
        case Stretch::Kind::kPhrase: encode_repeated(stretch, line, scratch, ids); return;
        case Stretch::Kind::kCharacter: encode_character(stretch, line, scratch, ids); return;
        case Stretch::Kind::kRun: solve_run(stretch.run(), line, scratch, ids); return;
        case Stretch::Kind::kPiece: ids.push(static_cast<std::int32_t>(stretch.key.low)); return;
        case Stretch::Kind::kStrangers: push_strangers(stretch, line, scratch, ids); return;
        case Stretch::Kind::kOther: solve(stretch, line, scratch, ids); return;
        case Stretch::Kind::kLineEnd: end_line(stretch, line, ids); return;
    }
}

void Model::solve_run(const Lattice::Run& run, Line& line, Scratch& scratch, IdBuffer& ids) const {
    if (unigram_) {
        add_scores(line, ids);
        unigram_->encode_run(run, line.start, line.score, scratch.runs, scratch.unigram, ids);
        line.scored = ids.size();
    } else if (!bpe_runs_->encode(run, scratch.runs, scratch.bpe_runs, ids)) {
        const std::string text = alphabet_->text_of(&scratch.runs.spelling.symbols[run.begin], run.end - run.begin);
        bpe_->encode(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), line.start, scratch.bpe, ids);
    }
}

// Appends the id of a character; returns false if it has no piece.
bool Model::encode_character(const Stretch& stretch, Line& line, const Scratch& scratch, IdBuffer& ids) const {
    const std::uint8_t *const text = scratch.text.data() + stretch.begin, *next = text;
    const std::int32_t id = vocabulary_.characters[next_utf8(next)];
    if (id >= 0) {
        ids.push(id);
        return true;
    }
    if (line.samples == nullptr) add_scores(line, ids);  // samples have no use for the score of the line
    vocabulary_.push_unknown(text, stretch.size, line.start, ids);
    if (unigram_) unigram_->add_unknown(line.score, 1);
    line.scored = ids.size();
    return false;
}

void Model::end_line(const Stretch& stretch, Line& line, const IdBuffer& ids) const {
    *line.end++ = static_cast<std::int64_t>(ids.size());
    line.start = line.scored = ids.size();
    line.score = 0;
    line.unknown.clear();
    line.trusted = trusted_from(stretch.begin, 0);
}

// Appends the ids of characters that no piece has. For unigram models, their scores are added together with those of
// pieces.
void Model::push_strangers(const Stretch& stretch, Line& line, const Scratch& scratch, IdBuffer& ids) const {
    constexpr std::size_t kMost = 1024;
    const std::size_t before = ids.size();
    vocabulary_.push_unknown(scratch.text.data() + stretch.begin, stretch.size, line.start, ids);
    if (bpe_) return;
    line.unknown.push_back({before, ids.size(), stretch.key.low});
    if (line.unknown.size() == kMost) add_scores(line, ids);
}

// Adds all ID scores to the line's score.
void Model::add_scores(Line& line, const IdBuffer& ids) const {
    const auto add = [&](std::size_t end) {
        for (std::size_t i = line.scored; i < end; ++i) unigram_->add(line.score, ids.data()[i]);
    };
    for (const Unknown& unknown : line.unknown) {
        add(unknown.begin);
        unigram_->add_unknown(line.score, unknown.count);
        line.scored = unknown.end;
    }
    line.unknown.clear();
    if (unigram_) add(ids.size());
    line.scored = ids.size();
}

// Returns how far scores can be trusted, as a place in the text, given the score of the line up to an earlier place.
std::size_t Model::trusted_from(std::size_t place, float score) const {
    return unigram_ && !tokenizers_ ? place + unigram_->trusted_bytes(score) : SIZE_MAX;
}

bool Model::is_trusted(const Stretch& stretch, Line& line, const IdBuffer& ids) const {
    if (stretch.begin + stretch.size <= line.trusted) return true;
    add_scores(line, ids);
    line.trusted = trusted_from(stretch.begin, line.score);
    return stretch.begin + stretch.size <= line.trusted;
}

void Model::encode_repeated(const Stretch& stretch, Line& line, Scratch& scratch, IdBuffer& ids) const {
    const std::uint8_t* const text = scratch.text.data() + stretch.begin;
    if (is_lone_character(text, stretch.size)) {
        encode_character(stretch, line, scratch, ids);
        return;
    }
    const bool cached = is_trusted(stretch, line, ids);
    if (cached && find_cached(stretch, scratch, ids)) return;
    const std::size_t before = ids.size();
    const bool keep = solve(stretch, line, scratch, ids);
    const std::size_t count = ids.size() - before;
    // The ids of unigram models that are kept have no unknowns, whatever precedes them.
    const bool reusable = (unigram_ && !tokenizers_) || !vocabulary_.has_unknown(ids, before, line.start);
    if (!cached || !keep || !reusable || count == 0 || count > stretch.size) return;
    if (stretch.kind == Stretch::Kind::kPhrase)
        scratch.phrases.put(stretch.key.low, text, stretch.size, ids.data() + before, count);
    else if (count > scratch.words.max_ids())
        scratch.phrases.put(hash_bytes(text, stretch.size), text, stretch.size, ids.data() + before, count);
    else
        scratch.words.put(stretch.key, ids.data() + before, count);
}

bool Model::is_cached(const Stretch& stretch, const Scratch& scratch) {
    const bool is_word = stretch.kind == Stretch::Kind::kWord;
    if (is_word && scratch.words.contains(stretch.key)) return true;
    const std::uint8_t* const text = scratch.text.data() + stretch.begin;
    const std::uint64_t hash = is_word ? hash_bytes(text, stretch.size) : stretch.key.low;
    return !scratch.phrases.view(hash, text, stretch.size).empty();
}

// Finds the pieces of a segment that is not cached, and of the next ones like it: together, the walks through the
// vocabulary wait less for memory.
void Model::prepare_words(const Stretch& first, Scratch& scratch) const {
    constexpr std::ptrdiff_t kMost = 256;  // segments that are looked up
    const Stretch* const end = &first + std::min(kMost, scratch.stretches.end() - &first);
    scratch.unsolved.clear();
    scratch.next_unsolved = 0;
    Unigram::clear_words(scratch.unigram);
    for (const Stretch* stretch = &first; stretch != end; ++stretch) {
        if (stretch->kind != Stretch::Kind::kWord && stretch->kind != Stretch::Kind::kPhrase) continue;
        const std::uint8_t* const text = scratch.text.data() + stretch->begin;
        if (is_lone_character(text, stretch->size) || (stretch != &first && is_cached(*stretch, scratch))) continue;
        scratch.unsolved.push_back({stretch, unigram_->add_word(text, stretch->size, scratch.unigram)});
    }
    unigram_->find_in_words(scratch.unigram);
}

// Returns the place of a segment among those that are prepared.
Lattice::Run Model::prepared_word(const Stretch& stretch, Scratch& scratch) const {
    const std::vector<Unsolved>& unsolved = scratch.unsolved;
    std::size_t& i = scratch.next_unsolved;
    while (i < unsolved.size() && unsolved[i].stretch < &stretch) ++i;
    if (i >= unsolved.size() || unsolved[i].stretch != &stretch) prepare_words(stretch, scratch);
    return unsolved[i].word;
}

// Appends the ids of a segment; returns true if they are the same wherever in a line it occurs.
bool Model::solve(const Stretch& stretch, Line& line, Scratch& scratch, IdBuffer& ids) const {
    const std::uint8_t* const text = scratch.text.data() + stretch.begin;
    // Unused pieces have entries among the characters, but text of one character does not become one.
    if (stretch.size == character_size(*text) && !vocabulary_.has_unused)
        return encode_character(stretch, line, scratch, ids);
    if (unigram_ && tokenizers_) {
        unigram_->encode_pretoken(text, stretch.size, line.start, scratch.unigram, ids);
        return true;
    }
    if (unigram_) {
        if (stretch.kind != Stretch::Kind::kOther && stretch.begin + stretch.size <= line.trusted &&
            unigram_->encode_anywhere(prepared_word(stretch, scratch), scratch.unigram, ids))
            return true;
        add_scores(line, ids);
        unigram_->encode(text, stretch.size, line.start, line.score, scratch.unigram, ids);
        line.scored = ids.size();
        return false;
    }
    bpe_->encode(text, stretch.size, line.start, scratch.bpe, ids);
    return true;
}

}  // namespace nmt_prep::sentencepiece
