#include "spm_model.h"

#include <algorithm>
#include <cmath>

#include "spm_charsmap.h"
#include "text_errors.h"
#include "utf8.h"

namespace nmt_prep::spm {
namespace {

constexpr std::size_t kMaxWays = std::size_t{1} << 26;

bool is_letter(char32_t point) { return (point | 0x20) - 'a' < 26; }

std::vector<std::string> verbatim_texts(const ModelFile& file) {
    std::vector<std::string> texts;
    for (const Piece& piece : file.pieces)
        if (piece.type == PieceType::kUserDefined) texts.push_back(piece.text);
    return texts;
}

std::vector<std::string> texts_of(const Vocabulary& vocabulary) {
    std::vector<std::string> texts;
    for (const Vocabulary::Entry& entry : vocabulary.entries) texts.push_back(entry.text);
    return texts;
}

const ModelFile& covered(const ModelFile& file) {
    if (file.kind == ModelKind::kWord) throw NotCovered("it is a word model");
    if (file.kind == ModelKind::kChar) throw NotCovered("it is a character model");
    return file;
}

}  // namespace

Model::Model(const ModelFile& file)
    : pieces_(covered(file).pieces),
      unk_surface_(file.unk_surface),
      strips_first_space_(file.normalizer.add_dummy_prefix || file.normalizer.remove_extra_whitespaces),
      strips_all_first_spaces_(file.normalizer.remove_extra_whitespaces),
      normalizer_(file.normalizer, file.whitespace_is_suffix, verbatim_texts(file)),
      vocabulary_(file, file.normalizer.escape_whitespaces),
      joints_(texts_of(vocabulary_)) {
    if (file.denormalizer && !file.denormalizer->charsmap.empty())
        denormalizer_.emplace(*file.denormalizer, false, std::vector<std::string>());
    if (file.kind == ModelKind::kBpe)
        bpe_.emplace(vocabulary_);
    else
        unigram_.emplace(vocabulary_);
    for (const Piece& piece : pieces_) {
        std::string surface = piece.text;
        for (std::size_t at = 0; (at = surface.find(kEscapedSpace, at)) != std::string::npos; ++at)
            surface.replace(at, kEscapedSpace.size(), " ");
        surfaces_.push_back(std::move(surface));
    }
}

// The normalised text is scratch.text, with room behind it for reads of whole cache keys.
std::size_t Model::normalize(const std::uint8_t* text, std::size_t size, Scratch& scratch) const {
    const std::size_t length = normalizer_.normalize(text, size, scratch.text);
    if (scratch.text.size() < length + IdCache::kMaxBytes + 1) scratch.text.resize(length + IdCache::kMaxBytes + 1);
    return length;
}

// Cuts text where no piece joins the two characters, and visits each stretch with its first character.
template <class Visit>
void Model::for_each_stretch(const std::uint8_t* text, std::size_t size, const Visit& visit) const {
    const std::uint8_t* const end = text + size;
    const std::uint8_t* at = text;
    if (at == end) return;
    char32_t first = next_utf8(at), last = first;
    for (const std::uint8_t* begin = text;;) {
        if (joints_.joins_letters() && is_letter(last)) {
            while (at != end && is_letter(*at)) last = *at++;
        }
        const std::uint8_t* const boundary = at;
        if (at == end) {
            visit(begin, static_cast<std::size_t>(end - begin), first);
            return;
        }
        const char32_t next = next_utf8(at);
        if (!joints_.joined(last, next)) {
            visit(begin, static_cast<std::size_t>(boundary - begin), first);
            begin = boundary;
            first = next;
        }
        last = next;
    }
}

// Appends the ids of a word or phrase that came before and says how many, 0 if it did not.
std::size_t Model::find_cached(const Stretch& stretch, Scratch& scratch, IdBuffer& ids) const {
    std::size_t count;
    if (stretch.is_word())
        count = scratch.words.find(stretch.key, ids.room(IdCache::kMaxIds));
    else
        count = scratch.phrases.find(stretch.key.low, stretch.begin, stretch.size,
                                     ids.room(stretch.size + PhraseCache::kPadding));
    ids.grow(count);
    return count;
}

void Model::encode_stretch(const Stretch& stretch, std::size_t line_start, float& score, Scratch& scratch,
                           IdBuffer& ids) const {
    if (stretch.is_single) {
        const std::int32_t id = vocabulary_.characters[stretch.first];
        if (id >= 0)
            ids.push(id);
        else
            vocabulary_.push_unknown(stretch.begin, stretch.size, line_start, ids);
        if (unigram_) unigram_->add(score, id >= 0 ? id : vocabulary_.unk_id);
        return;
    }
    const bool cached = std::abs(score) <= Unigram::kTrusted && (stretch.is_word() || stretch.is_phrase());
    if (const std::size_t count = cached ? find_cached(stretch, scratch, ids) : 0) {
        if (unigram_)
            for (std::size_t i = ids.size() - count; i < ids.size(); ++i) unigram_->add(score, ids.data()[i]);
        return;
    }
    const std::size_t before = ids.size();
    bool keep = true;
    if (bpe_)
        bpe_->encode(stretch.begin, stretch.size, line_start, scratch.bpe, ids);
    else
        keep = unigram_->encode(stretch.begin, stretch.size, line_start, score, scratch.unigram, ids);
    const std::size_t count = ids.size() - before;
    const auto is_unknown = [&](std::int32_t id) { return !vocabulary_.byte_fallback && id == vocabulary_.unk_id; };
    // Unknowns join with those before them, so that what the stretch got is not what it gets elsewhere.
    const std::int32_t* const first = ids.data() + before - (before > line_start ? 1 : 0);
    const bool reusable = std::none_of(first, ids.data() + ids.size(), is_unknown);
    if (!cached || !keep || !reusable || count == 0) return;
    if (stretch.is_word() && count <= IdCache::kMaxIds)
        scratch.words.put(stretch.key, ids.data() + before, count);
    else if (stretch.is_phrase() && count <= stretch.size)
        scratch.phrases.put(stretch.key.low, stretch.begin, stretch.size, ids.data() + before, count);
}

void Model::encode_line(const std::uint8_t* text, std::size_t size, Scratch& scratch, IdBuffer& ids) const {
    const std::size_t length = normalize(text, size, scratch);
    const std::size_t line_start = ids.size();
    if (bpe_ && vocabulary_.has_unused) {
        // How an unused piece comes apart depends on all of its line.
        bpe_->encode(scratch.text.data(), length, line_start, scratch.bpe, ids);
        return;
    }
    // Cutting runs ahead of encoding, so that the cache's memory is there when it is needed.
    constexpr std::size_t kAhead = 8;
    Stretch ahead[kAhead];
    std::size_t cut = 0;
    float score = 0;
    for_each_stretch(scratch.text.data(), length, [&](const std::uint8_t* begin, std::size_t bytes, char32_t first) {
        Stretch& stretch = ahead[cut % kAhead];
        if (cut >= kAhead) encode_stretch(stretch, line_start, score, scratch, ids);
        ++cut;
        stretch = {begin, bytes, first, bytes == character_size(*begin), {}};
        if (stretch.is_single) return;
        if (stretch.is_word()) {
            stretch.key = IdCache::key(begin, bytes, IdCache::kMaxBytes + 1);
            scratch.words.prefetch(stretch.key);
        } else if (stretch.is_phrase()) {
            stretch.key.low = hash_bytes(begin, bytes);
            scratch.phrases.prefetch(stretch.key.low);
        }
    });
    for (std::size_t i = cut > kAhead ? cut - kAhead : 0; i < cut; ++i)
        encode_stretch(ahead[i % kAhead], line_start, score, scratch, ids);
}

void Model::sample_line(const std::uint8_t* text, std::size_t size, const Sampling& sampling, Random& random,
                        Scratch& scratch, IdBuffer& ids) const {
    const std::size_t length = normalize(text, size, scratch);
    const std::uint8_t* const begin = scratch.text.data();
    const std::size_t line_start = ids.size();
    if (bpe_) {
        bpe_->sample(begin, length, line_start, sampling.dropout, random, scratch.bpe, ids);
    } else if (sampling.most == 0) {
        for_each_stretch(begin, length, [&](const std::uint8_t* at, std::size_t stretch, char32_t) {
            unigram_->sample(at, stretch, line_start, sampling.alpha, random, scratch.unigram, ids);
        });
    } else {
        if (length > kMaxWays / sampling.most)
            throw EncodeError("a line of " + std::to_string(size) + " bytes is too long to sample from its " +
                              std::to_string(sampling.most) + " best ways; lower nbest, or cut the line");
        unigram_->sample_best(begin, length, line_start, sampling.most, sampling.alpha, random, scratch.unigram, ids);
    }
}

template <class Encode>
RaggedIds Model::encode_with(const TextView& text, std::size_t threads, const Poll& poll, const Encode& encode) const {
    std::vector<std::unique_ptr<Scratch>> scratch(std::max<std::size_t>(threads, 1));
    RaggedIds rows = encode_lines(
        text, threads,
        [&](std::size_t i, std::size_t thread, IdBuffer& ids) {
            if (!scratch[thread]) scratch[thread] = scratch_.borrow([] { return std::make_unique<Scratch>(); });
            encode(i, *scratch[thread], ids);
        },
        poll);
    for (std::unique_ptr<Scratch>& each : scratch)
        if (each) scratch_.give_back(std::move(each));
    return rows;
}

RaggedIds Model::encode(const TextView& text, std::size_t threads, const Poll& poll) const {
    return encode_with(text, threads, poll, [&](std::size_t i, Scratch& scratch, IdBuffer& ids) {
        encode_line(text.line(i), text.size(i), scratch, ids);
    });
}

RaggedIds Model::sample(const TextView& text, std::size_t threads, const Sampling& sampling, const Poll& poll) const {
    return encode_with(text, threads, poll, [&](std::size_t i, Scratch& scratch, IdBuffer& ids) {
        Random random(sampling.seed, sampling.line + i);
        sample_line(text.line(i), text.size(i), sampling, random, scratch, ids);
    });
}

}  // namespace nmt_prep::spm
