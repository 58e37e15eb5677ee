// Samples segmentations of lines: of all (see lattice_sampler.h), of the best ones, or with BPE-dropout.
#include <memory>
#include <string>

#include "sentencepiece/model.h"
#include "text/errors.h"

namespace nmt_prep::sentencepiece {
namespace {

constexpr std::size_t kMaxWays = std::size_t{1} << 23;

// The cache entry of a stretch is prefetched so many stretches ahead.
constexpr std::size_t kAhead = 8;

}  // namespace

void Model::prepare_sampling(const Sampling& sampling, Scratch& scratch) const {
    if (unigram_)
        unigram_->set_alpha(sampling.alpha, scratch.unigram);
    else
        Bpe::prepare_sampling(sampling.dropout, scratch.bpe);
}

void Model::prefetch_samples(const Stretch& stretch, Scratch& scratch) const {
    if (unigram_)
        scratch.unigram.sampler.words().prefetch(stretch.key.low);
    else
        scratch.bpe.outcomes->prefetch(stretch.key.low);
}

// Learns the words of a group that are not known, so that they are merged many at a time.
void Model::learn_group(Scratch& scratch) const {
    for (const Stretch& stretch : scratch.stretches)
        if (stretch.kind == Stretch::Kind::kPhrase && !scratch.bpe.outcomes->prefetch_word(stretch.key.low))
            bpe_->learn({scratch.text.data() + stretch.begin, stretch.size, stretch.key.low}, scratch.bpe);
    bpe_->learn_rest(scratch.bpe);
}

void Model::sample_group(Line& line, Scratch& scratch, IdBuffer& ids) const {
    if (bpe_) learn_group(scratch);
    for (std::size_t i = 0; i < scratch.stretches.size(); ++i) {
        if (i + kAhead < scratch.stretches.size()) {
            const Stretch& ahead = scratch.stretches[i + kAhead];
            if (unigram_ && ahead.kind == Stretch::Kind::kPhrase)
                scratch.unigram.sampler.words().prefetch_phrase(ahead.key.low);
        }
        sample_stretch(scratch.stretches[i], line, scratch, ids);
    }
}

void Model::sample_stretch(const Stretch& stretch, Line& line, Scratch& scratch, IdBuffer& ids) const {
    const std::uint8_t* const text = scratch.text.data() + stretch.begin;
    Samples& samples = *line.samples;
    switch (stretch.kind) {
        case Stretch::Kind::kCharacter:
            samples.random.uniform();
            encode_stretch(stretch, line, scratch, ids);
            return;
        case Stretch::Kind::kRun:
            unigram_->sample_run(stretch.run(), text, line.start, samples.random, scratch.runs, scratch.unigram, ids);
            return;
        case Stretch::Kind::kWord:
        case Stretch::Kind::kPhrase:
            if (unigram_)
                unigram_->sample_word(text, stretch.size, stretch.key.low, line.start, samples.random, scratch.unigram,
                                      ids);
            else
                bpe_->sample_word({text, stretch.size, stretch.key.low}, line.start, samples.dropout, scratch.bpe, ids);
            return;
        case Stretch::Kind::kPiece:  // treated like kStrangers here
        case Stretch::Kind::kStrangers:
        case Stretch::Kind::kOther:
            if (unigram_)
                unigram_->sample_segment(text, stretch.size, line.start, samples.random, scratch.unigram, ids);
            else
                bpe_->sample(text, stretch.size, line.start, samples.dropout, scratch.bpe, ids);
            return;
        case Stretch::Kind::kLineEnd:
            end_line(stretch, line, ids);
            samples.begin_next_line();
            return;
    }
}

void Model::sample_best(const std::uint8_t* text, std::size_t size, bool continued, const Sampling& sampling,
                        std::size_t line, Scratch& scratch, IdBuffer& ids) const {
    const std::size_t length = normalize(text, size, continued, scratch.text, 0);
    if (length > kMaxWays / sampling.most)
        throw EncodeError("a line of " + std::to_string(size) + " bytes is too long to sample from its " +
                          std::to_string(sampling.most) + " best segmentations; lower nbest, or split the line");
    Random random(sampling.seed, sampling.line + line);
    unigram_->sample_best(scratch.text.data(), length, ids.size(), sampling.most, sampling.alpha, random,
                          scratch.unigram, ids);
}

}  // namespace nmt_prep::sentencepiece
