#include "bindings.h"

NB_MODULE(_nmt_prep_core, module) {
    module.doc() = "Native core of nmt_prep; use it through the package's typed classes.";
    nmt_prep::bind_t2t(module);
    nmt_prep::bind_byte_bpe(module);
    nmt_prep::bind_sentencepiece(module);
    nmt_prep::bind_records(module);
}
