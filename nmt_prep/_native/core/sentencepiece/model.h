// A SentencePiece model: encodes lines and decodes ids exactly like the sentencepiece library 0.2.3, or, for a
// tokenizer.json, like Hugging Face's tokenizers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sentencepiece/alphabet.h"
#include "sentencepiece/bpe.h"
#include "sentencepiece/bpe_runs.h"
#include "sentencepiece/file.h"
#include "sentencepiece/normalizer.h"
#include "sentencepiece/run_reader.h"
#include "sentencepiece/tokenizers_normalizer.h"
#include "sentencepiece/unigram.h"
#include "sentencepiece/vocabulary.h"
#include "text/batch.h"
#include "text/id_cache.h"
#include "text/phrase_cache.h"

namespace nmt_prep::sentencepiece {

// Parameters for sampling a segmentation of a line.
struct Sampling {
    double dropout;    // BPE models: probability of skipping a merge
    double alpha;      // unigram models: probabilities are proportional to exp(alpha * score)
    std::size_t most;  // unigram models: sample from this many best segmentations, 0 for all
    std::uint64_t seed;
    std::uint64_t line;  // number of the first line; a line's sample depends on the seed and its number
};

class Model {
   public:
    // Throws NotCovered for models that only the library supports, std::invalid_argument for damaged ones.
    explicit Model(const ModelFile& file);
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    // `continued`, for models of tokenizers: null, or a number for each text, which is 1 if the text follows an added
    // token in its line.
    RaggedIds encode(const TextView& text, const std::uint8_t* continued, std::size_t threads, const Poll& poll) const;
    RaggedIds sample(const TextView& text, const std::uint8_t* continued, std::size_t threads, const Sampling& sampling,
                     const Poll& poll) const;

    // Throws EncodeError for an id outside the vocabulary.
    Texts decode(const std::int32_t* values, const std::int64_t* offsets, std::size_t rows, std::size_t threads,
                 const Poll& poll) const;

   private:
    static constexpr std::size_t kMaxRun = std::size_t{1} << 14;  // bytes; bounds memory
    static constexpr std::size_t kGroupStretches = 4096;

    // A segment of normalized text that no piece crosses: half a cache line.
    struct Stretch {
        enum class Kind : std::uint8_t {
            kCharacter,  // one character
            kPiece,      // one character that is a piece
            kWord,       // short enough for the cache of words
            kPhrase,     // short enough for the cache of phrases
            kRun,        // text without spaces between words: long, and rarely repeated
            kStrangers,  // characters that no piece has
            kOther,
            kLineEnd,  // no text
        };
        std::size_t begin;        // in bytes
        std::uint64_t size : 56;  // likewise
        Kind kind;
        IdCache::Key key{};  // of a word; `low` is the hash of a phrase, a piece's id, the number of strangers, or
                             // the place of a run

        void set_run(const Lattice::Run& run) { key.low = std::uint64_t{run.begin} << 32 | run.end; }
        Lattice::Run run() const {
            return {static_cast<std::uint32_t>(key.low >> 32), static_cast<std::uint32_t>(key.low)};
        }
    };

    // The segments for a group of lines.
    class Stretches {
       public:
        bool is_full() const { return size_ >= kGroupStretches; }
        Stretch& add() { return all_[size_++]; }
        void add(const Stretch& stretch) { add() = stretch; }
        std::size_t size() const { return size_; }
        const Stretch& operator[](std::size_t i) const { return all_[i]; }
        const Stretch* begin() const { return all_.get(); }
        const Stretch* end() const { return all_.get() + size_; }
        void clear() { size_ = 0; }

       private:
        // The parts of a run, and the end of a line, may exceed a full group.
        static constexpr std::size_t kRoom = kGroupStretches + kMaxRun + 1;

        std::unique_ptr<Stretch[]> all_ = std::make_unique_for_overwrite<Stretch[]>(kRoom);
        std::size_t size_ = 0;
    };

    // A segment that was not cached when the segments of the group were looked up, and its place among the words to
    // solve.
    struct Unsolved {
        const Stretch* stretch;
        Lattice::Run word;
    };

    struct Scratch {
        Scratch(IdCache known, std::size_t bits)
            : words(std::move(known)), phrases(static_cast<unsigned>(bits) - 2, std::size_t{1} << 24) {}

        IdCache words;
        PhraseCache phrases;
        std::vector<std::uint8_t> text;  // normalized, of a few lines
        std::size_t length = 0;          // size of the text
        Stretches stretches;
        Runs runs;
        Bpe::Scratch bpe;
        BpeRuns::Scratch bpe_runs;
        Unigram::Scratch unigram;
        std::vector<Unsolved> unsolved;
        std::size_t next_unsolved = 0;
    };

    // The random decisions of the current line.
    struct Samples {
        Samples(std::uint64_t sampling_seed, std::uint64_t line_number, const Gaps& gap_table)
            : seed(sampling_seed),
              line(line_number),
              gaps(&gap_table),
              random(seed, line),
              dropout(gap_table, seed, line) {}
        void begin_next_line() { *this = Samples(seed, line + 1, *gaps); }

        std::uint64_t seed;
        std::uint64_t line;
        const Gaps* gaps;
        Random random;         // for unigram models
        Bpe::Dropout dropout;  // for BPE models
    };

