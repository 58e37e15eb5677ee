// A SentencePiece model at work: lines to ids and back, with the ids and texts of the sentencepiece library 0.2.3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "id_cache.h"
#include "phrase_cache.h"
#include "spm_bpe.h"
#include "spm_file.h"
#include "spm_normalizer.h"
#include "spm_unigram.h"
#include "spm_vocabulary.h"
#include "text_batch.h"

namespace nmt_prep::spm {

// How to draw at random among the ways to spell a line.
struct Sampling {
    double dropout;        // BPE models: how probable it is that a merge is left out
    double alpha;          // unigram models: probabilities are in proportion to exp(alpha * score)
    std::size_t most;      // unigram models: among this many best ways, 0 for all
    std::uint64_t seed;
    std::uint64_t line;    // number of the first line; the seed and its number decide what a line gets
};

class Model {
   public:
    // Throws NotCovered for models that only the library can run, std::invalid_argument for damaged ones.
    explicit Model(const ModelFile& file);
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    RaggedIds encode(const TextView& text, std::size_t threads, const Poll& poll) const;
    RaggedIds sample(const TextView& text, std::size_t threads, const Sampling& sampling, const Poll& poll) const;

    // Throws EncodeError for an id that no piece has.
    Texts decode(const std::int32_t* values, const std::int64_t* offsets, std::size_t rows, std::size_t threads,
                 const Poll& poll) const;

   private:
    struct Scratch {
        IdCache words{15};
        PhraseCache phrases{13, std::size_t{1} << 22};
        std::vector<std::uint8_t> text;
        Bpe::Scratch bpe;
        Unigram::Scratch unigram;
    };

    // A part of normalised text that no piece leaves.
    struct Stretch {
        const std::uint8_t* begin;
        std::size_t size;
        char32_t first;
        bool is_single;    // one character
        IdCache::Key key;  // of a word; `low` is the hash of a phrase
        bool is_word() const { return size <= IdCache::kMaxBytes; }
        bool is_phrase() const { return !is_word() && size <= PhraseCache::kMaxBytes; }
    };

    std::size_t normalize(const std::uint8_t* text, std::size_t size, Scratch& scratch) const;
    void encode_line(const std::uint8_t* text, std::size_t size, Scratch& scratch, IdBuffer& ids) const;
    std::size_t find_cached(const Stretch& stretch, Scratch& scratch, IdBuffer& ids) const;
    void encode_stretch(const Stretch& stretch, std::size_t line_start, float& score, Scratch& scratch,
                        IdBuffer& ids) const;
    void sample_line(const std::uint8_t* text, std::size_t size, const Sampling& sampling, Random& random,
                     Scratch& scratch, IdBuffer& ids) const;
    template <class Visit>
    void for_each_stretch(const std::uint8_t* text, std::size_t size, const Visit& visit) const;
    template <class Encode>
    RaggedIds encode_with(const TextView& text, std::size_t threads, const Poll& poll, const Encode& encode) const;
    void decode_row(const std::int32_t* ids, std::size_t size, std::string& text) const;

    std::vector<Piece> pieces_;
    std::vector<std::string> surfaces_;  // of pieces, with spaces for U+2581
    std::string unk_surface_;
    bool strips_first_space_, strips_all_first_spaces_;
    Normalizer normalizer_;
    std::optional<Normalizer> denormalizer_;
    Vocabulary vocabulary_;
    Joints joints_;
    std::optional<Bpe> bpe_;
    std::optional<Unigram> unigram_;
    mutable ScratchPool<Scratch> scratch_;
};

}  // namespace nmt_prep::spm
