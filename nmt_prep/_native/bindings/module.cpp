#include "bindings.h"

NB_MODULE(_nmt_prep_core, module) {
    module.doc() = "Native core of nmt_prep; use it through the package's typed classes.";
    // Tokenizers that are still referenced at interpreter exit, for example by a cache, must not be reported as leaks.
    nanobind::set_leak_warnings(false);
    nmt_prep::Returning::watch();
    nmt_prep::bind_simd(module);
    nmt_prep::bind_allocation(module);
    nmt_prep::bind_t2t(module);
    nmt_prep::bind_byte_bpe_split(module);
    nmt_prep::bind_byte_bpe(module);
    nmt_prep::bind_subword_nmt(module);
    nmt_prep::bind_sentencepiece(module);
    nmt_prep::bind_sentencepiece_training(module);
    nmt_prep::bind_unigram_training(module);
    nmt_prep::bind_records(module);
    nmt_prep::bind_batches(module);
    nmt_prep::bind_pair_batches(module);
    nmt_prep::bind_outputs(module);
    nmt_prep::bind_clean(module);
    nmt_prep::bind_dedup(module);
    nmt_prep::bind_segments(module);
    nmt_prep::bind_near(module);
    nmt_prep::bind_fasttext(module);
    nmt_prep::bind_align(module);
    nmt_prep::bind_align_text(module);
    nmt_prep::bind_adequacy(module);
    nmt_prep::bind_sentences(module);
    nmt_prep::bind_modify(module);
    nmt_prep::bind_health(module);
    nmt_prep::bind_line_ends(module);
    nmt_prep::bind_steps(module);
}