    // Characters that no piece has, whose score is not yet added to the score of the line.
    struct Unknown {
        std::size_t begin, end;  // where their ids begin and end
        std::size_t count;
    };

    // The current line.
    struct Line {
        Line(std::size_t ids, std::int64_t* ends, Samples* sampled)
            : start(ids), end(ends), samples(sampled), scored(ids) {}

        std::size_t start;  // of its ids
        std::int64_t* end;  // where to write the end of its ids
        Samples* samples;   // null for the best segmentation
        // For unigram models. Few lines need their score, so it is added up only when it is needed.
        float score = 0;     // score of the pieces before `scored`
        std::size_t scored;  // an index of ids; the ids from it on are of pieces that text matches, and of `unknown`
        std::vector<Unknown> unknown;  // among those from `scored` on
        std::size_t trusted = 0;       // before this place in the text, the library surely does not restart its sums
    };

    std::size_t normalize(const std::uint8_t* text, std::size_t size, bool continued, std::vector<std::uint8_t>& buffer,
                          std::size_t from) const {
        return tokenizers_ ? tokenizers_->normalize(text, size, continued, buffer, from)
                           : normalizer_.normalize(text, size, buffer, from);
    }
    void encode_run(const TextView& text, const std::uint8_t* continued, std::size_t first, std::size_t last,
                    Samples* samples, Scratch& scratch, IdBuffer& ids, std::int64_t* ends) const;
    bool has_runs(const TextView& text, std::size_t i) const;
    void read_runs(const std::uint8_t* text, std::size_t size, Line& line, Scratch& scratch, IdBuffer& ids) const;
    void cut_line(const std::uint8_t* text, std::size_t size, bool continued, Line& line, Scratch& scratch,
                  IdBuffer& ids) const;
    void add_word(const std::uint8_t* text, std::size_t size, Scratch& scratch) const;
    void add_stretch(const std::uint8_t* text, std::size_t size, bool is_run, bool sampled, Scratch& scratch) const;
    void add_run(const std::uint8_t* text, std::size_t size, Scratch& scratch) const;
    void encode_group(Line& line, Scratch& scratch, IdBuffer& ids) const;
    void encode_stretch(const Stretch& stretch, Line& line, Scratch& scratch, IdBuffer& ids) const;
    void solve_run(const Lattice::Run& run, Line& line, Scratch& scratch, IdBuffer& ids) const;
    bool encode_character(const Stretch& stretch, Line& line, const Scratch& scratch, IdBuffer& ids) const;
    void end_line(const Stretch& stretch, Line& line, const IdBuffer& ids) const;
    void push_strangers(const Stretch& stretch, Line& line, const Scratch& scratch, IdBuffer& ids) const;
    void add_scores(Line& line, const IdBuffer& ids) const;
    std::size_t trusted_from(std::size_t place, float score) const;
    bool is_trusted(const Stretch& stretch, Line& line, const IdBuffer& ids) const;
    void encode_repeated(const Stretch& stretch, Line& line, Scratch& scratch, IdBuffer& ids) const;
    bool find_cached(const Stretch& stretch, Scratch& scratch, IdBuffer& ids) const;
    bool solve(const Stretch& stretch, Line& line, Scratch& scratch, IdBuffer& ids) const;
    static bool is_cached(const Stretch& stretch, const Scratch& scratch);
    void prepare_words(const Stretch& first, Scratch& scratch) const;
    Lattice::Run prepared_word(const Stretch& stretch, Scratch& scratch) const;
    void learn_words();
    void prepare_sampling(const Sampling& sampling, Scratch& scratch) const;
    void prefetch_samples(const Stretch& stretch, Scratch& scratch) const;
    void learn_group(Scratch& scratch) const;
    void sample_group(Line& line, Scratch& scratch, IdBuffer& ids) const;
    void sample_stretch(const Stretch& stretch, Line& line, Scratch& scratch, IdBuffer& ids) const;
    void sample_best(const std::uint8_t* text, std::size_t size, bool continued, const Sampling& sampling,
                     std::size_t line, Scratch& scratch, IdBuffer& ids) const;
    template <class Encode>
    RaggedIds with_scratch(std::size_t threads, const Encode& encode) const;
    void decode_row(const std::int32_t* ids, std::size_t size, std::string& text) const;

    std::vector<Piece> pieces_;
    std::vector<std::string> surfaces_;  // texts of pieces, with spaces for U+2581
    Utf8Text unk_surface_;
    bool strips_first_space_, strips_all_first_spaces_;
    Normalizer normalizer_;
    std::optional<TokenizersNormalizer> tokenizers_;  // for a `tokenizers` model, instead of normalizer_
    std::optional<Normalizer> denormalizer_;
    Vocabulary vocabulary_;
    Joints joints_;
    std::unique_ptr<const Alphabet> alphabet_;  // null for a BPE model without bpe_runs_
    std::unique_ptr<const Bpe> bpe_;            // exactly one of these two is set
    std::unique_ptr<const Unigram> unigram_;
    std::unique_ptr<const BpeRuns> bpe_runs_;      // for BPE models with regular pieces
    std::unique_ptr<const RunReader> run_reader_;  // for a model of the library with an alphabet
    std::size_t cache_bits_;
    IdCache known_words_;  // pieces whose ids are known without text; the first content of a cache
    mutable ScratchPool<Scratch> scratch_;
};

}  // namespace nmt_prep::sentencepiece
