// Segments lines one after another, a block of words at a time: while a block is filled, the cache entries of its words
// are fetched from memory.
#include <algorithm>
#include <array>

#include "subword_nmt/model.h"
#include "text/byte_hash.h"

namespace nmt_prep::subword_nmt {

class Model::Run {
   public:
    // `ends`: for each line, where to write the number of ids up to its end.
    Run(const Model& model, Scratch& scratch, const CutPieces& cut, bool as_ids, IdBuffer& ids, std::int64_t* ends)
        : model_(model), scratch_(scratch), cut_(cut), as_ids_(as_ids), ids_(ids), ends_(ends) {}

    void add(std::string_view line, std::size_t readable, std::size_t number) {
        const char* const end = line.data() + readable;
        for_each_word(line, [&](std::string_view word) { push(word, static_cast<std::size_t>(end - word.data())); });
        block_[size_++] = {nullptr, number, {}};
        if (size_ == kBlock) finish();
    }

    void add_with_dropout(std::string_view line, std::size_t number, const bpe::Chance& chance, std::uint64_t key) {
        for_each_word(line, [&](std::string_view word) {
            if (const auto cut = cut_.words.find(word); cut != cut_.words.end()) return write_cut(cut->second);
            const std::uint64_t word_key = bpe::draw(key, static_cast<std::uint64_t>(word.data() - line.data()), 1);
            const auto drop = [&](const bpe::Merger::Candidate& each) {
                return chance(bpe::draw(word_key, each.step, each.begin));
            };
            scratch_.pieces.resize(std::max(scratch_.pieces.size(), word.size() + kExtraPieces));
            std::int32_t* const pieces = scratch_.pieces.data();
            const std::size_t size = model_.segment_word_with_dropout(word, scratch_.merger, drop, pieces);
            append(pieces, size);
        });
        ends_[number] = static_cast<std::int64_t>(ids_.size());
    }

    // Segments the waiting words.
    void finish() {
        constexpr std::size_t kPadding = std::max(PhraseCache::kPadding, IdCache::kMaxIds);
        const std::size_t most = bytes_ + kExtraPieces * size_;
        if (scratch_.pieces.size() < most + kPadding) scratch_.pieces.resize(most + kPadding);
        std::int32_t* const start = scratch_.pieces.data();
        std::int32_t* out = start;
        std::int32_t* const target = ids_.room(most);
        std::int32_t* to = target;
        const auto write = [&] {
            to = write_row(start, out, to);
            out = start;
        };
        for (std::size_t i = 0; i < size_; ++i) {
            const Word& word = block_[i];
            if (word.text != nullptr) {
                out += segment(word, out);
            } else {
                write();
                ends_[word.size] = static_cast<std::int64_t>(ids_.size()) + (to - target);
            }
        }
        write();
        ids_.grow(static_cast<std::size_t>(to - target));
        size_ = bytes_ = 0;
    }

   private:
    static constexpr std::size_t kBlock = 256;

    // A word with its key in the word cache; or the end of a line: its number as the size, and no text.
    struct Word {
        const std::uint8_t* text;
        std::size_t size;
        IdCache::Key key;
    };

    void push(std::string_view word, std::size_t readable) {
        if (!cut_.words.empty()) {
            const auto cut = cut_.words.find(word);
            if (cut != cut_.words.end()) return write_cut(cut->second);
        }
        const auto* const text = reinterpret_cast<const std::uint8_t*>(word.data());
        Word& next = block_[size_++];
        next = {text, word.size(), IdCache::key_of_any(text, word.size(), readable)};
        if (word.size() <= IdCache::kMaxBytes) scratch_.words.prefetch(next.key);
        bytes_ += word.size();
        if (size_ == kBlock) finish();
    }

    std::size_t segment(const Word& word, std::int32_t* out) {
        const bool is_short = word.size <= IdCache::kMaxBytes, is_phrase = word.size <= PhraseCache::kMaxBytes;
        std::size_t found = is_short ? scratch_.words.find(word.key, out) : IdCache::kElsewhere;
        if (found > 0 && found != IdCache::kElsewhere) return found;
        const std::string_view text(reinterpret_cast<const char*>(word.text), word.size);
        const std::uint64_t hash = is_phrase ? hash_bytes(word.text, word.size) : 0;
        const bool is_new = found == 0;
        if (!is_new && is_phrase) {
            found = scratch_.phrases.find(hash, word.text, word.size, out);
            if (found > 0) return found;
        }
        const std::size_t size = model_.segment_word(text, scratch_.merger, out);
        if (is_short && size <= scratch_.words.max_ids()) {
            scratch_.words.put(word.key, out, size);
        } else if (is_phrase) {
            if (is_short && is_new) scratch_.words.put_elsewhere(word.key);
            scratch_.phrases.put(hash, word.text, word.size, out, size);
        }
        return size;
    }

