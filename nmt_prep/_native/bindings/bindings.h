// Shared by the bindings files. Each registers one part of the core with the module; module.cpp calls them all.
#pragma once

#include <nanobind/nanobind.h>

#include "arrays.h"
#include "gil.h"

namespace nmt_prep {

void bind_simd(nanobind::module_& module);
void bind_allocation(nanobind::module_& module);
void bind_t2t(nanobind::module_& module);
void bind_byte_bpe_split(nanobind::module_& module);
void bind_byte_bpe(nanobind::module_& module);
void bind_subword_nmt(nanobind::module_& module);
void bind_sentencepiece(nanobind::module_& module);
void bind_sentencepiece_training(nanobind::module_& module);
void bind_unigram_training(nanobind::module_& module);
void bind_records(nanobind::module_& module);
void bind_batches(nanobind::module_& module);
void bind_pair_batches(nanobind::module_& module);
void bind_outputs(nanobind::module_& module);
void bind_clean(nanobind::module_& module);
void bind_dedup(nanobind::module_& module);
void bind_segments(nanobind::module_& module);
void bind_near(nanobind::module_& module);
void bind_fasttext(nanobind::module_& module);
void bind_align(nanobind::module_& module);
void bind_align_text(nanobind::module_& module);
void bind_adequacy(nanobind::module_& module);
void bind_sentences(nanobind::module_& module);
void bind_modify(nanobind::module_& module);
void bind_health(nanobind::module_& module);
void bind_line_ends(nanobind::module_& module);
void bind_steps(nanobind::module_& module);

}  // namespace nmt_prep
