#include "sentencepiece/model.h"

#include <algorithm>
#include <bit>

#include "sentencepiece/charsmap.h"

namespace nmt_prep::sentencepiece {
namespace {

std::vector<std::string> texts_of(const Vocabulary& vocabulary) {
    std::vector<std::string> texts;
    texts.reserve(vocabulary.entries.size());
    for (const Vocabulary::Entry& entry : vocabulary.entries) texts.push_back(entry.text);
    return texts;
}

std::string surface_of(std::string_view piece) {
    std::string surface;
    for (std::size_t at = 0; at < piece.size();) {
        const bool is_space = piece.substr(at).starts_with(kEscapedSpace);
        surface.push_back(is_space ? ' ' : piece[at]);
        at += is_space ? kEscapedSpace.size() : 1;
    }
    return surface;
}

// Logarithms of the numbers of buckets: a larger vocabulary has more words that are worth caching.
constexpr std::size_t kLeastCacheBits = 15, kMostCacheBits = 18;

// The pieces of a model. Throws NotCovered unless it is a BPE or unigram model.
std::vector<Piece> covered_pieces(const ModelFile& file) {
    if (file.kind == ModelKind::kWord) throw NotCovered("it is a word model");
    if (file.kind == ModelKind::kChar) throw NotCovered("it is a character model");
    return file.pieces;
}

}  // namespace

Model::Model(const ModelFile& file)
    : pieces_(covered_pieces(file)),
      unk_surface_(file.unk_surface),
      strips_first_space_(file.normalizer.add_dummy_prefix || file.normalizer.remove_extra_whitespaces),
      strips_all_first_spaces_(file.normalizer.remove_extra_whitespaces),
      normalizer_(file.normalizer, file.whitespace_is_suffix, verbatim_texts(file)),
      vocabulary_(file, file.normalizer.escape_whitespaces),
      joints_(texts_of(vocabulary_)),
      // With fewer pieces, a word is divided into more pieces.
      cache_bits_(std::clamp<std::size_t>(std::bit_width(pieces_.size()), kLeastCacheBits, kMostCacheBits)),
      known_words_(cache_bits_, pieces_.size() <= 1 << 13) {
    if (file.denormalizer && !file.denormalizer->charsmap.empty())
        denormalizer_.emplace(*file.denormalizer, false, std::vector<Utf8Text>());
    if (file.tokenizers) tokenizers_.emplace(*file.tokenizers);
    if (file.kind == ModelKind::kBpe) {
        bpe_ = std::make_unique<const Bpe>(vocabulary_, file.tokenizers ? &file.tokenizers->merges : nullptr);
        if (!tokenizers_) alphabet_ = BpeRuns::alphabet_of(vocabulary_);
        if (alphabet_) bpe_runs_ = std::make_unique<const BpeRuns>(vocabulary_, *alphabet_);
    } else {
        alphabet_ = std::make_unique<const Alphabet>(vocabulary_);
        unigram_ = std::make_unique<const Unigram>(vocabulary_, *alphabet_,
                                                   file.tokenizers ? file.tokenizers->scores : std::vector<double>());
    }
    for (const Piece& piece : pieces_) surfaces_.push_back(surface_of(*piece.text));
    if (!alphabet_ || tokenizers_) return;
    run_reader_ = std::make_unique<const RunReader>(normalizer_, vocabulary_, joints_, *alphabet_);
    if (!unigram_) return;
    learn_words();
    scratch_.give_back(std::make_unique<Scratch>(known_words_, cache_bits_));  // the first call is as fast as the next
}

// Most words of any text are pieces: encodes these, the most frequent last, so that they are found first.
void Model::learn_words() {
    Unigram::Scratch scratch;
    std::vector<std::uint8_t> text(IdCache::kMaxBytes + 1);
    IdBuffer ids;
    for (std::size_t i = vocabulary_.entries.size(); i > 0; --i) {
        const std::string& piece = vocabulary_.entries[i - 1].text;
        if (piece.size() > IdCache::kMaxBytes || !piece.starts_with(' ')) continue;
        std::ranges::copy(piece, text.begin());
        const std::size_t before = ids.size();
        Unigram::clear_words(scratch);
        const Lattice::Run word = unigram_->add_word(text.data(), piece.size(), scratch);
        unigram_->find_in_words(scratch);
        if (!unigram_->encode_anywhere(word, scratch, ids)) continue;
        const std::size_t count = ids.size() - before;
        if (count > known_words_.max_ids()) continue;
        known_words_.put(IdCache::key(text.data(), piece.size(), text.size()), ids.data() + before, count);
    }
}

template <class Encode>
RaggedIds Model::with_scratch(std::size_t threads, const Encode& encode) const {
    std::vector<std::unique_ptr<Scratch>> scratch(std::max<std::size_t>(threads, 1));
    RaggedIds rows = encode([&](std::size_t thread) -> Scratch& {
        if (!scratch[thread])
            scratch[thread] = scratch_.borrow([&] { return std::make_unique<Scratch>(known_words_, cache_bits_); });
        return *scratch[thread];
    });
    for (std::unique_ptr<Scratch>& each : scratch)
        if (each) scratch_.give_back(std::move(each));
    return rows;
}

RaggedIds Model::encode(const TextView& text, const std::uint8_t* continued, std::size_t threads,
                        const Poll& poll) const {
    return with_scratch(threads, [&](const auto& scratch_of) {
        return encode_runs(
            text, threads,
            [&](std::size_t first, std::size_t last, std::size_t thread, IdBuffer& ids, std::int64_t* ends) {
                encode_run(text, continued, first, last, nullptr, scratch_of(thread), ids, ends);
            },
            poll);
    });
}

RaggedIds Model::sample(const TextView& text, const std::uint8_t* continued, std::size_t threads,
                        const Sampling& sampling, const Poll& poll) const {
    return with_scratch(threads, [&](const auto& scratch_of) {
        const auto sample_lines = [&](std::size_t first, std::size_t last, std::size_t thread, IdBuffer& ids,
                                      std::int64_t* ends) {
            Scratch& scratch = scratch_of(thread);
            if (sampling.most == 0) {
                prepare_sampling(sampling, scratch);
                Samples samples(sampling.seed, sampling.line + first, scratch.bpe.gaps);
                encode_run(text, continued, first, last, &samples, scratch, ids, ends);
                return;
            }
            for (std::size_t i = first; i < last; ++i) {
                const bool follows = continued != nullptr && continued[i] != 0;
                sample_best(text.line(i), text.size(i), follows, sampling, i, scratch, ids);
                ends[i] = static_cast<std::int64_t>(ids.size());
            }
        };
        return encode_runs(text, threads, sample_lines, poll);
    });
}

}  // namespace nmt_prep::sentencepiece