    // A cut word may have more pieces than bytes, since groups of an expression repeat text.
    void write_cut(const std::vector<std::int32_t>& pieces) {
        finish();
        append(pieces.data(), pieces.size());
    }

    void append(const std::int32_t* pieces, std::size_t size) {
        std::int32_t* const target = ids_.room(size);
        ids_.grow(static_cast<std::size_t>(write_row(pieces, pieces + size, target) - target));
    }

    std::int32_t* write_row(const std::int32_t* from, const std::int32_t* end, std::int32_t* to) const {
        if (!as_ids_) return std::copy(from, end, to);
        for (; from != end; ++from)
            if (const std::int32_t id = model_.id_of(*from); id != kSkipped) *to++ = id;
        return to;
    }

    const Model& model_;
    Scratch& scratch_;
    const CutPieces& cut_;
    const bool as_ids_;
    IdBuffer& ids_;
    std::int64_t* ends_;
    std::array<Word, kBlock> block_;
    std::size_t size_ = 0, bytes_ = 0;
};

RaggedIds Model::run(const TextView& text, const CutPieces& cut, bool as_ids, std::size_t threads,
                     const Dropout& dropout, const Poll& poll) const {
    std::vector<std::unique_ptr<Scratch>> scratch(std::max<std::size_t>(threads, 1));
    const std::uint8_t* const end = text.data + text.offsets[text.lines];
    const bpe::Chance chance(dropout.probability);
    const auto segment_run = [&](std::size_t first, std::size_t last, std::size_t thread, IdBuffer& ids,
                                 std::int64_t* ends) {
        if (!scratch[thread])
            scratch[thread] = scratch_.borrow([this] { return std::make_unique<Scratch>(pieces_.size()); });
        Run run(*this, *scratch[thread], cut, as_ids, ids, ends);
        for (std::size_t i = first; i < last; ++i) {
            const std::string_view line(reinterpret_cast<const char*>(text.line(i)), text.size(i));
            if (dropout.probability > 0)
                run.add_with_dropout(line, i, chance,
                                     bpe::draw(hash_bytes(text.line(i), text.size(i)), dropout.seed, 0));
            else
                run.add(line, static_cast<std::size_t>(end - text.line(i)), i);
        }
        run.finish();
    };
    RaggedIds rows = encode_runs(text, threads, segment_run, poll);
    for (std::unique_ptr<Scratch>& each : scratch)
        if (each) scratch_.give_back(std::move(each));
    return rows;
}

RaggedIds Model::encode(const TextView& text, const std::vector<CutWord>& cut, std::size_t threads,
                        const Dropout& dropout, const Poll& poll) const {
    return run(text, cut_pieces(cut), true, threads, dropout, poll);
}

Texts Model::segment(const TextView& text, const std::vector<CutWord>& cut, std::size_t threads, const Dropout& dropout,
                     const Poll& poll) const {
    const CutPieces pieces = cut_pieces(cut);
    const RaggedIds rows = run(text, pieces, false, threads, dropout, poll);
    const auto write = [&](std::size_t row, std::string& out) {
        const std::string_view line(reinterpret_cast<const char*>(text.line(row)), text.size(row));
        const std::string_view words = trimmed(line);
        if (words.empty()) {
            out += line;
            return;
        }
        const auto before = static_cast<std::size_t>(words.data() - line.data());
        out += line.substr(0, before);
        const std::int64_t first = rows.offsets[row], last = rows.offsets[row + 1];
        append_pieces({&rows.values[static_cast<std::size_t>(first)], static_cast<std::size_t>(last - first)}, pieces,
                      out);
        out.pop_back();  // the last space
        out += line.substr(before + words.size());
    };
    return write_rows(rows.rows, threads, write, poll);
}

}  // namespace nmt_prep::subword_nmt
