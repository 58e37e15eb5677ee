// Learns merges where symbols with equal texts are one symbol. Text with "</w>" in it may spell the end of a word, so
// that counts of pairs may grow, which bpe::Trainer excludes. Slower, and hardly ever needed.
#pragma once

#include "subword_nmt/learn.h"

namespace nmt_prep::subword_nmt {

// Throws TrainingError.
Merges learn_equal_texts(const CountTable& words, std::size_t wanted, std::uint64_t min_frequency,
                         const std::function<void(std::size_t merges)>& progress);

}  // namespace nmt_prep::subword_nmt
