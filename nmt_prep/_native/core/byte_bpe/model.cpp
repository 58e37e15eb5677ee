#include "byte_bpe/model.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "byte_bpe/ranks.h"
#include "text/errors.h"

namespace nmt_prep::byte_bpe {
namespace {

std::vector<std::string_view> merged_tokens(const std::vector<std::string>& tokens,
                                            const std::vector<bpe::PairRule>& merges) {
    std::vector<std::string_view> merged;
    merged.reserve(merges.size());
    for (const bpe::PairRule& rule : merges) merged.push_back(tokens[static_cast<std::size_t>(rule.merged)]);
    return merged;
}

bpe::PairTable pair_table(const std::vector<bpe::PairRule>& merges) {
    bpe::PairTable pairs(merges.size());
    for (const bpe::PairRule& rule : merges) pairs.add(rule.left, rule.right, rule.merged);
    return pairs;
}

}  // namespace

Model::Model(std::vector<std::string> tokens, const std::vector<std::pair<std::int32_t, std::string>>& specials,
             const std::vector<bpe::PairRule>& merges, bool whole_words)
    : tokens_(std::move(tokens)),
      texts_(tokens_),
      byte_ids_(ids_of_bytes(tokens_)),
      pairs_(pair_table(merges)),
      splits_(byte_ids_, merges, tokens_, pairs_),
      cuts_(merged_tokens(tokens_, merges)),
      characters_(byte_ids_, merges, tokens_, pairs_) {
    for (const auto& [id, text] : specials) texts_[static_cast<std::size_t>(id)] = text;
    if (whole_words) find_unreachable();
    scratch_.give_back(make_scratch());  // caches are large, and take long to fill
}

void Model::find_unreachable() {
    const std::vector<bool> made = reachable();
    for (std::size_t id = 0; id < tokens_.size(); ++id) {
        if (made[id]) continue;
        const std::string& token = tokens_[id];
        unreachable_.emplace(token, static_cast<std::int32_t>(id));
        unreachable_ends_.set(ends_of(reinterpret_cast<const std::uint8_t*>(token.data()), token.size()));
    }
}

std::unique_ptr<Model::Scratch> Model::make_scratch() const {
    auto scratch = std::make_unique<Scratch>(tokens_.size());
    add_tokens(scratch->words);
    return scratch;
}

// Adds the tokens that merges produce, so that the cache has words of one token before they occur. The last ids are the
// rarest, so they are added first and replaced first. The entries of a block of tokens are fetched from memory
// together.
void Model::add_tokens(IdCache& words) const {
    struct Word {
        IdCache::Key key;
        std::int32_t id;
    };
    std::array<Word, 64> block;
    std::size_t size = 0;
    const auto flush = [&] {
        for (std::size_t i = 0; i < size; ++i) words.put(block[i].key, &block[i].id, 1);
        size = 0;
    };
    for (std::size_t id = tokens_.size(); id-- > 0;) {
        const std::string& token = tokens_[id];
        if (token.empty() || token.size() > IdCache::kMaxBytes || !splits_.makes(static_cast<std::int32_t>(id)))
            continue;
        std::array<std::uint8_t, IdCache::kMaxBytes + 1> bytes{};
        std::ranges::copy(token, bytes.begin());
        if (whole_word(bytes.data(), token.size()) != nullptr) continue;  // another id has the same bytes
        block[size] = {IdCache::key(bytes.data(), token.size(), bytes.size()), static_cast<std::int32_t>(id)};
        words.prefetch(block[size].key);
        if (++size == block.size()) flush();
    }
    flush();
}

std::vector<bool> Model::reachable() const {
    std::vector<bool> made(tokens_.size(), true);
    std::vector<std::int32_t> symbols;
    bpe::Merger merger;
    for (std::size_t id = 0; id < tokens_.size(); ++id) {
        const std::string& token = tokens_[id];
        if (token.empty() || splits_.makes(static_cast<std::int32_t>(id))) continue;
        symbols.resize(token.size());
        for (std::size_t i = 0; i < token.size(); ++i) symbols[i] = byte_ids_[static_cast<std::uint8_t>(token[i])];
        made[id] = merger.merge(symbols.data(), symbols.size(), pairs_) == 1 && std::cmp_equal(symbols[0], id);
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
    if (!unreachable_ends_[ends_of(word, size)]) return nullptr;
    const auto found = unreachable_.find({reinterpret_cast<const char*>(word), size});
    return found == unreachable_.end() ? nullptr : &found->second;
}

Texts Model::decode(const std::int32_t* values, const std::int64_t* offsets, std::size_t rows, std::size_t threads,
                    const Poll& poll) const {
    const auto decode_row = [this](const std::int32_t* ids, std::size_t size, std::string& bytes) {
        for (std::size_t i = 0; i < size; ++i) {
            const auto id = static_cast<std::size_t>(static_cast<std::uint32_t>(ids[i]));
            if (id >= texts_.size() || texts_[id].empty())
                throw EncodeError("id " + std::to_string(ids[i]) +
                                  " is not in the vocabulary, whose ids go from 0 to " +
                                  std::to_string(texts_.size() - 1) + "; check that the ids were made with it");
            bytes += texts_[id];
        }
    };
    return decode_rows(values, offsets, rows, threads, decode_row, poll);
}

}  // namespace nmt_prep::byte_bpe
