#include "byte_bpe_model.h"

#include <algorithm>
#include <bit>

#include "byte_bpe_ranks.h"
#include "byte_hash.h"
#include "text_errors.h"
#include "utf8.h"

namespace nmt_prep::byte_bpe {
namespace {

std::vector<std::string_view> merged_tokens(const std::vector<std::string>& tokens,
                                            const std::vector<bpe::PairRule>& merges) {
    std::vector<std::string_view> merged;
    merged.reserve(merges.size());
    for (const bpe::PairRule& rule : merges) merged.push_back(tokens[static_cast<std::size_t>(rule.merged)]);
    return merged;
}

// Bytes that all tokens take as phrases of one id.
std::size_t bytes_of_phrases(const std::vector<std::string>& tokens) {
    std::size_t bytes = 0;
    for (const std::string& token : tokens) bytes += token.size() + PhraseCache::kMaxExtra;
    return bytes;
}

bpe::PairTable pair_table(const std::vector<bpe::PairRule>& merges) {
    bpe::PairTable pairs(merges.size());
    for (const bpe::PairRule& rule : merges) pairs.add(rule.left, rule.right, rule.merged);
    return pairs;
}

}  // namespace

Model::Model(std::vector<std::string> tokens, const std::vector<std::pair<std::int32_t, std::string>>& specials,
             const std::vector<bpe::PairRule>& merges, ModelOptions options)
    : tokens_(std::move(tokens)),
      texts_(tokens_),
      byte_ids_(ids_of_bytes(tokens_)),
      pairs_(pair_table(merges)),
      cuts_(merged_tokens(tokens_, merges)),
      characters_(byte_ids_, merges, tokens_, pairs_),
      options_(options),
      all_bytes_(std::find(byte_ids_.begin(), byte_ids_.end(), -1) == byte_ids_.end()),
      long_units_(static_cast<unsigned>(std::bit_width(tokens_.size() / 4 | 1)), bytes_of_phrases(tokens_)) {
    for (const auto& [id, text] : specials) texts_[static_cast<std::size_t>(id)] = text;
    learn_long_units();
    if (!options_.whole_words) return;
    const std::vector<bool> made = reachable();
    for (std::size_t id = 0; id < tokens_.size(); ++id)
        if (!made[id]) unreachable_.emplace(tokens_[id], static_cast<std::int32_t>(id));
}

std::vector<bool> Model::reachable() const {
    std::vector<bool> made(tokens_.size(), true);
    std::vector<std::int32_t> symbols;
    bpe::Merger merger;
    for (std::size_t id = 0; id < tokens_.size(); ++id) {
        const std::string& token = tokens_[id];
        if (token.empty()) continue;
        symbols.resize(token.size());
        for (std::size_t i = 0; i < token.size(); ++i) symbols[i] = byte_ids_[static_cast<std::uint8_t>(token[i])];
        made[id] = merger.merge(symbols.data(), symbols.size(), pairs_) == 1 &&
                   symbols[0] == static_cast<std::int32_t>(id);
    }
    return made;
}

// Most units are a token as a whole, which then need not be made of characters each time.
void Model::learn_long_units() {
    bpe::Merger merger;
    std::int32_t ids[PhraseCache::kMaxBytes + bpe::CharacterTable::kPadding];
    for (const std::string& token : tokens_) {
        if (!is_long(token.size())) continue;
        const auto* const unit = reinterpret_cast<const std::uint8_t*>(token.data());
        const auto is_spelt = [this](char byte) { return byte_ids_[static_cast<std::uint8_t>(byte)] >= 0; };
        if (!all_bytes_ && !std::all_of(token.begin(), token.end(), is_spelt)) continue;
        if (find_invalid_utf8(unit, token.size()) != token.size()) continue;
        const auto count = static_cast<std::size_t>(merge_characters(unit, token.size(), merger, ids) - ids);
        if (count == 1) long_units_.put(hash_bytes(unit, token.size()), unit, token.size(), ids, count);
    }
}

void Model::spell(const std::uint8_t* word, std::size_t size, std::int32_t* out) const {
    std::int32_t lowest = 0;
    for (std::size_t i = 0; i < size; ++i) {
        out[i] = byte_ids_[word[i]];
        lowest = std::min(lowest, out[i]);
    }
    if (lowest == 0) return;
    const std::uint8_t* const missing =
        std::find_if(word, word + size, [this](std::uint8_t byte) { return byte_ids_[byte] < 0; });
    throw EncodeError("the vocabulary has no token for the byte " + std::to_string(*missing) +
                      ", which the text holds; train it with all 256 bytes as its initial alphabet");
}

const std::int32_t* Model::whole_word(const std::uint8_t* word, std::size_t size) const {
    if (unreachable_.empty()) return nullptr;
    const auto found = unreachable_.find({reinterpret_cast<const char*>(word), size});
    return found == unreachable_.end() ? nullptr : &found->second;
}

// Merges the word between two borders that no token crosses, one after another.
std::int32_t* Model::merge_in_units(const std::uint8_t* word, std::size_t size, Scratch& scratch,
                                    std::int32_t* out) const {
    const std::uint8_t* const end = word + size;
    const std::uint8_t* unit = word;
    bpe::Character left = bpe::read_character(word);
    for (const std::uint8_t* at = word + left.size;; at += left.size) {
        if (at == end) return merge_unit(unit, static_cast<std::size_t>(at - unit), left.size, scratch, out);
        const bpe::Character right = bpe::read_character(at);
        if (!cuts_.may_cross(left, right)) {
            out = merge_unit(unit, static_cast<std::size_t>(at - unit), left.size, scratch, out);
            unit = at;
        }
        left = right;
    }
}

// Merges one unit, of which the last character has `last` bytes.
std::int32_t* Model::merge_unit(const std::uint8_t* unit, std::size_t size, std::size_t last, Scratch& scratch,
                                std::int32_t* out) const {
    if (size == last && has_entry(size)) {
        const bpe::CharacterTable::Entry& entry = characters_(unit);
        std::copy_n(entry.symbols, 3, out);
        return out + entry.size;
    }
    if (is_long(size)) {
        if (const std::size_t count = long_units_.find(hash_bytes(unit, size), unit, size, out)) return out + count;
    }
    return merge_characters(unit, size, scratch.merger, out);
}

// Merges characters that have neither neighbours nor an entry in a cache.
std::int32_t* Model::merge_characters(const std::uint8_t* unit, std::size_t size, bpe::Merger& merger,
                                      std::int32_t* out) const {
    std::int32_t* symbol = out;
    for (const std::uint8_t* const end = unit + size; unit != end;) {
        const std::size_t bytes = bpe::read_character(unit).size;
        if (has_entry(bytes)) {
            const bpe::CharacterTable::Entry& entry = characters_(unit);
            if (entry.begins) {
                std::copy_n(entry.symbols, 3, symbol);
                symbol += entry.size;
                unit += bytes;
                continue;
            }
        }
        spell(unit, bytes, symbol);
        symbol += bytes;
        unit += bytes;
    }
    return out + merger.merge(out, static_cast<std::size_t>(symbol - out), pairs_);
}

Texts Model::decode(const std::int32_t* values, const std::int64_t* offsets, std::size_t rows, std::size_t threads,
                    const Poll& poll) const {
    const auto decode_row = [this](const std::int32_t* ids, std::size_t size, std::string& bytes) {
        for (std::size_t i = 0; i < size; ++i) {
            const auto id = static_cast<std::size_t>(static_cast<std::uint32_t>(ids[i]));
            if (id >= texts_.size() || texts_[id].empty())
                throw EncodeError("id " + std::to_string(ids[i]) +
                                  " stands for no token of the vocabulary, whose ids go from 0 to " +
                                  std::to_string(texts_.size() - 1) + "; check that the ids were made with it");
            bytes += texts_[id];
        }
    };
    return decode_rows(values, offsets, rows, threads, decode_row, poll);
}

}  // namespace nmt_prep::byte_bpe
