// Text from tokens, as Moses' detokenizer.perl makes it. It is no exact inverse of the tokenizer.
#pragma once

#include <string>
#include <string_view>

#include "moses/simple_steps.h"

namespace nmt_prep::moses {

class Detokenizer final : public Step {
   public:
    // `upper`: puts the first letter of each line in upper case.
    Detokenizer(std::string language, bool upper);
    void apply(std::string_view line, std::string& out) const override;

   private:
    class Writer;

    std::string language_;
    bool upper_;
};

}  // namespace nmt_prep::moses
