#include "byte_bpe_model.h"

#include <algorithm>
#include <memory>

#include "gpt2_scanner.h"
#include "text_errors.h"

namespace nmt_prep::byte_bpe {
namespace {

std::array<std::int32_t, 256> ids_of_bytes(const std::vector<std::string>& tokens) {
    std::array<std::int32_t, 256> ids;
    ids.fill(-1);
    for (std::size_t id = 0; id < tokens.size(); ++id)
        if (tokens[id].size() == 1) ids[static_cast<std::uint8_t>(tokens[id][0])] = static_cast<std::int32_t>(id);
    return ids;
}

std::vector<std::string_view> merged_tokens(const std::vector<std::string>& tokens,
                                            const std::vector<MergeRule>& merges) {
    std::vector<std::string_view> merged;
    merged.reserve(merges.size());
    for (const MergeRule& rule : merges) merged.push_back(tokens[static_cast<std::size_t>(rule.merged)]);
    return merged;
}

// Where dropout draws its numbers from: a keyed hash of what is drawn for, so that no order of drawing matters.
std::uint64_t draw(std::uint64_t key, std::uint64_t a, std::uint64_t b) {
    return mix_bits(mix_bits(key ^ 0x9E3779B97F4A7C15u, a ^ 0xD1B54A32D192ED03u), b ^ 0xA0761D6478BD642Fu);
}

}  // namespace

Model::Model(std::vector<std::string> tokens, const std::vector<std::pair<std::int32_t, std::string>>& specials,
             const std::vector<MergeRule>& merges, ModelOptions options)
    : tokens_(std::move(tokens)),
      texts_(tokens_),
      byte_ids_(ids_of_bytes(tokens_)),
      pairs_(merges.size()),
      cuts_(merged_tokens(tokens_, merges)),
      options_(options) {
    for (const auto& [id, text] : specials) texts_[static_cast<std::size_t>(id)] = text;
    for (std::size_t rank = 0; rank < merges.size(); ++rank)
        pairs_.set(merges[rank].left, merges[rank].right,
                   bpe::make_merge(static_cast<std::uint32_t>(rank), merges[rank].merged));
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

std::int32_t* Model::encode_unit(const std::uint8_t* unit, std::size_t size, std::size_t readable, Scratch& scratch,
                                 std::int32_t* out) const {
    if (size > IdCache::kMaxBytes) {
        spell(unit, size, out);
        return out + scratch.merger.merge(out, size, pairs_);
    }
    const IdCache::Key key = IdCache::key(unit, size, readable);
    if (const std::size_t count = scratch.cache.find(key, out)) return out + count;
    spell(unit, size, out);
    const std::size_t count = scratch.merger.merge(out, size, pairs_);
    if (count <= IdCache::kMaxIds) scratch.cache.put(key, out, count);
    return out + count;
}

std::int32_t* Model::encode_in_units(const std::uint8_t* word, std::size_t size, std::size_t readable,
                                     Scratch& scratch, std::int32_t* out) const {
    const std::uint8_t* const readable_end = word + readable;
    const std::uint8_t* const end = word + size;
    const std::uint8_t* unit = word;
    bpe::Character left = bpe::read_character(word);
    for (const std::uint8_t* at = word + left.size; at != end;) {
        const bpe::Character right = bpe::read_character(at);
        if (!cuts_.may_cross(left, right)) {
            out = encode_unit(unit, static_cast<std::size_t>(at - unit), static_cast<std::size_t>(readable_end - unit),
                              scratch, out);
            unit = at;
        }
        left = right;
        at += right.size;
    }
    return encode_unit(unit, static_cast<std::size_t>(end - unit), static_cast<std::size_t>(readable_end - unit),
                       scratch, out);
}

std::int32_t* Model::encode_pretoken(const std::uint8_t* word, std::size_t size, std::size_t readable,
                                     Scratch& scratch, std::int32_t* out) const {
    if (const std::int32_t* const id = whole_word(word, size)) {
        *out = *id;
        return out + 1;
    }
    if (size <= IdCache::kMaxBytes) return encode_unit(word, size, readable, scratch, out);
    return encode_in_units(word, size, readable, scratch, out);
}

std::int32_t* Model::encode_with_dropout(const std::uint8_t* word, std::size_t size, double dropout, std::uint64_t key,
                                         Scratch& scratch, std::int32_t* out) const {
    // Top 53 bits against the same of the probability: exact, and 0 and 1 mean never and always.
    const auto limit = static_cast<std::uint64_t>(dropout * 9007199254740992.0);
    spell(word, size, out);
    return out + scratch.merger.merge_with_dropout(out, size, pairs_, [&](std::size_t step, std::size_t position) {
        return draw(key, step, position) >> 11 < limit;
    });
}

std::int32_t* Model::encode_line(const std::uint8_t* line, std::size_t size, std::size_t readable,
                                 const EncodeOptions& options, Scratch& scratch, std::int32_t* out) const {
    const std::uint64_t line_key = options.dropout > 0 ? hash_bytes(line, size) : 0;
    const auto encode = [&](const std::uint8_t* word, std::size_t length) {
        if (options.dropout > 0) {
            const auto at = static_cast<std::uint64_t>(word - line);
            out = encode_with_dropout(word, length, options.dropout, draw(line_key, options.seed, at), scratch, out);
        } else {
            out = encode_pretoken(word, length, readable - static_cast<std::size_t>(word - line), scratch, out);
        }
    };
    if (options.split)
        gpt2::for_each_pretoken(line, size, encode);
    else if (size > 0)
        encode(line, size);
    return out;
}

RaggedIds Model::encode(const TextView& text, std::size_t threads, const EncodeOptions& options,
                        const Poll& poll) const {
    std::vector<std::unique_ptr<Scratch>> scratch(std::max<std::size_t>(threads, 1));
    const std::uint8_t* const end = text.data + text.offsets[text.lines];
    const auto encode_one = [&](std::size_t i, std::size_t thread, IdBuffer& ids) {
        if (!scratch[thread]) scratch[thread] = scratch_.borrow([] { return std::make_unique<Scratch>(); });
        const std::uint8_t* line = text.line(i);
        std::size_t size = text.size(i);
        auto readable = static_cast<std::size_t>(end - line);
        if (options_.prefix_space && size > 0 && *line != ' ') {
            std::string& prefixed = scratch[thread]->line;
            prefixed.clear();
            prefixed.push_back(' ');
            prefixed.append(reinterpret_cast<const char*>(line), size);
            line = reinterpret_cast<const std::uint8_t*>(prefixed.data());
            size = readable = prefixed.size();
        }
        // At most an id a byte; an entry of the cache is copied whole.
        std::int32_t* const out = ids.room(size + IdCache::kMaxIds);
        ids.grow(static_cast<std::size_t>(encode_line(line, size, readable, options, *scratch[thread], out) - out));
    };
    RaggedIds rows = encode_lines(text, threads, encode_one, poll);
    for (std::unique_ptr<Scratch>& each : scratch)
        if (each) scratch_.give_back(std::move(each));
    return rows;
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

std::vector<MergeRule> merges_of_ranks(const std::vector<std::string>& tokens, const Poll& poll) {
    std::unordered_map<std::string_view, std::int32_t> ids;
    for (std::size_t id = 0; id < tokens.size(); ++id)
        if (!tokens[id].empty()) ids.emplace(tokens[id], static_cast<std::int32_t>(id));
    const std::array<std::int32_t, 256> byte_ids = ids_of_bytes(tokens);

    const auto id_of = [&](std::string_view bytes) {
        const auto found = ids.find(bytes);
        return found == ids.end() ? -1 : found->second;
    };
    std::vector<MergeRule> merges;
    std::vector<std::int32_t> symbols;
    bpe::Merger merger;
    for (std::size_t id = 0; id < tokens.size(); ++id) {
        const std::string& token = tokens[id];
        if (token.size() < 2) continue;
        if (id % 1024 == 0) poll();
        symbols.resize(token.size());
        for (std::size_t i = 0; i < token.size(); ++i) symbols[i] = byte_ids[static_cast<std::uint8_t>(token[i])];
        if (std::find(symbols.begin(), symbols.end(), -1) != symbols.end()) continue;
        // All merges but the token's own, which is the last: what they leave are its two halves.
        const auto others = [&](std::int32_t left, std::int32_t right) {
            const std::int32_t merged =
                id_of(tokens[static_cast<std::size_t>(left)] + tokens[static_cast<std::size_t>(right)]);
            return merged < 0 || merged == static_cast<std::int32_t>(id)
                       ? bpe::kNoMerge
                       : bpe::make_merge(static_cast<std::uint32_t>(merged), merged);
        };
        if (merger.merge(symbols.data(), symbols.size(), others) == 2)
            merges.push_back({symbols[0], symbols[1], static_cast<std::int32_t>(id)});
    }
    return merges;
}

}  // namespace nmt_prep::byte_bpe
