#include "subword_nmt/learn.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <unordered_set>

#include "bpe/trainer.h"
#include "subword_nmt/equal_texts.h"
#include "subword_nmt/words.h"
#include "text/errors.h"
#include "text/parallel.h"

namespace nmt_prep::subword_nmt {
namespace {

constexpr std::size_t kRunBytes = std::size_t{1} << 18;

// Writes the symbols that the characters of a word begin as, and gives ids and texts to new ones.
void spell(std::string_view word, CharacterSymbols& characters, std::vector<std::string>& texts,
           std::vector<std::int32_t>& symbols) {
    symbols.clear();
    std::string_view rest = word;
    while (!rest.empty()) {
        const std::size_t size = character_size(static_cast<std::uint8_t>(rest[0]));
        const auto* at = reinterpret_cast<const std::uint8_t*>(rest.data());
        const bool last = size == rest.size();
        std::int32_t& symbol = characters.at(next_utf8(at), last);
        if (symbol == CharacterSymbols::kNone) {
            symbol = static_cast<std::int32_t>(texts.size());
            texts.emplace_back(rest.substr(0, size)).append(last ? kWordEnd : "");
        }
        symbols.push_back(symbol);
        rest.remove_prefix(size);
    }
}

}  // namespace

void WordCounter::add(const TextView& text, std::size_t threads, const Poll& poll) {
    tables_.resize(std::max({tables_.size(), threads, std::size_t{1}}));
    const std::vector<std::size_t> bounds = cut_lines(text, kRunBytes);
    const auto* const end = reinterpret_cast<const char*>(text.data + text.offsets[text.lines]);
    parallel_for(bounds.size() - 1, threads, [&](std::size_t run, std::size_t thread) {
        if (thread == 0) poll();
        check_lines(text, bounds[run], bounds[run + 1]);
        TokenGroup group(tables_[thread], end);
        for (std::size_t i = bounds[run]; i < bounds[run + 1]; ++i)
            for_each_word({reinterpret_cast<const char*>(text.line(i)), text.size(i)},
                          [&group](std::string_view word) { group.add(word); });
        group.flush();
    });
}

Merges learn(const CountTable& words, const LearnOptions& options, std::size_t threads,
             const std::function<void(std::size_t merges)>& progress) {
    CharacterSymbols characters;
    std::vector<std::string> texts;
    std::vector<std::int32_t> symbols;
    for (const TokenCount& word : words.entries()) spell(word.token(), characters, texts, symbols);
    const std::size_t alphabet = texts.size();
    if (options.total_symbols && options.merges <= alphabet)
        throw TrainingError("total_symbols is " + std::to_string(options.merges) + ", but the characters alone need " +
                            std::to_string(alphabet) + " symbols; ask for more");
    const std::size_t wanted = options.total_symbols ? options.merges - alphabet : options.merges;

    bpe::Trainer trainer(texts, {}, bpe::Ties::kHighTexts);
    for (const TokenCount& word : words.entries()) {
        spell(word.token(), characters, texts, symbols);
        trainer.add_word(symbols, static_cast<std::uint64_t>(word.count));
    }
    const auto& merges = trainer.learn(alphabet + wanted, options.min_frequency, threads,
                                       [&](std::size_t size) { progress(size - alphabet); });
    const std::vector<std::string>& learnt = trainer.texts();
    std::unordered_set<std::string_view> distinct(learnt.begin(), learnt.end());
    if (distinct.size() < learnt.size()) return learn_equal_texts(words, wanted, options.min_frequency, progress);
    Merges pairs;
    for (const bpe::LearntMerge& merge : merges)
        pairs.emplace_back(learnt[static_cast<std::size_t>(merge.left)], learnt[static_cast<std::size_t>(merge.right)]);
    return pairs;
}

}  // namespace nmt_prep::subword_nmt
